#!/usr/bin/perl
# memory.t -- the real driver's memory: expandable segments, scratch, and cards that are short
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

my %expandable = (PYTORCH_CUDA_ALLOC_CONF => 'expandable_segments:True');

# Large and small, freed in the middle, grown over it, emptied; the pool's figures at each step.
my $program = <<'L';
local card = os.getenv("TEST_SIMULATED")
if card then dlrepl.simulate(card) end
local dev, MiB = {device = "cuda"}, 2 ^ 20 // 1 | 0
local function figures(what)
  collectgarbage() collectgarbage()
  local s = torch.cuda.memory_stats()
  print(what, s["allocated_bytes.all.current"], s["reserved_bytes.all.current"],
        s["active_bytes.all.current"], s["inactive_split_bytes.all.current"],
        s["segment.all.current"], s["num_alloc_retries"], s["num_ooms"],
        s["num_device_alloc"], s["num_device_free"])
end
local one = torch.ones(1, dev)
figures("one float")
local five = torch.empty(5 * MiB // 4, dev)
figures("5 MiB")
local many = torch.empty(25 * MiB // 4, dev)
figures("25 MiB")
five = nil
torch.cuda.empty_cache()
figures("the 5 MiB gone")
local two = torch.empty(2 * MiB // 4, dev)
local wide = torch.empty(70 * MiB // 4, dev)
figures("2 and 70 MiB")
local x = torch.ones(60, 60, dev)
for _ = 1, 3 do x = x:mm(x):softmax(1):sum(0, true):expand(60, 60):contiguous() end
figures("a few ops")
many, two, wide, x = nil, nil, nil, nil
torch.cuda.empty_cache()
figures("all but one gone")
print(one:item())
L
for my $case (['plain segments'], ['expandable segments', %expandable]) {
    my ($what, %env) = @$case;
    my $theirs = run_lua($program, %env, TEST_SIMULATED => 'h100');
    my $ours   = run_lua($program, %env);
    is($ours, $theirs, "$what: the pool's figures are those over the simulated driver");
    like($ours, qr/\n1\.0\n\z/, "$what: what is kept lives through it");
}
my ($out, $n) = calls($program, %expandable);
ok(!$n->{cudaMalloc}, 'expandable: no segment is asked of cudaMalloc')
    or diag("cudaMalloc $n->{cudaMalloc}");
is($n->{wrong}, 0, 'expandable: CUDA is asked for nothing that it forbids') or diag($out);
is($n->{cuMemCreate}, $n->{cuMemRelease}, 'expandable: each handle is let go');
is($n->{left} =~ /ranges (\d+) pages (\d+) handles (\d+)/ ? "$1 $2 $3" : '', '2 3 3',
   'expandable: three pages are left, of the float that lives and the products\' workspace');

# ---- a card that has no such memory --------------------------------------------------------------
$out = run_lua($program, %expandable, DLREPL_FAKE_CUDA => 'novirtual');
says($out, 'expandable_segments not supported on this platform',
     'a card without virtual memory is told in PyTorch\'s words');
$out =~ s/.*expandable_segments.*\n//g;
$out =~ s/\A(?!one float).*\n//g;
is($out, run_lua($program), 'and whole segments do as well');
for my $missing ('cudaGetDriverEntryPointByVersion:4=500', 'cuMemGetAllocationGranularity:1=801') {
    $out = run_lua($program, %expandable, DLREPL_FAKE_CUDA_FAIL => $missing);
    says($out, qr/expandable_segments not supported.*\n(?:.*\n)*1\.0\n\z/,
         "a driver that lacks a function is such a card ($missing)");
}

# ---- scratch: what kernels need while they run ---------------------------------------------------
# A column has to be made contiguous first: 8 MiB beside the pool, on a card of 64.
my $scratch = <<'L';
local dev, MiB = {device = "cuda"}, 2 ^ 20 // 1 | 0
local wide = torch.zeros(MiB, 2, {device = "cuda", dtype = torch.int64})
local function count() return torch.bincount(wide:select(1, 0)):tolist()[1] end
local function reserved() return (torch.cuda.memory_reserved() // MiB) end
local function told(ok, e) return ok and "well" or tostring(e):match("^[^\n]-[rB]%.") end
L
my %small = (DLREPL_FAKE_CUDA => 'memory=64');
says(run_lua($scratch . <<'L', %small), qr/^1048576\t60\n1048576\t18\n$/,
print(count(), (function() local _ = torch.empty(42 * MiB // 4, dev) return reserved() end)())
collectgarbage() collectgarbage()
print(count(), reserved())
L
     'scratch that does not fit: the pool gives its cached blocks back first');
says(run_lua($scratch . <<'L', %small),
local kept = torch.empty(40 * MiB // 4, dev)
print(told(pcall(count)))
print((kept:fill_(2):max():item()))
kept = nil
collectgarbage() collectgarbage()
print(count(), torch.cuda.memory_stats()["num_ooms"])
L
     "OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 MiB.\n2.0\n1048576\t1\n",
     'where nothing can be given back it is PyTorch\'s error, and the next try works');
my $idle = $scratch . <<'L';
local image = torch.zeros(1, 2048, 1024, dev)
F.max_pool2d(image:transpose(1, 2), 64)
local rest = torch.empty(26 * MiB // 4, dev)
print(reserved(), torch.cuda.mem_get_info() // MiB)
rest = nil
collectgarbage() collectgarbage()
L
says(run_lua($idle, %small), qr/^64\t0\n$/, 'what scratch left idle does not keep a tensor out');
($out, $n) = calls($idle . 'print(count())', DLREPL_FAKE_CUDA => 'memory=64,noordered');
says($out, qr/^64\t0\n1048576\n$/, 'a card without the ordered allocator does the same');
is($n->{cudaMallocAsync} // 0, 0, 'and is not asked for it');
for my $error (2, 304, 800) {
    $out = run_lua($scratch . 'print(told(pcall(count))) print(count())',
                   DLREPL_FAKE_CUDA_FAIL => "cudaMallocAsync:2=$error");
    says($out, qr/^(well|.*CUDA (error|out of memory).*)?\n(.*\n)*1048576\n$/,
         "error $error of the ordered allocator is told or mended, and passes");
}
($out, $n) = calls(<<'L');
local x = torch.rand(100, 100, {device = "cuda"})
for _ = 1, 50 do x:std(0):sum() end
torch.cuda.synchronize()
for _ = 1, 50 do x:std(0):sum() end
L
ok(($n->{cudaMallocAsync} // 0) <= 1, 'a stream\'s small scratch is asked for once')
    or diag("cudaMallocAsync $n->{cudaMallocAsync}");

# ---- pinned memory -------------------------------------------------------------------------------
my $batches = <<'L';
local sum = 0
for i = 1, 10 do
  local batch = torch.full({1000}, i):pin_memory()
  local there = batch:to("cuda", {non_blocking = true})
  batch = nil
  collectgarbage() collectgarbage()
  sum = sum + there:sum():item()
end
print(sum)
L
($out, $n) = calls($batches);
is("$n->{cudaHostRegister} $out", "1 55000\n", 'pinned blocks are used again');
($out, $n) = calls($batches, DLREPL_FAKE_CUDA_FAIL => 'cudaEventQuery:*=600');
is("$n->{cudaHostRegister} $out", "10 55000\n", 'not while a copy may be at them');
is($n->{cudaHostUnregister} // 0, 0, 'nor are they freed then');
($out, $n) = calls(<<'L');
for _ = 1, 8 do
  local x = torch.zeros(20 * 2 ^ 20 // 1 | 0):pin_memory() -- 80 MiB
  x = nil
  collectgarbage() collectgarbage()
  torch.zeros(2 ^ 25 // 1 | 0):pin_memory()                -- 128 MiB
  collectgarbage() collectgarbage()
end
L
is($n->{cudaHostRegister} . ' ' . ($n->{cudaHostUnregister} // 0), '2 0',
   'large ones too, up to 256 MiB');
($out, $n) = calls(<<'L', DLREPL_FAKE_CUDA_FAIL => 'cudaEventQuery:*=600,cudaStreamQuery:*=600');
local e = torch.cuda.Event()
e:record()
print(e:query(), torch.cuda.current_stream():query())
print((torch.ones(2):cuda() + 1):sum():item())
L
is($out, "false\tfalse\n4.0\n", 'to be not ready is no error of what comes next');

# ---- each call fails in turn ---------------------------------------------------------------------
# Memory is taken, lost and given back around errors: afterwards the card has all of it.
my $stress = <<'L';
local dev, MiB = {device = "cuda"}, 2 ^ 20 // 1 | 0
pcall(torch.cuda.mem_get_info)
local free = torch.cuda.mem_get_info()
local words = {}
local function try(m)
  local ok, x = pcall(torch.empty, m * MiB // 4, dev)
  if ok then return x end
  words[#words + 1] = tostring(x):match("^[^\n]*"):sub(1, 60)
end
local kept = {}
for _, m in ipairs {1, 5, 25, 90, 3, 45} do kept[#kept + 1] = try(m) end
kept[2] = nil
collectgarbage() collectgarbage()
pcall(torch.cuda.empty_cache)
kept[7] = try(60)
kept = nil
collectgarbage() collectgarbage()
pcall(torch.cuda.empty_cache)
pcall(torch.cuda.empty_cache)
print(free == torch.cuda.mem_get_info(), torch.cuda.memory_allocated(),
      torch.cuda.memory_reserved())
print(table.concat(words, "; "))
local function sum(where) return (torch.ones(3, where) + 1):sum():item() end
local ok, x = pcall(sum, dev) -- the failure may be told only here
if not ok then ok, x = pcall(sum, dev) end
print(ok and x, sum {device = "cpu"})
L
my (%bad, $tried);
my @nth = $ENV{FULL} ? (1 .. 20, '*') : (1, 3, 9, '*');
for my $function (qw(cuMemAddressReserve cuMemCreate cuMemMap cuMemSetAccess)) {
    for my $nth (@nth) {
        for my $error (2, $nth eq '3' || $ENV{FULL} ? 304 : ()) {
            my ($o, $calls) = calls($stress, %expandable,
                                    DLREPL_FAKE_CUDA_FAIL => "$function:$nth=$error");
            $tried++;
            my $whole = $o =~ /^true\t0\t0\n/;
            my $clean = ($calls->{wrong} // 1) == 0;
            my $words = $error == 2 ? qr/CUDA out of memory|^\n/m : qr/CUDA error|^\n/m;
            $bad{"$function:$nth=$error"} = $o
                unless $whole && $clean && $o =~ $words && ($nth eq '*' || $o =~ /^6\.0\t6\.0$/m);
        }
    }
}
ok(!%bad, "$tried failures in the middle of growing lose nothing, and the program goes on")
    or diag(map { "$_:\n$bad{$_}" } (sort keys %bad)[0 .. (keys %bad > 4 ? 3 : keys(%bad) - 1)]);
done_testing();
