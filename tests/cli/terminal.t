#!/usr/bin/perl
# terminal.t -- the prompt on a terminal: start, interrupts of each kind, history, leaving
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;
use Time::HiRes qw(time sleep);

my $CTRL_C = "\x03";
my $CTRL_D = "\x04";

# An instrumented build or a busy machine is given more time: for each job that waits for a CPU, as
# much again.
sub jobs_per_cpu {
    open my $load, '<', '/proc/loadavg' or return 0;
    my ($jobs) = split ' ', <$load>;
    open my $info, '<', '/proc/cpuinfo' or return 0;
    my $cpus = grep { /^processor/ } <$info>;
    return $cpus ? $jobs / $cpus : 0;
}
my $SLOW = $ENV{DLREPL_SLOW} || 1 + jobs_per_cpu();

my $t = Cli::Terminal->start($DLREPL) or plan skip_all => 'no pseudo-terminal here';

# ---- start -----------------------------------------------------------------------------------
ok(defined $t->wait_for(qr/Ctrl-D leaves.*?> /s), 'a welcome and the prompt appear');
my @starts;
for (1 .. 5) {
    my $begin = time;
    my $s = Cli::Terminal->start($DLREPL);
    $s->wait_for(qr/> $/, 5);
    push @starts, time - $begin;
    $s->send($CTRL_D);
    $s->finish;
}
my $best = (sort { $a <=> $b } @starts)[0];
ok($best < 0.05 * $SLOW, 'the first prompt comes within 50 ms')
    or diag(sprintf 'best of 5: %.0f ms', $best * 1000);

# ---- interrupts ------------------------------------------------------------------------------
# Send the line, wait until it runs, press Ctrl-C: the seconds until the prompt is back.
sub time_to_stop {
    my ($line) = @_;
    $t->send("print('be' .. 'gun'); $line\n");
    $t->wait_for(qr/begun\r?\n/) // return undef;
    sleep 0.15;
    my $begin = time;
    $t->send($CTRL_C);
    return $t->wait_for(qr/KeyboardInterrupt.*?> /s, 10);
}

# The best of up to three tries, for the machine may be busy with something else.
sub stops {
    my ($name, $line) = @_;
    my $best;
    for (1 .. 3) {
        my $took = time_to_stop($line) // last;
        $best = $took if !defined $best || $took < $best;
        last if $best < 0.2 * $SLOW;
    }
    ok(defined $best && $best < 0.2 * $SLOW, $name)
        or diag(defined $best ? "$best s" : 'not stopped');
}

stops('a loop stops', 'while true do end');
stops('a loop of pcall stops', 'while true do pcall(function() while true do end end) end');
stops('a loop in a coroutine stops', 'coroutine.wrap(function() while true do end end)()');
stops('a loop of resumed coroutines stops', 'while true do local co = coroutine.create(function() '
    . 'while true do pcall(function() while true do end end) end end) coroutine.resume(co) end');
stops('nested coroutines stop', 'coroutine.wrap(function() coroutine.wrap(function() '
    . 'while true do coroutine.isyieldable() end end)() end)()');
stops('a looping error handler stops',
    'xpcall(function() while true do end end, function() while true do end end)');
stops('a handler that loops over another error stops',
    'xpcall(error, function() while true do end end)');
stops('a loop of tensor operations stops', 'x = torch.ones(10) while true do x = x * 1 end');
stops('long pointwise operations stop', 'x = torch.ones(5e7) while true do x:exp() end');
# Four times: a signal must not write into what a library's machine code keeps below its stack.
stops('long matrix products stop', 'x = torch.ones(2500, 2500) while true do x:matmul(x) end')
    for 1 .. 4;
stops('a read of standard input stops', 'io.read()');
stops('a deep recursion stops',
    'local function f(n) if n > 0 then f(n - 1) end end while true do f(5000) end');

$t->send("kept = 5\n");
$t->wait_for(qr/> /);
stops('globals survive', 'while true do kept = 5 end');
$t->send("kept\n");
ok(defined $t->wait_for(qr/[\r\n]5\r?\n/), 'the session is kept');
$t->wait_for(qr/> /);
$t->send("pcall(error, 'x')\n");
ok(defined $t->wait_for(qr/false\r?\n"x"/), 'a later pcall works as ever');
$t->wait_for(qr/> /);

