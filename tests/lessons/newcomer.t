#!/usr/bin/perl
# newcomer.t -- from a clone to the first passed exercise in three minutes
use strict;
use warnings;
use FindBin;
use Test::More;

plan skip_all => 'it builds everything anew: FULL=1' if !$ENV{FULL};
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS FULL)};
my $out = `sh $FindBin::Bin/newcomer.sh </dev/null 2>&1`;
my $status = $? >> 8;
diag($out);
like($out, qr/^\[PASS\]/m, 'the first exercise is passed');
is($status, 0, 'in at most three minutes');
done_testing();
