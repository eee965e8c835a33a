/* zmq_unused.c -- what stands for the parts of libzmq that no notebook uses
 *
 * For .ci/dist.sh, which links libzmq itself into the program and leaves out the libraries for
 * multicast (pgm, NORM) and Kerberos (GSSAPI): tcp and ipc are all that Jupyter speaks. The linker
 * gives every function of those the address of one of these, each of which says that it failed.
 *
 * SOURCE     RFC 2744 (GSS_S_UNAVAILABLE); pgm and NORM answer 0 where they cannot. */
#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int dl_zmq_nothing(void) { return 0; }
HIDDEN unsigned dl_zmq_no_gss(void) { return 16u << 16; }
HIDDEN const void *const dl_zmq_no_name[2] = {0, 0};
