/* error.h -- how the engine says that something went wrong
 *
 * For every C file. A function that can fail returns dl_status; the detail sits
 * in ONE fixed record (dl_err), so that the error path never allocates.
 *
 * INVARIANT  After a non-OK return dl_err describes the first failure; nothing
 *            the failing function made is left behind.
 * MUST NOT   know Lua, print, abort. */
#ifndef DL_ERROR_H
#define DL_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* kind: the stable word that programs and lessons match on (e.kind) */
#define DL_KINDS(X)                                                                 \
  X(SHAPE, "shape") X(DTYPE, "dtype") X(DEVICE, "device_mismatch")                  \
  X(INDEX, "index") X(ARGUMENT, "argument") X(AUTOGRAD, "autograd")                 \
  X(OOM, "out_of_memory") X(IO, "io") X(INTERRUPT, "interrupt")                     \
  X(CALLBACK, "callback") X(UNSUPPORTED, "unsupported") X(INTERNAL, "internal")

typedef enum dl_status {
  DL_OK = 0,
#define X(id, word) DL_E_##id,
  DL_KINDS(X)
#undef X
  DL_E_COUNT
} dl_status;

/* class: the exception PyTorch raises (e.class) */
#define DL_CLASSES(X)                                                               \
  X(RuntimeError) X(IndexError) X(ValueError) X(TypeError) X(NotImplementedError)   \
  X(AssertionError) X(AttributeError) X(KeyError) X(OutOfMemoryError)               \
  X(AcceleratorError) X(LinAlgError) X(MemoryError) X(KeyboardInterrupt)            \
  X(OSError) X(GradcheckError) X(CheckpointError) X(FileNotFoundError)              \
  X(IsADirectoryError) X(PermissionError) X(EOFError) X(UnpicklingError)

typedef enum dl_class {
#define X(id) DL_##id,
  DL_CLASSES(X)
#undef X
  DL_CLASS_COUNT
} dl_class;

#define DL_MESSAGE_MAX 2048 /* bytes, with the ending zero */

typedef struct dl_error {
  dl_status kind;
  dl_class cls;
  const char *op;                /* PyTorch's name of the op under way, or NULL */
  char message[DL_MESSAGE_MAX];  /* PyTorch's text, without the class */
  char notes[DL_MESSAGE_MAX];    /* our own lines, '\n' between them */
} dl_error;

extern dl_error dl_err;

#if defined(__GNUC__)
#define DL_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define DL_PRINTF(a, b)
#endif

/* Fill dl_err and return `kind` (never DL_OK). Long text is cut, never overrun. */
dl_status dl_fail(dl_class cls, dl_status kind, const char *fmt, ...) DL_PRINTF(3, 4);
/* Append one line of our own advice to the last failure. */
void dl_note(const char *fmt, ...) DL_PRINTF(1, 2);
void dl_err_clear(void);
const char *dl_kind_name(dl_status kind);
const char *dl_class_name(dl_class cls);

/* Warnings: the engine queues one (PyTorch's class, e.g. "UserWarning"); the front end shows it.
 * A text already shown since start is dropped where `once` is true. */
extern void (*dl_warn_sink)(const char *category, const char *text);
void dl_warn(bool once, const char *category, const char *fmt, ...) DL_PRINTF(3, 4);

#define DL_TRY(expr)                                                                \
  do {                                                                              \
    dl_status dl_try_ = (expr);                                                     \
    if (dl_try_ != DL_OK) return dl_try_;                                           \
  } while (0)

/* Interrupt: set by a signal handler, polled between ops and inside long ones. */
extern volatile int dl_cancel;
dl_status dl_poll(void); /* DL_OK, or KeyboardInterrupt (and clears the flag) */

#endif
