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

done_testing();
