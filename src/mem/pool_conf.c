/* pool_conf.c -- PYTORCH_CUDA_ALLOC_CONF: "key:value,key:value"
 *
 * For the binding, at the first use of a GPU and in torch.cuda.memory._set_allocator_settings. Each
 * option is a row of a table: its key, how its value is read, where it goes.
 *
 * INVARIANT  dl_conf changes only when the whole text made sense.
 * MUST NOT   know tensors or Lua. */
#include "mem/pool_int.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INTERVALS = 16 }; /* of roundup_power2_divisions: 1 MiB to 32 GiB by powers of two */

static const dl_pool_conf defaults = {.max_split_size = INT64_MAX, .fraction = 1,
                                      .max_non_split_rounding = 20 * MIB,
                                      .large_segment_size = 20 * MIB};
dl_pool_conf dl_conf = {.max_split_size = INT64_MAX, .fraction = 1,
                        .max_non_split_rounding = 20 * MIB, .large_segment_size = 20 * MIB};

/* The text cut in words: , : [ ] stand alone, blanks do not count. */
typedef struct words {
  const char *key;         /* whose value is being read */
  const char *at;          /* of what is left */
  char word[64];           /* "" at the end */
  int index;               /* of word, from 0 */
  bool split_given, rounding_given;
  dl_pool_conf conf;
} words;

static void advance(words *w) {
  size_t n = 0;
  while (*w->at == ' ') w->at++;
  if (*w->at && strchr(",:[]", *w->at)) w->word[n++] = *w->at++;
  else
    for (; *w->at && !strchr(",:[]", *w->at); w->at++)
      if (*w->at != ' ' && n + 1 < sizeof w->word) w->word[n++] = *w->at;
  w->word[n] = '\0';
  w->index++;
}

static bool is(const words *w, const char *s) { return strcmp(w->word, s) == 0; }

#define BAD(...) dl_fail(DL_ValueError, DL_E_ARGUMENT, __VA_ARGS__)

static dl_status expect(words *w, const char *sign) {
  if (!is(w, sign))
    return BAD("Error parsing CachingAllocator::AllocatorConfig settings, expected %s", sign);
  advance(w);
  return DL_OK;
}

/* As std::stoull and std::stod read: digits at the front count, what follows does not. */
static dl_status read_count(words *w, uint64_t *out) {
  char *end;
  errno = 0;
  *out = strtoull(w->word, &end, 10);
  if (end == w->word || errno) {
    bool large = errno;
    dl_fail(large ? DL_IndexError : DL_ValueError, DL_E_ARGUMENT, "stoull");
    dl_note(large ? "%s wants a smaller number than '%s'"
                  : "%s wants a whole number, and '%s' is none", w->key, w->word);
    return dl_err.kind;
  }
  advance(w);
  return DL_OK;
}

static dl_status read_real(words *w, double *out) {
  char *end;
  *out = strtod(w->word, &end);
  if (end == w->word) {
    BAD("stod");
    dl_note("%s wants a number, and '%s' is none", w->key, w->word);
    return dl_err.kind;
  }
  advance(w);
  return DL_OK;
}

static dl_status read_bool(words *w, bool *out) {
  bool yes = is(w, "True");
  if (!yes && !is(w, "False"))
    return BAD("Expected 'True' or 'False' at index %d in ConfigTokenizer but got '%s'", w->index,
               w->word);
  *out = yes;
  advance(w);
  return DL_OK;
}

static dl_status read_mb(words *w, int64_t *bytes) {
  uint64_t mb;
  DL_TRY(read_count(w, &mb));
  *bytes = mb < (uint64_t)1 << 40 ? (int64_t)mb * MIB : INT64_MAX;
  return DL_OK;
}

/* ---- one reader an option -------------------- */

/* The lower bound of both is the large segment, which may come later in the text: see check. */
static dl_status set_max_split(words *w) {
  w->split_given = true;
  return read_mb(w, &w->conf.max_split_size);
}
static dl_status set_rounding(words *w) {
  w->rounding_given = true;
  return read_mb(w, &w->conf.max_non_split_rounding);
}