# ---- editing ---------------------------------------------------------------------------------
$t->send('1 + nonsense');
$t->send($CTRL_C);
ok(defined $t->wait_for(qr{\^C.*?\n.*?> }s), 'Ctrl-C at the prompt drops the line');
$t->send("40 + 2\n");
ok(defined $t->wait_for(qr/[\r\n]42\r?\n/), '... and the next one is read afresh');
$t->wait_for(qr/> /);
$t->send("for i = 1, 2 do\n");
ok(defined $t->wait_for(qr/\.\.\. /), 'an unfinished chunk shows ...');
$t->send($CTRL_C);
ok(defined $t->wait_for(qr/> /), 'Ctrl-C leaves the unfinished chunk');
$t->send("'seen'\n");
ok(defined $t->wait_for(qr/"seen"/), '... and it is forgotten');
$t->wait_for(qr/> /);
$t->send('1 + 1');
sleep 0.1;
kill 'TSTP', $t->{pid};
sleep 0.2;
kill 'CONT', $t->{pid};
sleep 0.1;
$t->send("\n");
ok(defined $t->wait_for(qr/[\r\n]2\r?\n/), 'a line survives being stopped and continued');
$t->wait_for(qr/> /);
$t->send($CTRL_D);
is($t->finish, 0, 'Ctrl-D leaves with status 0');

SKIP: {
    my $history = "$ENV{XDG_DATA_HOME}/dlrepl/history";
    skip 'Readline is not installed', 2 unless -e $history;
    open my $in, '<', $history or die;
    my @lines = <$in>;
    ok((grep { /^40 \+ 2$/ } @lines), 'lines are in the history file');
    my $s = Cli::Terminal->start($DLREPL);
    $s->wait_for(qr/leaves.*> /s);
    $s->send("\e[A\e[A\n");
    ok(defined $s->wait_for(qr/for i = 1, 2 do|seen/), 'and come back in the next session');
    $s->send($CTRL_C . $CTRL_D);
    $s->finish;
}

my $h = Cli::Terminal->start($DLREPL);
$h->wait_for(qr/leaves.*> /s);
kill 'TERM', $h->{pid};
is($h->finish, 'signal 15', 'a termination at the prompt ends the process');

# ---- programs on a terminal ------------------------------------------------------------------
my $p = Cli::Terminal->start($DLREPL, write_file('loop.lua', "print('on')\nwhile true do end\n"));
$p->wait_for(qr/on\r?\n/);
$p->send($CTRL_C);
ok(defined $p->wait_for(qr/KeyboardInterrupt\r?\n.*loop\.lua:2/s),
    'a program that is stopped says where');
is($p->finish, 130, '... and ends with status 130');

$p = Cli::Terminal->start($DLREPL, '-e',
    "print('on'); ('x'):rep(200):find(('a?x?'):rep(30) .. 'b')");
$p->wait_for(qr/on\r?\n/);
sleep 0.2;
for (1 .. 3) { $p->send($CTRL_C); sleep 0.6; }
ok(defined $p->wait_for(qr/could not be stopped/),
    'what cannot be stopped is left at the third Ctrl-C');
is($p->finish, 130, '... with status 130');

{
    local $ENV{DLREPL_READLINE} = 0;
    my $s = Cli::Terminal->start($DLREPL);
    ok(defined $s->wait_for(qr/> /), 'without Readline there is a plain prompt');
    $s->send("6 * 7\n");
    ok(defined $s->wait_for(qr/[\r\n]42\r?\n/), '... that runs lines');
    $s->wait_for(qr/> /);
    $s->send('nonsense');
    $s->send($CTRL_C);
    ok(defined $s->wait_for(qr/\^C.*?> /s), '... where Ctrl-C drops the line');
    $s->send("'ok'\n");
    ok(defined $s->wait_for(qr/"ok"/), '... and the next one is read');
    $s->wait_for(qr/> /);
    $s->send($CTRL_D);
    is($s->finish, 0, '... and Ctrl-D leaves');
}

done_testing();
