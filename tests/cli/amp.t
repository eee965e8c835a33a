#!/usr/bin/perl
# amp.t -- mixed precision and held graphs at the prompt: what a line leaves, where a warning points
#
# For whoever types: modes end with their line, warnings name it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my $r = repl(<<'LINES');
g = torch.autocast{device_type="cpu", dtype=torch.float16}
torch.is_autocast_enabled("cpu")
torch.get_autocast_dtype("cpu")
h = torch.autograd.graph.saved_tensors_hooks(function(t) error("packed") end, function(t) end)
torch.ones(2, {requires_grad=true}):exp():sum():backward()
torch.set_autocast_enabled("cpu", true)
torch.is_autocast_enabled("cpu")
LINES
has_text($r->{err}, 'note: a mode set at stdin:1 was still on; it has been restored',
    'a region left open ends with its line, and is said');
same_text($r->{out}, "false\ntorch.bfloat16\ntrue\n",
    'its dtype goes with it; what set_autocast_enabled sets stays');
ok($r->{err} !~ /packed/, 'saved-tensor hooks left open do not reach the next line');

$r = repl("y = torch.ones(2, {requires_grad=true}) * 2\n1 + 1\ndlrepl.graphs()\n");
has_text($r->{out}, 'y: 2 nodes, 0 B saved, made 2 lines ago',
    'a held graph tells its age in lines');

$r = repl("1 + 1\nlocal z = torch.ones(2, {requires_grad=true}) * 2\ndlrepl.graphs()\n");
has_text($r->{out}, 'z: 2 nodes', "a local of the prompt's is found");

my $file = write_file('warn.lua', <<'PROGRAM');
local x = torch.ones(2, 2)

torch.autocast({device_type="cpu", dtype=torch.float32}, function() return x:mm(x) end)
PROGRAM
$r = run($DLREPL, $file);
has_text($r->{err}, 'warn.lua:3: UserWarning: In CPU autocast',
    "a warning points at the user's line, not into the library");
is($r->{status}, 0, 'and the program goes on');
done_testing();
