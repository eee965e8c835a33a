#!/usr/bin/perl
# save.t -- a torch.save that is interrupted or cannot be written leaves the file that was there
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use File::Temp qw(tempdir);
use Test::More;

my $dir = tempdir(CLEANUP => 1);
my $path = "$dir/run.pth";

sub files {
    opendir my $in, $dir or die "$dir: $!";
    return join ' ', sort grep { !/^\./ } readdir $in;
}

# Saves without end, so that Ctrl-C comes in the middle of one.
my $program = Cli::write_file('forever.lua', <<"LUA");
torch.save({n = 1}, "$path")
local big = torch.zeros(1 << 24)
print("ready")
io.stdout:flush()
while true do torch.save({n = 2, big = big}, "$path") end
LUA
my $pid = open(my $out, '-|', $Cli::DLREPL, $program) // die "fork: $!";
is(scalar <$out>, "ready\n", 'a program saves 64 MiB over and over');
select undef, undef, undef, 0.2;
kill INT => $pid;
close $out;
is($? >> 8, 130, 'Ctrl-C ends it');
is(files(), 'run.pth', 'and leaves nothing half written beside the file');
my $r = Cli::lua("local s = torch.load('$path')\n"
    . "print(s.n == 1 or s.n == 2 and s.big:numel() == 1 << 24)");
is($r->{out} . $r->{err}, "true\n", 'which is whole: the old one, or a new one');

# A folder in which no file can be made: root may all the same, so it is asked for by its text.
SKIP: {
    skip 'root may write everywhere', 1 if $> == 0;
    chmod 0444, $path;
    $r = Cli::lua("print(pcall(torch.save, 1, '$path'))");
    like($r->{out}, qr/PermissionError.*Permission denied/, 'a file that may not be written');
}

# Beside a file there is no room for another where the name is as long as a name can be.
my $long = "$dir/" . 'n' x 255;
$r = Cli::lua("torch.save(5, '$long') torch.save(6, '$long') print(torch.load('$long'))");
is($r->{out} . $r->{err}, "6\n", 'a name of 255 letters');
unlink $long;

# A limit on the size of files stands for a full disk.
$r = Cli::run('sh', '-c', "ulimit -f 20; trap '' XFSZ; exec \$0 -e \"print(pcall(torch.save, "
    . "torch.ones(1 << 20), '$path')) print(torch.load('$path').n)\"", $Cli::DLREPL);
like($r->{out}, qr/writing file data\/0: file write failed\n  File too large\n.*^[12]$/ms,
    'where there is no more room, it says so, and the old file is there');
is(files(), 'run.pth', 'alone');
done_testing();
