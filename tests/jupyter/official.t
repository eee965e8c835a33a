#!/usr/bin/perl
# official.t -- jupyter_kernel_test with every optional test on
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('official.py');
