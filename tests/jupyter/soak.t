#!/usr/bin/perl
# soak.t -- many cells, many interrupts, and memory that stays flat
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('soak.py');
