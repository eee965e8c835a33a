#!/usr/bin/perl
# find.t -- cuBLAS is found where CUDA, pip and conda put it
#
# fake/cublas.c stands for it, of version 12 or 13 by its name. The programs run where /usr/local is
# empty, so that no CUDA of this machine is found before.
use strict;
use warnings;
use lib 'tests/cuda';
use FakeGpu;
use Test::More;

my @alone = qw(unshare -rm sh -c);
my $hide = 'mount -t tmpfs none /usr/local';
plan skip_all => 'no file system of its own can be made here'
    if system("@alone '$hide' 2>/dev/null") != 0;
plan skip_all => 'the loader knows a cuBLAS of this machine'
    if () = glob '/usr/lib/*/libcublas.so.1[23]';
my $made = "$dir/cublas.so";
plan skip_all => 'no cc here to make a cuBLAS of the tests'
    unless cc(slurp('tests/cuda/fake/cublas.c'), $made);

# What doctor says where the library lies at this place below a folder of its own; %env has "~" for
# that folder.
my $n = 0;
sub found {
    my ($place, $name, %env) = @_;
    my $root = "$dir/root" . $n++;
    system("mkdir -p '$root/bin' && printf '#!/bin/sh\\n' >'$root/bin/python3' && "
        . "chmod +x '$root/bin/python3' && mkdir -p '$root/$place' && "
        . "cp '$made' '$root/$place/$name'") == 0 or die;
    s/~/$root/ for values %env;
    local @ENV{keys %env} = values %env;
    delete local @ENV{grep { !exists $env{$_} } qw(CUDA_HOME VIRTUAL_ENV CONDA_PREFIX
        DLREPL_CUBLAS)};
    my $said = `@alone '$hide && exec "\$0" doctor' '$bin' 2>&1`;
    return $said =~ s/\s+/ /gr;
}
$ENV{HOME} = "$dir/nobody";
my $path = '/usr/bin:/bin';
my $site = 'lib/python3.11/site-packages/nvidia';
for my $case (
    ['the loader\'s path', 'any', 13, LD_LIBRARY_PATH => '~/any'],
    ['CUDA\'s folder', 'lib64', 12, CUDA_HOME => '~'],
    ['a virtual environment', "$site/cu13/lib", 13, VIRTUAL_ENV => '~'],
    ['conda', 'lib', 12, CONDA_PREFIX => '~'],
    ['pip, of the python3 of PATH', "$site/cublas/lib", 12, PATH => "/nowhere:~/bin:$path"],
    ['pip, for CUDA 13', "$site/cu13/lib", 13, PATH => "~/bin:$path"],
    ['pip install --user', ".local/$site/cublas/lib", 12, HOME => '~'],
) {
    my ($who, $place, $version, %env) = @$case;
    says(found($place, "libcublas.so.$version", PATH => $path, %env,
               DLREPL_FAKE_CUBLAS => "version=$version"),
         "cuBLAS $version.2", "cuBLAS $version is found: $who");
}
says(found("$site/cublas/lib", 'libcublas.so.11', PATH => "~/bin:$path"),
     'libcublas.so.12 or .13 was not found', 'an older one is not taken for it');
says(found('any', 'libcublas.so.13', PATH => "${path}:::" . '/long' x 200),
     'libcublas.so.12 or .13 was not found', 'elsewhere it is not, and that is said');
done_testing();
