#!/usr/bin/perl
# abi.t -- the real driver against CUDA's own headers: it compiles, and what it says of cuda.h holds
#
# No GPU and no nvcc are needed, only the headers; where there are none nothing is checked.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

my ($cuda) = grep { -f "$_/cuda.h" && -f "$_/cuda_runtime.h" } map { "$_/include" }
    $ENV{CUDA_HOME} // (), '/usr/local/cuda', '/opt/cuda', '/usr';
plan skip_all => 'no CUDA headers here: the driver is compiled over the tests\' own' unless $cuda;
my $cxx = $ENV{CXX} // 'g++';
plan skip_all => 'no C++ compiler here' if system("$cxx --version >/dev/null 2>&1");
my $dir = tempdir(CLEANUP => 1);

sub compiles {
    my ($what, $options) = @_;
    my $log = `$cxx -std=c++17 -D_GNU_SOURCE -fsyntax-only -Werror -Wall $options 2>&1`;
    is($?, 0, $what) or diag($log);
}
for my $file (glob 'kernels/cuda/driver/*.cc') {
    compiles("$file compiles over $cuda", "-Isrc -Ikernels -Ikernels/cuda -isystem $cuda $file");
}

open my $f, '>', "$dir/abi.cc" or die $!;
print $f <<"C";
#include "$cuda/cuda.h"
#include <cstddef>
#include "virtual.h"
#define SAME(a, b) static_assert((a) == (b), #a " is " #b)
SAME(sizeof(dl_cuda_kind), sizeof(CUmemAllocationProp));
SAME(offsetof(dl_cuda_kind, where), offsetof(CUmemAllocationProp, location));
SAME(offsetof(dl_cuda_kind, handles), offsetof(CUmemAllocationProp, requestedHandleTypes));
SAME(offsetof(dl_cuda_kind, windows), offsetof(CUmemAllocationProp, win32HandleMetaData));
SAME(offsetof(dl_cuda_kind, flags), offsetof(CUmemAllocationProp, allocFlags));
SAME(sizeof(dl_cuda_location), sizeof(CUmemLocation));
SAME(offsetof(dl_cuda_location, id), offsetof(CUmemLocation, id));
SAME(sizeof(dl_cuda_access), sizeof(CUmemAccessDesc));
SAME(offsetof(dl_cuda_access, may), offsetof(CUmemAccessDesc, flags));
SAME(sizeof(dl_cuda_address), sizeof(CUdeviceptr));
SAME(sizeof(dl_cuda_handle), sizeof(CUmemGenericAllocationHandle));
SAME((int)DL_CUDA_HAS_VIRTUAL_MEMORY, (int)CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME((int)DL_CUDA_PINNED, (int)CU_MEM_ALLOCATION_TYPE_PINNED);
SAME((int)DL_CUDA_ON_DEVICE, (int)CU_MEM_LOCATION_TYPE_DEVICE);
SAME((int)DL_CUDA_SMALLEST, (int)CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME((int)DL_CUDA_READ_WRITE, (int)CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
C
close $f;
compiles('our words for virtual memory are those of cuda.h',
         "-Ikernels/cuda/driver $dir/abi.cc");
done_testing();
