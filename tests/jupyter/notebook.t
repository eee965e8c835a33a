#!/usr/bin/perl
# notebook.t -- the tour through nbconvert, and cells of our own through nbclient
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('notebook.py');
