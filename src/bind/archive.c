/* archive.c -- files of torch.save as lua/torch/serialization.lua handles them
 *
 * For that module only: dlrepl._archive_open, _archive_create, _storage.
 *
 * INVARIANT  A file that is there is replaced whole or not at all: what is written goes to a new
 *            file beside it, which takes its name at the end. (Not so for devices, pipes and
 *            folders in which no file can be made: they are written as they are.)
 * OWNERSHIP  An archive closes what it opened when it is closed or dies; a file that the user
 *            opened stays open, and may be closed by him at any time.
 * MUST NOT   know pickles. */
#include "bind/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/zip.h"

typedef struct archive {
  const dl_tag_info *tag;
  FILE *f;
  luaL_Stream *user;             /* whose file it is, if not ours */
  int user_ref;
  dl_zip *z;
  dl_zipw *w;
  char path[PATH_MAX], fresh[PATH_MAX + 16]; /* fresh: the file beside, "" if there is none */
} archive;

static const dl_tag_info tag = {"archive", sizeof(archive)};

void dl_archive_open(lua_State *L, int dlrepl);

/* ---- opening and closing -------------------------------------------------------------------- */
static dl_class class_of(int code) {
  return code == ENOENT ? DL_FileNotFoundError : code == EISDIR ? DL_IsADirectoryError
         : code == EACCES || code == EPERM ? DL_PermissionError : DL_OSError;
}

static int raise_errno(lua_State *L, int code, const char *path) {
  return dl_throw(L, class_of(code), DL_E_IO, "[Errno %d] %s: '%s'", code, strerror(code), path);
}

static archive *new_archive(lua_State *L) {
  archive *a = dl_new_object(L, &tag);
  a->user_ref = LUA_NOREF;
  return a;
}

static void shut(lua_State *L, archive *a) {
  dl_zip_free(a->z);
  dl_zipw_free(a->w);
  a->z = NULL;
  a->w = NULL;
  if (a->f && !a->user) fclose(a->f);
  a->f = NULL;
  a->user = NULL;
  luaL_unref(L, LUA_REGISTRYINDEX, a->user_ref);
  a->user_ref = LUA_NOREF;
  if (*a->fresh) unlink(a->fresh);
  *a->fresh = 0;
}

static int l_close(lua_State *L) {
  archive *a = dl_object(L, 1, &tag);
  if (a) shut(L, a);
  return 0;
}

/* An open archive, its file still open. */
static archive *check(lua_State *L) {
  archive *a = dl_self(L, &tag);
  if (a->user && !a->user->closef) {
    shut(L, a);
    dl_throw(L, DL_ValueError, DL_E_IO, "I/O operation on closed file.");
  }
  if (!a->z && !a->w) dl_throw(L, DL_ValueError, DL_E_IO, "I/O operation on closed file.");
  return a;
}

/* Argument 1: a path, or a file of io.open's. */
static void take_name(lua_State *L, archive *a) {
  size_t n;
  luaL_Stream *s = luaL_testudata(L, 1, LUA_FILEHANDLE);
  if (s) {
    if (!s->closef) dl_throw(L, DL_ValueError, DL_E_IO, "I/O operation on closed file.");
    lua_pushvalue(L, 1);
    a->user_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    a->user = s;
    a->f = s->f;
    return;
  }
  const char *path = luaL_checklstring(L, 1, &n);
  if (strlen(path) != n) dl_throw(L, DL_ValueError, DL_E_IO, "embedded null byte");
  if (n >= sizeof a->path) raise_errno(L, ENAMETOOLONG, path);
  memcpy(a->path, path, n + 1);
}

