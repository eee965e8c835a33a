/* reduce_extreme.cu -- max, min, argmax, argmin
 *
 * For table.cu. nan wins; of equal elements the first. The smallest is the largest of the numbers
 * turned around. */
#include "reduce.h"

template <class T> struct extreme_fold {
  typedef T C;
  typedef T S;
  enum { quick = std::is_same<T, float>::value ? 2 : 0 };
  DL_FN S first() { return red_ends<T>::low(); }
  DL_FN S join(S a, S b) { return ((a > b) | (a != a)) ? a : b; }
  DL_FN S step(S s, C x, int64_t, const red_call &p) {
    if (p.kind & RED_SIZE) x = red_size(x);
    return join(s, p.kind & RED_LOW ? red_turned(x) : x);
  }
  DL_FN void finish(const red_call &p, int64_t k, S s) {
    red_put(p, 0, k, p.kind & RED_LOW ? red_turned(s) : s);
  }
};

dl_status red_largest(dl_kcall *c, int kind, void *stream) {
  return red_all<extreme_fold>(c, 0.0, kind, false, stream);
}
DL_CUDA(max) { return red_largest(c, 0, stream); }
DL_CUDA(amax) { return red_largest(c, 0, stream); }
DL_CUDA(min) { return red_largest(c, RED_LOW, stream); }
DL_CUDA(amin) { return red_largest(c, RED_LOW, stream); }

/* ---- and where it is ------------------------------------------------------------------------- */
template <class T> struct placed { T v; int64_t at; };

template <class T> struct where_fold {
  typedef T C;
  typedef placed<T> S;
  enum { quick = std::is_same<T, float>::value ? 1 : 0 };
  DL_FN S first() { return {red_ends<T>::low(), 0}; }
  DL_FN S join(S a, S b) {
    bool na = a.v != a.v, nb = b.v != b.v, ahead = nb ? !na : !na && b.v > a.v;
    bool level = (na && nb) || a.v == b.v;
    return ahead || (level && b.at < a.at) ? b : a;
  }
  DL_FN S step(S s, C x, int64_t at, const red_call &p) {
    return join(s, {p.kind & RED_LOW ? red_turned(x) : x, at});
  }
  /* with two results the value is the first of them */
  DL_FN void finish(const red_call &p, int64_t k, S s) {
    bool both = p.dout[1] != DL_NODTYPE;
    if (both) red_put(p, 0, k, p.kind & RED_LOW ? red_turned(s.v) : s.v);
    if (both) red_put(p, 1, k, s.at);
    else red_put(p, 0, k, s.at);
  }
};
DL_CUDA(argmax) { return red_all<where_fold>(c, 0.0, 0, true, stream); }
DL_CUDA(argmin) { return red_all<where_fold>(c, 0.0, RED_LOW, true, stream); }
DL_CUDA(max_dim) { return red_all<where_fold>(c, 0.0, 0, true, stream); }
DL_CUDA(min_dim) { return red_all<where_fold>(c, 0.0, RED_LOW, true, stream); }
