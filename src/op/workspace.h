/* workspace.h -- what PyTorch's CUDA kernels allocate besides their results
 *
 * For launch.c: the pool holds these bytes as PyTorch's does, so that its figures are PyTorch's.
 *
 * MUST NOT   know what a driver does with them. */
#ifndef DL_WORKSPACE_H
#define DL_WORKSPACE_H

#include "op/op.h"

/* Before the kernel of op runs on c->dev, a GPU; the results are there already. */
dl_status dl_workspace(dl_opid op, const dl_call *c);
/* torch._C._cuda_clearCublasWorkspaces(). */
void dl_workspace_clear(void);
int64_t dl_workspace_bytes(int dev);           /* held on dev, as the pool counts them */

#endif
