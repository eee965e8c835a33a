#!/usr/bin/perl
# compile.t -- nvcc takes every CUDA kernel, without warnings, spills or too much shared memory
#
# A few files for two architectures; FULL=1: the whole plugin for all, its resources in
# build/cuda/resources.txt. Where there is no nvcc nothing is checked, and that is said.
use strict;
use warnings;
use Test::More;

my $SHARED_MAX = 48 * 1024;    # bytes of static shared memory
my $full = ($ENV{FULL} // '') eq '1';
my @places = (split(/:/, $ENV{PATH}), '/usr/local/cuda/bin');
my ($nvcc) = grep { -x } $ENV{NVCC} || (), map { "$_/nvcc" } @places;
plan skip_all => 'no nvcc here: CUDA kernels are tested on the CPU alone' unless $nvcc;
my %known = map { $_ => 1 } `$nvcc --list-gpu-code 2>/dev/null` =~ /^sm_(\d+)$/mg;
my @wanted = grep { $known{$_} } qw(75 80 86 89 90 100 120);
plan skip_all => "$nvcc knows none of our architectures" unless @wanted;

# What ptxas -v says, as records of one kernel on one architecture.
sub resources {
    my ($log) = @_;
    my (@all, $k);
    for (split /\n/, $log) {
        if (/Compiling entry function '(\S+)' for '(sm_\d+)'/) {
            push @all, $k = {name => $1, arch => $2, spill => 0, shared => 0, registers => 0};
        } elsif ($k && /(\d+) bytes spill stores, (\d+) bytes spill loads/) {
            $k->{spill} = $1 + $2;
        } elsif ($k && /Used (\d+) registers/) {
            $k->{registers} = $1;
            $k->{shared} = $1 if /(\d+) bytes smem/;
            $k = undef;
        }
    }
    return @all;
}

sub check {
    my ($where, @kernels) = @_;
    my $show = sub { join "\n", map { "$_->{arch} $_->{name}: $_->{spill} bytes spilled, "
        . "$_->{shared} bytes shared" } @_ };
    ok(@kernels > 0, "$where: ptxas tells of " . @kernels . ' kernels');
    my @spill = grep { $_->{spill} } @kernels;
    ok(!@spill, "$where: no kernel spills registers") or diag($show->(@spill));
    my @shared = grep { $_->{shared} > $SHARED_MAX } @kernels;
    ok(!@shared, "$where: no kernel has over 48 KB of static shared memory")
        or diag($show->(@shared));
}

sub quick {
    my @archs = @wanted > 1 ? @wanted[0, -1] : @wanted;
    my $options = '-std=c++17 -O3 --fmad=false --Werror all-warnings -Isrc -Ikernels';
    my $code = join ' ', map { "-gencode arch=compute_$_,code=sm_$_" } @archs;
    for my $file (qw(table copy shape)) {
        my $log = `$nvcc $options $code -Xptxas -v -c -o /dev/null kernels/cuda/$file.cu 2>&1`;
        is($?, 0, "nvcc compiles $file.cu for @archs without a warning") or diag($log);
        check($file, resources($log)) unless $file eq 'table';
    }
}

sub whole {
    my $log = `make --no-print-directory -j2 cuda NVCC=$nvcc 2>&1`;
    is($?, 0, "make cuda builds the plugin for @wanted") or return diag($log);
    my @kernels = map { open my $in, '<', $_ or die "$_: $!"; local $/; resources(<$in>) }
        glob 'build/cuda/*.log';
    check('the plugin', @kernels);
    open my $out, '>', 'build/cuda/resources.txt' or die "build/cuda/resources.txt: $!";
    print $out "$_->{arch} $_->{registers} registers $_->{shared} bytes shared $_->{name}\n"
        for sort { $a->{name} cmp $b->{name} || $a->{arch} cmp $b->{arch} } @kernels;
    close $out;
    my @own = grep { / D dl_cuda/ } `nm -D --defined-only build/dl_cuda.so`;
    ok((grep { /dl_cuda_plugin/ } @own), 'the plugin exports its record') or diag(@own);
}

$full ? whole() : quick();
done_testing();
