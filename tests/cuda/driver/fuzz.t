#!/usr/bin/perl
# fuzz.t -- random calls, and each allocation refused in turn, over the real driver
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

$ENV{DLREPL_FAKE_CUDA} = 'devices=2,memory=64';
my $full = ($ENV{FULL} // '') eq '1';
for my $seed ($full ? 1 .. 10 : 1) {
    my $out = `$bin tests/fuzz/calls.lua @{[$full ? 10000 : 1500]} $seed cuda 2>/dev/null`;
    is(() = $out =~ /^ok/mg, 2, "random calls raise our own errors and leave nothing ($seed)")
        or diag($out);
}
for my $case (['plain segments', ''], ['expandable segments', 'expandable_segments:True']) {
    my ($what, $conf) = @$case;
    local $ENV{PYTORCH_CUDA_ALLOC_CONF} = $conf;
    my $out = `$bin tests/fuzz/refuse.lua @{[$full ? 1000 : 40]} cuda 2>&1`;
    my $good = () = $out =~ /^ok/mg;
    ok($good > 20 && $out !~ /^not ok|Sanitizer/m,
       "host or device refuse memory at any place, $what: a clear error or the result")
        or diag($out);
}
done_testing();
