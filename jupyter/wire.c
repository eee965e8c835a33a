/* wire.c -- messages of the Jupyter protocol as frames, signed
 *
 * For every thread of the kernel. See wire.h. HMAC-SHA256 is libsodium's. Signatures already seen
 * stand in a table of sets of eight: the oldest of a set gives way.
 *
 * MUST NOT   know sockets, Lua. */
#include "wire.h"

#include <pthread.h>
#include <pwd.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { SETS = 8192, WAYS = 8, DEEPEST_JSON = 512 };

static crypto_auth_hmacsha256_state keyed; /* after the key, before the message */
static bool has_key;
static char session[40], user[160];
static atomic_uint counter;

static struct {
  pthread_mutex_t lock;
  uint64_t (*set)[WAYS];
  uint8_t oldest[SETS];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- start ------------------------------------------------------------------------------- */

static void make_session(void) {
  unsigned char b[16];
  if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf((char *)b, sizeof b, "%lx%x", t.tv_nsec, (unsigned)getpid());
  }
  b[6] = (b[6] & 0x0f) | 0x40;
  b[8] = (b[8] & 0x3f) | 0x80;
  for (int i = 0, at = 0; i < 16; i++)
    at += snprintf(session + at, sizeof session - (size_t)at, i == 4 || i == 6 || i == 8 || i == 10
                   ? "-%02x" : "%02x", b[i]);
}

void dl_wire_key(const char *key, size_t n) {
  dl_buf name = {0};
  const struct passwd *who = getpwuid(geteuid());
  dl_json_text(&name, who ? who->pw_name : "user");
  snprintf(user, sizeof user, "%s", !name.bad && name.n < sizeof user ? name.s : "\"user\"");
  dl_buf_free(&name);
  make_session();
  has_key = n > 0;
  crypto_auth_hmacsha256_init(&keyed, (const unsigned char *)key, n);
}

const char *dl_wire_session(void) { return session; }

static void digest(const dl_slice *part, int n, unsigned char out[32]) {
  crypto_auth_hmacsha256_state st = keyed;
  for (int i = 0; i < n; i++)
    crypto_auth_hmacsha256_update(&st, (const unsigned char *)part[i].s, part[i].n);
  crypto_auth_hmacsha256_final(&st, out);
}

/* ---- coming in ----------------------------------------------------------------------------- */

static int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Has this signature been here before? Remembers it. */
static bool is_replay(const unsigned char mac[32]) {
  uint64_t mark, where;
  memcpy(&mark, mac, 8);
  memcpy(&where, mac + 8, 8);
  bool known = false;
  pthread_mutex_lock(&seen.lock);
  if (!seen.set) seen.set = calloc(SETS, sizeof *seen.set);
  if (seen.set) {
    size_t s = where % SETS;
    for (int i = 0; i < WAYS; i++) known = known || seen.set[s][i] == mark;
    if (!known) {
      seen.set[s][seen.oldest[s]] = mark;
      seen.oldest[s] = (seen.oldest[s] + 1) % WAYS;
    }
  }
  pthread_mutex_unlock(&seen.lock);
  return known;
}

static dl_fault check(const dl_slice *signature, const dl_slice *part) {
  unsigned char want[32], got[32];
  if (!has_key) return DL_FAULT_NONE;
  if (signature->n != 64) return DL_FAULT_SIGNATURE;
  for (int i = 0; i < 32; i++) {
    int high = nibble(signature->s[2 * i]), low = nibble(signature->s[2 * i + 1]);
    if (high < 0 || low < 0) return DL_FAULT_SIGNATURE;
    got[i] = (unsigned char)(high << 4 | low);
  }
  digest(part, 4, want);
  if (sodium_memcmp(want, got, 32) != 0) return DL_FAULT_SIGNATURE;
  return is_replay(want) ? DL_FAULT_REPLAY : DL_FAULT_NONE;
}

