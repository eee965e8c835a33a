/* nn_products.c -- matrix products: every path gives the same numbers
 *
 * Paths are chosen by size: plain loops, packed panels, oneDNN; and by layout. Operands are small
 * multiples of 1/8, so that every sum is exact and results can be compared bit for bit. */
#include <stdlib.h>
#include <string.h>

#include "cpu/once/onednn.h"
#include "op/op.h"
#include "tap.h"

static uint32_t state = 1;

static double eighth(void) {
  state = state * 1664525u + 1013904223u;
  return (double)((int)(state >> 24) % 17 - 8) / 8;
}

static dl_tensor *filled(dl_dtype d, int ndim, const int64_t *size) {
  dl_tensor *t = NULL;
  if (dl_tensor_new(DL_DEV_CPU, d, ndim, size, &t) != DL_OK) exit(1);
  for (int64_t i = 0; i < t->numel; i++)
    dl_elem_set_f64(d, t->data + i * (int64_t)dl_dtype_size(d), eighth());
  return t;
}

static double at(const dl_tensor *t, int64_t b, int64_t r, int64_t c) {
  int n = t->ndim;
  int64_t i = (n > 2 ? b * t->stride[n - 3] : 0) + r * t->stride[n - 2] + c * t->stride[n - 1];
  dl_dtype d = (dl_dtype)t->dtype;
  return dl_elem_get_f64(d, t->data + i * (int64_t)dl_dtype_size(d));
}

/* Some elements of y = a @ b against sums in double. */
static bool right(const dl_tensor *a, const dl_tensor *b, const dl_tensor *y) {
  int n = y->ndim;
  int64_t rows = y->size[n - 2], cols = y->size[n - 1], k = a->size[a->ndim - 1];
  for (int try = 0; try < 300; try++) {
    int64_t z = n > 2 ? rand() % y->size[0] : 0, i = rand() % rows, j = rand() % cols;
    double sum = 0;
    for (int64_t p = 0; p < k; p++) sum += at(a, z, i, p) * at(b, z, p, j);
    if (at(y, z, i, j) == sum) continue;
    tap_diag("[%d][%d][%d] is %.9g, want %.9g", (int)z, (int)i, (int)j, at(y, z, i, j), sum);
    return false;
  }
  return true;
}

static dl_tensor *call(dl_opid op, dl_tensor *a, dl_tensor *b) {
  dl_tensor *y = NULL;
  if (dl_run(op, (dl_arg[]){T(a), T(b)}, 2, 0, &y) != DL_OK) tap_diag("%s", dl_err.message);
  return y;
}

static dl_tensor *view_of(dl_opid op, dl_tensor *t, int64_t x, int64_t y) {
  dl_tensor *v = NULL;
  if (dl_run(op, (dl_arg[]){T(t), I(x), I(y)}, 3, 0, &v) != DL_OK) exit(1);
  return v;
}

static bool same_bits(const dl_tensor *a, const dl_tensor *b) {
  return a && b && a->numel == b->numel &&
         memcmp(a->data, b->data, (size_t)a->numel * dl_dtype_size((dl_dtype)a->dtype)) == 0;
}

/* m, k, n in each of four layouts, with oneDNN and without */
static void try_sizes(dl_dtype d, int64_t m, int64_t k, int64_t n) {
  for (int layout = 0; layout < 4; layout++) {
    bool ta = layout & 1, tb = layout & 2;
    int64_t sa[2] = {ta ? k : m, ta ? m : k}, sb[2] = {tb ? n : k, tb ? k : n};
    dl_tensor *pa = filled(d, 2, sa), *pb = filled(d, 2, sb), *y[2];
    dl_tensor *a = ta ? view_of(DL_OP_transpose, pa, 0, 1) : dl_tensor_retain(pa);
    dl_tensor *b = tb ? view_of(DL_OP_transpose, pb, 0, 1) : dl_tensor_retain(pb);
    for (int off = 0; off < 2; off++) {
      dl_onednn_disable(off);
      y[off] = call(DL_OP_mm, a, b);
    }
    dl_onednn_disable(false);
    ok(y[1] && right(a, b, y[1]) && same_bits(y[0], y[1]), "%s %dx%dx%d%s%s", dl_dtypes[d].name,
       (int)m, (int)k, (int)n, ta ? ", first transposed" : "", tb ? ", second transposed" : "");
    dl_tensor *all[] = {pa, pb, a, b, y[0], y[1]};
    for (int i = 0; i < 6; i++) dl_tensor_release(all[i]);
  }
}

