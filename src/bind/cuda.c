/* cuda.c -- torch.cuda: which devices there are, which one is meant, streams and events
 *
 * For the binding. What reads well in Lua (guards, properties' text) is lua/torch/cuda.lua;
 * memory figures are cudamem.c's; dlrepl.simulate is sim.c's.
 *
 * INVARIANT  Without an open driver each function answers as PyTorch does on a machine without a
 *            GPU. A stream or event outlives no driver: after a reset it raises.
 * MUST NOT   know which driver it is. */
#include "bind/bind.h"
#include "mem/gpu.h"
#include "tensor/devmem.h"

#include <stdio.h>
#include <string.h>

typedef struct streambox {
  const dl_tag_info *tag;
  dl_stream s;
  int dev;
  uint32_t epoch;
  bool owned;                    /* made by Stream(): freed with the object */
} streambox;

typedef struct eventbox {
  const dl_tag_info *tag;
  dl_event *e;
  uint32_t epoch;
  int dev;                       /* where it was first recorded */
  bool timing, recorded;
} eventbox;

static const dl_tag_info t_stream = {"torch.cuda.Stream", sizeof(streambox)};
static const dl_tag_info t_event = {"torch.cuda.Event", sizeof(eventbox)};

static void must(lua_State *L, dl_status st) {
  if (st != DL_OK) dl_raise(L, st);
}
static void cuda_must(lua_State *L, int code) { must(L, dl_gpu_error(code)); }

/* nil, None, 1, "cuda:1" or a device: the ordinal of a device that is there. */
int dl_check_gpu(lua_State *L, int i, const char *fn) {
  dl_device d = {(int8_t)dl_gpu_type, -1};
  if (!dl_is_nil(L, i) && !dl_get_device(L, i, &d))
    dl_type_error(L, "%s(): argument 'device' must be torch.device, not %s", fn,
                  dl_type_name(L, i));
  if (lua_isinteger(L, i) && (lua_tointeger(L, i) < 0 || lua_tointeger(L, i) > 127)) d.index = 127;
  if (lua_isinteger(L, i)) d.type = (int8_t)dl_gpu_type;
  if (d.type == DL_CPU)
    dl_throw(L, DL_ValueError, DL_E_DEVICE, "Expected a cuda device, but got: cpu");
  must(L, dl_gpu_resolve(&d));
  return d.index;
}

/* ---- devices --------------------------------------------------------------------------------- */
static bool is_gpu(void) {
  dl_gpu_look();
  return dl_gpu != NULL;
}
static bool is_cuda(void) { return is_gpu() && dl_gpu_type == DL_CUDA; }

static int l_is_available(lua_State *L) {
  lua_pushboolean(L, is_cuda());
  return 1;
}
static int l_device_count(lua_State *L) {
  lua_pushinteger(L, is_cuda() ? dl_gpu_count() : 0);
  return 1;
}
static int l_current_device(lua_State *L) {
  dl_check_gpu(L, 2, "current_device");
  lua_pushinteger(L, dl_gpu_current());
  return 1;
}
static int l_set_device(lua_State *L) {
  dl_check_calm(L, "set_device");
  if (lua_isinteger(L, 1) && lua_tointeger(L, 1) < 0) return 0; /* PyTorch: "no device", ignored */
  must(L, dl_gpu_set_current(dl_check_gpu(L, 1, "set_device")));
  return 0;
}
static int l_synchronize(lua_State *L) {
  must(L, dl_gpu_sync(dl_check_gpu(L, 1, "synchronize")));
  return 0;
}

static void props_of(lua_State *L, const char *fn, dl_props *p) {
  bool number = dl_gpu && lua_isinteger(L, 1);
  if (number && (lua_tointeger(L, 1) < 0 || lua_tointeger(L, 1) >= dl_gpu_count()))
    dl_throw(L, DL_AssertionError, DL_E_DEVICE, "Invalid device id");
  int dev = dl_check_gpu(L, 1, fn);
  memset(p, 0, sizeof *p);
  cuda_must(L, dl_gpu->props(dev, p));
}
static int l_get_device_name(lua_State *L) {
  dl_props p;
  props_of(L, "get_device_name", &p);
  lua_pushstring(L, p.name);
  return 1;
}
static int l_get_device_capability(lua_State *L) {
  dl_props p;
  props_of(L, "get_device_capability", &p);
  lua_pushinteger(L, p.major);
  lua_pushinteger(L, p.minor);
  return 2;
}

