/* spec.c -- making the kernel known to Jupyter
 *
 * For kernel.c. A kernelspec is a folder kernels/NAME with kernel.json and pictures, in one of the
 * folders that Jupyter searches.
 *
 * INVARIANT  Only folders whose kernel.json starts a dlrepl are removed; a file is written beside
 *            its name first, so that an install that fails leaves what was there.
 * MUST NOT   know sockets, Lua. */
#include "spec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/tree.h"
#include "wire.h"

enum { EXIT_FAILED = 1, PLACES = 16 };

static const char *const picture[] = {"logo-32x32.png", "logo-64x64.png", "logo-svg.svg"};
enum { PICTURES = sizeof picture / sizeof *picture };

static int fail(const char *what, const char *path) {
  fprintf(stderr, "dlrepl kernel: %s %s: %s\n", what, path, strerror(errno));
  return EXIT_FAILED;
}

static bool join(char out[PATH_MAX], const char *form, ...) {
  va_list args;
  va_start(args, form);
  int n = vsnprintf(out, PATH_MAX, form, args);
  va_end(args);
  return n > 0 && n < PATH_MAX;
}

/* ---- places ------------------------------------------------------------------------------ */

/* Jupyter's data folder of the user. */
static bool user_place(char out[PATH_MAX]) {
  const char *dir = getenv("JUPYTER_DATA_DIR"), *data = getenv("XDG_DATA_HOME");
  const char *home = getenv("HOME");
  if (dir && *dir) return join(out, "%s", dir);
  if (data && *data) return join(out, "%s/jupyter", data);
  return home && *home && join(out, "%s/.local/share/jupyter", home);
}

/* The environment of Python or conda that is active. */
static bool active_place(char out[PATH_MAX]) {
  const char *dir = getenv("VIRTUAL_ENV");
  if (!dir || !*dir) dir = getenv("CONDA_PREFIX");
  return dir && *dir && join(out, "%s/share/jupyter", dir);
}

/* Where Jupyter looks, in its order; how many. */
static int all_places(char place[PLACES][PATH_MAX]) {
  int n = 0;
  const char *path = getenv("JUPYTER_PATH");
  char *copy = strdup(path ? path : ""), *save = NULL;
  for (char *p = copy ? strtok_r(copy, ":", &save) : NULL; p && n < PLACES - 4;
       p = strtok_r(NULL, ":", &save))
    n += join(place[n], "%s", p);
  free(copy);
  n += user_place(place[n]);
  n += active_place(place[n]);
  n += join(place[n], "/usr/local/share/jupyter");
  n += join(place[n], "/usr/share/jupyter");
  return n;
}

static bool make_folders(const char *path) {
  char part[PATH_MAX];
  if (!join(part, "%s", path)) return false;
  for (char *p = part + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = 0;
    mkdir(part, 0755);
    *p = '/';
  }
  return mkdir(part, 0755) == 0 || errno == EEXIST;
}

/* ---- install ----------------------------------------------------------------------------- */

/* dir/name gets these bytes. */
static bool write_file(const char *dir, const char *name, const char *s, size_t n) {
  char path[PATH_MAX], other[PATH_MAX];
  if (!join(path, "%s/%s", dir, name) || !join(other, "%s/.%s.%d", dir, name, (int)getpid()))
    return errno = ENAMETOOLONG, false;
  FILE *f = fopen(other, "w");
  if (!f) return false;
  bool fine = fwrite(s, 1, n, f) == n;
  fine = fclose(f) == 0 && fine;
  if (fine && rename(other, path) == 0) return true;
  int why = errno;
  unlink(other);
  errno = why;
  return false;
}

static bool copy_picture(const char *dir, const char *name) {
  char below[100], path[PATH_MAX];
  static char bytes[1 << 17];
  snprintf(below, sizeof below, "jupyter/kernelspec/%s", name);
  if (!dl_tree_path(below, path, sizeof path)) return true;
  FILE *f = fopen(path, "r");
  if (!f) return true; /* a kernel without a picture is one too */
  size_t n = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  return write_file(dir, name, bytes, n);
}

static void make_json(dl_buf *b, const char *program) {
  dl_buf_text(b, "{\n \"argv\": [");
  dl_json_text(b, program);
  dl_buf_text(b, ", \"kernel\", \"-f\", \"{connection_file}\"],\n"
                 " \"display_name\": \"dlrepl (PyTorch in Lua)\",\n"
                 " \"language\": \"lua\",\n"
                 " \"interrupt_mode\": \"signal\",\n"
                 " \"kernel_protocol_version\": \"" DL_PROTOCOL "\",\n"
                 " \"metadata\": {\"debugger\": false,"
                 " \"supported_encryption\": [\"curve\"]}\n}\n");
}

