#!/usr/bin/perl
# faults.t -- a GPU that is lost in the middle of work: what is said, that it stays, what lives on
#
# Errors of a kernel, of the card and of the driver come at chosen calls of the tests' runtime. The
# programs are typed at the prompt, through a pipe.
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

my $train = <<'L';
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)):cuda()
opt = optim.Adam(model:parameters(), {lr = 0.01})
x, y = torch.randn(32, 8):pin_memory(), torch.arange(32) % 3
host = torch.arange(4.0)
function loss() return F.cross_entropy(model(x:cuda()), y:cuda()) end
function step() opt:zero_grad() local l = loss() l:backward() opt:step() return l:item() end
for i = 1, 40 do last = step() end
print("after", last ~= nil)
L
# What a person tries next. Each line that asks the GPU must say the same again.
my @asks = ('step()', 'model:cpu()', 'print(model[0].weight)', 'torch.ones(1):cuda()',
            'torch.cuda.synchronize()', 'x:to("cuda", {non_blocking = true})',
            'torch.cuda.mem_get_info()', 'torch.cuda.get_device_properties(0)',
            'torch.cuda.Stream()', 'torch.cuda.Event():record()', 'torch.randn(3):pin_memory()');
my $alive = <<'L';
print("host", (host + 1):sum():item(), x:size(1), x:isnan():any():item())
print("figures", torch.cuda.memory_allocated() > 0, torch.cuda.is_available())
dlrepl.report()
model, opt = nil, nil
collectgarbage()
torch.cuda.empty_cache()
net = nn.Linear(8, 3)
print("cpu", net(x):sum():isfinite():item())
L
my %faults = (
    46  => 'CUDA-capable device(s) is/are busy or unavailable',
    214 => 'uncorrectable ECC error encountered',
    220 => 'uncorrectable NVLink error detected during the execution',
    700 => 'an illegal memory access was encountered',
    702 => 'the launch timed out and was terminated',
    716 => 'misaligned address',
    719 => 'unspecified launch failure',
    999 => 'unknown error',
);
my @places = ('cudaGetLastError:200', 'cudaStreamSynchronize:31', 'cudaMemcpyAsync:50');
my $turn = 0;
for my $error (sort keys %faults) {
    for my $place ($ENV{FULL} ? @places : $places[$turn++ % @places]) {
        my $out = run_prompt($train . join("\n", @asks) . "\n" . $alive,
                             DLREPL_FAKE_CUDA_FAIL => "$place=$error");
        my $told = () = $out =~ /^AcceleratorError: CUDA error: \Q$faults{$error}\E$/mg;
        my $name = "error $error at $place";
        is($told, 1 + @asks, "$name: told in CUDA's words, and again by all that asks the GPU")
            or diag($out);
        like($out, qr/^  the context is lost, as in PyTorch; dlrepl\.reset_device\(\)/m,
             "$name: what to do stands below");
        my @alive = $out =~ /^((?:after|host|figures|cpu)\t.*)$/mg;
        is("@alive", "after\ttrue host\t10.0\t8\tfalse figures\ttrue\ttrue cpu\ttrue",
           "$name: the session goes on, the CPU's tensors live, pinned ones too") or diag($out);
        unlike($out, qr/Sanitizer|fake CUDA|_gc/, "$name: and ends without a word") or diag($out);
    }
}

# ---- starting afresh -----------------------------------------------------------------------------
my $afresh = $train . <<'L';
kept = torch.ones(3):cuda()
side, event = torch.cuda.Stream(), torch.cuda.Event()
event:record()
dlrepl.reset_device()
kept + 1
side:synchronize()
event:synchronize()
print("pinned", x:sum():isfinite():item())
again = nn.Linear(8, 3):cuda()
print("afresh", again(x:cuda()):sum():isfinite():item(), torch.cuda.memory_allocated() > 0)
L
my $out = run_prompt($afresh, DLREPL_FAKE_CUDA_FAIL => 'cudaGetLastError:200=700');
like($out, qr/^afresh\ttrue\ttrue$/m, 'after reset_device() the card works again') or diag($out);
like($out, qr/^pinned\ttrue$/m, 'pinned tensors outlive it') or diag($out);
$out = run_prompt($afresh . 'print("left", pcall(torch.cuda.synchronize))',
                  DLREPL_FAKE_CUDA_FAIL => 'cudaGetLastError:200=700,cudaDeviceReset:*=700');
