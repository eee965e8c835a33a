#!/usr/bin/perl
# make.t -- the Makefile: nothing to do twice, the two commands, installing
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

chdir $TOP or die;
$ENV{DLREPL_NO_INSTALL} = 1; # a test never changes the machine
$ENV{CUDA} = 0; # nvcc.t is about the plugin
plan skip_all => 'another binary is tested' if $ENV{DLREPL};
my @make = ({seconds => 900}, 'make', '--no-print-directory'); # a build may have to come first

is(run(@make)->{status}, 0, 'make builds');
my $r = run(@make);
has_text($r->{out}, qr/^make[^\n]*(?:Nothing to be done|up to date)[^\n]*\n\z/,
    'make again does nothing');
is(run(@make, '-q')->{status}, 0, 'make -q agrees');
is(run(@make, '-q', '-W', 'src/base/error.h')->{status}, 1, 'objects depend on their headers');
is(run(@make, '-q', '-W', 'src/op/ops.def')->{status}, 1, '... and on the op table');

$r = run(@make, 'start');
is($r->{status}, 0, 'make start without a terminal ends with status 0');
has_text($r->{out}, qr/1\. Tensors.*That is the whole shape of it/s, '... and plays the tour');
is($r->{err}, '', '... without complaint');
has_text($r->{out}, qr/y = 3\.0\d\d x \+ 2\.0\d\d|y = 2\.9\d\d x \+ [12]\.\d+/,
    'the tour\'s model has learned');
has_text($r->{out}, 'tensor([4., 6.])', 'the tour\'s gradient is right');

my $prefix = "$TMP/prefix with blank";
$r = run(@make, 'install', "PREFIX=$prefix");
is($r->{status}, 0, 'make install PREFIX=... installs') or diag($r->{err});
$r = run("$prefix/bin/dlrepl", '-e', 'print(nn.Linear(1, 2).weight.shape)');
is($r->{out}, "torch.Size([2, 1])\n", 'the installed program finds its modules');
rename $prefix, "$TMP/moved";
$r = run("$TMP/moved/bin/dlrepl", '-e', 'print(nn.Linear(1, 2).weight.shape)');
is($r->{out}, "torch.Size([2, 1])\n", 'the tree can be moved');
symlink "$TMP/moved/bin/dlrepl", "$TMP/link";
$r = run("$TMP/link", '-e', 'print(nn.Linear(1, 2).weight.shape)');
is($r->{out}, "torch.Size([2, 1])\n", 'and be started through a link');

done_testing();