/* The figures as a plain table; cuda.lua makes it print as PyTorch does. */
static int l_properties(lua_State *L) {
  dl_props p;
  props_of(L, "get_device_properties", &p);
  lua_newtable(L);
  dl_put_str(L, "name", p.name);
  dl_put_str(L, "uuid", p.uuid);
  dl_put_int(L, "major", p.major);
  dl_put_int(L, "minor", p.minor);
  dl_put_int(L, "total_memory", p.total_memory);
  dl_put_int(L, "multi_processor_count", p.sm_count);
  dl_put_int(L, "warp_size", p.warp_size);
  dl_put_int(L, "max_threads_per_multi_processor", p.max_threads_per_sm);
  dl_put_int(L, "L2_cache_size", p.l2_bytes);
  dl_put_int(L, "shared_memory_per_block", p.shared_per_block);
  dl_put_int(L, "shared_memory_per_block_optin", p.shared_per_block_optin);
  dl_put_int(L, "shared_memory_per_multiprocessor", p.shared_per_sm);
  dl_put_int(L, "regs_per_multiprocessor", p.regs_per_sm);
  return 1;
}

static int l_can_access_peer(lua_State *L) {
  int a = dl_check_gpu(L, 1, "can_device_access_peer"),
      b = dl_check_gpu(L, 2, "can_device_access_peer");
  bool yes = false;
  cuda_must(L, dl_gpu->peer_ok(a, b, &yes));
  lua_pushboolean(L, yes);
  return 1;
}

static int l_reset_device(lua_State *L) {
  dl_check_idle(L, "reset_device");
  must(L, dl_gpu_reset(dl_check_gpu(L, 1, "reset_device")));
  return 0;
}

static int l_is_simulated(lua_State *L) {
  lua_pushboolean(L, dl_gpu && dl_gpu->simulated);
  return 1;
}

static int l_host_us(lua_State *L) {
  lua_pushnumber(L, dl_gpu ? dl_gpu->host_us() : 0);
  return 1;
}

/* The share of the time since the last call in which some kernel ran, in per cent (nvidia-smi looks
 * at the last second or so). */
static int l_utilization(lua_State *L) {
  static struct { uint32_t epoch; double kernel, elapsed; } last[DL_GPU_MAX];
  double kernel = 0, elapsed = 0;
  int dev = dl_check_gpu(L, 1, "utilization");
  cuda_must(L, dl_gpu->busy(dev, &kernel, &elapsed));
  if (last[dev].epoch != dl_gpu_epochs[dev]) last[dev].kernel = last[dev].elapsed = 0;
  double share = elapsed > last[dev].elapsed
                     ? (kernel - last[dev].kernel) / (elapsed - last[dev].elapsed) : 0;
  last[dev].epoch = dl_gpu_epochs[dev];
  last[dev].kernel = kernel;
  last[dev].elapsed = elapsed;
  lua_pushinteger(L, (lua_Integer)(100 * share + 0.5));
  return 1;
}

/* cuda._tf32(which [, on]): may float32 "matmul" or "conv" round their inputs to tf32? */
static int l_tf32(lua_State *L) {
  uint8_t bit = !strcmp(luaL_checkstring(L, 1), "conv") ? DL_TF32_CONV : DL_TF32_MATMUL;
  if (lua_gettop(L) > 1 && lua_toboolean(L, 2)) dl_gpu_set_tf32(dl_gpu_tf32 | bit);
  else if (lua_gettop(L) > 1) dl_gpu_set_tf32(dl_gpu_tf32 & (uint8_t)~bit);
  lua_pushboolean(L, dl_gpu_tf32 & bit);
  return 1;
}