like($out, qr/the card did not come back/, 'a card that does not come back is told') or diag($out);
like($out, qr/^left\tfalse\tAcceleratorError: CUDA error: an illegal/m, 'its error stands')
    or diag($out);
like($out, qr/^pinned\ttrue$/m, 'and the CPU works on') or diag($out);
$out = run_prompt($afresh, DLREPL_FAKE_CUDA_FAIL => 'cudaGetLastError:200=700',
                  PYTORCH_CUDA_ALLOC_CONF => 'expandable_segments:True',
                  DLREPL_FAKE_CUDA_LOG => "$dir/log");
like($out, qr/^afresh\ttrue\ttrue$/m, 'expandable segments are made afresh too') or diag($out);
like(slurp("$dir/log"), qr/cuMemAddressFree 2\n(?:.*\n)*left .* ranges 2 pages 3 handles 3\n/,
     'and those of before are given back') or diag(slurp("$dir/log"));

# ---- what the runtime refuses, once --------------------------------------------------------------
for my $case (['cudaGetLastError:60=701', 'too many resources requested for launch'],
              ['cudaGetLastError:60=209',
               'no kernel image is available for execution on the device'],
              ['cudaMemcpyAsync:10=1', 'invalid argument'],
              ['cudaGetLastError:60=12345', 'unknown error']) {
    my ($fail, $text) = @$case;
    $out = run_prompt($train . "pcall(step)\nx:size()\nprint(\"then\", step() > 0)\n" x 2,
                      DLREPL_FAKE_CUDA_FAIL => $fail);
    my $told = () = $out =~ /CUDA error: \Q$text\E$/mg;
    is($told, 1, "$fail: told once") or diag($out);
    like($out, qr/^then\ttrue$/m, "$fail: and the GPU goes on") or diag($out);
}

my $pin = "z = torch.ones(3)\nz:pin_memory()\nprint('pinned', z:pin_memory():is_pinned())\n";
$out = run_prompt($pin, DLREPL_FAKE_CUDA_FAIL => 'cudaHostRegister:1=2');
like($out, qr/^AcceleratorError: CUDA error: out of memory\n(?:.*\n)*pinned\ttrue$/m,
     'pinned memory that the system refuses is told, and asked for anew') or diag($out);

# ---- the first touch -----------------------------------------------------------------------------
# Whatever fails while a context is made is told or mended, and nothing is done by halves.
my $first = <<'L';
for i = 1, 4 do
  local ok, e = pcall(function()
    torch.manual_seed(1)
    return torch.rand(2000, {device = "cuda"}):sum():item()
  end)
  print(i, ok, ok and string.format("%.3f", e) or tostring(e):match("^[^\n]*"))
end
print(torch.cuda.get_device_name(), torch.cuda.mem_get_info() > 0)
L
my ($right) = run_lua($first) =~ /^4\ttrue\t(\S+)$/m;
for my $call (qw(cudaSetDevice cudaHostAlloc cudaHostGetDevicePointer cudaMemGetInfo
                 cudaGetDeviceProperties cudaDeviceGetAttribute cudaDeviceGetDefaultMemPool
                 cudaMemPoolSetAttribute cudaMalloc cudaGetLastError)) {
    my $out = run_lua($first, DLREPL_FAKE_CUDA_FAIL => "$call:1=801,$call:2=801");
    like($out, qr/^4\ttrue\t\Q$right\E\nFake GPU\ttrue$/m, "$call fails at first: it ends well")
        or diag($out);
    unlike($out, qr/^\d\ttrue\t(?!\Q$right\E)/m, "$call: and gives no other numbers before");
}

# ---- CUDA_LAUNCH_BLOCKING ------------------------------------------------------------------------
my %late = (DLREPL_FAKE_CUDA_FAIL => 'cudaStreamSynchronize:31=700');
like(run_prompt($train, %late),
     qr/asynchronously reported.*\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1/,
     'an error that came late says so, as PyTorch does');
unlike(run_prompt($train, %late, CUDA_LAUNCH_BLOCKING => 1), qr/For debugging consider passing/,
       'with CUDA_LAUNCH_BLOCKING=1 it does not');
done_testing();
