#!/usr/bin/perl
# lab.t -- JupyterLab in a browser: open the tour, run it, complete, interrupt, restart
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('lab.py');