static int install(const char *place, const char *name) {
  char dir[PATH_MAX], program[PATH_MAX];
  dl_buf json = {0};
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  if (n <= 0 || !join(dir, "%s/kernels/%s", place, name)) return fail("cannot install in", place);
  program[n] = 0;
  make_json(&json, program);
  bool fine = !json.bad && make_folders(dir);
  for (int i = 0; fine && i < PICTURES; i++) fine = copy_picture(dir, picture[i]);
  fine = fine && write_file(dir, "kernel.json", json.s, json.n);
  dl_buf_free(&json);
  if (!fine) return fail("cannot write into", dir);
  printf("installed as %s in %s\n", name, dir);
  return 0;
}

/* ---- list and uninstall ---------------------------------------------------------------------- */

/* Does the kernel.json in dir start a dlrepl? Then which one. */
static bool read_spec(const char *dir, char program[PATH_MAX]) {
  char path[PATH_MAX];
  json_error_t e;
  if (!join(path, "%s/kernel.json", dir)) return false;
  json_t *o = json_load_file(path, 0, &e), *argv = json_object_get(o, "argv");
  const char *first = json_string_value(json_array_get(argv, 0));
  const char *second = json_string_value(json_array_get(argv, 1));
  const char *slash = first ? strrchr(first, '/') : NULL;
  bool is = first && second && !strcmp(second, "kernel") &&
            !strncmp(slash ? slash + 1 : first, "dlrepl", 6) && join(program, "%s", first);
  json_decref(o);
  return is;
}

typedef void each_fn(const char *dir, const char *program);

/* Call each() if the folder is a kernelspec of ours; 1 if so. */
static int try_spec(const char *place, const char *name, each_fn *each) {
  char dir[PATH_MAX], program[PATH_MAX];
  if (!join(dir, "%s/kernels/%s", place, name) || !read_spec(dir, program)) return 0;
  each(dir, program);
  return 1;
}

/* The kernelspecs of ours of that name (NULL: any); how many. */
static int each_spec(const char *name, each_fn *each) {
  static char place[PLACES][PATH_MAX];
  char folder[PATH_MAX];
  int n = all_places(place), found = 0;
  for (int i = 0; i < n; i++) {
    if (name) found += try_spec(place[i], name, each);
    DIR *dir = !name && join(folder, "%s/kernels", place[i]) ? opendir(folder) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;)
      if (*e->d_name != '.') found += try_spec(place[i], e->d_name, each);
    if (dir) closedir(dir);
  }
  return found;
}

static void print_spec(const char *dir, const char *program) {
  printf("%s  runs %s%s\n", dir, program,
         access(program, X_OK) == 0 ? "" : "  (which is not there any more)");
}

static int failures;
static void remove_spec(const char *dir, const char *program) {
  char path[PATH_MAX];
  (void)program;
  for (int i = 0; i < PICTURES; i++)
    if (join(path, "%s/%s", dir, picture[i])) unlink(path);
  bool fine = join(path, "%s/kernel.json", dir) && unlink(path) == 0 && rmdir(dir) == 0;
  if (fine) printf("removed %s\n", dir);
  else failures += fail("cannot remove", dir);
}

static int list(void) {
  if (each_spec(NULL, print_spec)) return 0;
  puts("not installed; dlrepl kernel install does it");
  return 0;
}

static int uninstall(const char *name) {
  if (each_spec(name, remove_spec)) return failures ? EXIT_FAILED : 0;
  fprintf(stderr, "dlrepl kernel: nothing of ours is installed under that name\n");
  return EXIT_FAILED;
}

/* ---- the command line ------------------------------------------------------------------------ */

static bool is_name(const char *s) {
  for (const char *c = s; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) return false;
  return *s && *s != '.' && strlen(s) < 100;
}

int dl_spec_main(int argc, char **argv) {
  char place[PATH_MAX];
  const char *name = "dlrepl";
  bool placed = false;
  dl_tree_open();
  if (!strcmp(argv[0], "list") && argc == 1) return list();
  if (!strcmp(argv[0], "uninstall") && argc <= 2)
    return argc == 2 && !is_name(argv[1]) ? -1 : uninstall(argc == 2 ? argv[1] : "dlrepl");
  if (strcmp(argv[0], "install")) return -1;
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (!strcmp(argv[i], "--user")) placed = user_place(place);
    else if (!strcmp(argv[i], "--sys-prefix")) placed = active_place(place);
    else if (!strcmp(argv[i], "--prefix") && more) placed = join(place, "%s/share/jupyter",
                                                                argv[++i]);
    else if (!strncmp(argv[i], "--prefix=", 9)) placed = join(place, "%s/share/jupyter",
                                                             argv[i] + 9);
    else if (!strcmp(argv[i], "--name") && more && is_name(argv[i + 1])) {
      name = argv[++i];
      continue;
    } else return -1;
    if (placed) continue;
    fprintf(stderr, "dlrepl kernel: there is no such place"
                    " (is HOME set, an environment active?)\n");
    return EXIT_FAILED;
  }
  if (!placed && !user_place(place)) return errno = ENOENT, fail("cannot find", "HOME");
  return install(place, name);
}
