/* base_tensor.c -- tensors, views, aliases, lifetimes, overlap */
#include "tap.h"
#include "tensor/tensor.h"

#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__}
#define VEC(...) ((int64_t[]){__VA_ARGS__})

static dl_tensor *fresh(dl_dtype d, int ndim, const int64_t *size) {
  dl_tensor *t = NULL;
  dl_tensor_new(DL_DEV_CPU, d, ndim, size, &t);
  return t;
}

static dl_tensor *view(dl_tensor *t, int ndim, const int64_t *size, const int64_t *stride,
                       int64_t offset) {
  dl_tensor *v = NULL;
  dl_tensor_view(t, ndim, size, stride, offset, &v);
  return v;
}

static void making(void) {
  dl_tensor *t = fresh(DL_F32, DIMS(2, 3));
  ok(t->contig && t->numel == 6 && t->ndim == 2 && t->stride[0] == 3, "2 x 3 is made row-major");
  ok(t->st->inline_data && (uintptr_t)t->data % 64 == 0, "24 bytes live in the tensor's block");
  dl_tensor_release(t);
  t = fresh(DL_F64, DIMS(2, 1, 2, 1, 2, 2));
  ok(t->ndim == 6 && t->stride[0] == 8 && t->stride[5] == 1 && !t->st->inline_data,
     "six dims and 128 bytes need blocks of their own");
  dl_tensor_release(t);
  is_status(dl_tensor_new(DL_DEV_CPU, DL_F32, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), &t),
            "RuntimeError: tensors of 9 dimensions…", "nine dims are too many");
  ok(t == NULL, "and give NULL");
  is_status(dl_tensor_new(DL_DEV_CPU, DL_F64, DIMS(1ll << 61, 1), &t),
            "RuntimeError: Storage size calculation overflowed…", "bytes overflow");
  is_status(dl_tensor_new(DL_DEV_CPU, DL_U8, DIMS(1ll << 50), &t),
            "RuntimeError: [enforce fail at alloc_cpu.cpp…", "a petabyte is refused");
  dl_tensor_scalar_f(DL_BF16, 1.5, &t);
  is_double(dl_tensor_item_f(t), 1.5, 0, "a bfloat16 scalar holds 1.5");
  char name[48];
  is_str(dl_tensor_type_name(t, name), "torch.BFloat16Tensor", "and names its type");
  dl_tensor_release(t);
}

static void viewing(void) {
  dl_tensor *t = fresh(DL_I64, DIMS(3, 4));
  for (int64_t i = 0; i < 12; i++) ((int64_t *)t->data)[i] = i;
  dl_tensor *v = view(t, 2, VEC(4, 2), VEC(1, 4), 4);
  is_int(((int64_t *)v->data)[v->stride[0] + v->stride[1]], 9, "a transposed view reads its base");
  ok(!v->contig && v->ver == t->ver && v->st == t->st, "it shares storage and version");
  dl_tensor_bump(v);
  is_int(*t->ver, 1, "writing through a view counts for the base");
  dl_tensor_release(t);
  is_int(*(int64_t *)v->data, 4, "the storage outlives the base");
  dl_tensor *w = NULL;
  is_status(dl_tensor_view(v, 1, VEC(2), VEC(8), 0, &w),
            "RuntimeError: setStorage: sizes [2], strides [8], storage offset 4, and itemsize 8 "
            "requiring a storage size of 104 are out of bounds for storage of size 96",
            "a view may not leave the storage");
  is_status(dl_tensor_view(v, 1, VEC(2), VEC(1), -5, &w),
            "RuntimeError: Tensor: invalid storage offset -1", "nor begin before it");
  is_status(dl_tensor_view(v, 1, VEC(2), VEC(-1), 0, &w),
            "RuntimeError: as_strided: Negative strides are not supported at the moment, got "
            "strides: [-1]", "nor run backwards");
  is_status(dl_tensor_view(v, 1, VEC(1ll << 62), VEC(1ll << 62), 0, &w),
            "RuntimeError: setStorage…", "nor overflow");
  dl_tensor_release(v);
}

static void aliases(void) {
  dl_tensor *t = fresh(DL_F32, DIMS(4)), *d, *x, *y;
  dl_tensor_alias(t, true, &d);
  dl_tensor_alias(t, false, &x);
  dl_tensor_bump(d);
  is_int(*t->ver, 1, "a detached alias counts with its source");
  dl_tensor_bump(x);
  is_int(*t->ver, 1, "a .data alias does not");
  y = view(x, 1, VEC(2), VEC(1), 0);
  dl_tensor_release(x);
  dl_tensor_bump(y);
  is_int(*y->ver, 2, "a view of a .data alias shares its counter and keeps it alive");
  dl_tensor_release(y);
  dl_tensor_release(d);
  dl_tensor_release(t);
}

static int freed;
static void foreign_free(void *ctx) { freed += *(int *)ctx; }

