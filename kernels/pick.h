/* pick.h -- ordering numbers: keys, a stable sort, and the selections of the C++ library
 *
 * For kernels/cpu/{sort,select}.c and the rule of unique. An element becomes a key, an unsigned
 * integer that compares as the element does, nan above all; what is moved is (key, place).
 * The heap, selection and sort routines follow libstdc++ step by step, because PyTorch's topk and
 * median leave the order of equal elements to them and people compare printed indices.
 *
 * SOURCE     libstdc++ bits/stl_algo.h, bits/stl_heap.h; ATen/native/Sorting.cpp: quick_select.
 * MUST NOT   know which op runs. */
#ifndef DL_PICK_H
#define DL_PICK_H

#include "walk.h"

typedef struct dl_pick { uint64_t key; int64_t at; } dl_pick;

static inline uint64_t dl_key_f32(uint32_t u) {
  if ((u & 0x7fffffffu) > 0x7f800000u) return UINT32_MAX;
  if (u == 0x80000000u) u = 0;
  return u & 0x80000000u ? (uint32_t)~u : u | 0x80000000u;
}
static inline uint64_t dl_key_f64(uint64_t u) {
  const uint64_t sign = 1ull << 63;
  if ((u & ~sign) > 0x7ff0000000000000ull) return UINT64_MAX;
  if (u == sign) u = 0;
  return u & sign ? ~u : u | sign;
}

static inline uint64_t dl_key(dl_dtype d, const void *p) {
  union { float f; uint32_t u; } v;
  switch (d) {
    case DL_F32: return dl_key_f32(*(const uint32_t *)p);
    case DL_F64: return dl_key_f64(*(const uint64_t *)p);
    case DL_F16: v.f = dl_half_to_f32(*(const dl_half *)p); return dl_key_f32(v.u);
    case DL_BF16: v.f = dl_bf16_to_f32(*(const dl_bf16 *)p); return dl_key_f32(v.u);
    case DL_BOOL: case DL_U8: return *(const uint8_t *)p;
    default: return (uint64_t)dl_elem_get_i64(d, p) ^ (1ull << 63);
  }
}

/* Read a line of n elements, `step` bytes apart; reversed keys sort the largest first. */
static inline void dl_pick_read(dl_pick *v, dl_dtype d, const char *p, int64_t step, int64_t n,
                                bool reversed) {
  uint64_t flip = reversed ? UINT64_MAX : 0;
  if (d == DL_F32) {
    for (int64_t i = 0; i < n; i++, p += step)
      v[i] = (dl_pick){dl_key_f32(*(const uint32_t *)p) ^ flip, i};
    return;
  }
  for (int64_t i = 0; i < n; i++, p += step) v[i] = (dl_pick){dl_key(d, p) ^ flip, i};
}

/* ---- stable sort ----------------------------------------------------------------- */
static inline void dl_pick_insertion(dl_pick *v, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    dl_pick x = v[i];
    int64_t k = i;
    for (; k > 0 && x.key < v[k - 1].key; k--) v[k] = v[k - 1];
    v[k] = x;
  }
}

/* Byte by byte from the low end; bytes in which all keys agree are skipped. tmp: n entries. */
static inline void dl_pick_sort(dl_pick *v, dl_pick *tmp, int64_t n) {
  int64_t count[256];
  uint64_t differ = 0;
  if (n < 64) {
    dl_pick_insertion(v, n);
    return;
  }
  for (int64_t i = 1; i < n; i++) differ |= v[i].key ^ v[0].key;
  dl_pick *from = v, *to = tmp;
  for (int shift = 0; shift < 64; shift += 8) {
    if (!(differ >> shift & 0xff)) continue;
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < n; i++) count[from[i].key >> shift & 0xff]++;
    for (int64_t b = 0, sum = 0; b < 256; b++) {
      int64_t c = count[b];
      count[b] = sum;
      sum += c;
    }
    for (int64_t i = 0; i < n; i++) to[count[from[i].key >> shift & 0xff]++] = from[i];
    dl_pick *t = from;
    from = to;
    to = t;
  }
  if (from != v) memcpy(v, from, (size_t)n * sizeof *v);
}

/* ---- heaps ----------------------------------------------------------------------- */
static inline bool dl_pick_less(dl_pick a, dl_pick b) { return a.key < b.key; }
static inline void dl_pick_swap(dl_pick *a, dl_pick *b) { dl_pick t = *a; *a = *b; *b = t; }

static inline void dl_heap_adjust(dl_pick *v, int64_t hole, int64_t n, dl_pick x) {
  int64_t top = hole, child = hole;
  while (child < (n - 1) / 2) {
    child = 2 * (child + 1);
    if (dl_pick_less(v[child], v[child - 1])) child--;
    v[hole] = v[child];
    hole = child;
  }
  if ((n & 1) == 0 && child == (n - 2) / 2) {
    child = 2 * (child + 1);
    v[hole] = v[child - 1];
    hole = child - 1;
  }
  for (int64_t up = (hole - 1) / 2; hole > top && dl_pick_less(v[up], x); up = (hole - 1) / 2) {
    v[hole] = v[up];
    hole = up;
  }
  v[hole] = x;
}

