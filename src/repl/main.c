/* main.c -- the command line
 *
 * For people and scripts: dlrepl [options] [FILE [ARGS]]; dlrepl kernel is for Jupyter. Exit status
 * 0, 1 after an uncaught error, 2 for a command line that makes no sense, 130 after an uncaught
 * interrupt, 141 when nobody reads the output any more.
 *
 * INVARIANT  Options are read completely before anything runs.
 * MUST NOT   run Lua except through the session. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jupyter.h"
#include "repl/interrupt.h"
#include "repl/judge.h"
#include "repl/lesson.h"
#include "repl/repl.h"
#include "repl/session.h"
#include "repl/term.h"
#include "repl/tree.h"

enum { EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_INTERRUPT = 130, MAX_CODES = 64 };

typedef struct options {
  const char *code[MAX_CODES + 1]; /* of -e, in order; then doctor's */
  int n_codes;
  int script;                  /* index in argv of FILE or "-", 0 = none */
  bool interactive, version, help;
  const char *doctor;          /* what `doctor` runs, NULL where it is not asked for */
  int command;                 /* index in argv of learn, play, export or lint, 0 = none */
} options;

static const char usage[] =
    "usage: dlrepl [options] [FILE [ARGS]]\n"
    "\n"
#define DL_OPTION(form, text) "  " form "  " text "\n"
#include "repl/options.def"
#undef DL_OPTION
    "\n"
    "Without FILE and -e: the prompt, or standard input where it is no terminal.\n"
    "DLREPL_READLINE=0 in the environment turns line editing off, DLREPL_GPU=sim:t4 simulates a\n"
    "GPU as --gpu does.\n";

static int complain(const char *what, const char *arg) {
  fprintf(stderr, "dlrepl: %s '%s'\n%s", what, arg, usage);
  return EXIT_USAGE;
}

/* Is it `which`, or one of the words that open lessons, and stands for no file? */
static bool is_command(const char *word, const char *which) {
  static const char *const words[] = {"learn", "play", "export", "lint"};
  if (which) return !strcmp(word, which) && access(word, F_OK) != 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(word, words[i])) return access(word, F_OK) != 0;
  return false;
}

/* doctor, doctor --gpu, doctor --gpu sim:t4: 0, or the exit status of a usage error. */
static int read_doctor(int argc, char **argv, options *o) {
  bool gpu = argc > 1 && !strcmp(argv[1], "--gpu");
  if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
    return o->help = true, 0;
  if (argc > 1 && !gpu) return complain("doctor takes --gpu and nothing else, not", argv[1]);
  if (argc > 3) return complain("doctor --gpu takes one GPU; too much is", argv[3]);
  if (argc == 3) setenv("DLREPL_GPU", argv[2], 1);
  o->doctor = gpu ? "dlrepl.doctor() print(dlrepl.measure())" : "dlrepl.doctor()";
  return 0;
}

/* 0, or the exit status of a usage error. */
static int read_options(int argc, char **argv, options *o) {
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (is_command(a, "doctor")) return read_doctor(argc - i, argv + i, o);
    if (is_command(a, NULL)) return o->command = i, 0;
    if (a[0] != '-' || !strcmp(a, "-")) return o->script = i, 0;
    if (!strcmp(a, "--")) return o->script = i + 1 < argc ? i + 1 : 0, 0;
    if (!strcmp(a, "-i")) o->interactive = true;
    else if (!strcmp(a, "--plain")) dl_term_plain();
    else if (!strcmp(a, "--version") || !strcmp(a, "-V")) o->version = true;
    else if (!strcmp(a, "--help") || !strcmp(a, "-h")) o->help = true;
    else if (!strncmp(a, "--gpu=", 6)) setenv("DLREPL_GPU", a + 6, 1);
    else if (!strcmp(a, "--gpu")) {
      if (++i == argc) return complain("a GPU such as sim:t4 is missing after", "--gpu");
      setenv("DLREPL_GPU", argv[i], 1);
    } else if (!strncmp(a, "-e", 2)) {
      const char *code = a[2] ? a + 2 : ++i < argc ? argv[i] : NULL;
      if (!code) return complain("code is missing after", "-e");
      if (o->n_codes == MAX_CODES) return complain("too many", "-e");
      o->code[o->n_codes++] = code;
    } else {
      return complain("unknown option", a);
    }
  }
  return 0;
}

