#!/usr/bin/perl
# processes.t -- a GPU and several processes: forked children, and others that fill the card
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

# ---- no GPU, in words ----------------------------------------------------------------------------
my $touch = 'print(torch.cuda.is_available(), torch.cuda.device_count())
             print(pcall(function() return torch.ones(1):cuda() end))
             print((torch.ones(2) + 1):sum())';
my $old = 'The NVIDIA driver on your system is too old (found version 11040). Please update your '
    . 'GPU driver by downloading and installing a new version from the URL: '
    . 'http://www.nvidia.com/Download/index.aspx Alternatively, go to: https://pytorch.org to '
    . 'install a PyTorch version that has been compiled with your version of the CUDA driver.';
for my $case (
    ['nodriver', 'Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU '
     . 'and installed a driver from http://www.nvidia.com/Download/index.aspx',
     'no NVIDIA driver (libcuda.so.1) was found'],
    ['old', $old, 'it knows 11.4, 13.0 is needed'],
    ['nodevice', 'No CUDA GPUs are available', 'there is a driver and no GPU that it shows'],
    ['broken=3', 'CUDA driver initialization failed, you might not have a CUDA gpu.',
     'initialization error'],
    ['broken=999', 'CUDA unknown error - this may be due to an incorrectly set up environment, '
     . 'e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.', '?'],
    ['broken=803', 'Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions '
     . 'before calling NumCudaDevices() that might have already set an error? Error 803: system '
     . 'has unsupported display driver / cuda driver combination', 'after an update of the driver'],
) {
    my ($machine, $text, $note) = @$case;
    my $out = run_lua($touch, DLREPL_FAKE_CUDA => $machine);
    like($out, qr/^false\t0\nfalse\tRuntimeError: \Q$text\E/, "$machine: PyTorch's error")
        or diag($out);
    says($out, $note, "$machine: and our note");
    says($out, "tensor(4.)", "$machine: the CPU works");
}

# ---- a card that others use too ------------------------------------------------------------------
my $full = <<'L';
local dev, MiB = {device = "cuda"}, 2 ^ 20 // 1 | 0
local function others(n)
  local f = io.open(os.getenv("DLREPL_FAKE_CUDA_OTHER"), "w")
  f:write(n)
  f:close()
