#!/usr/bin/perl
# run.t -- tests/gpu/run, as on a machine with a GPU: over the real driver and the tests' runtime
use strict;
use warnings;
use lib 'tests/cuda';
use Cwd 'abs_path';
use FakeGpu;
use Test::More;

my $ops = abs_path('build-asan/tests/c/ops_gpu');
plan skip_all => 'build-asan/tests/c/ops_gpu was not built' unless $ops && -x $ops;
my $out = "$dir/out";
%ENV = (%ENV, DLREPL => $bin, DLREPL_OPS => $ops, OUT => $out, DLREPL_FAKE_CUDA_ASTRAY => 1);
delete $ENV{LUA_PATH};
$ENV{DLREPL_CUBLAS} = "$dir/libcublas.so.13"
    if cc(slurp('tests/cuda/fake/cublas.c'), "$dir/libcublas.so.13");

# A few rows of ops.def, so that the sanitizer has time for it; FULL=1: all.
sub wrapper {
    my ($name, $body) = @_;
    spew("$dir/$name", "#!/bin/sh\n$body\n");
    chmod 0755, "$dir/$name";
    return "$dir/$name";
}
$ENV{DLREPL_OPS} = wrapper('ops', "exec '$ops' \"\$@\" add sum mm softmax") unless $ENV{FULL};
# PyTorch need not be there
mkdir "$dir/path";
wrapper('path/python3', <<'P');
case $* in *cpu*) ;; *) set -- "$@" ;; esac
printf '{"card":"Fake GPU","torch":"2.15.0"}\n{"name":"add","unit":"GB/s","value":1e-9,"ms":1}\n'
printf '{"name":"training step, MLP","unit":"ms","value":1e9,"ms":1e9}\n'
P
$ENV{PATH} = "$dir/path:$ENV{PATH}";

sub json { return run_lua(<<"L") }
local r = require("dlrepl.json").decode(io.open("$out/gpu.json"):read("a"))
local by = {}
for _, s in ipairs(r.steps) do by[#by + 1] = s.name .. " " .. s.ended end
print(r.ran, r.finished, #r.rates, r.card, r.small)
print(table.concat(by, "; "))
for _, x in ipairs(r.rates) do
  if x.name == "gemm fp16 48" then print("library", x.library and x.library > 0) end
  if x.name == "training step, MLP" then print("faster", x.ratio and x.ratio > 1) end
end
L
my $tap = `sh tests/gpu/run --small 2>&1`;
is($?, 0, 'it ends well');
is(() = $tap =~ /^ok /mg, 8, 'each of its steps passes') or diag($tap);
unlike($tap, qr/^not ok/m, 'and none fails') or diag($tap);
my $record = json();
like($record, qr/^true\ttrue\t20\tFake GPU\ttrue\n/, 'the record is whole') or diag($record);
like($record, qr/fault-address well/, 'the illegal address was among them');
like($record, qr/^library\ttrue$/m, 'products stand beside cuBLAS') if -e "$dir/libcublas.so.13";
like($record, qr/^faster\ttrue$/m, 'and rows beside PyTorch\'s');

# ---- a step that hangs ---------------------------------------------------------------------------
local $ENV{DLREPL} = wrapper('hangs', <<"W");
case \$* in *checks.lua*) sleep 60;; esac
exec '$bin' "\$@"
W
my $start = time;
$tap = `sh tests/gpu/run --small --seconds 6 2>&1`;
my $took = time - $start;
cmp_ok($took, '<', 45, "one that hangs does not keep the rest waiting for ever ($took s)");
like($tap, qr/^not ok \d+ - devices, memory and training/m, 'it has not passed') or diag($tap);
like(json(), qr/checks late: it had \d+ s/, 'the record says that it was late');
my $pid = fork // die $!;
if (!$pid) {
    setpgrp;
    open STDOUT, '>', '/dev/null';
    exec 'sh', 'tests/gpu/run', '--small';
}
for (1 .. 300) { # until it hangs
    last if slurp("$out/gpu.json") =~ /"parity"/ && (stat "$out/gpu-checks.log") && $_ > 20;
    select undef, undef, undef, 0.1;
}
kill 'KILL', -$pid;
waitpid $pid, 0;
$record = json();
like($record, qr/^true\tfalse\t0\tFake GPU\ttrue\nops well; parity well/,
     'a run that is killed leaves what it found') or diag($record);
done_testing();
