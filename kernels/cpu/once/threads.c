/* threads.c -- one pool of threads (OpenMP's), work cut so that an interrupt is seen
 *
 * For kernels. OMP_* variables are neither read nor set here: the number of threads is given to
 * each region, and each worker binds itself to a CPU of its own in its first region, because an
 * unbound worker costs 5.7 ms at the first region after a pause. The main thread stays free: a
 * bound one would hand its single CPU to every thread and process made later.
 *
 * A region ends when its last worker does, and a worker whose CPU another program uses comes up to
 * a time slice (4 ms) late, whatever the work; the caller too loses its CPU, to spinning workers if
 * to nobody else. So a region that waited sends the next ones to the caller alone for a while, in
 * proportion to what it cost. Large pieces are handed to whoever is free: there a late thread costs
 * one of them.
 *
 * INVARIANT  Pieces of [0, n) begin at multiples of `grain` and are cut the same way for any
 *            number of threads up to that.
 * MUST NOT   know what the work is. */
#include "once.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#define FIRST_GRAINS 64      /* grains a thread in the first round, before the pace is known */
#define ROUND_SECONDS 0.020  /* aim of a round; 50 ms is the promise */
#define LATE_SECONDS 0.0005  /* a worker this long behind the caller lacks a CPU */
#define SLICES 0.008         /* a longer region outweighs a time slice that its caller lost */
#define ALONE_TIMES 4        /* so many times what it cost without workers, then twice that … */
#define ALONE_MIN 0.002      /* … after each late one that follows; seconds, at least … */
#define ALONE_MAX 0.5        /* … and at most */

static int threads;          /* 0 = not asked yet */
static int cpus;             /* regions never have more threads */
static double alone_until, alone_for, together_since; /* seconds of the monotonic clock */
static cpu_set_t inherited;  /* the CPUs this process was given */
static _Thread_local bool bound;

/* CPUs that the cgroup's quota pays for; 0 = no quota. */
static int quota_cpus(void) {
  long long quota = 0, period = 0;
  FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!f) return 0;
  if (fscanf(f, "%lld %lld", &quota, &period) != 2) quota = 0;
  fclose(f);
  return quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

static void find_cpus(void) {
  if (sched_getaffinity(0, sizeof inherited, &inherited) != 0) CPU_ZERO(&inherited);
  int n = CPU_COUNT(&inherited), quota = quota_cpus();
  if (quota > 0 && quota < n) n = quota;
  threads = cpus = n > 0 ? n : 1;
  omp_set_dynamic(0);
}

int dl_threads(void) {
  if (!threads) find_cpus();
  return threads;
}

void dl_set_threads(int n) {
  if (!threads) find_cpus();
  threads = n < 1 ? 1 : n > 1024 ? 1024 : n;
}

/* Worker k takes the k-th CPU of the inherited mask; more threads than CPUs stay unbound. */
static void bind_worker(int k) {
  if (bound || k == 0) return;
  bound = true;
  if (k >= CPU_COUNT(&inherited)) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &inherited) || k-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Has the calling thread lost its CPU to somebody since the last question? */
static bool was_preempted(void) {
  static long before;
  struct rusage use;
  if (getrusage(RUSAGE_THREAD, &use) != 0) return false;
  bool yes = use.ru_nivcsw > before;
  before = use.ru_nivcsw;
  return yes;
}

/* A region began at `start`; the caller's part took until `mine`, the last worker's until `end`.
 * shared: whoever was free took the next piece. */
static void judge(double start, double mine, double end, bool shared) {
  bool late = end - mine > LATE_SECONDS && end - mine > mine - start;
  bool lost_cpu = mine - start > LATE_SECONDS && was_preempted();
  if (lost_cpu && !shared && mine - start < SLICES) late = true;
  if (late) {
    alone_for = alone_for > 0 ? 2 * alone_for : ALONE_TIMES * (end - mine);
    if (alone_for < ALONE_MIN) alone_for = ALONE_MIN;
    if (alone_for > ALONE_MAX) alone_for = ALONE_MAX;
    together_since = alone_until = end + alone_for;
  } else if (alone_for > 0 && end - together_since > alone_for) {
    alone_for = 0;
  }
}

int dl_threads_now(void) {
  int n = dl_threads();
  if (n > cpus) n = cpus;
  if (n == 1 || omp_in_parallel()) return 1;
  return alone_for > 0 && seconds() < alone_until ? 1 : n;
}

/* [lo, hi) on all threads, cut at multiples of grain from lo. */
static void one_round(int64_t lo, int64_t hi, int64_t grain, dl_piece_fn fn, void *ctx) {
  int64_t grains = (hi - lo + grain - 1) / grain;
  int want = grains > 1 ? dl_threads_now() : 1;
  if (want > grains) want = (int)grains;
  if (want <= 1) {
    fn(ctx, lo, hi);
    return;
  }
  double start = seconds(), mine = start;
#pragma omp parallel num_threads(want)
  {
    int k = omp_get_thread_num(), n = omp_get_num_threads();
    bind_worker(k);
    int64_t a = lo + grains * k / n * grain, b = lo + grains * (k + 1) / n * grain;
    if (b > hi) b = hi;
    if (a < b) fn(ctx, a, b);
    if (k == 0) mine = seconds();
  }
  judge(start, mine, seconds(), false);
}

void dl_parallel_whole(int64_t n, int64_t grain, dl_piece_fn fn, void *ctx) {
  if (n > 0) one_round(0, n, grain > 0 ? grain : 1, fn, ctx);
}

void dl_parallel_each(int64_t n, dl_piece_fn fn, void *ctx) {
  int want = n > 1 ? dl_threads_now() : 1;
  if (want > n) want = (int)n;
  if (want <= 1) {
    if (n > 0) fn(ctx, 0, n);
    return;
  }
  double start = seconds(), mine = start;
  int64_t next = 0;
#pragma omp parallel num_threads(want)
  {
    bind_worker(omp_get_thread_num());
    for (;;) {
      int64_t i;
#pragma omp atomic capture
      i = next++;
      if (i >= n) break;
      fn(ctx, i, i + 1);
    }
    if (omp_get_thread_num() == 0) mine = seconds();
  }
  judge(start, mine, seconds(), true);
}

dl_status dl_parallel(int64_t n, int64_t grain, dl_piece_fn fn, void *ctx) {
  if (grain < 1) grain = 1;
  if (n <= 0) return DL_OK;
  if (n <= grain) {
    fn(ctx, 0, n);
    return DL_OK;
  }
  int64_t round = FIRST_GRAINS * dl_threads();
  for (int64_t lo = 0; lo < n;) {
    int64_t left = (n - lo + grain - 1) / grain, take = left < round ? left : round;
    int64_t hi = take == left ? n : lo + take * grain;
    if (take == left && lo == 0) {
      one_round(lo, hi, grain, fn, ctx);
      return DL_OK;
    }
    DL_TRY(dl_poll());
    double start = seconds();
    one_round(lo, hi, grain, fn, ctx);
    double pace = (seconds() - start) / (double)take;
    double next = pace > 0 ? ROUND_SECONDS / pace : (double)(round * 16);
    if (next > (double)(round * 16)) next = (double)(round * 16);
    round = next < 1 ? 1 : (int64_t)next;
    if (round < dl_threads()) round = dl_threads();
    lo = hi;
  }
  return DL_OK;
}
