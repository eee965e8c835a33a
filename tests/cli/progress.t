#!/usr/bin/perl
# progress.t -- bars on a real terminal: Ctrl-C and a loop that is left end on a clean line
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;
use Time::HiRes qw(sleep);

my $t = Cli::Terminal->start($DLREPL) or plan skip_all => 'no pseudo-terminal here';
$t->wait_for(qr/> $/);

my $busy = 'local x = dlrepl.clock() while dlrepl.clock() < x + 0.02 do end';
$t->send("for i in dlrepl.progress(1e6, {desc='long'}) do $busy end\n");
ok(defined $t->wait_for(qr/long:   0%/), 'a bar is drawn');
sleep 0.2;
$t->send("\x03");
ok(defined $t->wait_for(qr{/1000000  [^\n]*\r\n[^\n]*KeyboardInterrupt}),
   'Ctrl-C ends the line of the bar');
$t->wait_for(qr/> $/);

$t->send("bar = dlrepl.progress(9, {desc='left'}); for i in bar do if i == 3 then break end end\n");
ok(defined $t->wait_for(qr{left:   0%[^\n]*\r\n[^\n]*> $}),
   'a loop over a bar that was kept ends its line with the line at the prompt');
$t->send("\x04");
$t->finish;

done_testing();
