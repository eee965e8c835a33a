#!/usr/bin/perl
# gpu_memory.t -- what the environment says about the GPU's memory
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my $stats = 'x = torch.zeros(6 * 2^20, {device="cuda"}) local s = torch.cuda.memory_stats() '
    . 'print(s["reserved_bytes.all.current"], s["segment.all.current"], s.max_split_size)';

# The output of a program on a simulated T4, with an environment.
sub with {
    my ($env, $program) = @_;
    local %ENV = (%ENV, %$env);
    return run({}, $DLREPL, '--gpu', 'sim:t4', '-e', $program);
}

is(with({}, $stats)->{out}, "25165824\t1\t-1\n", '24 MiB are a segment of their own');
is(with({PYTORCH_CUDA_ALLOC_CONF => 'expandable_segments:True'}, $stats)->{out},
    "41943040\t0\t-1\n", 'PYTORCH_CUDA_ALLOC_CONF is read: expandable segments');
is(with({PYTORCH_ALLOC_CONF => 'max_split_size_mb:64'}, $stats)->{out}, "25165824\t1\t67108864\n",
    'so is PYTORCH_ALLOC_CONF');
is(with({PYTORCH_NO_CUDA_MEMORY_CACHING => 1}, $stats)->{out}, "0\t0\t-1\n",
    'PYTORCH_NO_CUDA_MEMORY_CACHING goes around the pool');
is(with({CUBLAS_WORKSPACE_CONFIG => ':16:8'}, 'x = torch.ones(2, 2, {device="cuda"}) x:mm(x) '
        . 'print(torch.cuda.memory_allocated())')->{out}, 512 + 16 * 1024 * 8 . "\n",
    "CUBLAS_WORKSPACE_CONFIG sizes cuBLAS's workspace");
my $r = with({PYTORCH_CUDA_ALLOC_CONF => 'max_split_size=64'}, 'print(1)');
like($r->{err}, qr/Unrecognized key 'max_split_size=64' in Accelerator allocator config/,
    'a text that makes no sense is an error');
like($r->{err}, qr/a key and its value are joined by ':'/, 'with what is meant');
like($r->{err}, qr{environment as PYTORCH_CUDA_ALLOC_CONF=max_split_size=64}, 'where it stands');
is(run({}, $DLREPL, '-e', 'print(1)')->{out}, "1\n", 'without a GPU nobody asks');

done_testing();
