#!/usr/bin/perl
# keys.t -- what fingers do at a terminal: paste, leave, resize, hold keys down, type anything
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;
use Time::HiRes qw(time sleep);

my ($UP, $CTRL_C, $CTRL_D) = ("\e[A", "\x03", "\x04");
my $COOKED = 2 | 8;   # ICANON and ECHO
my ($PASTE, $DONE) = ("\e[200~", "\e[201~");

sub prompt {
    my $t = Cli::Terminal->start($DLREPL, @_) or plan skip_all => 'no pseudo-terminal here';
    $t->wait_for(qr/leaves.*?> /s);
    return $t;
}

# Type a line; wait for the answer and the next prompt.
sub answers {
    my ($t, $line, $want, $name) = @_;
    $t->send("$line\n");
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return ok(defined $t->wait_for(qr/$want.*?> /s), $name);
}

sub leave {
    my ($t) = @_;
    $t->send($CTRL_C);
    $t->wait_for(qr/\^C.*?> /s);
    $t->send($CTRL_D);
    return $t->finish;
}

my $t = prompt();

# ---- Ctrl-C and Ctrl-D -------------------------------------------------------------------------
$t->send($CTRL_C);
ok(defined $t->wait_for(qr/once more, or Ctrl-D, leaves.*?> /s), 'Ctrl-C at an empty prompt warns');
answers($t, '1 + 1', qr/[\r\n]2\r?\n/, '... a line comes between');
$t->send($CTRL_C);
$t->wait_for(qr/once more.*?> /s);
$t->send($CTRL_C);
is($t->finish, 0, 'two in a row leave');

$t = prompt();
$t->send("while true do end\n");
sleep 0.2;
$t->send($CTRL_C);
$t->wait_for(qr/KeyboardInterrupt.*?> /s);
$t->send($CTRL_C);
$t->wait_for(qr/\^C.*?> /s);
$t->send($CTRL_C);
$t->wait_for(qr/\^C.*?> /s);
answers($t, "'here'", qr/"here"/, 'presses meant for a loop that has just stopped do not leave');
$t->send("do\n");
$t->wait_for(qr/\.\.\. /);
$t->send($CTRL_D);
ok(defined $t->wait_for(qr/> /), 'Ctrl-D gives up an unfinished chunk');
$t->send($CTRL_D);
is($t->finish, 0, '... and leaves at the prompt');

# ---- paste -----------------------------------------------------------------------------------
SKIP: {
    skip 'Readline is not installed', 13 unless -e "$ENV{XDG_DATA_HOME}/dlrepl/history";
    $t = prompt();
    $t->send("${PASTE}local n = 0\nfor i = 1, 4 do\n  n = n + i\nend\nn$DONE\n");
    ok(defined $t->wait_for(qr/[\r\n]10\r?\n.*?> /s), 'pasted lines are one input');
    $t->send("${PASTE}1 + 1\n2 + 2$DONE\n");
    ok(defined $t->wait_for(qr/[\r\n]2\r?\n4\r?\n.*?> /s),
        '... and run one by one where they are not one chunk');
    $t->send("${PASTE}> a = 5\n> a * 2\n10\n> for i = 1, 1 do\n...   print('x' .. i)\n"
        . "... end$DONE\n");
    ok(defined $t->wait_for(qr/[\r\n]10\r?\nx1\r?\n.*?> /s), 'a copied session runs');
    $t->paste("${PASTE}s = '" . 'x' x 1_000_000 . "'$DONE\n");
    $t->wait_for(qr/> $/, 20);
    answers($t, '#s', qr/1000000/, 'a pasted line of 1 MB arrives whole');
    $t->paste("t = '" . 'y' x 50_000 . "'\n");
    answers($t, '#t', qr/50000/, 'a long line without paste marks too');
    answers($t, "'\xc3\xa9\xe4\xbd\xa0' == '\\u{e9}\\u{4f60}'", qr/true/, 'UTF-8 arrives');
    $t->send("'\xff\xfe\xc3' .. 'z'\n");
    answers($t, "'well'", qr/"well"/, 'invalid UTF-8 is survived');
    $t->send("\0\0'nul'\n");
    ok(defined $t->wait_for(qr/"nul".*?> /s), 'so are NUL bytes');
    $t->send("%load_history 1\n");
    $t->wait_for(qr/'nul'/);
    $t->send(" .. 's'\n");
    ok(defined $t->wait_for(qr/"nuls".*?> /s), '%load_history puts an input on the next line');

    # ---- size --------------------------------------------------------------------------------
    $t->resize(24, 120);
    sleep 0.1;
    answers($t, 't = {} for i = 1, 40 do t[i] = i end t', qr/38, 39, 40\}/, 'a resize is seen');
    $t->send('x' x 100);
    $t->resize(24, 40);
    sleep 0.1;
    $t->send($CTRL_C);
    ok(defined $t->wait_for(qr/\^C.*?> /s), '... in the middle of a line too');
    answers($t, 't', qr/\{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,\r?\n 13/,
        '... tables fill the width');
    is(leave($t), 0, '... and the prompt leaves as ever');
}

