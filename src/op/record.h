/* record.h -- the run record: what a program did, kept where it cannot reach
 *
 * For lessons (which grade from it), the profiler, `dlrepl.report()`, and a judge in C. It is kept
 * by dispatch while DL_MODE_RECORD is set; every other moment costs nothing.
 *
 * INVARIANT  Only these functions change the record. Recording changes no result, and no peak:
 *            what it computes for itself is not counted.
 * MUST NOT   know Lua. */
#ifndef DL_RECORD_H
#define DL_RECORD_H

#include "mem/recorder.h"
#include "op/op.h"
#include "tensor/ledger.h"

/* What held while an op ran. */
enum {
  DL_REC_GRAD = 1,        /* gradients were recorded */
  DL_REC_INFERENCE = 2,
  DL_REC_AUTOCAST = 4,    /* some autocast region was on */
  DL_REC_BACKWARD = 8,    /* called by a gradient rule or a hook, inside backward */
  DL_REC_STEP = 16,       /* called by an optimizer's step */
  DL_REC_KERNEL = 32,     /* it ran a kernel: no view, no composite */
  DL_REC_INPLACE = 64,
  DL_REC_ONE_DEVICE = 128 /* all operands, but for 0-dim CPU numbers, and results on one device */
};

#define DL_REC_IN 5
#define DL_REC_OUT 2
#define DL_REC_DIMS 6
typedef struct dl_rec_op {
  uint16_t op, depth;     /* depth 0: called by the program or by backward; above: by a composite */
  uint8_t mode, nin, nout, ndim;
  uint8_t in_dtype[DL_REC_IN], out_dtype[DL_REC_OUT];
  dl_device in_dev[DL_REC_IN], out_dev[DL_REC_OUT];
  int64_t size[DL_REC_DIMS]; /* of result 0 */
  int64_t flops, read, written;
  int64_t flushed;        /* values not zero that rounding to the result's dtype made zero */
  int64_t overflowed;     /* finite values that became infinite so */
  int64_t nonfinite;      /* inf and nan in the results */
} dl_rec_op;

typedef struct dl_rec_sum { /* of all calls of one op */
  int64_t calls, flops, read, written, flushed, overflowed, nonfinite, ns;
} dl_rec_sum;

/* LOAD: all the time that a loader's batch was waited for, ops in it included. */
typedef enum { DL_REC_FORWARD, DL_REC_IN_BACKWARD, DL_REC_IN_STEP, DL_REC_IN_COPY, DL_REC_LOAD,
               DL_REC_STAGES } dl_rec_stage;

/* A parameter: what the record was told to watch, or saw an in-place op change. */
typedef struct dl_rec_param {
  char name[80];          /* "" where nobody named it */
  dl_tensor *t;           /* watched: owned; else NULL */
  const void *storage;    /* identity of what is not watched; never read through */
  int ndim;
  int64_t size[DL_REC_DIMS], numel;
  int64_t updates;        /* in-place ops on it */
  bool buffer;            /* watched: a module's buffer, no parameter */
  bool changed;           /* some bit differs from what it was at the start (watched) or by an op */
  double delta;           /* norm of the change: from the start (watched), or summed over ops */
  void *before;           /* watched: its bytes at the start */
  int grad;               /* watched, at the end: -1 none, 0 zero, 1 finite, 2 not finite */
  double grad_norm;
} dl_rec_param;

typedef struct dl_rec_copy { int64_t count, bytes, role[DL_ROLE_COUNT]; } dl_rec_copy;

typedef struct dl_rec_memory { /* bytes of one device */
  int64_t start[DL_ROLE_COUNT], peak, at_peak[DL_ROLE_COUNT], peak_role[DL_ROLE_COUNT];
  int64_t ooms;
  int64_t reserved, reserved_peak, capacity; /* of a GPU's pool, at the end */
} dl_rec_memory;

typedef struct dl_rec_lr { int64_t step; double lr; } dl_rec_lr; /* of one group at one step */

/* A module's call. */
typedef struct dl_rec_module {
  char name[62];
  bool training, grad;
  int depth;              /* calls of modules around it */
  int64_t saved;          /* bytes that the graph keeps more after it than before, all devices */
} dl_rec_module;

/* How often hooks of a kind ran for a module or a tensor. */
typedef struct dl_rec_hook { char name[80]; const char *kind; int64_t count; } dl_rec_hook;

