#!/usr/bin/perl
# hints.t -- other habits are answered with the Lua spelling; right Lua that is not meant is noted
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Encode qw(encode decode);
use Test::More;

# What standard error says to one line.
sub said { return decode('UTF-8', repl(encode('UTF-8', "$_[0]\n"))->{err}); }

my @habits = (
    ['import torch', 'nothing needs importing'],
    ['from torch import nn', 'nothing needs importing'],
    ['print x', 'print(x)'],
    ['if x is None then end', 'x == nil'],
    ['if x is not None then end', 'x ~= nil'],
    ['y = x[1:3]', 'x["1:3"]'],
    ['y = x[:, 0]', 'x[":, 0"]'],
    ['y = x[i, j]', 'x[{i, j}]'],
    ['x += 1', 'x = x + 1; a tensor in place: x:add_(1)'],
    ['w.data -= lr * g', 'w.data:sub_(lr * g)'],
    ['if x != 1 then end', 'not equal is ~='],
    ['def f(a, b):', 'function f(a, b) … end'],
    ['for i in range(3):', 'for i = 0, 2 do … end'],
    ['for i in range(1, n):', 'for i = 1, n - 1 do … end'],
    ['for x, y in loader:', 'for x, y in loader do … end'],
    ['for i, (x, y) in enumerate(loader):', 'for i, x, y in loader:enumerate() do … end'],
    ['while True:', 'while true do … end'],
    ['if x > 1:', 'if x > 1 then … end'],
    ['class Net(nn.Module):', 'local Net = nn.Module:class("Net")'],
    ['with torch.no_grad():', 'torch.no_grad(function() … end)'],
    ['try:', 'pcall'],
    ['def f(x): return x', 'function f(x) … end'],
    ['if x > 1: print(x)', 'if x > 1 then print(x) end'],
    ['if x: return y', 'if x then return y end'],
    ['with torch.autocast("cpu"): y = f(x)', 'torch.autocast("cpu", function() … end)'],
    ['with torch.no_grad(): y = f(x)', 'torch.no_grad(function() … end)'],
    ['assert x.shape == (2, 3)', 'assert(x.shape == {2, 3})'],
    ['y = x.shape == (2, 3)', 'x.shape == {3, 4}'],
    ['x:shape', 'x:shape(); a property a dot: x.shape'],
    ['print("%.3f" % 3.5)', 'string.format("%.3f", n)'],
    ['y = "loss: " + torch.ones(1)', 'texts are joined with ..'],
    ['torch.utils.checkpoint(print, 1)', 'torch.utils.checkpoint.checkpoint(f, x'],
    ['for i in x: print(i)', 'for i in x do print(i) end'],
    ['while x: break', 'while x do break end'],
    ['!ls -l', 'os.execute("ls -l")'],
    ['tqdm({})', 'dlrepl.progress(loader)'],
    ['np.random.randn(3)', 'torch.randn'],
    ['nn.Linear(2, 2).forward()', 'TypeError: a method was called without its object'],
    ['m = nn.Linear(2, 2) m.eval()', 'a method is called with a colon: net:eval()'],
    ['N = nn.Module:class("N") function N:forward(x) return self(x) + 1 end N()(1)',
        'RecursionError: maximum recursion depth exceeded'],
    ['function f(n) return 1 + f(n) end f(1)', 'a function calls itself without end'],
    ['coroutine.wrap(function() torch.no_grad(function() coroutine.yield() end) end)()',
        'a mode is held by local _ <close> = torch.no_grad()'],
    ['torch.ones(2, 2):T()', 'a property takes no brackets'],
    ['a = torch.ones(2) a.add_(a)', 'a method is called with a colon: x:add_(…)'],
    ['optim.adam({})', "did you mean 'Adam'?"],
    ['torch.zeros(2, {device="meta"})', 'compute=false'],
    ['x = a if b else c', 'x = b and a or c'],
    ['f = lambda x: x + 1', 'function(x) return x + 1 end'],
    ['y = x ** 2', 'a power is ^'],
    ['y = a @ b', 'a:matmul(b)'],
    ['a && b', 'a and b'],
    ['y = !x', 'not x'],
    ['x = [1, 2]', '{1, 2, 3}'],
    ['x = {"a": 1}', '{a = 1}'],
    ['x = x:sum(1, keepdim=True)', '…, {keepdim=true}'],
    ['x = torch.sum(dim=1)', '{dim=1}'],
    ['x.repeat(2, 3)', 'repeat is a word of Lua: write x:Repeat'],
    ['f{end=5}', 'end is a word of Lua: as a keyword write {End=…}'],
    ['x = “a”', 'quotes are plain ones'],
    ['x = 1 # two words here', 'a comment begins with --'],
    ['len({})', 'a length is #x'],
    ['nn.Linear(2, 2).eval()', 'a method is called with a colon'],
    ['nn.Linear(2, 2).parameters()', 'a method is called with a colon'],
    ['nn.Linear(2, 2).state_dict()', 'a method is called with a colon'],
    ['torch.ones(2):shape()', 'a property takes no brackets'],
    ['torch.randn((3, 4))', 'a tuple is a list in braces'],
    ['n = sum(p.numel() for p in m.parameters())', 'for p in model:parameters()'],
    ['x = {} x.append(1)', 'table.insert(t, v)'],
    ['"a" + "b"', 'texts are joined with ..'],
);
for my $case (@habits) {
    my ($line, $want) = @$case;
    has_text(said($line), $want, "`$line` is answered");
}

