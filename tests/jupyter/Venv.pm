# Venv.pm -- a test of this folder that is written in Python
#
# For the .t files here: Venv::run('lab.py') makes build/venv where it is missing and goes on as
# that program, whose output is TAP. Where it cannot be made all is skipped, with the reason.
package Venv;
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

our $HERE = abs_path(dirname(__FILE__));
our $TOP = abs_path("$HERE/../..");

# The folder of the environment, or nothing and the reason.
sub folder {
    chdir $TOP or die "$TOP: $!";
    my $out = `sh tests/jupyter/venv.sh 2>&1`;
    $out =~ s/\s+$//;
    return $? == 0 ? (abs_path($out), undef) : (undef, $out);
}

sub run {
    my ($program, @args) = @_;
    my ($venv, $why) = folder();
    if (!$venv) {
        $why =~ tr/\n/ /;
        print "1..0 # SKIP $why\n";
        exit 0;
    }
    $ENV{PATH} = "$venv/bin:$ENV{PATH}";
    $ENV{DLREPL} ||= "$TOP/dlrepl";
    exec "$venv/bin/python", "$HERE/$program", @args or die "$venv/bin/python: $!";
}

1;
