#!/usr/bin/perl
# protocol.t -- each request and message of the protocol, as far as no other test has it
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Venv;
Venv::run('protocol.py');
