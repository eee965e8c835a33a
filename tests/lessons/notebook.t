#!/usr/bin/perl
# notebook.t -- lessons in notebooks, through Jupyter's own programs
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../jupyter";
use Venv;
Venv::run('../lessons/notebook.py');