/* The table `arg`: the script is 0, its arguments from 1, what precedes it below 0. */
static void set_arg(lua_State *L, int argc, char **argv, int script) {
  lua_createtable(L, argc, 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

/* Modules that lie beside a program are found from anywhere. */
static void add_folder(lua_State *L, const char *script) {
  const char *slash = strrchr(script, '/');
  if (!slash) return;
  lua_getglobal(L, "package");
  lua_pushlstring(L, script, (size_t)(slash - script));
  const char *dir = lua_tostring(L, -1);
  lua_getfield(L, -2, "path");
  lua_pushfstring(L, "%s;%s/?.lua;%s/?/init.lua", lua_tostring(L, -1), dir, dir);
  lua_setfield(L, -4, "path");
  lua_pop(L, 3);
}

static int status_of(const dl_outcome *o) {
  dl_session_report(o);
  if (o->how == DL_ENDED_OK) return 0;
  return o->how == DL_ENDED_INTERRUPT ? EXIT_INTERRUPT : EXIT_ERROR;
}

static int run_codes(lua_State *L, const options *o) {
  for (int i = 0; i < o->n_codes; i++) {
    dl_outcome out;
    dl_session_line(o->code[i], strlen(o->code[i]), "=(command line)", &out);
    lua_pop(L, out.n);
    int st = status_of(&out);
    if (st) return st;
  }
  return 0;
}

static int run_script(lua_State *L, int argc, char **argv, int script) {
  dl_outcome out;
  const char *file = strcmp(argv[script], "-") ? argv[script] : NULL;
  luaL_checkstack(L, argc + 8, "too many arguments");
  if (file) add_folder(L, file);
  for (int i = script + 1; i < argc; i++) lua_pushstring(L, argv[i]);
  dl_session_file(file, argc - script - 1, &out);
  lua_pop(L, out.n);
  return status_of(&out);
}

/* dlrepl learn, play, export, lint: the exit status. `learn` goes on at the prompt. */
static int run_command(lua_State *L, int argc, char **argv, int at) {
  static const char code[] = "return require('dlrepl.lesson.cli')(...)";
  dl_outcome out;
  luaL_checkstack(L, argc + 8, "too many arguments");
  if (luaL_loadbufferx(L, code, sizeof code - 1, "=dlrepl", "t") != LUA_OK) return EXIT_ERROR;
  for (int i = at; i < argc; i++) lua_pushstring(L, argv[i]);
  dl_session_call(argc - at, &out);
  bool opens = out.n == 1 && lua_type(L, -1) == LUA_TSTRING;
  int st = out.n == 1 && lua_isinteger(L, -1) ? (int)lua_tointeger(L, -1) : status_of(&out);
  if (!opens) return lua_pop(L, out.n), st;
  dl_lesson_command("learn", lua_tostring(L, -1), &out); /* the value stays: it holds the text */
  dl_session_report(&out);
  dl_repl(false);
  return 0;
}

/* Everything that was asked for, in order. */
static int serve(lua_State *L, int argc, char **argv, const options *o) {
  bool prompt = !o->script && !o->n_codes;
  set_arg(L, argc, argv, o->script);
  if (!dl_session_gpu()) return EXIT_USAGE;
  int st = run_codes(L, o);
  if (!st && o->command) return run_command(L, argc, argv, o->command);
  if (!st && o->script) st = run_script(L, argc, argv, o->script);
  if (o->interactive || (prompt && isatty(0))) {
    dl_repl(prompt);
    return 0;
  }
  if (!prompt) return st;
  char *from_stdin[] = {argv[0], "-", NULL};
  return run_script(L, 2, from_stdin, 1);
}

/* Output that could not be written is an error of the program. */
static int flush_output(int st) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return st;
  return st ? st : EXIT_ERROR;
}

/* A write into a pipe that nobody reads: when it is standard output, nothing we do can be seen any
 * more, so we leave without a word; any other write simply fails. */
static void on_sigpipe(int sig) {
  struct pollfd out = {.fd = 1};
  int saved = errno;
  if (poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP)) _exit(128 + sig);
  errno = saved;
}

/* A file that is opened later must not become standard output by taking its number. */
static void fill_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
}

int main(int argc, char **argv) {
  options o = {.n_codes = 0};
  fill_descriptors();
  if (argc == 2 && !strcmp(argv[1], "--judge")) return dl_judge_main();
  setlocale(LC_CTYPE, "");
  signal(SIGPIPE, on_sigpipe);
  if (argc > 1 && !strcmp(argv[1], "kernel") && access(argv[1], R_OK) != 0)
    return dl_kernel_main(argc - 2, argv + 2);
  int st = read_options(argc, argv, &o);
  if (st) return st;
  if (o.help) return fputs(usage, stdout), flush_output(0);
  if (o.version) return puts("dlrepl " DL_VERSION " (" LUA_RELEASE ")"), flush_output(0);
  lua_State *L = dl_session_open();
  if (!L) return fprintf(stderr, "dlrepl: could not start\n"), EXIT_ERROR;
  dl_interrupt_install(false);
  if (o.doctor) o.code[o.n_codes++] = o.doctor;
  st = serve(L, argc, argv, &o);
  st = flush_output(st);
  dl_session_close();
  return st;
}
