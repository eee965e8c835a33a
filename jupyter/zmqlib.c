/* zmqlib.c -- libzmq, loaded when the kernel starts
 *
 * For jupyter/ only. See zmqlib.h.
 *
 * MUST NOT   know messages. */
#include "zmqlib.h"

#include <dlfcn.h>
#include <stddef.h>

dl_zmq_lib dl_zmq;

bool dl_zmq_load(const char **why) {
  static const char *const name[] = {
#define X(name) "zmq_" #name,
      DL_ZMQ_FUNCTIONS(X)
#undef X
  };
  /* `make dist` links it into the program */
  void *lib = dlsym(RTLD_DEFAULT, "zmq_ctx_new") ? dlopen(NULL, RTLD_LAZY) : NULL;
  if (!lib) lib = dlopen("libzmq.so.5", RTLD_LAZY | RTLD_LOCAL);
  if (!lib) lib = dlopen("libzmq.so", RTLD_LAZY | RTLD_LOCAL);
  if (!lib) return *why = dlerror(), false;
  void **to = (void **)&dl_zmq;
  for (size_t i = 0; i < sizeof name / sizeof *name; i++)
    if (!(to[i] = dlsym(lib, name[i]))) return *why = dlerror(), false;
  return true;
}
