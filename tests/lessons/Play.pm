# Play.pm -- plays lessons as a learner does
#
# For the tests in this folder: a lesson through pipes or on a terminal, with a progress of its own.
package Play;
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../cli";
use Cli;
use Exporter 'import';
use Test::More;
use IPC::Open2;
use Time::HiRes qw(sleep);

our @EXPORT = qw($FIXTURES $MEAN learn play_until progress fresh forget_all slurp %RIGHT);
our $FIXTURES = "$TOP/tests/lessons/fixtures";
our $MEAN = "$FIXTURES/01_mean.lua";

# What passes each step of the lesson X01 that asks for something, in order.
our @STEPS = qw(guess do fix one many order number match say);
our %RIGHT = (
    guess => ':answer 3.0',
    do => "function mean(x) return x:sum() / x:numel() end\n:check",
    fix => "function spread(x) return x:max() - x:min() end\n:check",
    one => ':answer b', many => ':answer a c', order => ':answer c b a',
    number => ':answer 4000', match => ':answer 1a 2b',
    say => ':answer a long list has a larger sum but no larger mean',
);

# A data folder that nothing is in.
my $folders = 0;
sub fresh {
    $ENV{XDG_DATA_HOME} = "$TMP/data" . ++$folders;
    return $ENV{XDG_DATA_HOME};
}

sub slurp { return Cli::read_file($_[0]); }

sub progress { return slurp("$ENV{XDG_DATA_HOME}/dlrepl/progress.jsonl"); }

# What the lines print, errors among it; the lesson is a file or an id.
sub learn {
    my ($lines, %opt) = @_;
    local $ENV{DLREPL_COLUMNS} = $opt{columns} // 80;
    my @seed = $opt{no_seed} ? () : ('--seed', $opt{seed} // 7);
    my $r = run({stdin => $lines, seconds => 60}, 'sh', '-c', 'exec "$@" 2>&1', 'sh', $DLREPL,
        'learn', $opt{lesson} // $MEAN, @seed);
    return $r->{out};
}

# Give the lines one by one; when `pattern` has come, kill -9. What was printed.
sub play_until {
    my ($lines, $pattern) = @_;
    local $ENV{DLREPL_COLUMNS} = 80;
    my $pid = open2(my $out, my $in, 'sh', '-c', 'exec "$@" 2>&1', 'sh', 'stdbuf', '-oL', $DLREPL,
        'learn', $MEAN, '--seed', 7);
    local $SIG{PIPE} = 'IGNORE';
    print $in "$lines\n";
    $in->flush;
    my $text = '';
    local $SIG{ALRM} = sub { kill 'KILL', $pid; };
    alarm 30;
    while (sysread $out, my $more, 4096) {
        $text .= $more;
        last if $text =~ $pattern;
    }
    alarm 0;
    kill 'KILL', $pid;
    waitpid $pid, 0;
    return $text;
}

1;
