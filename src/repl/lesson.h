/* lesson.h -- lessons at the prompt and in cells
 *
 * For magic.c, session.c and main.c. What a command does is written in lua/dlrepl/lesson; here are
 * its way in, the lines that a learner has run since the step began, and the functions that a
 * lesson needs of the machine.
 *
 * MUST NOT   know what a lesson is. */
#ifndef DL_REPL_LESSON_H
#define DL_REPL_LESSON_H

#include "repl/session.h"

/* dlrepl._lesson: files, the judge, the lines of the step. The table dlrepl is on top. */
void dl_lesson_open(lua_State *L);
/* A line of the learner's ran to its end. */
void dl_lesson_note_line(const char *text, size_t len);
/* The command `name` with what follows it on the line; code that the lesson shows is run as a line
 * of the session. */
void dl_lesson_command(const char *name, const char *rest, dl_outcome *o);

/* Rows of the table of commands, for magic.c, and the functions behind them. */
#define DL_LESSON_COMMANDS(X) \
  X(lesson, "[L10] [STEP]", "open a lesson, or list the lessons", "A path of a lesson file works too.", DL_MAGIC_FILE) \
  X(check, "[STEP]", "judge what you have run since the step began", "In a cell: the lines below it.", DL_MAGIC_NOTHING) \
  X(answer, "[STEP] ANSWER", "answer a question: a letter, a number, a text", "In a cell the text may go on below.", DL_MAGIC_NOTHING) \
  X(hint, "", "one more hint, from where to look to nearly the line", "", DL_MAGIC_NOTHING) \
  X(reveal, "", "show a right answer", "It counts as seen; the step stays open until :check or :skip.", DL_MAGIC_NOTHING) \
  X(skip, "[STEP]", "go on, with a right answer run in your session", "The step can be done later: :goto.", DL_MAGIC_NOTHING) \
  X(next, "", "say the step again, or go on when it is done", "", DL_MAGIC_NOTHING) \
  X(goto, "STEP", "go to a step by its name or number", "", DL_MAGIC_NOTHING) \
  X(reset, "[step|lesson|all yes]", "begin again: the step, the lesson, everything", "", DL_MAGIC_NOTHING) \
  X(review, "", "the steps of the lesson and what you answered", "", DL_MAGIC_NOTHING) \
  X(replay, "", "play the lesson again with other numbers; credit stays", "", DL_MAGIC_NOTHING) \
  X(play, "", "try things: lines do not count until :play again", "", DL_MAGIC_NOTHING) \
  X(watch, "FILE", "check a file each time it is saved; Ctrl-C ends it", "", DL_MAGIC_FILE) \
  X(appeal, "[WHY]", "say that a verdict is wrong: writes one file for the author", "", DL_MAGIC_NOTHING) \
  X(progress, "[export|import|merge FILE]", "what you have done, and how to carry it about", "", DL_MAGIC_NOTHING) \
  X(forget, "L10", "remove a lesson from your progress for good", "", DL_MAGIC_NOTHING) \
  X(quit, "", "leave the lesson; the session stays", "", DL_MAGIC_NOTHING)

#define DL_LESSON_DECLARE(name, usage, help, more, arg) \
  void dl_lesson_run_##name(const char *rest, dl_outcome *o);
DL_LESSON_COMMANDS(DL_LESSON_DECLARE)

#endif
