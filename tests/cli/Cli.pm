# Cli.pm -- running dlrepl as a person does: through pipes, or on a terminal of its own
#
# For the tests in this folder. The terminal is a pseudo-terminal made with plain ioctls, so that no
# module outside perl itself is needed.
package Cli;
use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Select;
use POSIX ();
use Time::HiRes qw(time);
use Test::More;

our @EXPORT = qw($TOP $DLREPL $TMP run lua repl write_file same_text has_text);
our $TOP = abs_path(dirname(__FILE__) . '/../..');
our $DLREPL = $ENV{DLREPL} || "$TOP/dlrepl";
our $TMP = tempdir(CLEANUP => 1);
$ENV{XDG_DATA_HOME} = "$TMP/data";
$ENV{TERM} = "xterm";
$SIG{$_} = 'DEFAULT' for qw(HUP INT QUIT TERM PIPE); # whatever the caller ignores
$ENV{NO_COLOR} = 1;   # what is matched is text; colours.t has colours
delete @ENV{qw(LUA_PATH LUA_INIT LUA_PATH_5_4)};

sub write_file {
    my ($name, $text) = @_;
    open my $out, '>:raw', "$TMP/$name" or die "$TMP/$name: $!";
    print $out $text;
    close $out;
    return "$TMP/$name";
}

sub read_file {
    my ($path) = @_;
    open my $in, '<:raw', $path or return '';
    local $/;
    return scalar <$in> // '';
}

# run({stdin => text, seconds => 30}, command...) -> {out, err, status}; then a hang is ended.
sub run {
    my $opt = ref $_[0] ? shift : {};
    my $in = write_file('stdin', $opt->{stdin} // '');
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDIN, '<', $in;
        open STDOUT, '>', "$TMP/stdout";
        open STDERR, '>', "$TMP/stderr";
        alarm($opt->{seconds} // 30);
        exec @_ or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    my $status = $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
    return {out => read_file("$TMP/stdout"), err => read_file("$TMP/stderr"), status => $status};
}

# The program text as a file, run by dlrepl.
sub lua {
    my ($text, @args) = @_;
    return run($DLREPL, write_file('program.lua', $text), @args);
}

# Lines typed at a prompt without terminal.
sub repl { return run({stdin => $_[0]}, $DLREPL, '-i'); }

sub same_text {
    my ($got, $want, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return is($got, $want, $name);
}

sub has_text {
    my ($got, $want, $name) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    my $found = ref $want ? $got =~ $want : index($got, $want) >= 0;
    return ok($found, $name) || diag("wanted: $want\nin:     $got");
}

# ---- a terminal ------------------------------------------------------------------------------

package Cli::Terminal;
use Time::HiRes qw(time sleep);
use constant {TIOCSPTLCK => 0x40045431, TIOCGPTN => 0x80045430, TIOCSCTTY => 0x540e,
              TIOCSWINSZ => 0x5414};

our @SIZE = (24, 80);   # rows and columns of the next terminal

# Start a command on a terminal of its own.
sub start {
    my ($class, @command) = @_;
    open my $master, '+<', '/dev/ptmx' or return undef;
    my $unlock = pack 'i', 0;
    ioctl $master, TIOCSPTLCK, $unlock or return undef;
    my $number = pack 'i', 0;
    ioctl $master, TIOCGPTN, $number or return undef;
    my $name = '/dev/pts/' . unpack 'i', $number;
    my $size = pack 'S4', @SIZE, 0, 0;
    ioctl $master, TIOCSWINSZ, $size;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        POSIX::setsid();
        close $master;
        open STDIN, '+<', $name or POSIX::_exit(126);
        ioctl STDIN, TIOCSCTTY, 0;
        open STDOUT, '>&', \*STDIN;
        open STDERR, '>&', \*STDIN;
        alarm 60;
        exec @command or POSIX::_exit(127);
    }
    my $select = IO::Select->new($master);
    return bless {fd => $master, pid => $pid, text => '', select => $select}, $class;
}

sub send { my ($t, $text) = @_; syswrite $t->{fd}, $text; }

# Send a long text, reading what comes meanwhile (else both sides would wait for each other).
sub paste {
    my ($t, $text, $seconds) = @_;
    my $end = time + ($seconds // 20);
    my $out = IO::Select->new($t->{fd});
    for (my $at = 0; $at < length $text && time < $end;) {
        $t->read_some(0);
        next unless $out->can_write(0.1);
        my $n = syswrite $t->{fd}, $text, 2048, $at;
        $at += $n if $n;
    }
}

sub read_some {
    my ($t, $seconds) = @_;
    return 0 unless $t->{select}->can_read($seconds);
    my $n = sysread $t->{fd}, my $more, 65536;
    $t->{text} .= $more if $n;
    return $n;
}

sub resize {
    my ($t, $rows, $columns) = @_;
    my $size = pack 'S4', $rows, $columns, 0, 0;
    ioctl $t->{fd}, TIOCSWINSZ, $size;
}

# The terminal's local modes (ECHO, ICANON …) as a number.
sub modes {
    my ($t) = @_;
    my $settings = "\0" x 60;
    ioctl $t->{fd}, 0x5401, $settings or return undef;
    return (unpack 'L4', $settings)[3];
}

# Wait until the pattern comes (it and all before it is consumed): the seconds it took, or undef.
sub shows {
    my ($t, $pattern, $seconds) = @_;
    my $begin = time;
    while (1) {
        if ($t->{text} =~ s/\A.*?$pattern//s) { return time - $begin; }
        my $left = $begin + $seconds - time;
        return undef if $left <= 0;
        next unless $t->{select}->can_read($left);
        my $n = sysread $t->{fd}, my $more, 65536;
        return undef unless $n;
        $t->{text} .= $more;
    }
}

sub wait_for {
    my ($t, $pattern, $seconds) = @_;
    my $took = $t->shows($pattern, $seconds // 10);
    Test::More::diag("waited for $pattern; got: $t->{text}") unless defined $took;
    return $took;
}

# Ctrl-D and the exit status. A terminal drops what is typed while a line is being computed, so that
# it is asked again; what is still there at the end is killed.
sub leave {
    my ($t) = @_;
    for my $try (1 .. 4) {
        $t->send("\x04");
        my $end = time + 3;
        while (time < $end) {
            if (waitpid $t->{pid}, POSIX::WNOHANG()) {
                return $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
            }
            sysread $t->{fd}, my $rest, 65536 if $t->{select}->can_read(0.02);
        }
    }
    return $t->finish(1);
}

# Exit status, after at most `seconds`; undef if it is still there (it is then killed).
sub finish {
    my ($t, $seconds) = @_;
    my $end = time + ($seconds // 5);
    while (time < $end) {
        return $? & 127 ? 'signal ' . ($? & 127) : $? >> 8 if waitpid $t->{pid}, POSIX::WNOHANG();
        sysread $t->{fd}, my $rest, 65536 if $t->{select}->can_read(0.02);
    }
    kill 'KILL', $t->{pid};
    waitpid $t->{pid}, 0;
    return undef;
}

1;
