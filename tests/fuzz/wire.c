/* wire.c -- random frames for the reader of Jupyter messages
 *
 * For make test-fuzz and, under the sanitizers, test-asan. Good messages are changed byte by byte
 * and frame by frame, with the old signature and with a new one; then the JSON writer gets random
 * bytes. Usage: wire [ROUNDS] [SEED]. */
#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "wire.h"

enum { MOST = 12, LONGEST = 4096 };

static const char key[] = "secret";
static uint64_t state;

static uint64_t draw(uint64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % n;
}

typedef struct frame { char s[LONGEST]; size_t n; } frame;
typedef struct message { frame f[MOST]; int n; } message;

static void put(message *m, const char *s) {
  frame *f = &m->f[m->n++];
  f->n = strlen(s);
  memcpy(f->s, s, f->n);
}

static int delimiter(const message *m) {
  for (int i = 0; i < m->n; i++)
    if (m->f[i].n == 9 && !memcmp(m->f[i].s, "<IDS|MSG>", 9)) return i;
  return -1;
}

static void sign(message *m) {
  crypto_auth_hmacsha256_state st;
  unsigned char mac[32];
  char hex[65];
  int at = delimiter(m);
  if (at < 0 || m->n < at + 6) return;
  crypto_auth_hmacsha256_init(&st, (const unsigned char *)key, strlen(key));
  for (int i = at + 2; i < at + 6; i++)
    crypto_auth_hmacsha256_update(&st, (const unsigned char *)m->f[i].s, m->f[i].n);
  crypto_auth_hmacsha256_final(&st, mac);
  sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
  memcpy(m->f[at + 1].s, hex, 64);
  m->f[at + 1].n = 64;
}

static void make(message *m) {
  static const char *const content[] = {
      "{\"code\":\"print(1)\",\"silent\":false,\"user_expressions\":{\"a\":\"1\"}}",
      "{\"code\":\"\\ud835\\udc1a x\",\"cursor_pos\":3}", "{\"cursor_pos\":-1e300}", "{}",
      "{\"a\":[[[{\"b\":null}]]],\"c\":\"\\u0000\"}"};
  char head[400];
  m->n = 0;
  for (uint64_t i = draw(3); i > 0; i--) put(m, "identity");
  put(m, "<IDS|MSG>");
  put(m, "");
  snprintf(head, sizeof head, "{\"msg_id\":\"%llx\",\"msg_type\":\"execute_request\",\"session\":"
           "\"s\",\"username\":\"u\",\"version\":\"5.5\",\"date\":\"2026-01-02T03:04:05.6+01:00\"}",
           (unsigned long long)draw(UINT64_MAX));
  put(m, head);
  put(m, "{}");
  put(m, "{\"cellId\":\"x\"}");
  put(m, content[draw(sizeof content / sizeof *content)]);
  for (uint64_t i = draw(3); i > 0; i--) put(m, "buffer");
  sign(m);
}

static void change_bytes(frame *f) {
  static const char odd[] = "{}[]\",:\\\x00\xff\xc3\xed\xf0nt019.-+eu";
  for (uint64_t times = 1 + draw(4); times > 0; times--) {
    size_t at = draw(f->n + 1);
    if (draw(3) == 0 && f->n < LONGEST - 1) {
      memmove(f->s + at + 1, f->s + at, f->n - at);
      f->n++;
    } else if (draw(2) == 0 && at < f->n) {
      memmove(f->s + at, f->s + at + 1, f->n - at - 1);
      f->n--;
    }
    if (at < f->n) f->s[at] = draw(2) ? odd[draw(sizeof odd - 1)] : (char)draw(256);
  }
}

static void repeat_part(frame *f) {
  size_t at = draw(f->n + 1), n = draw(f->n - at + 1);
  while (n && f->n + n < LONGEST && draw(8)) {
    memmove(f->s + at + n, f->s + at, f->n - at);
    f->n += n;
  }
}