/* The n smallest of v[0..end) move to the front, as a heap. */
static inline void dl_heap_select(dl_pick *v, int64_t n, int64_t end) {
  for (int64_t k = n / 2 - 1; n >= 2 && k >= 0; k--) dl_heap_adjust(v, k, n, v[k]);
  for (int64_t i = n; i < end; i++) {
    if (!dl_pick_less(v[i], v[0])) continue;
    dl_pick x = v[i];
    v[i] = v[0];
    dl_heap_adjust(v, 0, n, x);
  }
}

static inline void dl_heap_sort(dl_pick *v, int64_t n) {
  while (n > 1) {
    n--;
    dl_pick x = v[n];
    v[n] = v[0];
    dl_heap_adjust(v, 0, n, x);
  }
}

/* ---- partition, nth_element, sort ------------------------------------------------ */
static inline int dl_log2(int64_t n) { return 63 - __builtin_clzll((unsigned long long)n); }

static inline dl_pick *dl_pick_median3(dl_pick *a, dl_pick *b, dl_pick *c) {
  if (dl_pick_less(*a, *b)) return dl_pick_less(*b, *c) ? b : dl_pick_less(*a, *c) ? c : a;
  return dl_pick_less(*a, *c) ? a : dl_pick_less(*b, *c) ? c : b;
}

static inline dl_pick *dl_pick_partition(dl_pick *first, dl_pick *last) {
  dl_pick *pivot = first, *mid = first + (last - first) / 2;
  dl_pick_swap(pivot, dl_pick_median3(first + 1, mid, last - 1));
  for (first++;; first++) {
    while (dl_pick_less(*first, *pivot)) first++;
    last--;
    while (dl_pick_less(*pivot, *last)) last--;
    if (first >= last) return first;
    dl_pick_swap(first, last);
  }
}

/* After it v[nth] is what a full sort would put there, smaller ones before it. */
static inline void dl_pick_nth(dl_pick *v, int64_t nth, int64_t n) {
  dl_pick *first = v, *last = v + n, *at = v + nth;
  if (n == 0 || nth == n) return;
  for (int depth = 2 * dl_log2(n); last - first > 3; depth--) {
    if (depth == 0) {
      dl_heap_select(first, at + 1 - first, last - first);
      dl_pick_swap(first, at);
      return;
    }
    dl_pick *cut = dl_pick_partition(first, last);
    if (cut <= at) first = cut;
    else last = cut;
  }
  dl_pick_insertion(first, last - first);
}

static inline void dl_pick_introsort(dl_pick *first, dl_pick *last, int depth) {
  while (last - first > 16) {
    if (depth-- == 0) {
      dl_heap_select(first, last - first, last - first);
      dl_heap_sort(first, last - first);
      return;
    }
    dl_pick *cut = dl_pick_partition(first, last);
    dl_pick_introsort(cut, last, depth);
    last = cut;
  }
}

/* std::sort: not stable, equal elements end where the algorithm leaves them. */
static inline void dl_pick_std_sort(dl_pick *v, int64_t n) {
  if (n < 2) return;
  dl_pick_introsort(v, v + n, 2 * dl_log2(n));
  dl_pick_insertion(v, n);
}

/* The k smallest in order at the front, as PyTorch's topk finds them. */
static inline void dl_pick_top(dl_pick *v, int64_t k, int64_t n, bool sorted) {
  if (k == 0) return;
  if (k * 64 <= n) {
    dl_heap_select(v, k, n);
    dl_heap_sort(v, k);
    return;
  }
  dl_pick_nth(v, k - 1, n);
  if (sorted) dl_pick_std_sort(v, k - 1);
}

/* ATen's own selection (kthvalue): v[k] as after a full sort. */
static inline void dl_pick_quick(dl_pick *v, int64_t k, int64_t n) {
  int64_t l = 0, r = n - 1;
  while (r > l) {
    if (r == l + 1) {
      if (v[l].key > v[r].key) dl_pick_swap(&v[l], &v[r]);
      return;
    }
    dl_pick_swap(&v[(l + r) >> 1], &v[l + 1]);
    if (v[l + 1].key > v[r].key) dl_pick_swap(&v[l + 1], &v[r]);
    if (v[l].key > v[r].key) dl_pick_swap(&v[l], &v[r]);
    if (v[l + 1].key > v[l].key) dl_pick_swap(&v[l + 1], &v[l]);
    int64_t i = l + 1, j = r;
    uint64_t pivot = v[l].key;
    for (;;) {
      do i++; while (pivot > v[i].key);
      do j--; while (v[j].key > pivot);
      if (j < i) break;
      dl_pick_swap(&v[i], &v[j]);
    }
    dl_pick_swap(&v[l], &v[j]);
    if (j <= k) l = i;
    if (j >= k) r = j - 1;
  }
}

#endif