static void try_batches(int64_t batch, int64_t m, int64_t k, int64_t n) {
  int64_t sa[3] = {batch, m, k}, sb[3] = {batch, n, k};
  dl_tensor *a = filled(DL_F32, 3, sa), *pb = filled(DL_F32, 3, sb);
  dl_tensor *b = view_of(DL_OP_transpose, pb, 1, 2), *y[2];
  for (int off = 0; off < 2; off++) {
    dl_onednn_disable(off);
    y[off] = call(DL_OP_bmm, a, b);
  }
  dl_onednn_disable(false);
  ok(y[1] && right(a, b, y[1]) && same_bits(y[0], y[1]), "%d products of %dx%dx%d", (int)batch,
     (int)m, (int)k, (int)n);
  dl_tensor *all[] = {a, pb, b, y[0], y[1]};
  for (int i = 0; i < 5; i++) dl_tensor_release(all[i]);
}

/* Values that round: results may not depend on where the data lies or on the threads. */
static void try_places(void) {
  int64_t size[2] = {67, 131}, wide[2] = {131, 77};
  dl_tensor *a = filled(DL_F32, 2, size), *b = filled(DL_F32, 2, wide), *moved, *y[3];
  for (int64_t i = 0; i < a->numel; i++) ((float *)a->data)[i] *= 0.1f;
  int64_t room = a->numel + 1, stride[2] = {131, 1};
  dl_tensor *home = filled(DL_F32, 1, &room);
  if (dl_tensor_view(home, 2, size, stride, 1, &moved) != DL_OK) exit(1);
  memcpy(moved->data, a->data, (size_t)a->numel * sizeof(float));
  dl_onednn_disable(true);
  y[0] = call(DL_OP_mm, a, b);
  y[1] = call(DL_OP_mm, moved, b);
  int threads = dl_threads();
  dl_set_threads(1);
  y[2] = call(DL_OP_mm, a, b);
  dl_set_threads(threads);
  dl_onednn_disable(false);
  ok(same_bits(y[0], y[1]), "the same numbers four bytes further on");
  ok(same_bits(y[0], y[2]), "the same numbers on one thread");
  dl_tensor *all[] = {a, b, home, moved, y[0], y[1], y[2]};
  for (int i = 0; i < 7; i++) dl_tensor_release(all[i]);
}

int main(void) {
  dl_mem_init();
  dl_op_init();
  tap_diag("oneDNN: %s", dl_onednn_version());
  int64_t live = dl_tensors_live;
  static const int64_t size[][3] = {
    {1, 1, 1}, {2, 3, 4}, {5, 7, 9}, {1, 40, 33}, {33, 40, 1}, {16, 16, 16}, {13, 300, 3},
    {41, 42, 43}, {64, 128, 10}, {100, 600, 50}, {130, 129, 131},
    {32, 96, 512}, {390, 70, 512}};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int d = 0; d < 2; d++)
      try_sizes(d ? DL_F64 : DL_F32, size[i][0], size[i][1], size[i][2]);
  try_batches(3, 5, 6, 7);
  try_batches(300, 16, 16, 16);
  try_batches(8, 64, 64, 64);
  try_batches(2, 1, 300, 40);
  try_places();
  is_int(dl_tensors_live, live, "nothing is left behind");
  return tap_done();
}
