/* trace.c -- where an error came from, in the user's own lines
 *
 * For session.c. Two lines a frame: place and function, then the source line, read from the file
 * now. A line typed at the prompt is on the screen already and is not repeated.
 *
 * INVARIANT  Shows at most MAX_FRAMES frames and MAX_LINE bytes of a line, whatever the depth.
 * MUST NOT   print. */
#include "repl/trace.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "repl/tree.h"

enum { MAX_FRAMES = 10, TAIL_FRAMES = 4, MAX_LINE = 200, SPAN = 50 };

const char *(*dl_trace_text)(const char *source);

/* What was run under that name, to be read; NULL if it cannot be. */
static FILE *open_source(const char *source) {
  if (source[0] == '@') return fopen(source + 1, "r");
  const char *text = dl_trace_text ? dl_trace_text(source) : NULL;
  return text && *text ? fmemopen((void *)text, strlen(text), "r") : NULL;
}

/* Line n of the file behind "@file", blanks trimmed; false if it cannot be read. */
static bool source_line(const char *source, int n, char buf[MAX_LINE]) {
  FILE *f = n > 0 ? open_source(source) : NULL;
  if (!f) return false;
  bool found = false;
  for (int line = 1; !found && fgets(buf, MAX_LINE, f);) {
    if (line == n) found = true;
    if (strchr(buf, '\n')) line++;
  }
  fclose(f);
  if (!found) return false;
  size_t skip = strspn(buf, " \t"), len = strlen(buf);
  while (len > skip && isspace((unsigned char)buf[len - 1])) buf[--len] = 0;
  memmove(buf, buf + skip, len - skip + 1);
  return buf[0] != 0;
}

/* "Net:forward" from the line that defines it: methods called by our modules carry no name. */
static bool defined_name(const lua_Debug *ar, char buf[MAX_LINE]) {
  if (!source_line(ar->source, ar->linedefined, buf)) return false;
  char *at = strstr(buf, "function ");
  if (!at) return false;
  at += strlen("function ");
  size_t n = strcspn(at, "(");
  if (n == 0 || at[n] != '(') return false;
  memmove(buf, at, n);
  buf[n] = 0;
  return true;
}

static bool is_users(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "Sl", ar);
  return *ar->what != 'C' && ar->currentline > 0 && strcmp(ar->source, "=box") != 0 &&
         !dl_tree_owns(ar->source);
}

static void add_frame(lua_State *L, lua_Debug *ar, bool outermost, luaL_Buffer *b) {
  char line[MAX_LINE];
  lua_getinfo(L, "Snlt", ar);
  if (luaL_bufflen(b)) luaL_addchar(b, '\n');
  lua_pushfstring(L, "  at %s:%d", ar->short_src, ar->currentline);
  luaL_addvalue(b);
  if ((!outermost || ar->istailcall) && *ar->what != 'm') {
    luaL_addstring(b, " in ");
    if (defined_name(ar, line)) luaL_addstring(b, line);
    else if (ar->name) luaL_addstring(b, ar->name);
    else luaL_addstring(b, "a function");
  }
  if (!source_line(ar->source, ar->currentline, line)) return;
  luaL_addstring(b, "\n       ");
  luaL_addstring(b, line);
}

/* The outermost level. lua_getstack walks from the innermost, so that a deep stack is not visited
 * level by level: doubling, then halving. */
static int last_level(lua_State *L) {
  lua_Debug ar;
  int low = 1, high = 1;
  while (lua_getstack(L, high, &ar)) {
    low = high;
    high *= 2;
  }
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (lua_getstack(L, middle, &ar)) low = middle + 1;
    else high = middle;
  }
  return high - 1;
}

/* The user's levels among level..last, innermost first; of a deep stack only both ends are looked
 * at. Returns how many were found, *hidden: levels that were not looked at. */
static int find_users(lua_State *L, int level, int *found, int *hidden) {
  lua_Debug ar;
  int last = last_level(L), n = 0;
  *hidden = last - level + 1 > 2 * SPAN ? last - level + 1 - 2 * SPAN : 0;
  int gap = *hidden ? level + SPAN : -1;
  for (; level <= last && n < 2 * SPAN; level++) {
    if (level == gap) level += *hidden;
    if (lua_getstack(L, level, &ar) && is_users(L, &ar)) found[n++] = level;
  }
  return n;
}

void dl_trace_push(lua_State *L, int level) {
  lua_Debug ar;
  luaL_Buffer b;
  int found[2 * SPAN], hidden, n = find_users(L, level, found, &hidden);
  int more = hidden + (n > MAX_FRAMES ? n - MAX_FRAMES : 0);
  luaL_buffinit(L, &b);
  for (int i = 0; i < n; i++) {
    if (more && i == MAX_FRAMES - TAIL_FRAMES) {
      lua_pushfstring(L, "\n  ... %d more", more);
      luaL_addvalue(&b);
      if (n > MAX_FRAMES) i = n - TAIL_FRAMES;
    }
    if (!lua_getstack(L, found[i], &ar)) break;
    lua_getinfo(L, "Sl", &ar);
    /* what was typed as one line says nothing more than itself */
    if (n == 1 && ar.source[0] == '=' && ar.currentline == 1) break;
    add_frame(L, &ar, i == n - 1, &b);
  }
  luaL_pushresult(&b);
}
