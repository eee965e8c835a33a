#!/usr/bin/perl
# gpu.t -- --gpu and DLREPL_GPU: a simulated GPU from the command line
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my $name = 'print(torch.cuda.is_available() and torch.cuda.get_device_name(), '
    . 'torch.cuda.device_count())';

is(run({}, $DLREPL, '-e', $name)->{out}, "false\t0\n", 'no GPU unless asked for');
is(run({}, $DLREPL, '--gpu', 'sim:t4', '-e', $name)->{out}, "Tesla T4 [SIMULATED]\t1\n",
    '--gpu sim:t4 simulates a T4');
is(run({}, $DLREPL, '--gpu=sim:a100-80x2', '-e', $name)->{out},
    "NVIDIA A100-SXM4-80GB [SIMULATED]\t2\n", '--gpu=sim:a100-80x2 two A100');
{
    local $ENV{DLREPL_GPU} = 'sim:4090';
    is(run({}, $DLREPL, '-e', $name)->{out}, "NVIDIA GeForce RTX 4090 [SIMULATED]\t1\n",
        'DLREPL_GPU does the same');
    is(run({}, $DLREPL, '--gpu', 'none', '-e', $name)->{out}, "false\t0\n", '--gpu none undoes it');
}
my $r = run({}, $DLREPL, '--gpu', 'sim:t44', '-e', 'print(1)');
is($r->{status}, 2, 'a card that is not there ends the program with 2');
is($r->{out}, '', 'before anything runs');
like($r->{err}, qr/there is no card 't44'\n  did you mean 't4'/, 'and names one that is');
like(run({}, $DLREPL, '--gpu', 't4', '-e', '')->{err}, qr/a GPU is named as in sim:t4/,
    'the form is told');
is(run({}, $DLREPL, '--gpu')->{status}, 2, '--gpu alone is a usage error');

# A bad label is met where the host waits; CUDA_LAUNCH_BLOCKING=1 makes it wait at once.
my $label = 'local x = torch.zeros(2, 3, {device="cuda"}) '
    . 'print(pcall(F.cross_entropy, x, torch.tensor({1, 7}, {device="cuda"})))';
like(run({}, $DLREPL, '--gpu', 'sim:t4', '-e', $label)->{out}, qr/^true/,
    'a launch with a bad label returns');
{
    local $ENV{CUDA_LAUNCH_BLOCKING} = 1;
    like(run({}, $DLREPL, '--gpu', 'sim:t4', '-e', $label)->{out},
        qr/^false\tAcceleratorError: CUDA error: device-side assert/,
        'with CUDA_LAUNCH_BLOCKING=1 the line itself fails');
}
my $shell = 'print(io.popen("echo hi"):read(), torch.ones(2, {device="cuda"}):sum():item())';
is(run({}, $DLREPL, '--gpu', 'sim:t4', '-e', $shell)->{out}, "hi\t2.0\n",
    'programs can be run while a GPU is simulated');

# A list of tensors whose GPU was reset is shown all the same.
my $lost = repl("dlrepl.simulate 't4'\nx = torch.ones(2, {device='cuda'})\n"
    . "dlrepl.reset_device()\n{x, 5}\n")->{out};
is($lost,
    "{<userdata whose text fails: RuntimeError: this tensor's memory on cuda:0 is gone>,\n 5}\n",
    'a lost tensor in a list says why it has no text');

done_testing();
