/* jupyter.h -- the Jupyter kernel: one process, one session, five channels
 *
 * For main.c, and for the files of this folder. Threads: the main one (Lua, shell, stdin), control,
 * iopub, heartbeat, and the reader of descriptors 1 and 2. Sockets are made and bound by the main
 * thread before any other starts; after that each belongs to one thread.
 *
 * INVARIANT  Each request on shell and control is answered between a busy and an idle, whatever it
 *            is; nothing that is not signed has any effect but a count.
 * MUST NOT   be needed by src/, but for main.c's one call. */
#ifndef DL_JUPYTER_JUPYTER_H
#define DL_JUPYTER_JUPYTER_H

#include "wire.h"

/* `dlrepl kernel ARGS`; the exit status: 0 after a shutdown, 1 where the parent is gone, 2 for a
 * command line, a connection file or an address that cannot be used. */
int dl_kernel_main(int argc, char **argv);

/* ---- messages on a socket (mail.c) --------------------------------------------------------- */
typedef struct dl_mail dl_mail;   /* a message that came, with its frames */

/* The next message, NULL if there is none now. */
dl_mail *dl_mail_receive(void *socket);
void dl_mail_free(dl_mail *m);
/* Read it; false, and counted, if it is to be dropped. r borrows from m. */
bool dl_mail_read(dl_mail *m, const char *channel, dl_request *r);
/* Sign and send to where the request came from; takes p. */
void dl_mail_send(void *socket, const dl_request *to, dl_packet *p);
/* A line in the server's log. */
void dl_kernel_log(const char *form, ...) __attribute__((format(printf, 1, 2)));

/* ---- the process (kernel.c) ------------------------------------------------------------------ */
/* The content of kernel_info_reply. */
void dl_kernel_info(dl_buf *content);
/* Leave after the current request; from any thread. */
void dl_kernel_close(void);
bool dl_kernel_is_closing(void);
int dl_kernel_wake(void); /* a descriptor that becomes readable then */
/* Stop what runs, in this thread's process group too if we lead it; from any thread. */
void dl_kernel_interrupt(void);
/* Answer shutdown_request: on its socket and to everybody. */
void dl_kernel_shutdown(void *socket, const dl_request *r);

/* ---- threads (control.c) ------------------------------------------------------------------- */
bool dl_control_start(void *control);
void dl_control_stop(void);
bool dl_heart_start(void *heart);
void dl_heart_stop(void *context); /* which then can be ended */

/* ---- the main thread (shell.c) --------------------------------------------------------------- */
void dl_shell_serve(void *shell, bool comparable_dates);
/* The request under way; its header is the parent of what is published. */
const dl_request *dl_shell_request(void);
dl_slice dl_shell_parent(void);

#endif
