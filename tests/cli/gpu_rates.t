#!/usr/bin/perl
# gpu_rates.t -- what is measured of a GPU: our rows and PyTorch's are the same; doctor --gpu
use strict;
use warnings;
use Cwd 'abs_path';
use Test::More;

my $bin = $ENV{DLREPL} // abs_path('dlrepl');
local $ENV{LUA_PATH} = 'tests/lua/?.lua;tests/gpu/?.lua;;';
my $python = system('python3 --version >/dev/null 2>&1') == 0;
for my $small ('', '--small') {
  SKIP: {
        skip 'no python3 here to ask peer.py', 1 unless $python;
        my $ours   = `$bin tests/gpu/rates.lua --names $small 2>&1`;
        my $theirs = `python3 tests/gpu/peer.py --names $small 2>&1`;
        is($ours, $theirs, "rates.lua and peer.py have the same rows $small");
    }
}
my $out = `$bin doctor --gpu sim:t4 2>&1`;
is($?, 0, 'dlrepl doctor --gpu sim:t4 ends well');
like($out, qr/^Tesla T4 \[SIMULATED\]\nSIMULATED: times come from a model/m, 'it says SIMULATED');
like($out, qr/^  copy on the card +2\d\d\.?\d* GB\/s +- +320 GB\/s +\d+ %$/m,
     'copies stand beside the data sheet') or diag($out);
like($out, qr/^  product fp16 +\d.* TFLOP\/s +- +65 TFLOP\/s +\d+ %$/m, 'so do products');
like($out, qr/^  one add of one element +\d+\.\d\d us$/m, 'and a launch has its time');
$out = `DLREPL_CUDA=0 $bin doctor --gpu 2>&1`;
is($? >> 8, 1, 'without a GPU it ends with status 1');
like($out, qr/^AssertionError: Torch not compiled with CUDA enabled/m, 'and PyTorch\'s error')
    or diag($out);
like($out, qr/dlrepl\.simulate\("t4"\)/, 'and what to do');
done_testing();