/* cuda._sync_debug([mode]): 0 silent, 1 warn, 2 raise when the host waits for a copy. */
static int l_sync_debug(lua_State *L) {
  if (lua_gettop(L) > 0) dl_gpu_sync_debug = (int)luaL_checkinteger(L, 1);
  lua_pushinteger(L, dl_gpu_sync_debug);
  return 1;
}

/* torch.set_default_device(device): where factories make tensors that name no device. */
static int l_set_default_device(lua_State *L) {
  dl_device d = DL_DEV_CPU;
  if (!dl_is_nil(L, 1) && !dl_get_device(L, 1, &d))
    return dl_type_error(L, "set_default_device(): argument 'device' must be torch.device, not %s",
                         dl_type_name(L, 1));
  must(L, dl_gpu_resolve(&d));
  dl_default_device = d;
  return 0;
}
static int l_get_default_device(lua_State *L) {
  dl_push_device(L, dl_default_device);
  return 1;
}

/* cuda._kind(): "cuda" or "mps", nil without a driver; and whether it is simulated */
static int l_kind(lua_State *L) {
  if (!is_gpu()) return 0;
  lua_pushstring(L, dl_gpu_type == DL_MPS ? "mps" : "cuda");
  lua_pushboolean(L, dl_gpu->simulated);
  return 2;
}

/* ---- streams --------------------------------------------------------------------------------- */
static streambox *push_stream(lua_State *L, int dev, dl_stream s, bool owned) {
  streambox *b = dl_new_object(L, &t_stream);
  b->dev = dev;
  b->s = s;
  b->epoch = dl_gpu_epochs[dev];
  b->owned = owned;
  return b;
}

static streambox *check_stream(lua_State *L, int i, const char *fn) {
  streambox *b = dl_object(L, i, &t_stream);
  if (!b)
    dl_type_error(L, "%s(): expected a torch.cuda.Stream, but got %s", fn, dl_type_name(L, i));
  if (b->epoch != dl_gpu_epochs[b->dev])
    dl_throw(L, DL_RuntimeError, DL_E_DEVICE, "this stream's device was reset or is gone");
  return b;
}

static int l_stream(lua_State *L) {
  static dl_sig sig = {"Stream(device? device=None, int priority=0) -> Stream", 0, NULL};
  dl_args a;
  if (!is_gpu())
    return dl_throw(L, DL_RuntimeError, DL_E_DEVICE, "torch.cuda.Stream requires CUDA support");
  dl_args_sig(L, &a, &sig, 1, false);
  dl_device d = a.arg[0].tag == DL_A_DEVICE ? a.arg[0].dev : (dl_device){(int8_t)dl_gpu_type, -1};
  if (d.type == DL_CPU)
    return dl_throw(L, DL_ValueError, DL_E_DEVICE, "Expected a cuda device, but got: cpu");
  must(L, dl_gpu_resolve(&d));
  streambox *b = push_stream(L, d.index, 0, false);
  cuda_must(L, dl_gpu->stream_new(d.index, (int)a.arg[1].i, &b->s));
  b->owned = true;
  return 1;
}

static int l_stream_gc(lua_State *L) {
  streambox *b = dl_self(L, &t_stream);
  if (b->owned && b->epoch == dl_gpu_epochs[b->dev] && dl_gpu) dl_gpu->stream_free(b->dev, b->s);
  b->owned = false;
  return 0;
}

static int l_current_stream(lua_State *L) {
  int dev = dl_check_gpu(L, 1, "current_stream");
  push_stream(L, dev, dl_gpu_stream(dev), false);
  return 1;
}
static int l_default_stream(lua_State *L) {
  push_stream(L, dl_check_gpu(L, 1, "default_stream"), 0, false);
  return 1;
}
static int l_set_stream(lua_State *L) {
  dl_check_calm(L, "set_stream");
  streambox *b = check_stream(L, 1, "set_stream");
  dl_gpu_set_stream(b->dev, b->s);
  must(L, dl_gpu_set_current(b->dev));
  return 0;
}

