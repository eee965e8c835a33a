/* spec.h -- making the kernel known to Jupyter
 *
 * For kernel.c.
 *
 * MUST NOT   know sockets, Lua. */
#ifndef DL_JUPYTER_SPEC_H
#define DL_JUPYTER_SPEC_H

/* install, uninstall, list. The exit status; -1 if the arguments are not understood. */
int dl_spec_main(int argc, char **argv);

#endif
