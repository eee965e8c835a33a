#!/usr/bin/perl
# dist.t -- the tarball of `make dist` runs where nothing of it is installed
#
# Without the CUDA plugin, which takes nvcc minutes; FULL=1: with it, for one architecture, where
# nvcc is.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Cli;
use Test::More;

chdir $TOP or die;
plan skip_all => 'another binary is tested' if $ENV{DLREPL};
plan skip_all => 'no objdump here' if system('objdump --version >/dev/null 2>&1') != 0;
my $full = ($ENV{FULL} // '') eq '1';
my @plugin = 'DIST_CUDA=0';
if ($full) {
    chomp(my $why = `make --no-print-directory -s cuda-why 2>/dev/null`);
    my $dir = "$TOP/build/cuda-90";
    @plugin = ('ARCHS=90', "CUDA_DIR=$dir", "PLUGIN=$dir/dl_cuda.so") if $? == 0;
    diag("the CUDA plugin is not in it: $why") if $? != 0;
}
chomp(my $cores = `nproc 2>/dev/null` || 2);
my $r = run({seconds => 3600}, 'make', '--no-print-directory', "-j$cores", 'dist', @plugin);
is($r->{status}, 0, 'make dist packs') or BAIL_OUT($r->{out} . $r->{err});
my ($tarball) = $r->{out} =~ m{^(build/dlrepl-\S+\.tar\.gz): \d+ kB}m;
ok($tarball && -s $tarball, 'and says what') or BAIL_OUT($r->{out});
cmp_ok(-s $tarball, '<', 45_000_000, 'in less than 45 MB');

# ---- another place, with an environment of nothing -------------------------------------------
my $place = "$TMP/else where";
mkdir $place;
system('tar', '-xzf', "$TOP/$tarball", '-C', $place) == 0 or BAIL_OUT('tar');
my ($top) = glob("'$place/'dlrepl-*");
my ($name) = $tarball =~ m{([^/]+)\.tar\.gz$};
is($top, "$place/$name", 'it unpacks into a folder of its name');
my @bare = ('env', '-i', "HOME=$TMP");
$r = run(@bare, "$top/dlrepl", '-e', 'print(nn.Linear(1, 2).weight.shape)');
is($r->{out} . $r->{err}, "torch.Size([2, 1])\n", 'the program finds what it needs');
symlink "$top/dlrepl", "$TMP/elsewhere";
$r = run(@bare, "$TMP/elsewhere", '-e', 'print(torch.arange(3):sum():item())');
is($r->{out} . $r->{err}, "3\n", '... through a link too');
$r = run(@bare, "$top/dlrepl", 'kernel', 'install', '--prefix', "$TMP/data");
has_text($r->{out}, 'installed as', 'the kernel can be installed from there');
$r = run(@bare, "$top/dlrepl", 'kernel', '-f', '/dev/null');
unlike($r->{err}, qr/libzmq/, '... and has its libzmq');
ok(-s "$top/$_", "$_ is there") for qw(lessons/10_device_mismatch.lua docs/ops.md LICENSE);

# ---- what its files need ------------------------------------------------------------
my (@late, @outside);
my @files = grep { -f && !-l && (-x || /\.so/) } split /\n/, `find '$top' -type f`;
for my $file (grep { `head -c 4 '$_'` eq "\x7fELF" } @files) {
    (my $short = $file) =~ s/^\Q$top\E\///;
    for (`objdump -T '$file' 2>/dev/null` =~ /GLIBC_(2\.\d+)/g) {
        push @late, "$short: glibc $_" if substr($_, 2) > 35;
    }
    my @libs = `LD_LIBRARY_PATH= ldd '$file' 2>&1`;
    next if $short =~ m{^lib/|\.so$};    # found by the program that loads them
    for (@libs) {
        next if m{\Q$place\E} || /^\s*(?:linux-vdso|\S*ld-linux)/
            || /^\s*(?:libc|libm|libdl|libpthread|librt|libresolv)\.so/;
        push @outside, "$short: $_";
    }
}
ok(!@late, 'no file needs a glibc newer than 2.35') or diag(join "\n", @late);
ok(!@outside, 'every library is inside, but for glibc') or diag(@outside);
ok(!(grep { m{/lib(?:readline|dnnl|cuda|cublas)\S*$} } @files),
    'Readline, oneDNN and NVIDIA\'s libraries stay out');

# A root file system of the tarball and glibc alone: what is not inside is not there.
SKIP: {
    my $root = "$TMP/root";
    mkdir $root;
    my @libc = map { m{(/\S+)} } grep { /lib(?:c|m|dl|pthread)\.so|ld-linux/ } `ldd '$top/dlrepl'`;
    for (@libc) {
        system("mkdir -p '$root/'\$(dirname $_) && cp -L $_ '$root$_'");
    }
    rename $top, "$root/dlrepl";
    mkdir "$root/$_" for 'proc', 'tmp';
    my @inside = ('unshare', '-r', 'chroot', $root);
    skip 'no user namespaces here', 1
        if run(@inside, '/dlrepl/dlrepl', '--version')->{status} == 1 && $> != 0;
    $r = run('unshare', '-rmpf', 'sh', '-c', "mount -t proc proc '$root/proc' && "
        . "exec chroot '$root' /dlrepl/dlrepl -e 'print(torch.ones(2) + 1)'");
    skip "no file system of its own can be made here: $r->{err}", 1
        if $r->{err} =~ /unshare|mount|chroot:/;
    is($r->{out} . $r->{err}, "tensor([2., 2.])\n", 'it runs in a root that has glibc alone');
    rename "$root/dlrepl", $top;
}
rename "$TMP/root/dlrepl", $top if !-d $top;

# ---- tests/gpu ------------------------------------------------------------
$ENV{OUT} = "$TMP/gpu out";
$ENV{DLREPL_CUDA_PLUGIN} = "$TMP/none.so";
$r = run('sh', "$top/tests/gpu/run");
has_text($r->{out}, qr/^1\.\.0 # SKIP not run: no GPU \(the CUDA plugin cannot be loaded/,
    'tests/gpu/run without a GPU says why it did not run') or diag($r->{err});
open my $json, '<', "$TMP/gpu out/gpu.json" or die $!;
has_text(join('', <$json>), '"ran": false', 'and its record says so');
$r = run("$top/tests/gpu/run", '--unknown');
is($r->{status}, 2, 'an unknown option is refused');
$r = run({seconds => 240}, "$top/tests/gpu/run", '--simulated');
is($r->{status}, 0, 'its steps pass on a simulated card') or diag($r->{out});
open $json, '<', "$TMP/gpu out/gpu.json" or die $!;
has_text(join('', <$json>), '"simulated": true', 'whose record says that it is one');

if (@plugin > 1) {
    ok(-s "$top/dl_cuda.so", 'the plugin is inside');
    delete $ENV{DLREPL_CUDA_PLUGIN};
    $r = run(@bare, "$top/dlrepl", 'doctor');
    like($r->{out}, qr/no\s+NVIDIA\s+driver|\d\s+devices?;/, 'doctor tells of the driver');
}
done_testing();
