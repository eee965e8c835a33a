#!/usr/bin/perl
# lines.t -- lines at the prompt: values, locals that stay, unfinished chunks, modes
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

# Each case: name, lines, what standard output and standard error hold together.
sub case {
    my ($name, $lines, $want) = @_;
    my $r = repl($lines);
    is($r->{out} . $r->{err}, $want, $name);
}

case('an expression prints its value', "1 + 1\n", "2\n");
case('several values print one a line', "1, nil, 'x'\n", "1\nnil\n\"x\"\n");
case('a call without results prints nothing', "(function() end)()\n", '');
case('a statement prints nothing', "x = 5\n", '');
case('an expression after statements prints', "local a = 40; a + 2\n", "42\n");
case('strings are quoted', qq("a\\n\\"b\\0"\n), qq("a\\n\\"b\\000"\n));
case('_ is the last value', "6 * 7\n_ + 1\n", "42\n43\n");
case('_ is not changed by nil', "5\nnil\n_\n", "5\nnil\n5\n");
case('a local named _ does not hide it', "7\nlocal _ = 1\n_\n", "7\n7\n");
case('blank and comment lines do nothing', "\n   \n-- word\n1\n", "1\n");

case('a local stays visible', "local a, b = 1, 2\na + b\n", "3\n");
case('a local without value stays', "local a\na\na = 3\na\n", "nil\n3\n");
case('a local function stays and can recurse',
    "local function f(n) return n < 2 and 1 or n * f(n - 1) end\nf(5)\n", "120\n");
case('a closure shares the variable with later lines',
    "local n = 0\nlocal function up() n = n + 1 return n end\nup()\nn = 10\nup()\nn\n",
    "1\n11\n11\n");
case('a second local of the name is a new variable',
    "local a = 1\nlocal function get() return a end\nlocal a = 2\nget()\na\n", "1\n2\n");
case('<const> stays constant', "local c <const> = 7\nc\nc = 8\nc\n",
    "7\n7\nstdin:1: attempt to assign to const variable 'c'\n");
case('a <const> table too', "local c <const> = {1}\nc[1] = 5\nc\n", "{5}\n");
case('<close> closes at the end of its line',
    "local h <close> = setmetatable({}, {__close = function() print('closed') end}) print('in')\n",
    "in\nclosed\n");
case('a local inside a block stays inside', "local a = 1\ndo local a = 2 end\na\n", "1\n");
case('a loop variable stays inside', "for i = 1, 2 do local k = i end\nk\n", "nil\n");
case('locals made before an error stay', "local a = 1 error('x')\na\n", "1\nstdin:1: x\n");
case('locals made before a return stay', "local a = 1 return a\na\n", "1\n1\n");
case('a local may shadow a function of Lua', "local print = 5\nprint\n", "5\n");
case('a local is no global', "local zz = 1\n_G.zz\n", "nil\n");
case('field names are no locals', "local x = 1\n({x = 5}).x\nx\n", "5\n1\n");
case('a local _ENV serves later lines', "local _ENV = {print = print}\ny = 5\nprint(y)\n", "5\n");
case('text in strings and comments is left alone',
    "local a = 'local b = 1' -- local c = 2\na\nb\n", "\"local b = 1\"\nnil\n");
case('a call across a line break belongs to the local',
    "do end local f = print\n(5)\n", "5\n");
case('a number is not called', "local n = 5 (print)(n)\nn\n", "5\n5\n");
case('a long function value ends where it ends',
    "local f = function(...) while true do if ... then break end end return {...} end f(1)[1]\n",
    "1\n");
case('goto and labels work',
    "do local i = 1 ::top:: i = i + 1 if i < 4 then goto top end x = i end\nx\n",
    "4\n");
case('many locals in one line', 'local ' . join(',', map { "v$_" } 1 .. 150) . " = 1, 2\nv1 + v2\n",
    "3\n");

case('an unfinished chunk goes on', "for i = 1, 2 do\nprint(i)\nend\n", "1\n2\n");
case('an unfinished expression goes on', "1 +\n2\n", "3\n");
case('an unfinished call goes on', "math.max(\n1,\n7)\n", "7\n");
case('a long string goes on', "s = [[a\nb]]\n#s\n", "3\n");
case('line numbers count within the chunk', "do\nlocal x = nil\nx.y = 1\nend\n",
    "stdin:3: attempt to index a nil value (local 'x')\n  at stdin:3\n");
case('input that ends inside a chunk says so', "for i = 1, 2 do\n",
    "stdin:1: 'end' expected near <eof>\n");
case('a wrong line does not wait for more', "x = )\n1\n",
    "1\nstdin:1: unexpected symbol near ')'\n");

case('a list prints', "{1, 2, {3}}\n", "{1, 2, {3}}\n");
case('keys print in order', "{b = 2, a = 1, 10, [3.5] = true, ['x y'] = 0}\n",
    "{10, [3.5] = true, a = 1, b = 2, [\"x y\"] = 0}\n");
case('depth has a limit', "{{{{{1}}}}}\n", "{{{{{...}}}}}\n");
my $r = repl("t = {} for i = 1, 5000 do t[i] = i end\nt\n");
has_text($r->{out}, '... (4900 more)}', 'length has a limit');
$r = repl("t = {} for i = 1, 200 do t[i] = {} for j = 1, 200 do t[i][j] = {j} end end\nt\n");
ok(length $r->{out} < 30000, 'so has a value as a whole');
case('tensors in a table keep their form', "{torch.ones(2, 2), n = torch.tensor(1)}\n",
    "{tensor([[1., 1.],\n         [1., 1.]]),\n n = tensor(1)}\n");
case('a tensor prints as PyTorch does', "torch.arange(3)\n", "tensor([0, 1, 2])\n");
case('a value with __tostring prints it',
    "setmetatable({}, {__tostring = function() return 'mine' end})\n", "mine\n");

case('a mode that was left on is restored and told',
    "torch.is_grad_enabled()\nlocal g = torch.no_grad()\ntorch.is_grad_enabled()\n",
    "true\ntrue\nnote: a mode set at stdin:1 was still on; it has been restored\n");
case('a mode closed by its line says nothing',
    "local g <close> = torch.no_grad() print(torch.is_grad_enabled())\ntorch.is_grad_enabled()\n",
    "false\ntrue\n");

done_testing();