for my $columns (40, 120) {
    local @Cli::Terminal::SIZE = (24, $columns);
    $t = Cli::Terminal->start($DLREPL);
    $t->wait_for(qr/> $/);
    answers($t, '6 * 7', qr/[\r\n]42\r?\n/, "the prompt works at $columns columns");
    leave($t);
}

# ---- colours ---------------------------------------------------------------------------------
{
    delete local $ENV{NO_COLOR};
    $t = Cli::Terminal->start($DLREPL);
    ok(defined $t->wait_for(qr/\e\[32m> \e\[0m/), 'the prompt has a colour');
    $t->send("torch.ones(2):matmul(torch.ones(3))\n");
    ok(defined $t->wait_for(qr/\e\[1;31mRuntimeError\e\[0m: /), '... the class of an error too');
    ok(defined $t->wait_for(qr/\e\[32m> /), '... and the session goes on');
    leave($t);
    for my $case ([['--plain'], 'xterm'], [[], 'dumb']) {
        local $ENV{TERM} = $case->[1];
        $t = Cli::Terminal->start($DLREPL, @{$case->[0]});
        $t->wait_for(qr/Ctrl-D leaves/);
        $t->send("nothing.x\n");
        $t->wait_for(qr/index a nil.*?> /s);
        $t->send("'end'\n");
        $t->read_some(0.3);
        ok($t->{text} !~ /\e\[\d*m/, "no colour with @{$case->[0]} TERM=$case->[1]");
        is(leave($t), 0, '... and it works');
    }
    my $r = run($DLREPL, '-e', 'error("x")');
    ok($r->{err} !~ /\e/, 'no colour where there is no terminal');
}

# ---- ends ------------------------------------------------------------------------------------
for my $signal (qw(TERM HUP QUIT SEGV ABRT)) {
    $t = prompt();
    $t->send('half a li');
    $t->wait_for(qr/half a li/);
    kill $signal, $t->{pid};
    like($t->finish, qr/^signal/, "$signal at the prompt ends the process");
    is($t->modes & $COOKED, $COOKED, '... with the terminal as it was');
}
$t = prompt();
$t->send("os.execute('stty raw -echo') coroutine.wrap(function() os.exit(3) end)()\n");
is($t->finish, 3, 'os.exit inside a coroutine leaves with its status');
is($t->modes & $COOKED, $COOKED, '... with the terminal as it was');

$t = prompt();
close $t->{fd};
my $gone = 0;
for (1 .. 50) { sleep 0.05; $gone = waitpid $t->{pid}, POSIX::WNOHANG() and last; }
ok($gone, 'a terminal that goes away ends the process');
kill 'KILL', $t->{pid} unless $gone;

{
    local $SIG{HUP} = 'IGNORE';
    $t = prompt();
    close $t->{fd};
    $gone = 0;
    for (1 .. 50) { sleep 0.05; $gone = waitpid $t->{pid}, POSIX::WNOHANG() and last; }
    ok($gone, '... where hang-ups are ignored too');
    kill 'KILL', $t->{pid} unless $gone;
}

# ---- any keys --------------------------------------------------------------------------------
$t = prompt();
$t->paste("\n" x 500 . $UP x 200);
$t->send($CTRL_C);
my $held; # the terminal drops what was typed just before it passes Ctrl-C on: ask again
for (1 .. 3) {
    $t->read_some(0.3);
    $t->send("\n'kept'\n");
    $held = $t->shows(qr/"kept"/, 3);
    last if defined $held;
}
ok(defined $held, 'keys held down are survived');
leave($t);

srand($ENV{DLREPL_SEED} // 7);
my @keys = ("\n", $UP, "\e[B", "\e[C", "\e[D", "\x01", "\x05", "\x0b", "\x17", "\x19", "\x12",
    "\x7f", "\t", "\e", "\x0c", "\x14", "\x15", "\eb", "\ef", "\ed", $PASTE, $DONE, "\0", "\xff",
    "\xc3\xa9", "\x07",
    map({ chr } 32 .. 126), 'for ', 'do ', 'end', 'x:', 'torch.', '{', '}', '[[', ']]', '%', '?');
my $sequences = $ENV{DLREPL_KEYS} || 1000;
my $alive = 0;
$t = prompt();
for my $n (1 .. $sequences) {
    my $text = join '', map { $keys[rand @keys] } 1 .. 1 + rand 25;
    $t->paste($text);
    $t->read_some(0) for 1 .. 3;
    if ($n % 20) { $alive++; next; }
    # Keys may have left a chunk unfinished: a second way out of it is no hang.
    my $back;
    for my $try (1 .. 3) {
        for my $key ($DONE, "\x07", $CTRL_C, "\n") {
            $t->send($key);
            $t->read_some(0.03);
        }
        $t->send("print('al' .. 'ive$n')\n");
        $back = $t->shows(qr/alive$n/, $try * 3);
        last if defined $back;
    }
    last unless defined $back;
    $alive++;
}
is($alive, $sequences, "$sequences random key sequences end without a hang");
leave($t);

done_testing();
