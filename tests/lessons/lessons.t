#!/usr/bin/perl
# lessons.t -- the lessons themselves: each task, each answer, each hint, and the sources
use strict;
use warnings;
use FindBin;
my $top = "$FindBin::Bin/../..";
chdir $top or die "$top: $!";
my $dlrepl = $ENV{DLREPL} || './dlrepl';
exec $dlrepl, 'lint', 'lessons', '--seeds', $ENV{FULL} ? 200 : 20, '--tap' or die "$dlrepl: $!";
