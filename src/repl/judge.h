/* judge.h -- the process that judges answers to lessons: dlrepl --judge
 *
 * For main.c. It is started by spawn.c with requests on descriptor 3 and replies on 4, has one
 * thread and a process group of its own, and forks itself for each submission.
 *
 * INVARIANT  Nothing of a submission reaches the process that forked it, but one text of verdict.
 * MUST NOT   know lessons: lua/dlrepl/lesson/judge.lua does. */
#ifndef DL_REPL_JUDGE_H
#define DL_REPL_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DL_JUDGE_IN = 3, DL_JUDGE_OUT = 4, DL_FRAME_MAX = 64 << 20 };

/* Serve until the requests end; the exit status. */
int dl_judge_main(void);

/* One frame: a length of 4 bytes, the lowest first, and as many bytes. read: the text, ended by 0
 * and owned by the caller; NULL when the other side is gone, has sent no frame, the time is up
 * (ms < 0: no limit; *timed_out tells) or `stop`, asked now and then unless NULL, says so. */
bool dl_frame_write(int fd, const char *text, uint32_t n);
char *dl_frame_read(int fd, int64_t ms, uint32_t *n, bool (*stop)(void), bool *timed_out);
/* All n bytes, however often the system takes some; false: errno says why not. */
bool dl_fd_write(int fd, const void *p, size_t n);

#endif