/* ---- reading -------------------------------------------------------------------------------- */
static void open_path(lua_State *L, archive *a) {
  struct stat info;
  if (stat(a->path, &info) != 0) raise_errno(L, errno, a->path);
  if (S_ISDIR(info.st_mode)) raise_errno(L, EISDIR, a->path);
  if (!S_ISREG(info.st_mode))
    dl_throw(L, DL_OSError, DL_E_IO, "You can only torch.load from a file that is seekable. Please "
             "pre-load the data into a buffer like io.BytesIO and try to load from it instead.");
  a->f = fopen(a->path, "rb");
  if (!a->f) raise_errno(L, errno, a->path);
}

/* What does not begin as a zip file does. */
static int not_zip(lua_State *L, const char *head, size_t n) {
  if (n == 0) {
    dl_fail(DL_EOFError, DL_E_IO, "Ran out of input");
    dl_note("the file is empty");
  } else if (n >= 4 && !memcmp(head, "\x80\x02\x8a\x0a", 4)) {
    dl_fail(DL_RuntimeError, DL_E_IO, "the file is in the legacy format of torch.save, which is "
            "not a zip archive");
    dl_note("in Python: torch.save(torch.load(f), f) writes it anew");
  } else {
    dl_fail(DL_RuntimeError, DL_E_IO, "Invalid magic number; corrupt file?");
    dl_note("a file of torch.save begins with \"PK\"; this one is something else");
  }
  return dl_raise(L, DL_E_IO);
}

