/* virtual.h -- what cuda.h says of virtual memory, in our own words
 *
 * For range.cc. The name cuda.h is taken by a file of kernels/cuda; the few types that those
 * functions want are the same since CUDA 10.2. tests/cuda/driver/abi.t compares them with cuda.h.
 *
 * INVARIANT  Sizes, places and numbers are those of cuda.h on 64-bit Linux. */
#ifndef DL_CUDA_VIRTUAL_H
#define DL_CUDA_VIRTUAL_H

enum {
  DL_CUDA_HAS_VIRTUAL_MEMORY = 102, /* CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
  DL_CUDA_PINNED = 1,               /* CU_MEM_ALLOCATION_TYPE_PINNED */
  DL_CUDA_ON_DEVICE = 1,            /* CU_MEM_LOCATION_TYPE_DEVICE */
  DL_CUDA_SMALLEST = 0,             /* CU_MEM_ALLOC_GRANULARITY_MINIMUM */
  DL_CUDA_READ_WRITE = 3            /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
};

typedef unsigned long long dl_cuda_address; /* CUdeviceptr */
typedef unsigned long long dl_cuda_handle;  /* CUmemGenericAllocationHandle */

struct dl_cuda_location { int type, id; };  /* CUmemLocation */

struct dl_cuda_kind {                       /* CUmemAllocationProp */
  int type, handles;
  dl_cuda_location where;
  void *windows;
  unsigned char flags[8];
};

struct dl_cuda_access {                     /* CUmemAccessDesc */
  dl_cuda_location where;
  int may;
};

#endif