static dl_status set_large_segment(words *w) {
  DL_TRY(read_mb(w, &w->conf.large_segment_size));
  if (w->conf.large_segment_size > 10 * MIB) return DL_OK;
  return BAD("CachingAllocator option large_segment_size_mb must be > 10 MB");
}

static dl_status set_gc(words *w) {
  double v;
  DL_TRY(read_real(w, &v));
  if (!(v > 0 && v < 1)) return BAD("garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
  w->conf.gc_threshold = v;
  return DL_OK;
}

static bool power_of_two(uint64_t v) { return v && !(v & (v - 1)); }

static void fill(words *w, int from, int to, uint64_t v) {
  for (int i = from; i < to; i++) w->conf.roundup[i] = (int32_t)v;
}

/* "256:1," of "[256:1,512:2,>:8]": sizes from 256 MiB on; the first also for all below. */
static dl_status interval(words *w, int *last) {
  bool beyond = is(w, ">");
  uint64_t mb = 1, v;
  if (beyond) advance(w);
  else DL_TRY(read_count(w, &mb));
  DL_TRY(expect(w, ":"));
  DL_TRY(read_count(w, &v));
  if (v && !power_of_two(v))
    return BAD("For roundups, the divisions has to be power of 2 or 0 to disable roundup ");
  if (v > (uint64_t)1 << 30) v = (uint64_t)1 << 30;
  if (beyond) {
    fill(w, *last < 0 ? 1 : *last + 1, INTERVALS, v);
    return DL_OK;
  }
  if (!power_of_two(mb)) return BAD("For roundups, the intervals have to be power of 2 ");
  int index = 63 - __builtin_clzll(mb);
  if (index > INTERVALS - 1) index = INTERVALS - 1;
  fill(w, *last < 0 ? 0 : index, index + 1, v);
  *last = index;
  return DL_OK;
}

static dl_status set_roundup(words *w) {
  uint64_t v;
  if (!is(w, "[")) {
    DL_TRY(read_count(w, &v));
    if (!power_of_two(v)) return BAD("For roundups, the divisions has to be power of 2 ");
    fill(w, 0, INTERVALS, v > (uint64_t)1 << 30 ? (uint64_t)1 << 30 : v);
    return DL_OK;
  }
  int last = -1;
  advance(w);
  if (!is(w, "]")) DL_TRY(interval(w, &last));
  while (is(w, ",")) {
    advance(w);
    DL_TRY(interval(w, &last));
  }
  return expect(w, "]");
}

static dl_status set_expandable(words *w) { return read_bool(w, &w->conf.expandable); }

static dl_status set_backend(words *w) {
  if (is(w, "cudaMallocAsync")) {
    dl_fail(DL_RuntimeError, DL_E_UNSUPPORTED, "backend:cudaMallocAsync is not available");
    dl_note("the pool is PyTorch's native backend");
    return dl_err.kind;
  }
  if (!is(w, "native"))
    return BAD("Unknown allocator backend, options are native and cudaMallocAsync");
  advance(w);
  return DL_OK;
}

/* Options of PyTorch's that change nothing that can be seen here: checked and dropped. */
static dl_status set_nothing(words *w) {
  bool ignored;
  return read_bool(w, &ignored);
}
static dl_status set_threads(words *w) {
  uint64_t v;
  DL_TRY(read_count(w, &v));
  if (!power_of_two(v))
    return BAD("Number of register threads has to be power of 2, got %llu", (unsigned long long)v);
  if (v <= 128) return DL_OK;
  return BAD("Number of register threads should be less than or equal to 128, got %llu",
             (unsigned long long)v);
}
static dl_status set_pinned_reserve(words *w) {
  uint64_t v;
  DL_TRY(read_count(w, &v));
  return v ? DL_OK : BAD("Pinned reserve segment size has to be greater than 0");
}
static dl_status set_fraction(words *w) {
  double v;
  DL_TRY(read_real(w, &v));
  if (!(v >= 0 && v <= 1))
    return BAD("per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
  w->conf.fraction = v;
  return DL_OK;
}

static const struct option {
  const char *key;
  dl_status (*set)(words *w);
} options[] = {
    {"max_split_size_mb", set_max_split},
    {"max_non_split_rounding_mb", set_rounding},
    {"large_segment_size_mb", set_large_segment},
    {"garbage_collection_threshold", set_gc},
    {"roundup_power2_divisions", set_roundup},
    {"expandable_segments", set_expandable},
    {"per_process_memory_fraction", set_fraction},
    {"backend", set_backend},
    {"release_lock_on_cudamalloc", set_nothing},
    {"release_lock_on_hipmalloc", set_nothing},
    {"pinned_use_cuda_host_register", set_nothing},
    {"pinned_use_background_threads", set_nothing},
    {"pinned_num_register_threads", set_threads},
    {"pinned_reserve_segment_size_mb", set_pinned_reserve},
    {"graph_capture_record_stream_reuse", set_nothing},
    {"throw_on_cudamalloc_oom", set_nothing},
};
enum { OPTIONS = sizeof options / sizeof *options };

static dl_status unknown(const char *key) {
  BAD("Unrecognized key '%s' in Accelerator allocator config.", key);
  if (strchr(key, '=')) dl_note("a key and its value are joined by ':'");
  else dl_note("such as max_split_size_mb:128 or expandable_segments:True");
  return dl_err.kind;
}

static dl_status pair(words *w) {
  const struct option *o = options;
  while (o < options + OPTIONS && !is(w, o->key)) o++;
  if (o == options + OPTIONS) return unknown(w->word);
  w->key = o->key;
  advance(w);
  if (!is(w, "")) DL_TRY(expect(w, ":"));
  if (is(w, "")) return BAD("Error, expecting %s value", o->key);
  return o->set(w);
}

static dl_status check_size(const char *key, int64_t bytes, int64_t least) {
  if (bytes >= least) return DL_OK;
  return BAD("CachingAllocator option %s too small, must be >= %lld", key,
             (long long)(least / MIB));
}

static dl_status check(words *w) {
  const dl_pool_conf *c = &w->conf;
  int64_t least = c->large_segment_size;
  if (w->split_given) DL_TRY(check_size("max_split_size_mb", c->max_split_size, least));
  if (!w->rounding_given) return DL_OK;
  return check_size("max_non_split_rounding_mb", c->max_non_split_rounding, least);
}

dl_status dl_pool_conf_parse(const char *text) {
  if (!text) {
    bool no_caching = dl_conf.no_caching;
    dl_conf = defaults;
    dl_conf.no_caching = no_caching;
    return DL_OK;
  }
  words w = {.at = text, .index = -1, .conf = dl_conf};
  w.conf.max_split_size = INT64_MAX;
  w.conf.gc_threshold = 0;
  memset(w.conf.roundup, 0, sizeof w.conf.roundup);
  advance(&w);
  while (!is(&w, "")) {
    DL_TRY(pair(&w));
    if (!is(&w, "")) DL_TRY(expect(&w, ","));
  }
  DL_TRY(check(&w));
  dl_conf = w.conf;
  return DL_OK;
}

dl_status dl_pool_conf_env(void) {
  static bool done;
  if (done) return DL_OK;
  const char *name = "PYTORCH_ALLOC_CONF", *text = getenv(name), *off;
  if (!text) text = getenv(name = "PYTORCH_CUDA_ALLOC_CONF");
  if (text && dl_pool_conf_parse(text) != DL_OK) {
    dl_note("it stands in the environment as %s=%s", name, text);
    return dl_err.kind;
  }
  off = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
  dl_conf.no_caching = off && *off;
  done = true;
  return DL_OK;
}
