/* conn.c -- the connection file: where to listen, with which key
 *
 * For kernel.c. See conn.h.
 *
 * MUST NOT   know sockets. */
#include "conn.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 1 << 16 };

static const char *const port_name[DL_PORTS] = {"shell", "iopub", "stdin", "control", "hb"};

static bool complain(const char *file, const char *what) {
  fprintf(stderr, "dlrepl kernel: %s: %s\n", file, what);
  return false;
}

static bool check_owner(const char *file, const struct stat *st) {
  if (!S_ISREG(st->st_mode)) return complain(file, "this is no file");
  if (st->st_uid != geteuid() && st->st_uid != 0)
    return complain(file, "this file belongs to another user, who could run code as you");
  if (st->st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH))
    complain(file, "warning: others can read the key in this file (chmod 600)");
  return true;
}

/* The file's text, to be freed; NULL after a line. */
static char *read_file(const char *file) {
  struct stat st;
  int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return complain(file, strerror(errno)), NULL;
  char *text = NULL;
  if (fstat(fd, &st) != 0) {
    complain(file, strerror(errno));
  } else if (check_owner(file, &st)) {
    text = calloc(1, LARGEST);
    ssize_t n = text ? read(fd, text, LARGEST - 1) : -1;
    if (n < 0) {
      complain(file, strerror(errno));
      free(text);
      text = NULL;
    }
  }
  close(fd);
  return text;
}

static bool take_text(const json_t *o, const char *key, char *buf, size_t cap) {
  const char *s = json_string_value(json_object_get(o, key));
  if (!s || strlen(s) >= cap) return false;
  strcpy(buf, s);
  return true;
}

static bool take_curve(const char *file, const json_t *o, dl_conn *c) {
  if (!json_object_get(o, "curve_secretkey")) return true;
  if (take_text(o, "curve_secretkey", c->curve_secret, sizeof c->curve_secret) &&
      take_text(o, "curve_publickey", c->curve_public, sizeof c->curve_public) &&
      strlen(c->curve_secret) == 40 && strlen(c->curve_public) == 40)
    return true;
  return complain(file, "its CurveZMQ keys are not two texts of 40 characters");
}

static bool take_all(const char *file, const json_t *o, dl_conn *c) {
  char word[40], line[80];
  if (!json_is_object(o)) return complain(file, "this is no JSON object");
  if (take_text(o, "signature_scheme", word, sizeof word) && *word && strcmp(word, "hmac-sha256"))
    return complain(file, "its signature_scheme is not hmac-sha256");
  if (!take_text(o, "transport", word, sizeof word)) strcpy(word, "tcp");
  c->ipc = !strcmp(word, "ipc");
  if (!c->ipc && strcmp(word, "tcp")) return complain(file, "its transport is not tcp or ipc");
  if (!take_text(o, "ip", c->ip, sizeof c->ip)) strcpy(c->ip, "127.0.0.1");
  if (json_object_get(o, "key") && !take_text(o, "key", c->key, sizeof c->key))
    return complain(file, "its key is no text of at most 511 bytes");
  c->key_len = strlen(c->key);
  for (int i = 0; i < DL_PORTS; i++) {
    snprintf(word, sizeof word, "%s_port", port_name[i]);
    json_int_t port = json_integer_value(json_object_get(o, word));
    if (port < 1 || port > 65535) {
      snprintf(line, sizeof line, "%s is not a number from 1 to 65535", word);
      return complain(file, line);
    }
    c->port[i] = (int)port;
  }
  return take_curve(file, o, c);
}

bool dl_conn_read(const char *file, dl_conn *c) {
  json_error_t e;
  memset(c, 0, sizeof *c);
  char *text = read_file(file);
  if (!text) return false;
  json_t *o = json_loads(text, 0, &e);
  free(text);
  if (!o) return complain(file, e.text);
  bool fine = take_all(file, o, c);
  json_decref(o);
  return fine;
}

void dl_conn_address(const dl_conn *c, dl_port p, char *buf, size_t cap) {
  if (c->ipc) {
    snprintf(buf, cap, "ipc://%s-%d", c->ip, c->port[p]);
    return;
  }
  const char *form = strchr(c->ip, ':') && *c->ip != '[' ? "tcp://[%s]:%d" : "tcp://%s:%d";
  snprintf(buf, cap, form, c->ip, c->port[p]);
}

bool dl_conn_is_local(const dl_conn *c) {
  return c->ipc || !strncmp(c->ip, "127.", 4) || !strcmp(c->ip, "localhost") ||
         !strcmp(c->ip, "::1");
}

const char *dl_port_name(dl_port p) { return port_name[p]; }
