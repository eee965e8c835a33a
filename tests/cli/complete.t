#!/usr/bin/perl
# complete.t -- Tab and help at the prompt on a terminal, and dlrepl doctor
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;
use Time::HiRes qw(sleep);

my $CTRL_U = "\x15";
my $CTRL_D = "\x04";

# ---- without a terminal ------------------------------------------------------------------------
my $r = run($DLREPL, 'doctor');
is($r->{status}, 0, 'dlrepl doctor ends with status 0');
for my $subject (qw(processor threads memory oneDNN GPU Lua Readline terminal images files)) {
    has_text($r->{out}, qr/^(?:ok|--|!!) $subject /m, "... and speaks of $subject");
}
has_text($r->{out}, qr/none: /, '... says plainly that there is no GPU');
is(scalar(grep { length > 80 && !m{/} } split /\n/, $r->{out}), 0, '... in 80 columns');
{
    local $ENV{DLREPL_ONEDNN} = 0;
    has_text(run($DLREPL, 'doctor')->{out}, qr/oneDNN .*DLREPL_ONEDNN=0/, 'oneDNN turned off');
}
{
    local $ENV{COLUMNS} = 40;
    my @long = grep { length > 40 } split /\n/, run($DLREPL, 'doctor')->{out};
    is(scalar(grep { !m{/} } @long), 0, 'it fits 40 columns but for paths') or diag "@long";
}

$r = repl("?torch.add\nlocal x = torch.ones(2)\nx:sum?\n x.shape ?\nhelp(x.sum)\n"
    . "?torch.smu\nhelp()\n");
has_text($r->{out}, qr/^torch\.add, x:add.*signature.*example.*torch\.sum, x:sum/s,
    '?torch.add and x:sum? print their pages');
has_text($r->{out}, qr/torch\.sum, x:sum.*x\.shape.*torch\.sum, x:sum/s, 'so does help(x.sum)');
has_text($r->{out}, "did you mean torch.sum?", 'an unknown name is answered with the nearest');
has_text($r->{out}, qr/Where things are/, 'help() is a guided page');
is($r->{err}, '', 'and nothing fails');
$r = run($DLREPL, '-e', 'print(dlrepl._inspect("torch.add", 1, 60))');
has_text($r->{out}, qr/^raises     RuntimeError/m, 'a page says what is raised');
$r = run($DLREPL, '-e', 'collectgarbage() print(collectgarbage("count") < 400)');
same_text($r->{out}, "true\n", 'help costs nothing before it is asked for');

# ---- on a terminal -----------------------------------------------------------------------------
my $t = Cli::Terminal->start($DLREPL) or do { done_testing(); exit };
$t->wait_for(qr/leaves.*?> /s);
SKIP: {
    $t->send("1 + 1\n");
    $t->wait_for(qr/2\r?\n.*?> /s);
    skip 'Readline is not installed', 13 unless -e "$ENV{XDG_DATA_HOME}/dlrepl/history";
    $t->send("tor\t");
    ok(defined $t->wait_for(qr/tor\x07?ch/, 3), 'Tab completes what is sure');
    $t->send($CTRL_U);
    $t->send("torch.manual_s\t(0)\n");
    ok(defined $t->wait_for(qr/manual_seed\(0\)/), 'a field');
    $t->wait_for(qr/> /);
    $t->send("local kept = torch.ones(2, 3)\n");
    $t->wait_for(qr/> /);
    $t->send("kep\t:nume\t()\n");
    ok(defined $t->wait_for(qr/numel\(\).*?[\r\n]6\r?\n/s), 'a local and its method');
    $t->wait_for(qr/> /);
    $t->send("kept.sha\t\n");
    ok(defined $t->wait_for(qr/torch\.Size\(\[2, 3\]\)/), 'a property');
    $t->wait_for(qr/> /);
    $t->send("kept:sum{keepd\ttrue, dim=0}\n");
    ok(defined $t->wait_for(qr/keepdim=true/), 'a keyword name, with its =');
    ok(defined $t->wait_for(qr/tensor\(\[\[2\., 2\., 2\.\]\]\)/), '... and it runs');
    $t->wait_for(qr/> /);
    $t->send("nn.Sequent\t\n");
    ok(defined $t->wait_for(qr/class 'torch\.nn\.Sequential'/), 'a layer that was not loaded');
    $t->wait_for(qr/> /);
    write_file('some-data.txt', 'x');
    $t->send("io.open('$TMP/some-d\t')\n");
    ok(defined $t->wait_for(qr/file \(0x/), 'a file name with a dash in it');
    $t->wait_for(qr/> /);
    $t->send("kept:log\t");
    ok(defined $t->wait_for(qr/log10.*logsumexp/s), 'Tab lists what could be');
    $t->send($CTRL_U . "kept:\t");
    ok(defined $t->wait_for(qr/matmul.*zero_.*> /s), '... a long list too, without a question');
    $t->send($CTRL_U);
    $t->send("for i = 1, 1 do print(kept:sum(\n");
    $t->wait_for(qr/\.\.\. /);
    $t->send("{keepd\ttrue, dim=1})) end\n");
    ok(defined $t->wait_for(qr/keepdim=true.*\[3\.\]/s), 'the lines before this one count');
    $t->wait_for(qr/> /);
    $t->send("bad = setmetatable({}, {__index = function() print('ran') while true do end end})\n");
    $t->wait_for(qr/> /);
    $t->send("bad.x.\t\t");
    sleep 0.3;
    $t->send($CTRL_U . "'still' .. ' here'\n");
    my $text = $t->{text};
    ok(defined $t->wait_for(qr/"still here"/), 'a metatable that never answers does not block');
    unlike($text, qr/\bran\b/, '... and is not asked');
    $t->wait_for(qr/> /);
}
$t->send($CTRL_U . "?nn.Linear\n");
ok(defined $t->wait_for(qr/nn\.Linear\r?\n.*in_features.*example.*Size/s),
    '?nn.Linear shows its page');
$t->wait_for(qr/> /);
$t->send($CTRL_D);
is($t->finish, 0, 'and the prompt ends well');

done_testing();
