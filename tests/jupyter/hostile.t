#!/usr/bin/perl
# hostile.t -- malformed, forged and huge messages, clients and parents that vanish
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('hostile.py');
