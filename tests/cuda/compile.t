#!/usr/bin/perl
# compile.t -- nvcc takes every CUDA kernel, without warnings or too much shared memory
#
# The whole plugin for two architectures, in build/cuda-two; FULL=1: for all, as `make` builds it.
# What each kernel takes is then in resources.txt there. Where there is no nvcc nothing is checked,
# and that is said.
use strict;
use warnings;
use Test::More;

my $SHARED_MAX = 48 * 1024;    # bytes of static shared memory
my $SPILL_MAX = 64;            # bytes a thread, stored and loaded: a few registers outside of loops
my $full = ($ENV{FULL} // '') eq '1';
my $dir = $full ? 'build/cuda' : 'build/cuda-two';
my $plugin = $full ? 'build/dl_cuda.so' : 'build/cuda-two/dl_cuda.so';
$ENV{PATH} .= ':/usr/local/cuda/bin';
my $nvcc = $ENV{NVCC} // 'nvcc';
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};    # as if called by hand
my $make = "make --no-print-directory NVCC='$nvcc'";
chomp(my $why = `$make -s cuda-why 2>/dev/null`);
plan skip_all => "CUDA kernels are tested on the CPU alone: $why" if $? != 0;

# What ptxas -v says, as records of one kernel on one architecture.
sub resources {
    my ($file, $log) = @_;
    my (@all, $k);
    for (split /\n/, $log) {
        if (/Compiling entry function '(\S+)' for 'sm_(\d+)'/) {
            push @all, $k = {file => $file, name => $1, arch => $2, map { $_ => 0 }
                qw(spill stack shared registers)};
        } elsif ($k && /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill/) {
            @$k{qw(stack spill)} = ($1, $2 + $3);
        } elsif ($k && /Used (\d+) registers/) {
            $k->{registers} = $1;
            $k->{shared} = $1 if /(\d+) bytes smem/;
            $k = undef;
        }
    }
    return @all;
}

sub read_logs {
    my @kernels;
    for my $path (glob "$dir/*.log") {
        open my $in, '<', $path or die "$path: $!";
        local $/;
        push @kernels, resources($path =~ m{([^/]+)\.\w+\.log$}, scalar <$in>);
    }
    return @kernels;
}

sub most {
    my ($what, @kernels) = @_;
    my ($k) = sort { $b->{$what} <=> $a->{$what} } @kernels;
    return "$k->{$what} ($k->{file})";
}

# resources.txt: what was built, each architecture in a line, then every kernel.
sub report {
    my ($archs, @kernels) = @_;
    my ($version) = `$nvcc --version 2>/dev/null` =~ /(V\d[\d.]*)/;
    my @lines = ('nvcc ' . ($version // '?') . ", architectures @$archs, plugin of "
        . (-s $plugin) . ' bytes');
    for my $arch (@$archs) {
        my @here = grep { $_->{arch} == $arch } @kernels;
        push @lines, "sm_$arch: " . @here . ' kernels; at most '
            . join(', ', map { "$_ " . most($_, @here) } qw(registers shared stack));
    }
    push @lines, "sm_$_->{arch}: $_->{name} of $_->{file}.cu spills $_->{spill} bytes"
        for grep { $_->{spill} } @kernels;
    diag($_) for @lines;
    open my $out, '>', "$dir/resources.txt" or die "$dir/resources.txt: $!";
    print $out "$_\n" for @lines, '', 'arch registers shared stack spill file kernel';
    for (sort { $a->{name} cmp $b->{name} || $a->{arch} <=> $b->{arch} } @kernels) {
        print $out join(' ', @$_{qw(arch registers shared stack spill file name)}), "\n";
    }
    close $out;
}

sub check_kernels {
    my ($archs, @kernels) = @_;
    my $show = sub { join "\n", map { "sm_$_->{arch} $_->{file} $_->{name}: "
        . "$_->{spill} bytes spilled, $_->{shared} bytes shared" } @_ };
    my %of = map { $_ => 0 } @$archs;
    $of{$_->{arch}}++ for @kernels;
    my $each = $of{$archs->[0]};
    ok($each > 0 && !(grep { $_ != $each } values %of), "ptxas tells of $each kernels for each")
        or diag(map { "sm_$_: $of{$_}\n" } @$archs);
    my @spill = grep { $_->{spill} > $SPILL_MAX } @kernels;
    ok(!@spill, "no kernel spills over $SPILL_MAX bytes of registers") or diag($show->(@spill));
    my @shared = grep { $_->{shared} > $SHARED_MAX } @kernels;
    ok(!@shared, 'no kernel has over 48 KB of static shared memory') or diag($show->(@shared));
}

sub check_plugin {
    my @own = grep { / D dl_cuda/ } `nm -D --defined-only $plugin`;
    ok((grep { /dl_cuda_plugin/ } @own), 'the plugin exports its record') or diag(@own);
    my @late = grep { $_ > 35 } `objdump -T $plugin` =~ /GLIBC_2\.(\d+)/g;
    ok(!@late, 'it needs no glibc newer than 2.35') or diag(map { "2.$_ " } @late);
    is(join(' ', `objdump -T $plugin` =~ /\b(?:GLIBCXX|CXXABI|GCC)_[\d.]+/g), '',
        'and no C++ library of this system');
  SKIP: {
        skip 'the program was not built', 1 unless -x 'dlrepl';
        local @ENV{qw(DLREPL_CUDA DLREPL_CUDA_PLUGIN)} = (1, $plugin);
        my $said = `./dlrepl doctor 2>&1`;
        like($said, qr/no\s+NVIDIA\s+driver|\d\s+devices?;|CUDA driver|GPU that it/,
            'the program takes it and tells of the driver');
    }
}

# The Makefile makes code for several architectures of one PTX: that PTX must be their own.
sub check_ptx {
    my $options = '-std=c++17 --fmad=false -Isrc -Ikernels -Ikernels/cuda';
    my %known = map { $_ => 1 } `$nvcc --list-gpu-arch` =~ /^compute_(\d+)$/mg;
    for my $pair ([80, 90], [100, 120]) {
        next if grep { !$known{$_} } @$pair;
        for my $file (qw(shape softmax random)) {
            my ($a, $b) = map {
                my $ptx = `$nvcc $options -ptx -arch=compute_$_ -o - kernels/cuda/$file.cu 2>&1`;
                $ptx =~ s{^(?://|\.target|\.version).*\n}{}mg;
                $ptx;
            } @$pair;
            ok($a eq $b && $a =~ /\.entry/,
                "PTX of $file.cu is the same for compute_$pair->[0] and compute_$pair->[1]");
        }
    }
}

my $target = $full ? 'cuda' : 'cuda-two';
chomp(my $cores = `nproc 2>/dev/null` || 2);
my $log = `$make -j$cores $target WERROR=1 2>&1`;
is($?, 0, "make $target builds the plugin without a warning") or diag($log);
if ($? == 0) {
    open my $in, '<', "$dir/archs" or die "$dir/archs: $!";
    my @archs = split ' ', <$in>;
    my @kernels = read_logs();
    check_kernels(\@archs, @kernels);
    report(\@archs, @kernels);
    check_plugin();
    check_ptx() if $full;
}
done_testing();
