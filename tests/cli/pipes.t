#!/usr/bin/perl
# pipes.t -- output that goes nowhere, input that is closed
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

sub shell { return run('sh', '-c', $_[0]); }

my $r = shell("$DLREPL -e 'for i = 1, 1e6 do print(i) end' | head -n 1; echo done");
is($r->{out}, "1\ndone\n", 'a closed pipe ends the output');
is($r->{err}, '', '... without a word');

$r = shell("$DLREPL -e 'for i = 1, 1e7 do io.write(i, \"\\n\") end print(\"end\")' | head -n 1");
is($r->{err}, '', 'io.write too');

$r = shell("$DLREPL -e 'while true do print(1) end' | head -n 1");
is($r->{out}, "1\n", 'so does an endless program');
$r = shell("($DLREPL -e 'while true do print(1) end'; echo \$? >&2) | head -n 1");
is($r->{err}, "141\n", '... with status 141');
$r = run($DLREPL, '-e', 'local p = io.popen("true", "w") os.execute("sleep 0.1") '
    . 'for i = 1, 1e5 do p:write("text") end p:close() print("alive")');
is($r->{out}, "alive\n", 'a closed pipe of the program\'s own ends nothing');

$r = shell("$DLREPL -e 'print(io.read())' <&-");
is($r->{status}, 0, 'a closed standard input is survived');
has_text($r->{out}, 'nil', '... and reads as the end');

$r = shell("$DLREPL -i <&-");
is($r->{status}, 0, 'a prompt with closed standard input ends');
$r = shell("$DLREPL <&- >&-");
is($r->{status}, 0, '... with closed output too');

$r = shell("$DLREPL -e 'print(1)' >/dev/full");
is($r->{status}, 1, 'output that cannot be written gives status 1');

$r = shell("printf 'print(io.read())\\nfirst line\\n2\\n' | $DLREPL -i");
is($r->{out}, "first line\n2\n", 'a line of the session may read the next line of the input');

# ---- little address space: the libraries' own memory may be what lacks ------
$r = run($DLREPL, '-e', 'print(io.open("/proc/self/status"):read("a"):match("VmSize:%s*(%d+)"))');
my $size = $r->{out} + 0;
my @died = grep {
    my $limit = $size + 1024 * $_;
    my $s = run('sh', '-c', "ulimit -v $limit; exec \$0 -e 'print(pcall(function() local a = "
        . "torch.ones(300, 300) return a:mm(a)[0][0]:item() end))'", $DLREPL);
    $s->{status} != 0;
} map { 2 * $_ } 10 .. 45;
is("@died", '', 'so many MB of address space more: a product ends in a value or an error');

done_testing();
