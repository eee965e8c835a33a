#!/usr/bin/perl
# pager.t -- values longer than the screen stop at its end, on a terminal alone
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my ($CTRL_C, $CTRL_D) = ("\x03", "\x04");
delete $ENV{PAGER};
my $LONG = 't = {} for i = 1, 60 do t[i] = "line " .. i .. ("."):rep(20) end t';

sub prompt {
    my $t = Cli::Terminal->start($DLREPL, @_) or plan skip_all => 'no pseudo-terminal here';
    $t->wait_for(qr/> /);
    $t->wait_for(qr/> /) if $t->{text} =~ /> /;
    return $t;
}

sub leave { my ($t) = @_; $t->send($CTRL_D); return $t->finish; }

my $t = prompt();
$t->send("$LONG\n");
ok(defined $t->wait_for(qr/"line 22\.+",.*?-- more: space, Enter, q --/s), 'a long value stops');
ok($t->{text} !~ /line 30/, '... at the end of the screen');
$t->send("\n");
ok(defined $t->wait_for(qr/line 24.*?-- more/s), 'Enter shows a line more');
$t->send(' ');
ok(defined $t->wait_for(qr/line 40.*?-- more/s), 'a blank shows a screen more');
$t->send('q');
ok(defined $t->wait_for(qr/> /), 'q ends it');
$t->send("$LONG\n");
$t->wait_for(qr/-- more/);
$t->send($CTRL_C);
ok(defined $t->wait_for(qr/> /), 'so does Ctrl-C');
$t->send("'short'\n");
ok(defined $t->wait_for(qr/[\r\n]"short"\r?\n.*?> /s),
    '... and the session goes on; short output is not paged');
is(leave($t), 0, '... to its end');

$t = prompt('--plain');
$t->send("$LONG\n");
ok(defined $t->wait_for(qr/line 60/), '--plain has no pager');
leave($t);
{
    local $ENV{PAGER} = 'sed s/^/paged:/';
    $t = prompt();
    $t->send("$LONG\n");
    ok(defined $t->wait_for(qr/paged: "line 60/), '$PAGER is used where it is set');
    $t->wait_for(qr/> /);
    leave($t);
    $ENV{PAGER} = '/absent/pager';
    $t = prompt();
    $t->send("$LONG\n");
    ok(defined $t->wait_for(qr/line 20.*?-- more/s), '... and our own where it cannot be found');
    $t->send('q');
    $t->wait_for(qr/> /);
    leave($t);
}
my $r = repl("$LONG\n");
has_text($r->{out}, qr/line 60/, 'without a terminal nothing is paged');

# ---- what prints -----------------------------------------------------------------------------
$r = repl(qq({setmetatable({}, {__tostring = function() error("bad") end}), 2}\n));
is($r->{out}, "{<table whose text fails: stdin:1: bad>, 2}\n",
    'a value whose __tostring fails does not hide the rest');
$r = repl("\"a\xff\xc3\xc3\xa9\"\n");
is($r->{out}, "\"a\\255\\195\xc3\xa9\"\n", 'bytes that are no UTF-8 are written as numbers');
$r = repl('t = {} for i = 1, 10 do t[i] = "' . "\xe6\x97\xa5" x 3 . qq(" end t\n));
is((split /\n/, $r->{out})[0], '{' . join(' ', ('"' . "\xe6\x97\xa5" x 3 . '",') x 7)
    . ' "' . "\xe6\x97\xa5" x 3 . '",', 'wide signs count as two columns');
done_testing();