end
others(0)
local free, total = torch.cuda.mem_get_info()
local x = torch.empty(40 * MiB // 4, dev)
others(200)
local less = torch.cuda.mem_get_info()
print("free", (free - less) // MiB, total // MiB, torch.cuda.memory_reserved() // MiB)
local ok, e = pcall(torch.empty, 40 * MiB // 4, dev)
print(e)
others(0)
print("again", torch.empty(40 * MiB // 4, dev):numel())
L
my %shared = (DLREPL_FAKE_CUDA => 'memory=256', DLREPL_FAKE_CUDA_OTHER => "$dir/other");
my $out = run_lua($full, %shared);
says($out, "free\t240\t256\t40\n", 'mem_get_info tells what others have taken');
my $oom = 'OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0 has a total '
    . 'capacity of 256.00 MiB of which 16.00 MiB is free. ';
says($out, $oom . 'Of the allocated memory 40.00 MiB', 'the error has the card\'s own figures');
says($out, '200.00 MiB of the card are not this program\'s tensors: other processes hold them',
     'our note says who');
says($out, "again\t10485760\n", 'when they are gone it works');

# nvidia-smi's library knows the processes; the card is asked for by its place on the bus.
my $nvml = <<'C';
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct process { unsigned pid; unsigned long long nbytes; unsigned a, b; };
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **out) {
  *out = (void *)place;
  return strcmp(place, "0000:01:00.0");
}
int nvmlDeviceGetUtilizationRates(void *card, unsigned *r) { return r[0] = 35, r[1] = 10, 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *card, unsigned *n, struct process *p) {
  unsigned many = atoi(getenv("TEST_PROCESSES"));
  if (many > *n) return 7;
  for (unsigned i = 0; i < many; i++)
    p[i] = (struct process){i == 1 ? getpid() : 4242 + i, i == 2 ? -1ull : (200ull - i) << 20};
  return *n = many, 0;
}
C
SKIP: {
    skip 'no cc here to make a library like nvidia-smi\'s', 6
        unless mkdir("$dir/lib") && cc($nvml, "$dir/lib/libnvidia-ml.so.1");
    my %smi = (%shared, LD_LIBRARY_PATH => "$dir/lib");
    says(run_lua($full, %smi, TEST_PROCESSES => 2),
         $oom . 'Process 4242 has 200.00 MiB memory in use. Including non-PyTorch memory, this '
         . 'process has 199.00 MiB memory in use. Of the allocated memory 40.00 MiB is',
         'with nvidia-smi\'s library there is a sentence for each process, as in PyTorch');
    says(run_lua($full, %smi, TEST_PROCESSES => 3), '199.00 MiB memory in use. Of the allocated',
         'a process without bytes is left out');
    my $many = run_lua($full, %smi, TEST_PROCESSES => 40);
    is(() = $many =~ /memory in use/g, 8, 'of many processes eight are named') or diag($many);
    says($many, 'expandable_segments:True', 'and the error is whole');
    says(run_lua($full, %smi, TEST_PROCESSES => 100), $oom . 'Of the allocated', 'too many: none');
    says(run_lua('torch.ones(1):cuda() print(torch.cuda.utilization())', %smi, TEST_PROCESSES => 1),
         "35\n", 'how busy the card is comes from there too');
}
says(run_lua('torch.ones(1):cuda() print(pcall(torch.cuda.utilization))'),
     'operation not supported',
     'without that library it is not known');

# ---- forked children -----------------------------------------------------------------------------
# Lua cannot fork; a module in C can. The tests' runtime ends a child that asks CUDA anything.
my $forker = <<'C';
#include <lua.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int l_fork(lua_State *L) { fflush(NULL); lua_pushinteger(L, fork()); return 1; }
static int l_wait(lua_State *L) {
  int status = 0;
  waitpid((pid_t)lua_tointeger(L, 1), &status, 0);
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
  return 1;
}
int luaopen_forker(lua_State *L) {
  lua_pushcfunction(L, l_fork); lua_setglobal(L, "fork");
  lua_pushcfunction(L, l_wait); lua_setglobal(L, "wait");
  return 0;
}
C
my ($include) = grep { -f "$_/lua.h" } qw(/usr/include/lua5.4 /usr/include /usr/local/include);
spew("$dir/forker.c", $forker);
my $made = $include
    && system("cc -shared -fPIC -w -I$include -o $dir/forker.so $dir/forker.c 2>$dir/err") == 0;
SKIP: {
    skip 'no cc or no Lua headers here to make a module that forks', 8 unless $made;
    my $fork = qq{package.cpath = "$dir/?.so;" .. package.cpath\nrequire "forker"\n};
    my $child = 'Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, '
        . "you must use the 'spawn' start method";
    my @asks = ('torch.ones(2, {device = "cuda"})', 'kept + 1', 'kept:cpu()', 'kept:item()',
                'tostring(kept)', 'torch.cuda.synchronize()', 'torch.cuda.mem_get_info()',
                'torch.cuda.Stream()', 'event:record()', 'event:query()', 'stream:synchronize()',
                'torch.ones(1):pin_memory()', 'loss:backward()',
                'torch.cuda.get_device_properties(0)', 'torch.ones(1):to("cuda:1")',
                'dlrepl.reset_device()');
    my $list = join "\n", map { "ask(function() return $_ end)" } @asks;
    $out = run_lua($fork . <<"L", DLREPL_FAKE_CUDA => 'devices=2');
kept = torch.ones(1, {device = "cuda"})
pinned = torch.arange(4.0):pin_memory()
stream, event = torch.cuda.Stream(), torch.cuda.Event()
event:record()
net = nn.Linear(3, 2):cuda()
loss = net(torch.ones(4, 3):cuda()):sum()
stream_two = torch.cuda.Stream()
local id = fork()
if id == 0 then
  local told = 0
  local function ask(fn)
    local ok, e = pcall(fn)
    if not ok and tostring(e):find([[$child]], 1, true) then told = told + 1
    else print("child", ok, e, debug.traceback()) end
  end
$list
  print("told", told, pinned:sum():item())
  print("child cpu", (torch.ones(3) * 2):sum():item())
  kept, net, loss, stream, event, stream_two, pinned = nil
  collectgarbage() collectgarbage()
  torch.cuda.empty_cache()
  os.exit(7, true)
end
print("ended", wait(id))
print("parent", kept:item(), net(torch.ones(4, 3):cuda()):sum():isfinite():item(), event:query())
loss:backward()
L
    says($out, 'told	' . @asks . "\t6.0\n",
         "a forked child: PyTorch's error for all it asks of the GPU, its pinned tensors readable")
        or diag($out);
    says($out, "child cpu\t6.0\n", 'it computes on the CPU');
    says($out, "ended\t7\n", 'and ends as it wishes, without a call of CUDA');
    says($out, "parent\t1.0\ttrue\ttrue\n", 'its parent works on');
    unlike($out, qr/fake CUDA|Sanitizer/, 'nothing else is said');
    $out = run_lua($fork . <<'L');
print("seen", torch.cuda.is_available())
local id = fork()
if id == 0 then
  print("child", pcall(function() return torch.ones(1):cuda():item() end))
  os.exit(3, true)
end
print("ended", wait(id))
L
    like($out, qr/child\t(true\t1\.0|false\tRuntimeError: \Q$child\E)/,
         'a child of one that only asked whether there is a GPU gets a clear answer') or diag($out);
    says($out, "ended\t3\n", 'and ends well');
    $out = run_lua($fork . <<'L');
local id = fork()
if id == 0 then
  print("child", torch.ones(1):cuda():item())
  os.exit(3, true)
end
print("ended", wait(id))
print("parent", torch.ones(1):cuda():item())
L
    says($out, "child\t1.0\nended\t3\nparent\t1.0\n", 'forked before CUDA starts, both have a GPU');
}
done_testing();
