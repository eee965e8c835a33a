#!/usr/bin/perl
# blas.t -- cuBLAS under the real driver: found, refused, broken; what products ask of it
#
# fake/cublas.c is made into a library here and named by DLREPL_CUBLAS.
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

my $lib = "$dir/libcublas.so.13";
plan skip_all => 'no cc here to make a cuBLAS of the tests'
    unless cc(slurp('tests/cuda/fake/cublas.c'), $lib);
$ENV{DLREPL_CUBLAS} = $lib;

# Output, and how often the library's functions were called.
sub with_blas {
    my ($code, %env) = @_;
    unlink "$dir/blas";
    my $out = run_lua($code, %env, DLREPL_FAKE_CUBLAS_LOG => "$dir/blas");
    my %n = map { split ' ', $_ } grep { / \d+$/ } split /\n/, slurp("$dir/blas");
    return ($out, \%n);
}

# ---- products ------------------------------------------------------------------------------------
# Every layout and dtype that goes to cuBLAS, against the CPU.
my $products = <<'L';
torch.manual_seed(1)
local worst, count = 0, 0
local function same(what, make, tolerance)
  local a, b = make("cpu"), make("cuda"):cpu()
  local d = (a:double() - b:double()):abs():max():item() / (1 + a:double():abs():max():item())
  count = count + 1
  if d > tolerance or d ~= d then print("differs", what, d) end
end
local function r(...) return torch.randn(...) end
for name, tol in pairs {float64 = 1e-14, float32 = 1e-5, float16 = 2e-3, bfloat16 = 2e-2} do
  local t = torch[name]
  local a, b, c = r(7, 5):to(t), r(5, 9):to(t), r(7, 9):to(t)
  local at, bt = r(5, 7):to(t), r(9, 5):to(t)
  local wide, batch = r(7, 12):to(t), r(3, 7, 5):to(t)
  local bias, other = r(9):to(t), r(3, 5, 9):to(t)
  local function on(d, ...) -- the operands on d, views made there
    local out = {...}
    for i, x in ipairs(out) do out[i] = x:to(d) end
    return table.unpack(out)
  end
  local function case(what, fn) same(name .. " " .. what, fn, tol) end
  case("mm", function(d) local x, y = on(d, a, b) return x:mm(y) end)
  case("mm, first transposed", function(d) local x, y = on(d, at, b) return x:t():mm(y) end)
  case("mm, second transposed", function(d) local x, y = on(d, a, bt) return x:mm(y:t()) end)
  case("mm, both transposed", function(d) local x, y = on(d, at, bt) return x:t():mm(y:t()) end)
  case("mm of a slice", function(d) local x, y = on(d, wide, b) return x:narrow(1, 3, 5):mm(y) end)
  case("mm of a strided slice", function(d)
    local x, y = on(d, wide, b)
    return x:narrow(1, 0, 10):reshape(7, 5, 2):select(2, 1):mm(y)
  end)
  case("addmm", function(d)
    local x, y, z = on(d, a, b, c)
    return torch.addmm(z, x, y, {beta = 0.5, alpha = -2})
  end)
  case("linear", function(d)
    local x, w, z = on(d, a, bt, bias)
    return F.linear(x, w, z)
  end)
  case("bmm", function(d) local x, y = on(d, batch, other) return x:bmm(y) end)
  case("bmm, broadcast", function(d)
    local x, y = on(d, batch, b)
    return x:matmul(y)
  end)
  case("bmm, transposed", function(d)
    local x, y = on(d, batch, batch)
    return x:transpose(1, 2):bmm(y)
  end)
end
local x, w = r(2, 3, 8, 8), r(4, 3, 3, 3)
same("convolution", function(d) return F.conv2d(x:to(d), w:to(d)) end, 1e-5)
print(count .. " products")
L
my ($out, $n) = with_blas($products);
is($out, "45 products\n", 'products through cuBLAS are the CPU\'s, in every layout and dtype');
cmp_ok($n->{gemms}, '>=', 40, 'and cuBLAS it was that made them');
is($n->{creates}, 1, 'with one handle');
is($n->{workspace_bytes}, 33554432, 'that works in the workspace of PyTorch\'s size in the pool');
is($n->{streams}, 1, 'and is told its stream once');
($out, $n) = with_blas(<<'L');
local x = torch.ones(4, 4, {device = "cuda"})
local side = torch.cuda.Stream()
for _ = 1, 3 do
  x:mm(x)
  torch.cuda.stream(side, function() x:mm(x) end)