/* An index of a dataset that a loader served, in the epoch (from 1) of that record. */
typedef struct dl_rec_served { int64_t epoch, index; } dl_rec_served;

/* Bytes by role of the CPU and of the first GPU after an op: the highest of its stretch of ops. */
typedef struct dl_rec_sample { int64_t op, bytes[2][DL_ROLE_COUNT]; } dl_rec_sample;
#define DL_REC_SAMPLES 512

#define DL_REC_WHY 12
typedef struct dl_record {
  dl_rec_op *op;          /* the log, in order of ending: inner ops before their composite */
  int64_t n, cap, dropped; /* dropped: calls beyond DL_REC_LOG */
  dl_rec_sum sum[DL_OP_COUNT];
  int64_t kernels, draws, moves; /* draws: ops that drew random numbers; moves: copies */
  dl_rec_copy copy[4];    /* host to device, device to host, device to device, host to host */
  int64_t syncs;
  struct { const char *why; int64_t n; } sync_why[DL_REC_WHY];
  dl_rec_memory memory[DL_LEDGER_SLOTS];
  int64_t nodes_start, nodes_end, nodes_peak, backwards;
  int64_t steps, skipped, updates; /* optimizer steps; parameter updates by optimizer rows */
  dl_rec_lr *lr;
  int64_t nlr, caplr;
  int64_t ns[DL_REC_STAGES];
  double virtual_us[DL_REC_STAGES]; /* the same on a simulated GPU's host clock */
  double clock_us, elapsed_us, busy_us; /* of it: start; then to end; kernels running */
  dl_rec_param *param;
  int64_t nparam, capparam;
  double *scale;          /* the gradient scaler's scale after each update */
  int64_t nscale, capscale;
  dl_rec_module *module;  /* in order of their calls, at most DL_REC_LOG */
  int64_t nmodule, capmodule;
  int module_depth;
  dl_rec_hook *hook;      /* in order of their first run */
  int64_t nhook, caphook;
  dl_rec_served *served;  /* in order, at most DL_REC_LOG; `dropped_served`: beyond */
  int64_t nserved, capserved, dropped_served;
  int64_t epochs, batches; /* of loaders: begun, handed out */
  dl_rec_sample sample[DL_REC_SAMPLES];
  int64_t nsample, stretch, ops; /* ops a sample stands for; ops so far */
} dl_record;
#define DL_REC_LOG 65536

/* One record at a time: RuntimeError when one is being kept. Takes nothing over. */
dl_status dl_record_start(void);
/* Watch t under a name: its bytes are kept and compared at the end. While a record is kept. */
dl_status dl_record_watch(dl_tensor *t, const char *name);
void dl_record_watch_buffer(dl_tensor *t); /* it is watched already: a buffer */
void dl_record_stop(void);          /* the record stays readable until the next start or free */
const dl_record *dl_record_get(void); /* NULL: none was made */
void dl_record_free(void);
static inline bool dl_record_on(void) { return dl_mode & DL_MODE_RECORD; }

/* ---- who reports ----------------------------------------------------------------------------- */
/* dispatch: runs the op and writes it down */
dl_status dl_record_run(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret);
void dl_record_backward(bool enters); /* the walk */
/* Optimizer:step begins (1), ends (0); a scaler skips one (-1). */
void dl_record_step(int what);
void dl_record_lr(double lr);         /* of a group of the step that begins */
void dl_record_scale(double scale);   /* GradScaler:update */
/* The first element of t without a synchronisation that counts; false where it cannot be read. */
bool dl_record_peek(dl_tensor *t, double *v);
/* A module's call begins: its place in the log, -1 when it is full; ends: what it left saved. */
int64_t dl_record_module(const char *name, bool training);
void dl_record_module_end(int64_t at);
/* A hook runs; kind is a literal, name that of the module or tensor it belongs to. */
void dl_record_hook(const char *kind, const char *name);
/* The name under which t's memory is watched; "" where it is not. st: of a tensor, perhaps dead. */
const char *dl_record_name(const void *st);
/* Loaders: an epoch begins (its number, 0 while no record is kept); an index of it is served; a
 * batch is waited for (1), is there (0); one is handed out. */
int64_t dl_record_epoch(void);
void dl_record_served(int64_t epoch, int64_t index);
void dl_record_wait(int what);
void dl_record_batch(void);

#endif
