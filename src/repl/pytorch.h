/* pytorch.h -- the PyTorch spelling of Lua text
 *
 * For magic.c. What stands on the page of the Lua surface is turned round: methods, keyword tables,
 * lists, indices, operators, blocks. It is for reading and practising, so what has no counterpart
 * stays as it is.
 *
 * MUST NOT know Lua states. */
#ifndef DL_REPL_PYTORCH_H
#define DL_REPL_PYTORCH_H

#include <stddef.h>

/* The caller frees the text; NULL without memory. Any bytes may come in. */
char *dl_pytorch_spelling(const char *text, size_t len);

#endif
