#!/usr/bin/perl
# reports.t -- what users of other kernels reported, tried on ours
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('reports.py');
