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

# ---- at the prompt, where each line is line 1
$r = repl(<<'LINES');
dlrepl.simulate{card="t4", memory="64MiB", compute=false}
model = nn.Linear(1024, 1024):to("cuda")
x = torch.randn(64, 1024, {device="cuda"})
opt = optim.SGD(model:parameters(), {lr=0.1})
opt:step()
opt:step()
opt:step()
y = torch.ones(2^25, {device="cuda"})
LINES
my $text = $r->{out} . $r->{err};
like($text, qr/largest: 4.00 MiB at stdin:1, 6 inputs ago \(parameter, _to_copy, 2 tensors\); /,
    'what is alive is told by the input that made it');
like($text, qr/256.00 KiB at stdin:1, 5 inputs ago \(other, randn\)/, 'each with its own');
unlike($text, qr/let go of what earlier steps left/, 'a batch is not taken for what steps left');
unlike($text, qr/^nil$/m, 'a step that returns nothing shows nothing');

$r = repl(<<'LINES');
dlrepl.simulate{card="t4", memory="200MiB", compute=false}
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)):to("cuda")
losses = {}
for i = 1, 1000 do losses[i] = model(torch.randn(2048, 256, {device="cuda"})):pow(2):mean() end
#losses > 5
losses = nil
torch.cuda.memory_allocated() < 2^25
LINES
$text = $r->{out} . $r->{err};
like($text, qr/why: retention. `losses` \(\d+ tensors, \d+ separate graphs\) keeps/,
    'a list at the prompt that keeps graphs is named');
like($text, qr/^true\n.*^true$/ms, 'and once it is nil its memory is free');

done_testing();