/* _archive_open(path or file) */
static int l_open(lua_State *L) {
  char head[4];
  archive *a = new_archive(L);
  take_name(L, a);
  errno = 0;
  if (!a->f) open_path(L, a);
  off_t at = ftello(a->f);
  size_t n = at < 0 ? 0 : fread(head, 1, sizeof head, a->f);
  if (at >= 0 && (n < sizeof head || memcmp(head, "PK\3\4", 4))) return not_zip(L, head, n);
  if (at >= 0) fseeko(a->f, at, SEEK_SET);
  dl_status st = dl_zip_open(a->f, &a->z);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

/* archive:has(name) */
static int l_has(lua_State *L) {
  archive *a = check(L);
  lua_pushboolean(L, a->z && dl_zip_find(a->z, luaL_checkstring(L, 2)));
  return 1;
}

static const dl_zip_record *find(lua_State *L, archive *a, const char *name) {
  const dl_zip_record *r = a->z ? dl_zip_find(a->z, name) : NULL;
  if (!r) dl_raise(L, dl_zip_missing(name));
  return r;
}

/* archive:read(name) -> string */
static int l_read(lua_State *L) {
  archive *a = check(L);
  const char *name = luaL_checkstring(L, 2);
  const dl_zip_record *r = find(L, a, name);
  if (!dl_host_room(2 * (size_t)r->size))
    return dl_throw(L, DL_MemoryError, DL_E_OOM, "the record %s of %lld bytes does not fit in "
                    "memory", name, (long long)r->size);
  luaL_Buffer b;
  char *p = luaL_buffinitsize(L, &b, (size_t)r->size);
  dl_status st = dl_zip_read(a->z, r, name, p);
  if (st != DL_OK) return dl_raise(L, st);
  luaL_pushresultsize(&b, (size_t)r->size);
  return 1;
}

static void swap_bytes(char *p, int64_t n, size_t size) {
  for (; n > 0; n--, p += size)
    for (size_t i = 0; i < size / 2; i++) {
      char c = p[i];
      p[i] = p[size - 1 - i];
      p[size - 1 - i] = c;
    }
}

/* archive:tensor(name, dtype, numel, swapped) -> the record as a tensor of one dimension */
static int l_tensor(lua_State *L) {
  archive *a = check(L);
  const char *name = luaL_checkstring(L, 2);
  const dl_word *d = dl_object(L, 3, &dl_t_dtype);
  int64_t n = luaL_checkinteger(L, 4), bytes;
  if (!d) return luaL_argerror(L, 3, "a dtype");
  size_t esize = dl_dtype_size((dl_dtype)d->v);
  const dl_zip_record *r = find(L, a, name);
  if (n < 0 || !dl_mul_ok(n, (int64_t)esize, &bytes)) bytes = -1;
  if (bytes != r->size)
    return dl_throw(L, DL_RuntimeError, DL_E_IO, "record size (%lld bytes) does not match expected "
                    "size (%lld bytes = %lld elements * 1 bytes/element) for dtype Byte",
                    (long long)r->size, (long long)bytes, (long long)bytes);
  dl_pace(L);
  dl_box *b = dl_push_shell(L);
  dl_tensor *t = NULL;
  dl_status st = dl_tensor_new(DL_DEV_CPU, (dl_dtype)d->v, 1, &n, &t);
  if (st == DL_OK) st = dl_zip_read(a->z, r, name, t->st->data);
  if (st != DL_OK) {
    dl_tensor_release(t);
    return dl_raise(L, st);
  }
  b->t = t;
  if (lua_toboolean(L, 5)) swap_bytes(t->st->data, n, esize);
  dl_pace_count(t);
  return 1;
}

/* ---- writing -------------------------------------------------------------------------------- */
/* PyTorch's writer says so, with the line of its own file. */
static int cannot_create(lua_State *L, int code) {
  dl_class cls = class_of(code) == DL_PermissionError ? DL_PermissionError : DL_RuntimeError;
  return dl_throw(L, cls, DL_E_IO,
                  "[enforce fail at inline_container.cc:746] . open file failed with strerror: %s",
                  strerror(code));
}

static void check_parent(lua_State *L, const archive *a) {
  char parent[PATH_MAX];
  struct stat info;
  memcpy(parent, a->path, sizeof parent);
  char *slash = strrchr(parent, '/');
  if (!slash || slash == parent) return;
  *slash = 0;
  if (stat(parent, &info) != 0 && errno == ENOENT)
    dl_throw(L, DL_RuntimeError, DL_E_IO, "Parent directory %s does not exist.", parent);
}

/* The file that will take the place of a->path, with its rights. NULL where none can be made. */
static FILE *create_beside(archive *a, const struct stat *old) {
  char real[PATH_MAX];
  mode_t mask = umask(0);
  umask(mask);
  if (old && realpath(a->path, real)) memcpy(a->path, real, strlen(real) + 1); /* behind a link */
  snprintf(a->fresh, sizeof a->fresh, "%s.XXXXXX", a->path);
  int fd = mkstemp(a->fresh);
  if (fd >= 0 && fchmod(fd, old ? old->st_mode & 07777 : 0666 & ~mask) == 0) {
    FILE *f = fdopen(fd, "wb");
    if (f) return f;
  }
  if (fd >= 0) {
    close(fd);
    unlink(a->fresh);
  }
  *a->fresh = 0;
  return NULL;
}

static void create_path(lua_State *L, archive *a) {
  struct stat info;
  bool there = stat(a->path, &info) == 0;
  if (there && S_ISDIR(info.st_mode)) cannot_create(L, EISDIR);
  if (there && access(a->path, W_OK) != 0) cannot_create(L, errno);
  if (!there) check_parent(L, a);
  if (!there || S_ISREG(info.st_mode)) a->f = create_beside(a, there ? &info : NULL);
  if (!a->f) a->f = fopen(a->path, "wb");
  if (!a->f) cannot_create(L, errno);
}

/* _archive_create(path or file, root) */
static int l_create(lua_State *L) {
  const char *root = luaL_checkstring(L, 2);
  archive *a = new_archive(L);
  take_name(L, a);
  if (!a->f) create_path(L, a);
  dl_status st = dl_zipw_new(a->f, root, &a->w);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

/* Elements of t's whole storage, and those before t's first. */
static int64_t storage_numel(const dl_tensor *t) {
  return (int64_t)(t->st->nbytes / dl_dtype_size((dl_dtype)t->dtype));
}
static int64_t offset_of(const dl_tensor *t) {
  return t->data ? (t->data - (char *)t->st->data) / (int64_t)dl_dtype_size((dl_dtype)t->dtype) : 0;
}

/* The whole storage where its bytes can be read. May push. */
static const void *storage_bytes(lua_State *L, dl_tensor *t) {
  int64_t n = storage_numel(t), one = 1;
  if (t->dev.type == DL_CPU) return t->st->data;
  if (n == 0) return NULL;
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_tensor_view(t, 1, &n, &one, -offset_of(t), &b->t);
  if (st != DL_OK) dl_raise(L, st);
  return dl_host_tensor(L, b->t)->data;
}

/* archive:add(name, string or tensor): of a tensor the whole storage. A failure is the end. */
static int l_add(lua_State *L) {
  archive *a = check(L);
  const char *name = luaL_checkstring(L, 2);
  dl_tensor *t = dl_get_tensor(L, 3);
  size_t n = 0;
  const void *p = t ? storage_bytes(L, t) : luaL_checklstring(L, 3, &n);
  if (t) n = (size_t)storage_numel(t) * dl_dtype_size((dl_dtype)t->dtype);
  if (!a->w) return luaL_argerror(L, 1, "an archive to write");
  dl_status st = dl_zipw_add(a->w, name, p, (int64_t)n);
  return st == DL_OK ? 0 : dl_raise(L, st);
}

/* What PyTorch's own writer puts last: the format's version, and which file this is. */
static dl_status write_end(dl_zipw *w) {
  char id[64];
  uint64_t names, contents;
  DL_TRY(dl_zipw_add(w, "version", "3\n", 2));
  dl_zipw_sums(w, &names, &contents);
  snprintf(id, sizeof id, "%020llu%020llu", (unsigned long long)names,
           (unsigned long long)contents);
  DL_TRY(dl_zipw_add(w, ".data/serialization_id", id, (int64_t)strlen(id)));
  return dl_zipw_finish(w);
}

/* archive:finish(): all is written, and stands under its name. */
static int l_finish(lua_State *L) {
  archive *a = check(L);
  if (!a->w) return luaL_argerror(L, 1, "an archive to write");
  dl_status st = write_end(a->w);
  if (st != DL_OK) return dl_raise(L, st);
  if (!a->user) {
    FILE *f = a->f;
    a->f = NULL;
    if (fclose(f) != 0) raise_errno(L, errno, a->path);
    if (*a->fresh && rename(a->fresh, a->path) != 0) raise_errno(L, errno, a->path);
    *a->fresh = 0;
  }
  shut(L, a);
  return 0;
}

/* _storage(t) -> which storage (a number), its elements, those before t's first */
static int l_storage(lua_State *L) {
  const dl_tensor *t = dl_check_tensor(L, 1, "save", "obj");
  if (t->st->numberless)
    return dl_throw(L, DL_RuntimeError, DL_E_UNSUPPORTED, "a tensor of a dry run has no numbers to "
                    "save");
  lua_pushinteger(L, (lua_Integer)(intptr_t)t->st);
  lua_pushinteger(L, storage_numel(t));
  lua_pushinteger(L, offset_of(t));
  return 3;
}

void dl_archive_open(lua_State *L, int dlrepl) {
  static const luaL_Reg methods[] = {
    {"has", l_has}, {"read", l_read}, {"tensor", l_tensor}, {"add", l_add}, {"finish", l_finish},
    {"close", l_close}, {NULL, NULL}};
  static const luaL_Reg funcs[] = {
    {"_archive_open", l_open}, {"_archive_create", l_create}, {"_storage", l_storage},
    {NULL, NULL}};
  dl_metatable(L, &tag);
  lua_newtable(L);
  dl_set_funcs(L, -1, methods);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_close);
  lua_setfield(L, -2, "__close");
  lua_pushcfunction(L, l_close);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  dl_set_funcs(L, dlrepl, funcs);
}
