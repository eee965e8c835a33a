/* zmqlib.h -- libzmq, loaded when the kernel starts
 *
 * For jupyter/ only. The library brings fifteen others along, which would make the prompt start
 * some milliseconds later; so nothing is linked, the functions are looked up by name.
 *
 * INVARIANT  After dl_zmq_load every member of dl_zmq can be called.
 * MUST NOT   know messages. */
#ifndef DL_JUPYTER_ZMQLIB_H
#define DL_JUPYTER_ZMQLIB_H

#include <stdbool.h>
#include <zmq.h>

#define DL_ZMQ_FUNCTIONS(X)                                                                     \
  X(ctx_new) X(ctx_set) X(ctx_shutdown) X(ctx_term) X(socket) X(close) X(setsockopt)            \
  X(getsockopt) X(bind) X(poll) X(proxy) X(strerror) X(version)                        \
  X(msg_init) X(msg_init_size) X(msg_init_data) X(msg_recv) X(msg_send) X(msg_close)            \
  X(msg_data) X(msg_size) X(msg_more) X(send)

typedef struct dl_zmq_lib {
#define X(name) __typeof__(zmq_##name) *name;
  DL_ZMQ_FUNCTIONS(X)
#undef X
} dl_zmq_lib;

extern dl_zmq_lib dl_zmq;

/* False if there is no libzmq, or one without a function that is needed; then *why says so. */
bool dl_zmq_load(const char **why);

#endif