static int l_stream_sync(lua_State *L) {
  streambox *b = check_stream(L, 1, "synchronize");
  cuda_must(L, dl_gpu->stream_sync(b->dev, b->s));
  return 0;
}
static int ready(lua_State *L, int code) {
  if (code != DL_CU_NOT_READY) cuda_must(L, code);
  lua_pushboolean(L, code == DL_CU_OK);
  return 1;
}
static int l_stream_query(lua_State *L) {
  streambox *b = check_stream(L, 1, "query");
  return ready(L, dl_gpu->stream_query(b->dev, b->s));
}

static eventbox *check_event(lua_State *L, int i, const char *fn) {
  eventbox *b = dl_object(L, i, &t_event);
  if (!b) dl_type_error(L, "%s(): expected a torch.cuda.Event, but got %s", fn, dl_type_name(L, i));
  if (b->e && b->epoch != dl_gpu_epochs[b->dev])
    dl_throw(L, DL_RuntimeError, DL_E_DEVICE, "this event's device was reset or is gone");
  return b;
}

/* PyTorch makes the CUDA event when it is first recorded. */
static void record(lua_State *L, eventbox *e, int dev, dl_stream s) {
  if (!e->e) {
    cuda_must(L, dl_gpu->event_new(dev, e->timing, &e->e));
    e->dev = dev;
    e->epoch = dl_gpu_epochs[dev];
  }
  cuda_must(L, dl_gpu->event_record(e->e, s));
  e->recorded = true;
}

static int l_stream_wait_event(lua_State *L) {
  streambox *b = check_stream(L, 1, "wait_event");
  eventbox *e = check_event(L, 2, "wait_event");
  if (e->e) cuda_must(L, dl_gpu->stream_wait(b->dev, b->s, e->e));
  return 0;
}
static int l_stream_wait_stream(lua_State *L) {
  streambox *b = check_stream(L, 1, "wait_stream"), *o = check_stream(L, 2, "wait_stream");
  eventbox *e = dl_new_object(L, &t_event);
  record(L, e, o->dev, o->s);
  cuda_must(L, dl_gpu->stream_wait(b->dev, b->s, e->e));
  return 0;
}
static int l_stream_record(lua_State *L) {
  streambox *b = check_stream(L, 1, "record_event");
  if (lua_gettop(L) < 2 || dl_is_nil(L, 2)) {
    lua_settop(L, 1);
    dl_new_object(L, &t_event);
  }
  record(L, check_event(L, 2, "record_event"), b->dev, b->s);
  lua_settop(L, 2);
  return 1;
}

static int l_stream_tostring(lua_State *L) {
  streambox *b = dl_self(L, &t_stream);
  lua_pushfstring(L, "<torch.cuda.Stream device=%s:%d cuda_stream=0x%I>",
                  dl_gpu_type == DL_MPS ? "mps" : "cuda", b->dev, (LUAI_UACINT)b->s);
  return 1;
}
static int l_stream_eq(lua_State *L) {
  streambox *a = dl_object(L, 1, &t_stream), *b = dl_object(L, 2, &t_stream);
  lua_pushboolean(L, a && b && a->dev == b->dev && a->s == b->s && a->epoch == b->epoch);
  return 1;
}
static int l_stream_index(lua_State *L) {
  streambox *b = dl_self(L, &t_stream);
  const char *key = luaL_checkstring(L, 2);
  if (!strcmp(key, "device")) {
    dl_push_device(L, (dl_device){(int8_t)dl_gpu_type, (int8_t)b->dev});
    return 1;
  }
  if (!strcmp(key, "cuda_stream") || !strcmp(key, "stream_id")) {
    lua_pushinteger(L, b->s);
    return 1;
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT, "'Stream' object has no attribute '%s'",
                  key);
}