/* How deep brackets are nested: the parser recurses, so what is too deep is refused before. */
static bool is_deep(const char *s, size_t n) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < n; i++) {
    if (quoted) {
      if (s[i] == '\\') i++;
      else if (s[i] == '"') quoted = false;
    } else if (s[i] == '"') {
      quoted = true;
    } else if (s[i] == '{' || s[i] == '[') {
      if (++depth > DEEPEST_JSON) return true;
    } else if (s[i] == '}' || s[i] == ']') {
      depth--;
    }
  }
  return false;
}

/* A JSON object; NULL, and why, for anything else. */
static json_t *read_object(dl_slice part, char *why, size_t cap) {
  json_error_t e;
  if (part.n > DL_WIRE_BODY_MAX) return snprintf(why, cap, "it is too large"), NULL;
  if (is_deep(part.s, part.n)) return snprintf(why, cap, "it is nested too deeply"), NULL;
  json_t *v = json_loadb(part.s, part.n, JSON_ALLOW_NUL, &e);
  if (!v) return snprintf(why, cap, "%s", e.text), NULL;
  if (json_is_object(v)) return v;
  json_decref(v);
  return snprintf(why, cap, "it is no JSON object"), NULL;
}

static bool is_object(dl_slice part) {
  char why[160];
  if (part.n == 2 && !memcmp(part.s, "{}", 2)) return true;
  json_t *v = read_object(part, why, sizeof why);
  json_decref(v);
  return v != NULL;
}

static dl_fault read_parts(const dl_slice *part, dl_request *r) {
  r->header = part[0];
  r->parent = part[1];
  r->metadata = part[2];
  r->head = read_object(part[0], r->bad, sizeof r->bad);
  r->type = json_string_value(json_object_get(r->head, "msg_type"));
  r->msg_id = json_string_value(json_object_get(r->head, "msg_id"));
  if (!r->type || !r->msg_id || strlen(r->type) > 100) return DL_FAULT_HEADER;
  if (!is_object(part[1])) r->parent = (dl_slice){"{}", 2};
  if (!is_object(part[2])) r->metadata = (dl_slice){"{}", 2};
  r->bad[0] = 0;
  r->body = read_object(part[3], r->bad, sizeof r->bad);
  return DL_FAULT_NONE;
}

dl_fault dl_wire_read(const dl_slice *frames, int n, dl_request *r) {
  int at = 0;
  memset(r, 0, sizeof *r);
  while (at < n && !(frames[at].n == 9 && !memcmp(frames[at].s, "<IDS|MSG>", 9))) at++;
  if (at == n || at > DL_WIRE_IDS) return DL_FAULT_DELIMITER;
  memcpy(r->id, frames, sizeof *frames * (size_t)at);
  r->ids = at++;
  if (n - at < 5) return DL_FAULT_FRAMES;
  dl_fault f = check(&frames[at], &frames[at + 1]);
  if (!f) f = read_parts(&frames[at + 1], r);
  if (f) {
    dl_request_free(r);
    return f;
  }
  r->buffer = frames + at + 5;
  r->buffers = n - at - 5;
  return DL_FAULT_NONE;
}

void dl_request_free(dl_request *r) {
  json_decref(r->head);
  json_decref(r->body);
  memset(r, 0, sizeof *r);
}

const char *dl_fault_name(dl_fault f) {
  static const char *const name[DL_FAULTS] = {"fine", "no delimiter", "too few frames",
                                              "a wrong signature", "sent twice", "a bad header"};
  return name[f];
}

const char *dl_request_text(const dl_request *r, const char *key, size_t *n) {
  const json_t *v = json_object_get(r->body, key);
  if (n) *n = json_string_length(v);
  return json_string_value(v);
}

bool dl_request_flag(const dl_request *r, const char *key, bool other) {
  const json_t *v = json_object_get(r->body, key);
  return json_is_boolean(v) ? json_is_true(v) : other;
}

