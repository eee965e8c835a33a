#!/usr/bin/perl
# errors.t -- what an uncaught error prints, and that nothing a person types ends the process
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my $r = lua(<<'LUA');
local function forward(x)
  return torch.ones(2, 3):matmul(x)
end

local y = forward(torch.ones(2, 3))
print(y)
LUA
is($r->{status}, 1, 'an uncaught error ends with status 1');
has_text($r->{err},
    qr/\ARuntimeError: mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)\n/,
    'PyTorch\'s line comes first');
has_text($r->{err}, qr/\n  at \S*program\.lua:2 in forward\n\s+return torch\.ones/,
    'then the user\'s line, quoted');
has_text($r->{err}, qr/\n  at \S*program\.lua:5\n\s+local y = forward/, 'and its caller');
ok($r->{err} !~ /\[C\]|bind|\.c:/, 'C functions are not shown');

$r = lua("local t = nil\nlocal s = t.field\n");
has_text($r->{err}, qr/\A\S*program\.lua:2: attempt to index a nil value \(local 't'\)\n/,
    'an error of Lua\'s own keeps Lua\'s line');

$r = lua("local f = 1 +\n");
has_text($r->{err}, qr/program\.lua:\d: unexpected symbol near <eof>/, 'a syntax error is located');
is($r->{status}, 1, '... and ends with status 1');

$r = lua('error({code = 42, list = {1, 2}})');
is($r->{err}, "error value: {code = 42, list = {1, 2}}\n  at $TMP/program.lua:1\n" .
    "       error({code = 42, list = {1, 2}})\n", 'a table raised as error is shown');
$r = lua('error(setmetatable({}, {__tostring = function() error("again") end}))');
is($r->{status}, 1, 'an error whose text raises is survived');

$r = lua('local function deep(n) return 1 + deep(n + 1) end deep(1)');
has_text($r->{err}, 'stack overflow', 'endless recursion is an error');
has_text($r->{err}, qr/\n  \.\.\. \d+ more\n/, '... with a short trace');
is($r->{status}, 1, '... and status 1');
ok(length $r->{err} < 2000, '... that fits a screen');

$r = repl(<<'LUA');
error("one")
local function deep(n) return 1 + deep(n + 1) end
deep(1)
string.rep("x", 1e10)
string.rep("x", -1)
t = {}; t.t = t
t
load(("("):rep(1e5))
setmetatable({}, {__tostring = function() return {} end})
torch.zeros(2^34)
torch.ones(2^40, 2^40)
x:repeat(2)
coroutine.wrap(function() error("inside") end)()
"alive"
LUA
is($r->{status}, 0, 'a prompt that saw errors ends with status 0');
has_text($r->{out}, qr/"alive"\n\z/, 'the session is alive after all of them');
has_text($r->{out}, '{t = <cycle>}', 'a cyclic table prints');
has_text($r->{err}, 'stdin:1: one', 'an error at the prompt is located');
has_text($r->{err}, 'write x:Repeat', 'a word of Lua used as a name gets advice');
has_text($r->{err}, qr/RuntimeError: .*DefaultCPUAllocator/, 'too large a tensor is refused');
has_text($r->{err}, 'inside', 'an error in a coroutine arrives');
has_text($r->{err}, "'__tostring' must return a string", 'a bad __tostring is an error');

$r = repl("dlrepl.debug.host_cap(1)\nt = {}; for i = 1, 1e6 do t[i] = {} end\nerror('two')\n");
is($r->{status}, 0, 'a session whose memory is full to the cap ends by itself');
has_text($r->{err}, 'MemoryError: Lua is out of memory', '... and says what is the matter');

done_testing();
