#!/usr/bin/perl
# terminal.t -- a lesson on a terminal: from the command to the first passed exercise and on
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play;
use Cli;
use Test::More;

fresh();
my $t = Cli::Terminal->start($DLREPL, 'learn', $MEAN, '--seed', 7);
plan skip_all => 'no terminal can be made here' unless $t;
ok(defined $t->wait_for(qr/:answer YOUR GUESS/), 'the first thing at the prompt is a question');
$t->send(":answer 3.0\r");
ok(defined $t->wait_for(qr/\[PASS\] as you said/), 'an answer is marked');
ok(defined $t->wait_for(qr/Step 4 of 11/), '... and the next step is there');
$t->send("function mean(x) return x:sum() end\r:check\r");
ok(defined $t->wait_for(qr/\[FAIL\] it is the mean/), 'a wrong answer fails');
$t->send(":hi\t\r");
ok(defined $t->wait_for(qr/\[HINT 1 of 4\]/), 'Tab completes a command');
$t->send("for i = 1, 1e12 do end\r");
sleep 1;
$t->send("\x03");
ok(defined $t->wait_for(qr/KeyboardInterrupt/), 'a loop of the learner\'s own is stopped');
$t->send("function mean(x) while true do end end\r:check\r");
ok(defined $t->wait_for(qr/\[FAIL\] it comes to an end/, 30), 'the judge stops an endless answer');
$t->send("function mean(x) return (('a'):rep(99)):find(('a-'):rep(30) .. 'b') end\r:check\r");
sleep 1;
$t->send("\x03");
ok(defined $t->wait_for(qr/KeyboardInterrupt/, 5), 'Ctrl-C does not wait for the judge');
$t->send("function mean(x) return x:mean() end\r:check\r");
ok(defined $t->wait_for(qr/\[PASS\] Write it/), 'a right one passes');
my $file = write_file('fix.lua', "function spread(x) return 1 end\n");
$t->send(":watch $file\r");
ok(defined $t->wait_for(qr/\[FAIL\] it is the range/), 'a watched file is checked at once');
write_file('fix.lua', "function spread(x) return x:max() - x:min() end\n");
ok(defined $t->wait_for(qr/\[PASS\] fix/), '... and when it is saved');
$t->send(":goto fix\r:watch $TMP/mine.lua\r");
ok(defined $t->wait_for(qr/now holds the task's\s+starter/), 'a new file gets the starter');
$t->send("\x03");
ok(defined $t->wait_for(qr/No longer watching/), 'Ctrl-C ends the watching');
$t->send(":answer b\r6 * 7\r");
ok(defined $t->wait_for(qr/this step wants code.*42/s), 'and the session goes on');
is($t->leave, 0, 'Ctrl-D leaves');

# ---- colours ---------------------------------------------------------------------------------
delete $ENV{NO_COLOR};
fresh();
$t = Cli::Terminal->start($DLREPL, 'learn', $MEAN, '--seed', 7);
$t->wait_for(qr/YOUR GUESS/);
$t->send(":answer 9\r");
ok(defined $t->wait_for(qr/\e\[[\d;]+m\[FAIL\]\e\[/), 'with colours the words are there too');
$t->send("\x04");
$t->finish(10);

done_testing();
