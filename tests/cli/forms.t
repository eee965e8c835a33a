#!/usr/bin/perl
# forms.t -- every form of the command line
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my $r = run($DLREPL, '--version');
has_text($r->{out}, qr/^dlrepl \d+\.\d+\.\d+ \(Lua 5\.4/, '--version prints name, version and Lua');
is($r->{status}, 0, '--version ends with status 0');

$r = run($DLREPL, '--help');
has_text($r->{out}, qr/^usage: dlrepl/, '--help prints the usage on standard output');
is($r->{status}, 0, '--help ends with status 0');

$r = run($DLREPL, '--nonsense');
is($r->{status}, 2, 'an unknown option ends with status 2');
has_text($r->{err}, "unknown option '--nonsense'", '... and is named on standard error');

$r = run($DLREPL, 'doctor', '--help');
has_text($r->{out}, qr/^usage: dlrepl/, 'doctor --help prints the usage');
$r = run($DLREPL, 'doctor', 'x');
is($r->{status}, 2, 'doctor with an argument it does not know ends with status 2');
has_text($r->{err}, "doctor takes --gpu and nothing else, not 'x'", '... and names it');
$r = run($DLREPL, '--gpu', 'sim:t4', '-e', 'print(7)', 'doctor');
has_text($r->{out}, qr/^7\ndlrepl .*^ok GPU +Tesla T4 \[SIMULATED\]/ms,
         'options may stand before doctor');
$r = run($DLREPL, '--plain', 'lint', '--nope');
has_text($r->{err}, "unknown option '--nope'", 'and before lint');

$r = run($DLREPL, '-e');
is($r->{status}, 2, '-e without code ends with status 2');

$r = run($DLREPL, '-e', 'print(1 + 1)');
is($r->{out}, "2\n", '-e runs code');
$r = run($DLREPL, '-eprint(3)');
is($r->{out}, "3\n", '-e takes its code without a blank too');
$r = run($DLREPL, '-e', 'local a <const> = 20', '-e', 'b = 1', '-e', 'print(a + b)');
is($r->{out}, "21\n", 'several -e are one session: locals stay');
$r = run($DLREPL, '-e', '1 + 1');
is($r->{out} . $r->{err}, '', '-e prints no values');
$r = run($DLREPL, '-e', 'error("first")', '-e', 'print("second")');
is($r->{status}, 1, 'an error in -e ends with status 1');
is($r->{out}, '', '... and later code is not run');

$r = lua('print(#arg, arg[0] ~= nil, arg[1], arg[2], ...)', 'one', 'two words');
is($r->{out}, "2\ttrue\tone\ttwo words\tone\ttwo words\n", 'a program gets arg and ...');
$r = lua("#!/usr/bin/env dlrepl\nprint(arg[-1] ~= nil)", '-i');
is($r->{out}, "true\n", 'a first line with #! is skipped, options after FILE are the program\'s');
$r = lua('os.exit(7)');
is($r->{status}, 7, 'os.exit gives the exit status');

write_file('beside.lua', 'return {word = "found"}');
$r = lua('print(require("beside").word)');
is($r->{out}, "found\n", 'a module beside the program is found');

$r = run($DLREPL, "$TMP/absent.lua");
is($r->{status}, 1, 'a missing program ends with status 1');
has_text($r->{err}, 'absent.lua', '... and is named');

$r = run({stdin => "local x = 4\nprint(x, ...)\n"}, $DLREPL, '-', 'a');
is($r->{out}, "4\ta\n", '- runs standard input, with arguments');
$r = run({stdin => "print('piped')\n"}, $DLREPL);
is($r->{out}, "piped\n", 'without arguments and terminal, standard input is run');
$r = run({stdin => "error('x')\n"}, $DLREPL, '-');
is($r->{status}, 1, '... with status 1 after an error');

$r = run({stdin => "a + 1\n"}, $DLREPL, '-i', '-e', 'a = 41');
is($r->{out}, "42\n", '-i opens the prompt after -e');
my $file = write_file('setup.lua', 'b = 10 print("ran", arg[1])');
$r = run({stdin => "b\n"}, $DLREPL, '-i', $file, 'x');
is($r->{out}, "ran\tx\n10\n", '-i opens the prompt after a program');

$r = run($DLREPL, '-e', 'print(torch.ones(2):sum())');
is($r->{out}, "tensor(2.)\n", 'torch is there without require');

my $binary = write_file('binary.luac', `$DLREPL -e 'io.write(string.dump(function() end))'`);
$r = run($DLREPL, $binary);
is($r->{status}, 1, 'a compiled program is refused');
has_text($r->{err}, 'attempt to load a binary chunk', '... by name');
$r = run($DLREPL, '-e', 'print(load(string.dump(function() end)))');
has_text($r->{out}, 'attempt to load a binary chunk', 'load refuses compiled code');
$r = run($DLREPL, '-e', "print(loadfile('$binary')) print(pcall(dofile, '$binary'))");
is(() = $r->{out} =~ /attempt to load a binary chunk/g, 2, 'so do loadfile and dofile');
$r = run($DLREPL, '-e', 'print(load("x = ...; return x", "n", "t", {})(5))');
is($r->{out}, "5\n", 'load keeps its name, mode and environment');

done_testing();
