/* conn.h -- the connection file: where to listen, with which key
 *
 * For kernel.c.
 *
 * MUST NOT   know sockets. */
#ifndef DL_JUPYTER_CONN_H
#define DL_JUPYTER_CONN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum dl_port { DL_SHELL, DL_IOPUB, DL_STDIN, DL_CONTROL, DL_HEART, DL_PORTS } dl_port;

typedef struct dl_conn {
  bool ipc;
  char ip[200];              /* with ipc: a path prefix */
  int port[DL_PORTS];
  char key[512];
  size_t key_len;
  char curve_public[41], curve_secret[41]; /* "" where connections are not encrypted */
} dl_conn;

/* False after a line on standard error. Others' files are refused, files that others can read are
 * warned of. */
bool dl_conn_read(const char *file, dl_conn *c);
/* "tcp://127.0.0.1:5555" */
void dl_conn_address(const dl_conn *c, dl_port p, char *buf, size_t cap);
/* Are the clients on this machine, by the address? */
bool dl_conn_is_local(const dl_conn *c);
const char *dl_port_name(dl_port p);

#endif
