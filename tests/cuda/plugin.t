#!/usr/bin/perl
# plugin.t -- the real driver without a GPU: loaded, refused in words, run over a runtime of ours
#
# See FakeGpu.pm.
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

# ---- refused in words ----------------------------------------------------------------------------
my $touch = 'print(torch.cuda.is_available())
             print(pcall(function() return torch.ones(1):cuda() end))';
says(run_lua($touch, DLREPL_FAKE_CUDA => 'nodriver'),
     "false\nfalse\tRuntimeError: Found no NVIDIA driver on your system.",
     'no driver: PyTorch\'s text');
says(run_lua($touch, DLREPL_FAKE_CUDA => 'nodevice'),
     "false\nfalse\tRuntimeError: No CUDA GPUs are available",
     'a driver without a GPU: PyTorch\'s text');
says(run_lua($touch, DLREPL_CUDA_PLUGIN => "$dir/none.so"),
     'the CUDA plugin cannot be loaded', 'a plugin that is not there is told');
open my $junk, '>', "$dir/junk.so" or die $!;
print $junk "no library\n" x 100;
close $junk;
says(run_lua($touch, DLREPL_CUDA_PLUGIN => "$dir/junk.so"), 'the CUDA plugin cannot be loaded',
     'a file that is no library is refused');
open my $whole, '<:raw', $ENV{DLREPL_CUDA_PLUGIN} or die $!;
read $whole, my $bytes, 4000;
open my $cut, '>:raw', "$dir/cut.so" or die $!;
print $cut $bytes;
close $cut;
says(run_lua($touch, DLREPL_CUDA_PLUGIN => "$dir/cut.so"), 'its end is missing',
     'a file that was not written to its end is refused');
says(run_lua($touch, DLREPL_CUDA_PLUGIN => $dir), 'it is no file', 'so is a folder');
for my $case (['unsigned dl_cuda_plugin[8] = {9999};', 'another version of the interface'],
              ['int other;', 'is no plugin of dlrepl']) {
    my ($c, $why) = @$case;
    open my $f, '>', "$dir/o.c" or die $!;
    print $f $c;
    close $f;
  SKIP: {
        skip "no cc here to make a plugin of another build", 1
            if system("cc -shared -fPIC -o $dir/o.so $dir/o.c") != 0;
        says(run_lua($touch, DLREPL_CUDA_PLUGIN => "$dir/o.so"), $why, "a plugin is refused: $why");
    }
}
says(run_lua($touch, DLREPL_CUDA => 0), 'AssertionError: Torch not compiled with CUDA enabled',
     'DLREPL_CUDA=0 leaves it alone');
says(scalar `DLREPL_FAKE_CUDA=nodriver $bin doctor 2>&1`,
     'no NVIDIA driver (libcuda.so.1) was found', 'dlrepl doctor says why');
says(run_lua('local ok, e = pcall(function() return torch.ones(1):cuda() end)
              dlrepl.simulate("t4") print(torch.ones(1):cuda())', DLREPL_FAKE_CUDA => 'nodriver'),
     "tensor([1.], device='cuda:0')", 'a simulated GPU can be had all the same');

# ---- a GPU ---------------------------------------------------------------------------------------
says(run_lua('local cuda = torch.cuda
              print(cuda.is_available(), cuda.get_device_name(), dlrepl.is_simulated())'),
     "true\tFake GPU\tfalse", 'the plugin\'s GPU is there, and is not simulated');
says(run_lua('print(torch.arange(4.0):cuda() * 2)'), "tensor([0., 2., 4., 6.], device='cuda:0')",
     'it computes');
says(run_lua(<<'L'), "0.0\t512\t2097152\ntrue",
local x = torch.zeros(1, {device = "cuda"})
print(x:item(), torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
local free, total = torch.cuda.mem_get_info()
print(total - free >= torch.cuda.memory_reserved())
L
     'the pool takes what PyTorch takes, and the runtime agrees');
says(run_lua(<<'L'), qr/^true\n$/, 'a model trains as on the CPU');
local function train(device)
  torch.manual_seed(0)
  local model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
  local x, y = torch.randn(32, 8), torch.randint(3, {32})
  model:to(device)
  local opt = optim.Adam(model:parameters(), {lr = 0.01})
  local loss
  for _ = 1, 5 do
    opt:zero_grad()
    loss = F.cross_entropy(model(x:to(device)), y:to(device))
    loss:backward()
    opt:step()
  end
  return loss:item()
end
local a, b = train("cpu"), train("cuda")
print(math.abs(a - b) < 1e-4)
L
my $oom = qr/OutOfMemoryError: CUDA out of memory\. Tried to allocate 80\.00 MiB.*\n(?:.*\n)*fine/;
says(run_lua(<<'L', DLREPL_FAKE_CUDA => 'memory=64'), $oom,
print(pcall(function() return torch.empty(20 * 2 ^ 20, {device = "cuda"}) end))
print(torch.ones(1):cuda():item() == 1 and "fine")
L
     'out of memory is PyTorch\'s error, and the session goes on');
my $assert = 'AcceleratorError: CUDA error: device-side assert triggered';
my $label = qr/Assertion `t >= 0 && t < n_classes` failed\./;
says(run_lua(<<'L'), qr/$label\n(?:.*\n)*false\t$assert(?:.*\n)*well/,
local loss = F.cross_entropy(torch.zeros(2, 3):cuda(), torch.tensor({0, 3}):cuda())
print(pcall(function() return loss:item() end))
print(pcall(function() return torch.ones(1):cuda() end))
loss = nil
dlrepl.reset_device()
print(torch.ones(1):cuda():item() == 1 and "well")
L
     'a bad label is an assert that stays until the device is reset');
my $illegal = qr/illegal memory access was encountered(?:.*\n)*cpu 6\.0/;
says(run_lua(<<'L', DLREPL_FAKE_CUDA_FAIL => 'cudaGetLastError:40=700'), $illegal,
local ok, e
for i = 1, 200 do
  ok, e = pcall(function() return (torch.ones(3):cuda() + 1):sum():item() end)
  if not ok then break end
end
print(e)
print("cpu " .. (torch.ones(3) + 1):sum():item())
L
     'an illegal address kills the context, not the session');
says(run_lua(<<'L', DLREPL_FAKE_CUDA => 'devices=2'),
local x = torch.ones(2):cuda():to("cuda:1")
print(x.device)
print(x * 2)
L
     "cuda:1\ntensor([2., 2.], device='cuda:1')", 'two GPUs');

# ---- PyTorch's programs --------------------------------------------------------------------------
my $out = `$bin tests/parity/run.lua --cuda 2>/dev/null </dev/null`;
my @bad = $out =~ /^(not ok.*)$/mg;
my $good = () = $out =~ /^ok/mg;
ok(!@bad && $good > 200, 'the deterministic parity cases give the same on it')
    or diag("$good good; ", join "\n", @bad[0 .. ($#bad < 20 ? $#bad : 20)], substr($out, -2000));
done_testing();
