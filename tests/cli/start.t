#!/usr/bin/perl
# start.t -- a start loads what is needed and no more
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

# Kilobytes of Lua's heap after the code.
sub heap {
    my ($code) = @_;
    my $count = "collectgarbage() print(collectgarbage('count'))";
    return run({}, $DLREPL, '-e', "$code $count")->{out} =~ s/\s//gr;
}

cmp_ok(heap(''), '<', 400, 'the Lua heap after the start is below 400 KB');
cmp_ok(heap('local _ = nn.Linear(2, 2)') - heap(''), '<', 400, 'a first layer adds less than that');

my $look = 'print(torch.ones(2) + 1) io.write(io.open("/proc/self/maps"):read("a"))';
my $maps = run({}, $DLREPL, '-e', $look);
SKIP: {
    skip 'no /proc here', 2 if $maps->{out} !~ /dlrepl/;
    unlike($maps->{out}, qr/libreadline/, 'a script does not load Readline');
    unlike($maps->{out}, qr/libdnnl/, 'nor oneDNN before it is needed');
}

# Every layer is found wherever it is asked for first.
my $names = run({}, $DLREPL, '-e', 'local _ = nn._ for k in pairs(nn) do print(k) end')->{out};
my @layers = grep { /^[A-Z]/ && !/^(?:Module|Parameter)$/ } split /\n/, $names;
cmp_ok(scalar @layers, '>', 70, 'completion sees all layers of nn');
my $code = join ' ', map { "assert(nn.$_.__name__)" } @layers;
is(run({}, $DLREPL, '-e', $code)->{err}, '', 'each of them is found by its name alone');
my $r = run({}, $DLREPL, '-e', 'nn.Linera(3)');
like($r->{err}, qr/has no attribute 'Linera'\n  did you mean 'Linear'/, 'a slip gets a suggestion');

done_testing();
