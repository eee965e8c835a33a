#!/usr/bin/perl
# console.t -- jupyter console on a terminal: lines, blocks, errors, Tab, Ctrl-C, input, leaving
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('console.py');
