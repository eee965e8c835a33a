#!/usr/bin/perl
# batch.t -- a teacher's way: dlrepl play LESSON --answers DIR; and the linter that authors use
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play;
use Cli;
use Test::More;

fresh();
my %answers = (
    'guess.txt' => "3.0\n", 'do.lua' => "local function mean(x) return x:mean() end\n",
    'fix.lua' => "function spread(x) return x:max() - x:min() end\n", 'one.txt' => 'b',
    'many.txt' => 'a, c', 'order.txt' => 'c b a', 'number.txt' => '4 KB', 'match.txt' => '1a 2b',
    'say.txt' => 'a long list has a larger sum but no larger mean',
);

sub folder {
    my ($name, %files) = @_;
    mkdir "$TMP/$name";
    write_file("$name/$_", $files{$_}) for keys %files;
    return "$TMP/$name";
}
sub play { return run({seconds => 60}, $DLREPL, 'play', $MEAN, '--answers', @_); }

my $good = folder('good', %answers);
my $r = play($good, '--tap', '--seed', 7);
is($r->{status}, 0, 'right answers: status 0');
is($r->{out}, join('', map { "ok $_ - X01 $Play::STEPS[$_ - 1]\n" } 1 .. 9) . "1..9\n",
    'a point a step');
is(progress(), '', 'a teacher leaves no trace in progress');
is(play($good)->{status}, 0, 'the seed may be left out');
has_text(play($good)->{out}, qr/^\[PASS\] X01 do\n.*^9 of 9 steps are right$/ms,
    'without --tap: words');

my $bad = folder('bad', %answers, 'do.lua' => 'function mean(x) return x:sum() end',
    'one.txt' => 'a',
    'fix.lua' => '-- nothing', 'number.txt' => 'five', 'say.txt' => 'no');
unlink "$bad/match.txt";
$r = play($bad, '--tap', '--seed', 7);
is($r->{status}, 1, 'wrong answers: status 1');
has_text($r->{out},
    qr/^not ok 2 - X01 do\n#   FAIL: it is the mean \(case 1 of 4, seed 7\)\n#   measured: /m,
    'a failure says check, case and seed');
has_text($r->{out}, qr/^not ok 3 - X01 fix\n#   NOTE: There is no code/m, 'an empty file is told');
has_text($r->{out}, qr/^not ok 4 .*\n#   FAIL: 0 \/ 0 is no 0.\n#   expected: b$/m,
    'a wrong letter too');
has_text($r->{out}, qr/^not ok 7 .*\n#   unreadable: an answer is a number/m, 'an unreadable one');
has_text($r->{out}, qr/^not ok 8 .*\n#   missing: /m, 'a missing one');
is(() = $r->{out} =~ /^ok/mg, 3, 'the others pass');

is(run({}, $DLREPL, 'play', $MEAN)->{status}, 2, 'without a folder: status 2');
is(run({}, $DLREPL, 'play', 'L98', '--answers', $good)->{status}, 2, 'an unknown lesson too');
is(run({}, $DLREPL, 'play', $MEAN, '--answers', $good, '--seed', 'x')->{status}, 2,
    '... a wrong seed');

# ---- lint ------------------------------------------------------------------------------------
my $seeds = $ENV{FULL} ? 200 : 5;
$r = run({seconds => 300}, $DLREPL, 'lint', $MEAN, '--seeds', $seeds, '--tap');
is($r->{status}, 0, 'the fixture is a sound lesson') or diag($r->{out});
has_text($r->{out}, "the reference passes on $seeds seeds", 'its reference was tried');
has_text(run({seconds => 60}, $DLREPL, 'lint', $MEAN, '--seeds', 1)->{out},
    qr/^30 points, 0 failed$/m,
    'without --tap only what fails is told');

# A lesson with one thing changed: what does the linter say?
sub spoiled {
    my ($from, $to, $file) = @_;
    my $dir = folder('spoiled');
    system('rm', '-rf', $dir);
    system('cp', '-r', $FIXTURES, $dir);
    my $path = "$dir/" . ($file // '01_mean.lua');
    my $text = slurp($path);
    $text =~ s/$from/$to/ or die "$from is not in $path";
    open my $out, '>', $path or die $!;
    print $out $text;
    close $out;
    return run({seconds => 60}, $DLREPL, 'lint', "$dir/01_mean.lua", '--seeds', 2)->{out};
}

has_text(spoiled(qr/x:sum\(\) \/ x:numel\(\)/, 'x:sum() / 3', 'sol/01_do.lua'),
    qr/\[FAIL\] X01.do: the reference passes on 2 seeds\n  fails 'it is the mean'/,
        'a wrong reference');
has_text(spoiled(qr/return x:min\(\) - x:max/, 'return x:max() - x:min', 'broken/01_fix.lua'),
    qr/\[FAIL\] X01.fix: the starter fails\n  it passes/, 'a starter that passes');
has_text(spoiled(qr/return x:sum\(\)/, 'return x:mean()', 'bad/01_sum.lua'),
    qr/\[FAIL\] X01.do: bad\/01_sum.lua fails .*\n  it passes/, 'a wrong answer that passes');
has_text(spoiled(qr/fails = "a value/, 'fails = "the value'), qr/\[FAIL\] X01.do: bad\/01_nothing/,
    'a wrong answer that fails another check');
has_text(spoiled(qr/T"largest first"/, 'T"return x:max() - x:min()"'),
    qr/\[FAIL\] X01.fix: no hint holds the answer\n  hint 4 holds: /,
        'a hint that holds the answer');
has_text(spoiled(qr/answer = "3.0"/, 'answer = "4.0"'),
    qr/\[FAIL\] X01.guess: the code gives the answer\n  it gives 3.0/,
        'a prediction that is not so');
has_text(spoiled(qr/say = T"Three numbers; the sum is 9."/, 'expect = {error = "shape"}'),
    qr/\[FAIL\] X01.see: .*\n  wanted an error of kind shape, got none/,
        'a demonstration that does not fail');
has_text(spoiled(qr/r:near\("it is the mean".*\n/, "\n"),
    qr/small changes to the reference is noticed\n/,
    'a check that asks too little');
has_text(spoiled(qr/r:ok\("a value.*\n.*\n.*\n/, "r:loss_below('low', {0}, 1, 'no_value')\n"),
    qr/more is asked than a low loss\n  a loss that falls/, 'a check of the loss alone');
has_text(spoiled(qr/sol\/01_do_alt.lua/, 'sol/absent.lua'), qr/sol\/absent.lua/,
    'a file that is not there');
has_text(spoiled(qr/wrong = \{\n.*\n/, "wrong = {\n"),
    qr/at least three wrong answers\n  2 are there/,
    'too few wrong answers');
has_text(spoiled(qr/feedback = "not_mean"\}/, 'feedback = "nothing"}'),
    qr/wants feedback 'nothing' that/,
    'feedback that is not there');
has_text(spoiled(qr/minutes = 3/, 'minuets = 3'), qr/unknown key 'minuets'; did you mean 'minutes'/,
    'an unknown key');

done_testing();