long long dl_request_int(const dl_request *r, const char *key, long long other) {
  const json_t *v = json_object_get(r->body, key);
  if (json_is_real(v)) {
    double x = json_real_value(v);
    return x > -1e15 && x < 1e15 ? (long long)x : other;
  }
  return json_is_integer(v) ? json_integer_value(v) : other;
}

/* ".625" as a number, however many digits; *s moves past it. */
static double read_fraction(const char **s) {
  double value = 0, place = 0.1;
  if (**s != '.') return 0;
  for (++*s; **s >= '0' && **s <= '9'; ++*s, place /= 10) value += place * (**s - '0');
  return value;
}

double dl_request_date(const dl_request *r) {
  struct tm t = {0};
  int used = 0, hours = 0, minutes = 0;
  const char *s = json_string_value(json_object_get(r->head, "date"));
  if (!s || sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
                   &t.tm_min, &t.tm_sec, &used) != 6)
    return 0;
  t.tm_year -= 1900;
  t.tm_mon--;
  s += used;
  double fraction = read_fraction(&s);
  if (*s == '+' || *s == '-') {
    if (sscanf(s + 1, "%2d:%2d", &hours, &minutes) != 2) return 0;
    if (*s == '-') hours = -hours, minutes = -minutes;
  }
  return (double)timegm(&t) + fraction - 3600.0 * hours - 60.0 * minutes;
}

/* ---- going out ----------------------------------------------------------------------------- */

static void add_header(dl_buf *b, const char *type) {
  struct timespec now;
  struct tm t;
  char date[40];
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &t);
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &t);
  dl_buf_form(b, "{\"msg_id\":\"%s_%u\",\"session\":\"%s\",\"username\":%s,", session,
              atomic_fetch_add(&counter, 1) + 1, session, user);
  dl_buf_form(b, "\"date\":\"%s.%06ldZ\",\"msg_type\":\"%s\",", date, now.tv_nsec / 1000, type);
  dl_buf_text(b, "\"version\":\"" DL_PROTOCOL "\"}");
}

dl_packet *dl_packet_new(const char *type, dl_slice parent, const char *metadata) {
  dl_packet *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  snprintf(p->topic, sizeof p->topic, "%s", type);
  add_header(&p->text, type);
  p->cut[0] = p->text.n;
  dl_buf_add(&p->text, parent.s, parent.n);
  p->cut[1] = p->text.n;
  dl_buf_text(&p->text, metadata ? metadata : "{}");
  p->cut[2] = p->text.n;
  return p;
}

dl_packet *dl_packet_reply(const dl_request *r, const char *metadata) {
  char type[128];
  size_t n = strlen(r->type), tail = strlen("_request");
  if (n > tail && !strcmp(r->type + n - tail, "_request")) n -= tail;
  dl_buf name = {0};
  dl_json_string(&name, r->type, n); /* what a client calls its request may need escapes */
  if (name.bad || name.n > 100) return dl_buf_free(&name), NULL;
  snprintf(type, sizeof type, "%.*s_reply", (int)name.n - 2, name.s + 1);
  dl_buf_free(&name);
  return dl_packet_new(type, r->header, metadata);
}

dl_slice dl_packet_frame(const dl_packet *p, int n) {
  size_t from = n ? p->cut[n - 1] : 0;
  return (dl_slice){p->text.s + from, p->cut[n] - from};
}

bool dl_packet_sign(dl_packet *p) {
  unsigned char mac[32];
  if (!p) return false;
  if (p->text.bad) return dl_packet_free(p), false;
  p->cut[3] = p->text.n;
  if (!has_key) return true;
  dl_slice whole = {p->text.s, p->text.n};
  digest(&whole, 1, mac);
  sodium_bin2hex(p->signature, sizeof p->signature, mac, sizeof mac);
  return true;
}

void dl_packet_free(dl_packet *p) {
  if (!p) return;
  for (int i = 0; i < p->buffers; i++) free((char *)p->buffer[i].s);
  free(p->buffer);
  dl_buf_free(&p->text);
  free(p);
}