/* ---- events ---------------------------------------------------------------------------------- */
static int l_event(lua_State *L) {
  static dl_sig sig = {"Event(bool enable_timing=False, bool blocking=False, "
                       "bool interprocess=False) -> Event", 0, NULL};
  dl_args a;
  if (!is_gpu())
    return dl_throw(L, DL_RuntimeError, DL_E_DEVICE,
                    "Tried to instantiate dummy base class Event");
  dl_args_sig(L, &a, &sig, 1, false);
  eventbox *e = dl_new_object(L, &t_event);
  e->timing = a.arg[0].i != 0;
  return 1;
}
static int l_event_gc(lua_State *L) {
  eventbox *e = dl_self(L, &t_event);
  if (e->e && e->epoch == dl_gpu_epochs[e->dev] && dl_gpu) dl_gpu->event_free(e->e);
  e->e = NULL;
  return 0;
}
static int l_event_record(lua_State *L) {
  eventbox *e = check_event(L, 1, "record");
  streambox *s = dl_is_nil(L, 2) ? NULL : check_stream(L, 2, "record");
  int dev = s ? s->dev : dl_check_gpu(L, 3, "record");
  record(L, e, dev, s ? s->s : dl_gpu_stream(dev));
  return 0;
}
static int l_event_wait(lua_State *L) {
  eventbox *e = check_event(L, 1, "wait");
  streambox *s = dl_is_nil(L, 2) ? NULL : check_stream(L, 2, "wait");
  int dev = s ? s->dev : dl_check_gpu(L, 3, "wait");
  if (e->e) cuda_must(L, dl_gpu->stream_wait(dev, s ? s->s : dl_gpu_stream(dev), e->e));
  return 0;
}
static int l_event_sync(lua_State *L) {
  eventbox *e = check_event(L, 1, "synchronize");
  if (e->e) cuda_must(L, dl_gpu->event_sync(e->e));
  return 0;
}
static int l_event_query(lua_State *L) {
  eventbox *e = check_event(L, 1, "query");
  return ready(L, e->e ? dl_gpu->event_query(e->e) : DL_CU_OK);
}
static int l_event_elapsed(lua_State *L) {
  eventbox *a = check_event(L, 1, "elapsed_time"), *b = check_event(L, 2, "elapsed_time");
  double ms = 0;
  if (!a->timing || !b->timing)
    return dl_throw(L, DL_ValueError, DL_E_ARGUMENT,
                    "Both events must be created with argument 'enable_timing=True'.");
  if (!a->recorded || !b->recorded)
    return dl_throw(L, DL_ValueError, DL_E_ARGUMENT,
                    "Both events must be recorded before calculating elapsed time.");
  int code = dl_gpu->event_elapsed(a->e, b->e, &ms);
  if (code == DL_CU_NOT_READY)
    return dl_throw(L, DL_ValueError, DL_E_ARGUMENT,
                    "Both events must be completed before calculating elapsed time.");
  cuda_must(L, code);
  lua_pushnumber(L, ms);
  return 1;
}
static int l_event_tostring(lua_State *L) {
  eventbox *e = dl_self(L, &t_event);
  if (e->e) lua_pushfstring(L, "<torch.cuda.Event %p>", (void *)e->e);
  else lua_pushliteral(L, "<torch.cuda.Event uninitialized>");
  return 1;
}

/* x:record_stream(s) */
static int l_record_stream(lua_State *L) {
  dl_tensor *t = dl_check_tensor(L, 1, "record_stream", "self");
  streambox *s = check_stream(L, 2, "record_stream");
  if (!dl_is_gpu(t->dev))
    return dl_throw(L, DL_NotImplementedError, DL_E_DEVICE,
                    "Could not run 'aten::record_stream' with arguments from the 'CPU' backend.");
  must(L, dl_devmem_record_stream(t, s->s));
  return 0;
}

/* cuda._plain(out, a [, b]): what CUDA's own libraries do for out:copy_(a), or for out = a @ b of
 * square matrices, queued without our kernels; false where there is no such library. */
