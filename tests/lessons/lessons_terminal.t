#!/usr/bin/perl
# lessons_terminal.t -- L10, L22 and L26 from end to end on a terminal, wrong once and then right
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play;
use Cli;
use JSON::PP;
use Test::More;

my %wrong = (L10 => 'bad/10_only_model.lua', L22 => 'bad/22_not_divided.lua',
    L26 => 'bad/26_no_update.lua');
my %because = (L10 => qr/it runs.*inputs are\s+still where/s,
    L22 => qr/the update has the big batch's size.*sum of means/s,
    L26 => qr/the scale follows.*come down after inf/s);
my $plan = Cli::Terminal->start('true') or plan skip_all => 'no terminal can be made here';
$plan->finish(5);

for my $id (qw(L10 L22 L26)) {
    fresh();
    my $right = decode_json(run({}, $DLREPL, "$TOP/tests/lessons/right.lua", $id)->{out});
    my $t = Cli::Terminal->start($DLREPL, 'learn', $id, '--seed', 7);
    ok(defined $t->wait_for(qr/\Q$id\E .*?:answer/s, 20), "$id: the first prompt is a question");
    my $erred;
    for my $step (@{$right->{steps}}) {
        if ($step->{file} && !$erred++) {
            my $bad = "$TOP/lessons/$wrong{$id}";
            my $text = slurp($bad);
            $text =~ s/--[^\n]*//g;
            $text =~ s/\s+/ /g;
            $t->send("$text\r:check\r");
            ok(defined $t->wait_for($because{$id}, 30), "$id: a wrong answer is told why");
        }
        my $line = $step->{file} ? ":watch $step->{file}" : ":answer $step->{answer}";
        $t->send("$line\r");
        my $said = $step->{kind} eq 'explain' ? qr/\[KEPT\]/ : qr/\[PASS\]/;
        ok(defined $t->wait_for($said, 30), "$id: $step->{id} passes");
    }
    ok(defined $t->wait_for(qr/\[DONE\] \Q$id\E, .*: (\d+) of \1\s+steps\s+answered\./, 20),
        "$id: it comes to its end");
    is($t->leave, 0, "$id: and the prompt is left");
}

done_testing();