static void foreign(void) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int mark = 7;
  dl_tensor *t, *v;
  dl_tensor_from_memory(data, sizeof data, DL_F32, DIMS(2, 3), NULL, foreign_free, &mark, &t);
  ok((void *)t->data == (void *)data && t->contig, "a tensor stands on foreign memory");
  v = view(t, 1, VEC(3), VEC(1), 3);
  dl_tensor_release(t);
  is_int(freed, 0, "the memory is kept while a view lives");
  is_double(dl_tensor_item_f(v), 4, 0, "and can be read");
  dl_tensor_release(v);
  is_int(freed, 7, "the last view lets it go");
}

static void set_data(void) {
  dl_tensor *t = fresh(DL_F32, DIMS(3)), *s = fresh(DL_F64, DIMS(1, 2, 1, 2, 50));
  dl_tensor *old = view(t, 1, VEC(3), VEC(1), 0);
  ((float *)old->data)[2] = 5;
  dl_tensor_bump(t);
  is_status(dl_tensor_set_data(t, s), "", "data of another shape and dtype is taken over");
  ok(t->ndim == 5 && t->dtype == DL_F64 && t->data == s->data, "t shows it");
  is_int(*t->ver, 1, "the version stays");
  dl_tensor_release(s);
  ((double *)t->data)[199] = 1;
  is_double(((float *)old->data)[2], 5, 0, "an older view still sees the old data");
  dl_tensor_release(t);
  dl_tensor_release(old);
  t = fresh(DL_F32, DIMS(3)), s = fresh(DL_F32, DIMS(2));
  dl_tensor_set_data(t, s);
  dl_tensor_release(t);
  dl_tensor_set_data(s, s);
  is_int(s->st->refs, 1, "taking over one's own data changes nothing");
  dl_tensor_release(s);
}

static void overlap(void) {
  dl_tensor *t = fresh(DL_F32, DIMS(4, 4));
  dl_tensor *a = view(t, 2, VEC(3, 4), VEC(4, 1), 0), *b = view(t, 2, VEC(3, 4), VEC(4, 1), 4);
  dl_tensor *c = view(t, 2, VEC(2, 4), VEC(4, 1), 8), *d = view(t, 2, VEC(2, 4), VEC(4, 1), 0);
  dl_tensor *tr = view(t, 2, VEC(4, 4), VEC(1, 4), 0), *ex = view(t, 2, VEC(4, 4), VEC(0, 1), 0);
  dl_tensor *odd = view(t, 1, VEC(8), VEC(2), 1);
  ok(dl_tensor_overlap(a, b), "shifted windows overlap");
  ok(!dl_tensor_overlap(c, d), "the two halves do not");
  ok(dl_tensor_overlap(t, tr), "a matrix and its transpose overlap");
  ok(!dl_tensor_overlap(t, odd), "a view with gaps counts as disjoint");
  ok(dl_tensor_self_overlap(ex), "an expanded view overlaps itself");
  ok(!dl_tensor_self_overlap(tr), "a transpose does not");
  dl_tensor *all[] = {t, a, b, c, d, tr, ex, odd};
  for (int i = 0; i < 8; i++) dl_tensor_release(all[i]);
}

/* A chain of tensors, each the gradient of the one before: freed without recursion. */
static void deep(void) {
  dl_tensor *head = NULL;
  for (int i = 0; i < 300000; i++) {
    dl_tensor *t = fresh(DL_F32, 0, NULL);
    dl_tensor_extra(t)->grad = head;
    head = t;
  }
  dl_tensor_release(head);
  ok(true, "a chain of 300000 tensors is freed");
}

static dl_status make(int which, dl_tensor *t, dl_tensor *big, dl_tensor **out) {
  if (which == 0) return dl_tensor_new(DL_DEV_CPU, DL_F64, DIMS(1, 2, 3, 4, 5), out);
  if (which == 1) return dl_tensor_view(t, 5, VEC(1, 1, 1, 1, 4), VEC(1, 1, 1, 1, 1), 0, out);
  return which == 2 ? dl_tensor_alias(big, false, out) : dl_tensor_scalar_f(DL_F32, 1, out);
}

/* Every allocation of every maker refused in turn. */
static void refused(void) {
  dl_tensor *t = fresh(DL_F32, DIMS(100)), *u, *big = fresh(DL_F32, DIMS(1, 1, 1, 1, 100));
  int64_t live = dl_mem.live_bytes, tensors = dl_tensors_live;
  int leaks = 0, failures = 0;
  for (int which = 0; which < 4; which++)
    for (int n = 1; n < 10; n++) {
      dl_mem_refuse_at = n;
      dl_status st = make(which, t, big, &u);
      dl_mem_refuse_at = 0;
      failures += st != DL_OK;
      if (st == DL_OK) dl_tensor_release(u);
      leaks += dl_mem.live_bytes != live || dl_tensors_live != tensors;
      if (st == DL_OK) break;
    }
  is_int(leaks, 0, "a refused allocation leaves nothing behind");
  is_int(failures, 3 + 2 + 3 + 1, "and each one fails the call");
  dl_tensor_release(t);
  dl_tensor_release(big);
}

int main(void) {
  making();
  viewing();
  aliases();
  foreign();
  set_data();
  overlap();
  deep();
  refused();
  is_int(dl_tensors_live, 0, "no tensor is left");
  is_int(dl_mem.live_bytes, 0, "no byte is left");
  return tap_done();
}
