#!/usr/bin/perl
# history.t -- what was typed comes back: in the next session, whole, whatever the file holds
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my ($UP, $CTRL_C, $CTRL_D) = ("\e[A", "\x03", "\x04");
my $file = "$ENV{XDG_DATA_HOME}/dlrepl/history";

sub prompt {
    my $t = Cli::Terminal->start($DLREPL, @_) or plan skip_all => 'no pseudo-terminal here';
    $t->wait_for(qr/leaves.*?> /s);
    return $t;
}

sub leave {
    my ($t) = @_;
    $t->send($CTRL_C);
    $t->wait_for(qr/\^C.*?> /s);
    $t->send($CTRL_D);
    return $t->finish;
}

my $t = prompt();
$t->send("for i = 1, 2 do\n");
$t->wait_for(qr/\.\.\. /);
$t->send("  print('turn', i)\n");
$t->wait_for(qr/\.\.\. /);
$t->send("end\n");
ok(defined $t->wait_for(qr/turn\t2\r?\n.*?> /s), 'an input of three lines runs');
leave($t);
plan skip_all => 'Readline is not installed' unless -e $file;
has_text(Cli::read_file($file), "for i = 1, 2 do\n\t  print('turn', i)\n\tend\n",
    'the file holds it as one entry');

$t = prompt();
$t->send("$UP\n");
ok(defined $t->wait_for(qr/turn\s+1\r?\nturn\s+2\r?\n/), 'the next session recalls it whole');
$t->wait_for(qr/> /);
$t->send("do\n");
$t->wait_for(qr/\.\.\. /);
$t->send("print('half')");
$t->wait_for(qr/half'\)/);
$t->send($CTRL_C);
$t->wait_for(qr/\^C.*?> /s);
$t->send("$UP");
ok(defined $t->wait_for(qr/do\s+print\('half'\)/s), 'a chunk dropped by Ctrl-C is not lost');
leave($t);

# ---- files of every kind ----------------------------------------------------------------------
sub with_file {
    my ($text) = @_;
    open my $out, '>:raw', $file or die "$file: $!";
    print $out $text;
    close $out;
}

with_file("good = 1\n\0\x{ff}\x{fe}junk\x01\nanother = 2\n" . 'x' x 200_000
    . "\n\tlone\nlast = 3");
$t = prompt();
$t->send($UP);
ok(defined $t->wait_for(qr/last = 3/), 'from a corrupt file the last entry comes back');
$t->send($UP);
ok(defined $t->wait_for(qr/another = 2/), '... and what cannot be read is left out');
is(leave($t), 0, '... and nothing else happens');

with_file(join '', map { "line$_ = $_\n" } 1 .. 12_000);
$t = prompt();
leave($t);
my $lines = () = Cli::read_file($file) =~ /\n/g;
is($lines, 5000, 'a file that grew long is shortened to the last 5000 entries');

unlink $file;
mkdir $file;
$t = prompt();
$t->send("1 + 1\n");
ok(defined $t->wait_for(qr/not kept; cannot write \S+.*?2\r?\n/s),
    'a history that cannot be written is told');
$t->send("2 + 2\n");
ok(defined $t->wait_for(qr/4\r?\n/), '... once, and the line runs');
$t->send("$UP$UP\n");
ok(defined $t->wait_for(qr/[\r\n]2\r?\n/), '... and the session has its own history');
is(leave($t), 0, '... and leaves as ever');
rmdir $file;

SKIP: {
    skip 'no fifo', 1 unless POSIX::mkfifo($file, 0600);
    $t = prompt();
    is(leave($t), 0, 'a pipe in its place does not hang');
    unlink $file;
}
{
    local $ENV{XDG_DATA_HOME} = '/proc/none';
    local $ENV{HOME} = '/proc/none';
    $t = prompt();
    $t->send("5 + 5\n");
    ok(defined $t->wait_for(qr/10\r?\n/), 'without any place for it lines run');
    leave($t);
}

my ($one, $two) = (prompt(), prompt());
for my $i (1 .. 5) {
    $_->send("n = $i\n"), $_->wait_for(qr/> /) for $one, $two;
    $_->send("m = $i\n"), $_->wait_for(qr/> /) for $one, $two;
}
leave($_) for $one, $two;
$lines = () = Cli::read_file($file) =~ /^[nm] = \d$/mg;
is($lines, 20, 'two sessions side by side lose nothing of each other');

done_testing();