end
torch.cuda._clear_cublas_workspaces()
x:mm(x)
print(x:mm(x):sum():item())
L
is("$n->{streams} $out", "7 64.0\n", 'a change of stream is told, and a workspace that went');
for my $case ([0, 'false'], [1, 'true']) {
    my ($want, $flag) = @$case;
    ($out, $n) = with_blas("torch.backends.cuda.matmul.allow_tf32 = $flag\n"
                           . 'local x = torch.ones(8, 8, {device = "cuda"}) x:mm(x)');
    is($n->{tf32s}, $want, "allow_tf32 = $flag is what cuBLAS is told");
}
($out, $n) = with_blas(<<'L');
local net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)):cuda()
local opt = optim.SGD(net:parameters(), {lr = 0.1})
local x, y = torch.ones(4, 8, {device = "cuda"}), torch.tensor({0, 1, 2, 0}):cuda()
local first, last
for i = 1, 20 do
  opt:zero_grad()
  local loss = F.cross_entropy(net(x), y)
  loss:backward()
  opt:step()
  last = loss:item()
  first = first or last
end
print(last < first)
L
is($out, "true\n", 'a network trains through it');

# ---- libraries that are not right ----------------------------------------------------------------
my $use = 'local x = torch.ones(3, 3):cuda() print(x:mm(x):sum():item())';
sub doctor { my (%env) = @_; local @ENV{keys %env} = values %env; `$bin doctor 2>&1` =~ s/\s+/ /gr }
sub plain_kernels {
    my ($why, $name, %env) = @_;
    says(doctor(%env), $why, "$name: dlrepl doctor says why");
    says(run_lua($use, %env), "27.0\n", "$name: products go on");
}
says(doctor(), 'cuBLAS 13.2', 'dlrepl doctor names the cuBLAS in use');
plain_kernels('the cuBLAS found is version 11: 12 or 13 is needed', 'an older one',
              DLREPL_FAKE_CUBLAS => 'version=11');
plain_kernels('the cuBLAS found is version 14: 12 and 13 are known', 'a newer one',
              DLREPL_FAKE_CUBLAS => 'version=14');
plain_kernels('turned off by DLREPL_CUBLAS=0', 'none wanted', DLREPL_CUBLAS => 0);
cc('int cublasGetProperty(int w, int *v) { *v = 12; return 0; }', "$dir/half.so");
plain_kernels('the cuBLAS found lacks functions that are needed', 'half a library',
              DLREPL_CUBLAS => "$dir/half.so");
cc('int nothing;', "$dir/other.so");
plain_kernels('the cuBLAS found does not tell its version', 'another library',
              DLREPL_CUBLAS => "$dir/other.so");
spew("$dir/junk.so", "no library\n" x 50);
plain_kernels(qr/junk\.so: (invalid ELF header|file too short)/, 'no library at all',
              DLREPL_CUBLAS => "$dir/junk.so");
plain_kernels(qr/none\.so: cannot open shared object file/, 'one that is not there',
              DLREPL_CUBLAS => "$dir/none.so");

# ---- a library that fails ------------------------------------------------------------------------
$out = run_lua("$use $use", DLREPL_FAKE_CUBLAS => 'create=1');
says($out, 'cuBLAS does not start (CUBLAS_STATUS_NOT_INITIALIZED): matrix products go on with',
     'one that does not start is told');
like($out, qr/27\.0\n(?:.*\n)*27\.0\n/, 'and the plain kernels take over');
is(() = $out =~ /does not start/g, 1, 'it is told once');
$out = run_lua('torch.empty(2 ^ 22 // 1 | 0, {device = "cuda"}) collectgarbage() ' . $use,
               DLREPL_FAKE_CUBLAS => 'once=3');
says($out, "27.0\n",
     'one that finds no room starts when the pool has given some back');
$out = run_lua(<<"L", DLREPL_FAKE_CUBLAS => 'create=3');
print(pcall(function() $use end))
print((torch.ones(2):cuda() + 1):sum():item(), torch.ones(2, 2):mm(torch.ones(2, 2)):sum():item())
L
says($out, qr/RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate/,
     'one that finds none is PyTorch\'s error');
says($out, "\n4.0\t8.0\n", 'and the session goes on');
$out = run_lua("print(pcall(function() $use end)) print(torch.ones(2):cuda():sum():item())",
               DLREPL_FAKE_CUBLAS => 'gemm=13');
says($out, 'RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemm',
     'a product that fails is PyTorch\'s error');
says($out, "\n2.0\n", 'the device goes on');
done_testing();
