/* wire.h -- messages of the Jupyter protocol as frames, signed
 *
 * For every thread of the kernel. A request is read from frames that somebody else holds; a packet
 * is a message on its way out. Protocol 5.5.
 *
 * INVARIANT  Nothing of a message is parsed before its signature was checked. A signature is
 *            accepted once among the last 65,000 or so.
 * MUST NOT   know sockets, Lua. */
#ifndef DL_JUPYTER_WIRE_H
#define DL_JUPYTER_WIRE_H

#include "json.h"

#define DL_PROTOCOL "5.5"

enum { DL_WIRE_IDS = 16, DL_WIRE_BODY_MAX = 64 << 20 };

typedef enum dl_fault {
  DL_FAULT_NONE,
  DL_FAULT_DELIMITER,   /* no delimiter, or too many frames before it */
  DL_FAULT_FRAMES,      /* too few after it */
  DL_FAULT_SIGNATURE,   /* missing, malformed or wrong */
  DL_FAULT_REPLAY,
  DL_FAULT_HEADER,      /* no JSON object with msg_id and msg_type */
  DL_FAULTS
} dl_fault;

typedef struct dl_request {
  dl_slice id[DL_WIRE_IDS];  /* routing frames, sent back with the reply */
  int ids;
  dl_slice header, parent, metadata; /* raw, borrowed from the frames; all of them JSON objects */
  const dl_slice *buffer;
  int buffers;
  json_t *head, *body;       /* body NULL: the content is no JSON object; why in `bad` */
  const char *type, *msg_id; /* of head */
  char bad[160];
} dl_request;

/* The key of the connection file; once, before any thread starts. n 0: nothing is signed. */
void dl_wire_key(const char *key, size_t n);
const char *dl_wire_session(void); /* this process's session id */

/* frames[0..n) into r; they must outlive it. On a fault r holds nothing. */
dl_fault dl_wire_read(const dl_slice *frames, int n, dl_request *r);
void dl_request_free(dl_request *r);
const char *dl_fault_name(dl_fault f);

/* Fields of the body; `other` where it is missing or of another type. */
const char *dl_request_text(const dl_request *r, const char *key, size_t *n);
bool dl_request_flag(const dl_request *r, const char *key, bool other);
long long dl_request_int(const dl_request *r, const char *key, long long other);
/* When the client says it was sent, in seconds since 1970; 0 if it does not. */
double dl_request_date(const dl_request *r);

/* ---- going out ----------------------------------------------------------------------------- */
typedef struct dl_packet {
  struct dl_packet *next;
  dl_buf text;               /* header, parent, metadata, content; the content is added last */
  size_t cut[4];             /* where each ends; the last is set by the signature */
  char signature[65];
  char topic[48];            /* on iopub */
  dl_slice *buffer;          /* owned, each of them too */
  int buffers;
} dl_packet;

/* A message of that type with that parent ("{}" for none), metadata "{}" if NULL; the caller adds
 * the content to text. NULL without memory. */
dl_packet *dl_packet_new(const char *type, dl_slice parent, const char *metadata);
/* A reply to the request: xxx_request becomes xxx_reply. */
dl_packet *dl_packet_reply(const dl_request *r, const char *metadata);
/* After the content. False if memory ran out on the way: then it is freed. */
bool dl_packet_sign(dl_packet *p);
void dl_packet_free(dl_packet *p);
/* The n-th frame of those that are signed: 0 header, 1 parent, 2 metadata, 3 content. */
dl_slice dl_packet_frame(const dl_packet *p, int n);

#endif