static void change(message *m) {
  int i = (int)draw((uint64_t)m->n);
  frame spare = m->f[i];
  switch (draw(5)) {
    case 0:
      memmove(&m->f[i], &m->f[i + 1], sizeof(frame) * (size_t)(m->n - i - 1));
      m->n--;
      break;
    case 1:
      m->f[i] = m->f[draw((uint64_t)m->n)];
      break;
    case 2:
      if (m->n < MOST) m->f[m->n++] = spare;
      break;
    case 3: repeat_part(&m->f[i]); break;
    default: change_bytes(&m->f[i]);
  }
}

/* Read exact copies, so that a byte too many is seen; what every thread then asks is asked. */
static dl_fault read_message(const message *m, bool *whole) {
  dl_slice s[MOST];
  dl_request r;
  for (int i = 0; i < m->n; i++) {
    char *copy = malloc(m->f[i].n ? m->f[i].n : 1);
    memcpy(copy, m->f[i].s, m->f[i].n);
    s[i] = (dl_slice){copy, m->f[i].n};
  }
  dl_fault f = dl_wire_read(s, m->n, &r);
  if (!f) {
    size_t n;
    *whole = *whole && r.type && r.msg_id && (r.body || *r.bad) && json_is_object(r.head);
    const char *code = dl_request_text(&r, "code", &n);
    if (code) dl_utf8_count(code, dl_utf8_offset(code, n, dl_request_int(&r, "cursor_pos", 2)));
    dl_request_flag(&r, "silent", true);
    dl_request_date(&r);
    dl_packet *p = dl_packet_reply(&r, NULL);
    if (p) dl_json_text(&p->text, r.bad);
    if (p && dl_packet_sign(p)) dl_packet_free(p);
    dl_request_free(&r);
  }
  for (int i = 0; i < m->n; i++) free((char *)s[i].s);
  return f;
}

/* The four frames that are signed, and the signature. */
static bool same_core(const message *a, const message *b) {
  int i = delimiter(a), k = delimiter(b);
  if (i < 0 || k < 0 || a->n < i + 6 || b->n < k + 6) return false;
  for (int j = 1; j < 6; j++)
    if (a->f[i + j].n != b->f[k + j].n || memcmp(a->f[i + j].s, b->f[k + j].s, a->f[i + j].n))
      return false;
  return true;
}

static void write_random(int rounds) {
  int bad = 0;
  for (int i = 0; i < rounds; i++) {
    char text[64];
    dl_buf b = {0};
    json_error_t e;
    size_t n = draw(sizeof text);
    for (size_t k = 0; k < n; k++) text[k] = (char)(draw(3) ? draw(256) : 0xc0 + draw(64));
    dl_buf_text(&b, "[");
    dl_json_string(&b, text, n);
    dl_buf_text(&b, "]");
    json_t *v = json_loadb(b.s, b.n, JSON_ALLOW_NUL, &e);
    if (!v) bad++;
    json_decref(v);
    dl_buf_free(&b);
  }
  is_int(bad, 0, "%d strings of random bytes become JSON", rounds);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 20000, refused = 0, forged = 0, read = 0;
  bool whole = true;
  static message m, first;
  state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9e3779b97f4a7c15u + 1;
  dl_wire_key(key, strlen(key));
  for (int i = 0; i < rounds; i++) {
    make(&m);
    first = m;
    if (i % 100 == 0) refused += read_message(&m, &whole) != DL_FAULT_NONE;
    for (uint64_t times = 1 + draw(3); times > 0 && m.n; times--) change(&m);
    bool sealed = draw(2);
    if (sealed) sign(&m);
    dl_fault f = read_message(&m, &whole);
    read += !f;
    forged += !f && !sealed && !same_core(&m, &first);
  }
  is_int(refused, 0, "good messages are read");
  is_int(forged, 0, "of %d changed messages none is read with its old signature", rounds);
  ok(whole, "what is read is whole");
  ok(read > rounds / 20, "enough were signed anew to be read");
  tap_diag("%d of %d were read", read, rounds);
  write_random(rounds);
  return tap_done();
}