static int l_plain(lua_State *L) {
  dl_tensor *t[3] = {NULL, NULL, NULL};
  for (int i = 0; i < 3; i++) {
    if (i == 2 && lua_isnoneornil(L, 3)) break;
    t[i] = dl_check_tensor(L, i + 1, "_plain", "tensor");
    bool same = t[i]->contig && t[i]->numel == t[0]->numel && t[i]->dtype == t[0]->dtype &&
                dl_is_gpu(t[i]->dev) && dl_device_same(t[i]->dev, t[0]->dev);
    bool square = !t[2] || (t[0]->ndim == 2 && t[0]->size[0] == t[0]->size[1]);
    if (!same || !square)
      return dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "_plain(): two or three alike on a GPU");
    must(L, dl_devmem_check(t[i]));
  }
  int dev = t[0]->dev.index;
  must(L, dl_gpu_well(dev));
  int64_t n = t[2] ? t[0]->size[0] : t[0]->numel * (int64_t)dl_dtype_size(t[0]->dtype);
  int code = !dl_gpu->plain ? DL_CU_UNSUPPORTED
                            : dl_gpu->plain(dev, dl_gpu_stream(dev), t[0]->data, t[1]->data,
                                            t[2] ? t[2]->data : NULL, n, t[0]->dtype);
  if (code != DL_CU_UNSUPPORTED) cuda_must(L, code);
  lua_pushboolean(L, code == DL_CU_OK);
  return 1;
}

/* ---- open ------------------------------------------------------------------------------------ */
static void open_objects(lua_State *L) {
  static const luaL_Reg stream[] = {
      {"synchronize", l_stream_sync}, {"query", l_stream_query},
      {"wait_event", l_stream_wait_event}, {"wait_stream", l_stream_wait_stream},
      {"record_event", l_stream_record}, {NULL, NULL}};
  static const luaL_Reg event[] = {
      {"record", l_event_record}, {"wait", l_event_wait}, {"synchronize", l_event_sync},
      {"query", l_event_query}, {"elapsed_time", l_event_elapsed}, {NULL, NULL}};
  static const luaL_Reg smeta[] = {{"__gc", l_stream_gc}, {"__tostring", l_stream_tostring},
                                   {"__eq", l_stream_eq}, {NULL, NULL}};
  static const luaL_Reg emeta[] = {{"__gc", l_event_gc}, {"__tostring", l_event_tostring},
                                   {NULL, NULL}};
  dl_metatable(L, &t_stream);
  dl_set_funcs(L, -1, smeta);
  lua_newtable(L);
  dl_set_funcs(L, -1, stream);
  lua_pushcclosure(L, l_stream_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  dl_metatable(L, &t_event);
  dl_set_funcs(L, -1, emeta);
  lua_newtable(L);
  dl_set_funcs(L, -1, event);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

void dl_cuda_open(lua_State *L, int cuda, int torch, int methods, int dlrepl) {
  static const luaL_Reg defaults[] = {{"set_default_device", l_set_default_device},
                                      {"get_default_device", l_get_default_device}, {NULL, NULL}};
  static const luaL_Reg funcs[] = {
      {"is_available", l_is_available}, {"device_count", l_device_count},
      {"is_initialized", l_is_available}, {"current_device", l_current_device},
      {"set_device", l_set_device}, {"synchronize", l_synchronize},
      {"get_device_name", l_get_device_name}, {"get_device_capability", l_get_device_capability},
      {"_properties", l_properties}, {"can_device_access_peer", l_can_access_peer},
      {"utilization", l_utilization}, {"_tf32", l_tf32}, {"_plain", l_plain},
      {"_sync_debug", l_sync_debug}, {"_kind", l_kind}, {"Stream", l_stream}, {"Event", l_event},
      {"current_stream", l_current_stream}, {"default_stream", l_default_stream},
      {"set_stream", l_set_stream}, {NULL, NULL}};
  static const luaL_Reg ours[] = {{"reset_device", l_reset_device},
                                  {"is_simulated", l_is_simulated},
                                  {"_host_us", l_host_us},
                                  {NULL, NULL}};
  static const luaL_Reg meth[] = {{"record_stream", l_record_stream}, {NULL, NULL}};
  open_objects(L);
  dl_set_funcs(L, cuda, funcs);
  dl_rng_cuda_open(L, cuda);
  dl_set_funcs(L, methods, meth);
  dl_set_funcs(L, dlrepl, ours);
  dl_set_funcs(L, torch, defaults);
}
