/* amp.cu -- what the gradient scaler asks of a GPU: unscale and check in one pass, adapt the scale
 *
 * For table.cu.
 * INVARIANT  A gradient is read once and written once; scale and answer stay on the device.
 * SOURCE     ATen/native/cuda/AmpKernels.cu: the value is tested before it is multiplied, a factor
 *            of exactly 1 leaves it alone, a scale grows only while it stays finite. */
#include "block.h"
#include "geo.h"

/* A number of one element: on the host (dtype DL_NODTYPE) or on the device. */
struct scalar { const void *at; int dtype; double given; };
static scalar scalar_of(const dl_kcall *c, int k) {
  if (dl_cu_on_host(c, k)) return {NULL, DL_NODTYPE, dl_cu_number(c, k)};
  return {c->in[k].data, c->in[k].dtype, 0};
}
DL_FN double value_of(const scalar &s) {
  return s.dtype == DL_NODTYPE ? s.given : dl_get<double>(s.dtype, s.at, 0);
}

template <class V> struct wide_of { typedef float type; };
template <> struct wide_of<double> { typedef double type; };

template <class V>
__global__ void unscale(V *g, dl_geo<1> places, scalar inv_scale, void *found, int dfound) {
  typedef typename wide_of<V>::type C;
  const float inv = (float)value_of(inv_scale);
  DL_EACH(i, places.numel) {
    int64_t off[1];
    places.place(i, off);
    C v = dl_as<C>(g[off[0]]);
    if (!(v - v == 0)) dl_put(dfound, found, 0, 1.0f); /* inf and nan; all write the same */
    g[off[0]] = dl_to<V>(inv == 1 ? v : v * (C)inv);
  }
}

/* arg: found_inf (the result: 1 if any value is not finite, else as it was), grads, inv_scale */
DL_CUDA(_amp_unscale_) {
  scalar inv = scalar_of(c, 1);
  for (int k = 0; k < c->nlist; k++) {
    const dl_view *v = &c->list[k];
    dl_geo<1> g;
    if (v->numel == 0) continue;
    dl_geo_make(&g, v->ndim, v->size, &v->stride);
    DL_BY_FLOAT(v->dtype, DL_LAUNCH_EACH(unscale<T>, v->numel, stream, (T *)v->data, g, inv,
                                         c->out[0].data, c->out[0].dtype));
  }
  return DL_OK;
}

static __global__ void adapt(void *scale, int dscale, void *tracker, int dtracker, scalar found,
                             double growth, double backoff, int64_t interval) {
  double s = dl_get<double>(dscale, scale, 0);
  int64_t good = dl_get<int64_t>(dtracker, tracker, 0) + 1;
  if (value_of(found) != 0) {
    s *= backoff;
    good = 0;
  } else if (good == interval) {
    float grown = (float)(s * growth);
    if (grown - grown == 0) s = grown;
    good = 0;
  }
  dl_put(dscale, scale, 0, s);
  dl_put(dtracker, tracker, 0, good);
}

/* arg: scale (the result), growth_tracker (changed too), found_inf, growth, backoff, interval */
DL_CUDA(_amp_update_scale_) {
  DL_LAUNCH(adapt, 1, 1, 0, stream, c->out[0].data, c->out[0].dtype, c->in[1].data,
            c->in[1].dtype, scalar_of(c, 2), dl_arg_f(&c->arg[3]), dl_arg_f(&c->arg[4]),
            dl_arg_i(&c->arg[5]));
  return DL_OK;
}
