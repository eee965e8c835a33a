#!/usr/bin/perl
# magic.t -- the commands that begin with %
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

sub said { my $r = repl($_[0]); return $r->{out} . $r->{err}; }

# ---- %help -----------------------------------------------------------------------------------
my $help = said("%help\n");
my @names = $help =~ /^%(\w+)/mg;
is("@names", 'time timeit who run load_history pytorch reset gpu help',
    '%help lists every command');
has_text(said("%help timeit\n"), qr/0\.2 s/, '%help NAME tells more');
has_text(said("%tiem 1\n"), 'no command is called %tiem; did you mean %time?',
    'an unknown name suggests the nearest');
has_text(said("%frobnicate\n"), '%help lists them', '... or the list');
is(said("5\n% 2\n"), qq(5\nstdin:1: unexpected symbol near '%'\n), 'a lone % is not a command');
is(said("x = 7\nx\n  % 4\n"), qq(7\nstdin:1: unexpected symbol near '%'\n),
    '... nor is an operator that begins a line');

# ---- %time, %timeit ----------------------------------------------------------------------------
has_text(said("%time 6 * 7\n"),
    qr/^CPU times: user .*, sys: .*, total: .*\nWall time: [\d.]+ \w+\n42\n\z/,
    '%time tells the time and the value');
is(said("%time error('x')\n"), "stdin:1: x\n", '... but not of an error');
has_text(said("%time for i = 1, 2 do\nprint(i)\nend\n"), qr/^1\n2\nCPU/,
    '... and goes on over lines');
has_text(said("local a = 2\n%time local b = a + 1\nb\n"), qr/\n3\n\z/, 'its locals stay');
has_text(said("local x = torch.ones(3)\n%timeit -n 100 -r 5 x:sum()\n"), qr/^
    <torch\.utils\.benchmark\.utils\.common\.Measurement\ object\ at\ 0x[0-9a-f]+>\n
    x:sum\(\)\n
    \ \ Median:\ [\d.]+\ [num]s\n
    \ \ IQR:\ \ \ \ [\d.]+\ [num]s\ \([\d.]+\ to\ [\d.]+\)\n
    \ \ 5\ measurements,\ 100\ runs\ per\ measurement,\ \d+\ threads?\n/x,
    '%timeit prints as PyTorch does');
has_text(said("%timeit -n 10 -r 1 z = 5\n"),
    qr/\n  [\d.]+ [num]?s\n  1 measurement, 10 runs , \d/,
    '... one measurement too, of statements too');
has_text(said("%timeit 1 + 1\n"), qr/\d+ measurements, \d+0 runs per/,
    '... and counts by itself');
has_text(said("%timeit error('no')\n"), 'stdin:1: no', 'an error in it arrives');
has_text(said("%timeit\n"), 'what shall be timed', 'without code it asks');
has_text(said("%timeit -n x\n"), '-n and -r are followed by a number', 'a wrong count is refused');

# ---- %who, %run ----------------------------------------------------------------------------------
is(said("%who\n"), "no names of yours yet\n", '%who begins empty');
is(said("local x = torch.ones(2, 3)\nname = 'me'\n%who\n"),
    "x     local Tensor torch.Size([2, 3]) torch.float32 cpu\nname  \"me\"\n",
    '%who lists locals and globals');
has_text(said("t = setmetatable({}, {__tostring = function() error('bad') end})\n%who\n1\n"),
    qr/bad.*|1\n/s, 'a value that cannot be printed does not end the session');
my $file = write_file('some program.lua', "local a, b = ...\nmade = a .. b\nreturn 5\n");
is(said("%run '$file' x y\nmade\n"), "5\n\"xy\"\n", '%run runs a program with arguments');
has_text(said("%run /absent.lua\n"), '/absent.lua', 'a missing program is named');
has_text(said("%load_history\n"), 'no history', '%load_history needs a terminal');

# ---- %pytorch --------------------------------------------------------------------------------
my @spellings = (
    ['x = torch.randn(2, 3, {device="cpu", requires_grad=true})',
        'x = torch.randn(2, 3, device="cpu", requires_grad=True)'],
    ['local y = x:sum{dim=1}', 'y = x.sum(dim=1)'],
    ['x["1:3, :"] + x[{0, i}] ^ 2', 'x[1:3, :] + x[0, i] ** 2'],
    ['torch.tensor({{1, 2}, {3, 4}})', 'torch.tensor([[1, 2], [3, 4]])'],
    ['x:Repeat(2, 3)', 'x.repeat(2, 3)'],
    ['f{End=5}', 'f(end=5)'],
    ['#loader', 'len(loader)'],
    ['a ~= nil and not b', 'a != None and not b'],
    ['print "a" ; local c', "print(\"a\")\nc = None"],
    ['for i = 0, 9 do print(i) end', "for i in range(10):\n    print(i)"],
    ['for i = 1, n - 1 do print(i) end', "for i in range(1, n):\n    print(i)"],
    ['for i, x, y in loader:enumerate() do f(x) end',
        "for i, (x, y) in enumerate(loader):\n    f(x)"],
    ['for k, v in pairs(t) do f(k) end', "for k, v in t.items():\n    f(k)"],
    ['if a then f() elseif b then g() else h() end',
        "if a:\n    f()\nelif b:\n    g()\nelse:\n    h()"],
    ['while true do break end', "while True:\n    break"],
    ['torch.no_grad(function() w:sub_(g) end)', "with torch.no_grad():\n    w.sub_(g)"],
    ['function Net:forward(x) return F.relu(x) end',
        "def forward(self, x):  # in class Net\n    return F.relu(x)"],
    ['optim.Adam({{params=a, lr=1e-5}})', 'optim.Adam([{"params": a, "lr": 1e-5}])'],
    ['g = function(a) return a .. "b" end', 'g = lambda a: a + "b"'],
);
is(said("%pytorch $_->[0]\n"), "$_->[1]\n", "%pytorch $_->[0]") for @spellings;
is(said("n = 2 ^ 3\n%who\n%pytorch\n"), "n  8.0\nn = 2 ** 3\n", '%pytorch takes the last line');
has_text(said("%pytorch x = )\n"), 'unexpected symbol', 'what is no Lua is refused');
has_text(said("%pytorch\n"), 'no line was run yet', 'without a line it says so');
has_text(said('%pytorch x = ' . '(' x 150 . '1' . ')' x 150 . "\n2\n"), qr/\n2\n/,
    'deep nesting is survived');

# ---- %reset, %gpu -----------------------------------------------------------------------------
is(said("x = 3\nlocal y = 4\n%reset -f\n%who\nx, y\ntorch ~= nil\n"),
    "no names of yours yet\nnil\nnil\ntrue\n", '%reset -f forgets locals and globals, ours stay');
is(said("F = 3\n%reset -f\nF.relu ~= nil\n") =~ s/^.*UserWarning.*\n//mr, "true\n",
    '... and brings back what was hidden');
my $asked = said("x = 3\n%reset\nx\n");
has_text($asked, "nobody can be asked here\n  %reset -f does not ask",
    '%reset without a terminal refuses');
has_text($asked, qr/^3$/m, '... and forgets nothing');
has_text(said("%reset all\n"), '%reset takes -f', 'other words too');
has_text(said("%gpu\n"), qr/no GPU|cuda:0/, '%gpu tells what there is');
has_text(said("%gpu sim:t4\ntorch.cuda.is_available()\n"), qr/cuda:0  Tesla T4 \[SIM.*\ntrue/,
    '%gpu sim:t4 simulates one');
has_text(said("%gpu t4x\n"), 'as in %gpu sim:t4', 'another word is refused');

done_testing();
