#!/usr/bin/perl
# setup.t -- the set-up script: what it says and calls on machines that lack something
#
# The machine is a folder of programs: real ones that the script uses, and an apt-get that only
# writes down how it was called.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

my $setup = "$TOP/.ci/setup.sh";
delete $ENV{DLREPL_NO_INSTALL};

sub find_program {
    my ($name) = @_;
    my ($path) = grep { -x } map { "$_/$name" } split(/:/, $ENV{PATH}), '/usr/bin', '/bin';
    return $path;
}
my $sh = find_program('sh');

# A folder with these real programs and, if asked for, an apt-get and a sudo that write a log.
my $n = 0;
sub machine {
    my (%o) = @_;
    my $bin = "$TMP/bin" . $n++;
    mkdir $bin or die;
    for my $tool (qw(cat grep mkdir mktemp rm id env), @{$o{has} // []}) {
        my $path = find_program($tool);
        symlink $path, "$bin/$tool" if $path;
    }
    for my $fake (@{$o{fake} // []}) {
        my $does = $fake eq 'sudo' ? 'exec "$@"' : $o{fails} ? 'exit 100' : 'exit 0';
        open my $out, '>', "$bin/$fake" or die;
        print $out "#!$sh\necho $fake \"\$@\" >>$bin/log\n$does\n";
        close $out;
        chmod 0755, "$bin/$fake";
    }
    return $bin;
}

sub set_up {
    my ($bin, $purpose) = @_;
    local $ENV{PATH} = $bin;
    local $ENV{XDG_CACHE_HOME} = "$bin/cache";
    local $ENV{CC} = $ENV{CC_HERE} // 'cc';
    my $r = run($sh, $setup, $purpose // 'start');
    $r->{log} = '';
    if (open my $in, '<', "$bin/log") { local $/; $r->{log} = <$in>; }
    return $r;
}

my $bare = machine();
my $r = set_up($bare);
is($r->{status}, 1, 'without apt-get and compiler the set-up ends with status 1');
has_text($r->{err}, qr/gcc.*liblua5\.4-dev/s, '... and names the packages');
has_text($r->{err}, qr/Fedora.*Arch/s, '... for other systems too');

my $debian = machine(fake => ['apt-get', 'sudo']);
$r = set_up($debian);
has_text($r->{out}, qr/About to install with apt-get:\n  needed:.*gcc.*make.*liblua5\.4-dev/,
    'it says what it installs');
has_text($r->{log}, qr/^apt-get update$/m, 'it refreshes the lists');
has_text($r->{log}, qr/^apt-get install -y .*gcc.*liblua5\.4-dev/m, 'it installs what is needed');
ok($r->{log} !~ /install .*\bperl\b/, 'to start, the test program is not needed');
is($r->{status}, 1, 'what is still missing afterwards ends with status 1');
has_text($r->{err}, qr/still misses:.*gcc/, '... and is named');
$r = set_up(machine(fake => ['apt-get', 'sudo']), 'test');
has_text($r->{log}, qr/install -y .*\bperl\b/, 'to test, prove is needed');

my $broken = machine(fake => ['apt-get', 'sudo'], fails => 1);
$r = set_up($broken);
is($r->{status}, 1, 'an installation that fails ends with status 1');
has_text($r->{out}, 'apt-get update failed', '... and lists that could not be refreshed are told');

my $whole = machine(has => [qw(cc gcc ld as collect2 make pkg-config prove)],
    fake => ['apt-get', 'sudo'], fails => 1);
$r = set_up($whole);
is($r->{status}, 0, 'with everything needed the set-up succeeds, whatever the optional packages do')
    or diag($r->{out} . $r->{err});
my $before = $r->{log};
$r = set_up($whole);
is($r->{log}, $before, 'optional packages are proposed once');
is($r->{out}, '', '... and then it says nothing');

{
    local $ENV{CC_HERE} = 'env cc';
    $r = set_up($whole);
    is($r->{log}, $before, 'a compiler of two words is a compiler');
}
{
    local $ENV{DLREPL_NO_INSTALL} = 1;
    my $locked = machine(fake => ['apt-get', 'sudo']);
    $r = set_up($locked);
    is($r->{log}, '', 'DLREPL_NO_INSTALL installs nothing');
    has_text($r->{err}, qr/needs:.*gcc/, '... and tells what is needed');
}

done_testing();