my $r = lua("local x = 1\nx += 1\n");
has_text($r->{err}, 'x = x + 1', 'a program is answered too');
is($r->{status}, 1, '... and fails');
$r = repl("if x:\n1 + 1\n");
is($r->{out}, "2\n", 'a Python block does not wait for more lines');
$r = repl("x = {f = function(s) return s end}\ny = x:\nf()\ny == x\n");
is($r->{out}, "true\n", '... and Lua that goes on after a colon does');

# ---- slips -----------------------------------------------------------------------------------
my $tensor = 'x = torch.ones(2) ';
my @slips = (
    [$tensor . 'if x:any() then end', 'write x:any(…):item()'],
    [$tensor . 'if not x:eq(1):all() then end', 'write x:all(…):item()'],
    [$tensor . 'y = x:any() and 1 or 2', 'write x:any(…):item()'],
    [$tensor . 'repeat until x:isnan()', 'write x:isnan(…):item()'],
    ['pcall(torch.tensor, [[1, 2], [3, 4]])', '{{1, 2}, {3, 4}}'],
    ['x = True', "Lua's is true"],
    ['exit', 'Ctrl-D'],
    ['local g = torch.no_grad()', 'a mode set at stdin:1 was still on'],
    [$tensor . 'x.sum()', 'a method is called with a colon: x:sum(…)'],
    [$tensor . 'x.size()', 'a method is called with a colon: x:size(…)'],
    [$tensor . 'x.item()', 'a method is called with a colon: x:item(…)'],
    [$tensor . 'F:relu(x)', 'with a dot'],
);
has_text(said($_->[0]), $_->[1], "`$_->[0]` is noted") for @slips;

my @fine = ($tensor . 'if x:any():item() then end', 's = "a" if s:find("a") then end',
    $tensor . 'if x:size(0) == 2 and x:dim() == 1 then end', 't = {True = 1} y = t.True',
    'm = nn.Linear(1, 1) if m:parameters() then end', $tensor . 'y = {x:sum(), x:max()}',
    's = [[one, two]]', 'for i = 1, 2 do local a = i > 1 and "b" or "c" end',
    $tensor . 'if x:sum():item() > 1 or x:max():item() > 1 then end');
is(said($_), '', "`$_` is left alone") for @fine;

unlike(said('torch.ones(2):add()'), qr/colon/, 'a colon that is there is not asked for');
unlike(said('torch.qzve'), qr/did you mean/, 'of four letters, two may not differ');
is(() = said('exit()') =~ /Ctrl-D/g, 1, 'what leaves is said once');

done_testing();
