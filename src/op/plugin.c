/* plugin.c -- loads dl_cuda.so when a GPU is first asked for
 *
 * For mem/gpu.c, which asks through dl_gpu_find. Looked for in DLREPL_CUDA_PLUGIN, beside the
 * executable, in build/ below it and in ../lib/dlrepl; DLREPL_CUDA=0 leaves it alone.
 *
 * INVARIANT  A plugin built from other sources is refused before any of its functions is called.
 * MUST NOT   know Lua. */
#include "op/plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/record.h"
#include "mem/gpu.h"

static char state[600] = "no plugin was looked for", path[512];
static bool looked;

static uint64_t ops_hash(void) {
  static const char *const text[][2] = {
#define DL_OP(id, kind, where, schema, ...) {#id, schema},
#include "op/ops.def"
#undef DL_OP
  };
  uint64_t h = DL_CUDA_HASH_START;
  for (size_t i = 0; i < sizeof text / sizeof *text; i++)
    h = dl_cuda_hash(dl_cuda_hash(h, text[i][0]), text[i][1]);
  return h;
}

/* ---- finding it ------------------------------------------------------------------------------ */
static bool there(const char *p) {
  if (access(p, F_OK) != 0) return false;
  snprintf(path, sizeof path, "%s", p);
  return true;
}

static bool find_file(void) {
  static const char *const below[] = {"dl_cuda.so", "build/dl_cuda.so", "../lib/dlrepl/dl_cuda.so",
                                      "../build/dl_cuda.so"};
  const char *wish = getenv("DLREPL_CUDA_PLUGIN");
  if (wish && *wish) {
    snprintf(path, sizeof path, "%s", wish);
    return true;
  }
  char exe[400], p[512];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n <= 0) return false;
  exe[n] = 0;
  char *slash = strrchr(exe, '/');
  if (!slash) return false;
  *slash = 0;
  for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
    snprintf(p, sizeof p, "%s/%s", exe, below[i]);
    if (there(p)) return true;
  }
  return false;
}

/* ---- taking it in ---------------------------------------------------------------------------- */
static const dl_driver *refuse(const char *fmt, const char *detail) {
  snprintf(state, sizeof state, fmt, detail);
  dl_gpu_absent = state;
  return NULL;
}

static const char *other_build(const dl_cuda_record *r) {
  if (r->abi != DL_CUDA_ABI) return "it speaks another version of the interface";
  if (r->op_count != DL_OP_COUNT) return "it was built for another number of operations";
  return r->ops_hash != ops_hash() ? "its operations are not this program's" : NULL;
}

/* What of the file's head says that its end is missing: the loader would not look, and die. */
static bool is_cut(FILE *f, off_t size) {
  Elf64_Ehdr head;
  if (fread(&head, sizeof head, 1, f) != 1 || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    return false; /* no library: the loader says so */
  for (int i = 0; i < head.e_phnum; i++) {
    Elf64_Phdr part;
    uint64_t at = head.e_phoff + (uint64_t)i * sizeof part;
    if (at >= (uint64_t)size || fseeko(f, (off_t)at, SEEK_SET)) return true;
    if (fread(&part, sizeof part, 1, f) != 1) return true;
    if (part.p_offset > (uint64_t)size || part.p_filesz > (uint64_t)size - part.p_offset)
      return true;
  }
  return false;
}

/* NULL, or why the loader must not see this file. */
static const char *unfit(void) {
  struct stat st;
  if (stat(path, &st)) return NULL; /* the loader says it better */
  if (!S_ISREG(st.st_mode)) return "it is no file";
  FILE *f = fopen(path, "rb");
  bool cut = f && is_cut(f, st.st_size);
  if (f) fclose(f);
  return cut ? "its end is missing (run make cuda again)" : NULL;
}

typedef const dl_driver *(*open_fn)(dl_cuda_absence *why);
typedef const char *(*libraries_fn)(void);

static const dl_driver *open_driver(void *lib) {
  open_fn start;
  libraries_fn libraries;
  *(void **)&start = dlsym(lib, "dl_cuda_open");
  *(void **)&libraries = dlsym(lib, "dl_cuda_libraries");
  dl_cuda_absence why = {0, 0, ""};
  if (!start) return refuse("the CUDA plugin has no driver%s", "");
  const dl_driver *d = start(&why);
  dl_gpu_absent_code = why.code;
  dl_gpu_absent_version = why.version;
  if (!d) return refuse("%s", why.words);
  snprintf(state, sizeof state, "%d device%s; %s", d->device_count(),
           d->device_count() == 1 ? "" : "s", libraries ? libraries() : "");
  return d;
}

static const dl_driver *load(void) {
  const char *off = getenv("DLREPL_CUDA");
  looked = true;
  if (off && !strcmp(off, "0")) {
    snprintf(state, sizeof state, "turned off by DLREPL_CUDA=0");
    return NULL;
  }
  if (!find_file()) {
    snprintf(state, sizeof state, "no plugin was built (make cuda, or a tarball made, "
             "where nvcc 12 or 13 is)");
    return NULL;
  }
  const char *why = unfit();
  if (why) return refuse("the CUDA plugin cannot be loaded: %s", why);
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) return refuse("the CUDA plugin cannot be loaded: %s", dlerror());
  const dl_cuda_record *r = dlsym(lib, "dl_cuda_plugin");
  if (!r) return refuse("%s is no plugin of dlrepl", path);
  why = other_build(r);
  if (why) return refuse("the CUDA plugin is of another build: %s (run make cuda again)", why);
  return open_driver(lib);
}

void dl_plugin_init(void) { dl_gpu_find = load; }

const char *dl_plugin_state(void) {
  if (!looked) dl_gpu_look();
  return state;
}

const char *dl_plugin_path(void) { return path; }
