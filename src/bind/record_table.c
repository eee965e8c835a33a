/* record_table.c -- the run record as a plain Lua table
 *
 * For record.c. Keys are the names that docs/run-record.md lists.
 *
 * INVARIANT  A copy: what a program does to the table changes nothing. */
#include "bind/record.h"

#include <stdio.h>
#include <string.h>

static void put_sizes(lua_State *L, const char *k, int n, const int64_t *size) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, size[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, k);
}
void dl_put_roles(lua_State *L, const char *k, const int64_t *bytes) {
  lua_createtable(L, 0, DL_ROLE_COUNT);
  for (int r = 0; r < DL_ROLE_COUNT; r++) dl_put_int(L, dl_role_name[r], bytes[r]);
  lua_setfield(L, -2, k);
}

/* ---- ops ------------------------------------------------------------------------------------ */
static void put_devices(lua_State *L, const char *k, int n, const dl_device *d) {
  char buf[24];
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, dl_device_str(d[i], buf));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, k);
}

static void put_dtypes(lua_State *L, const char *k, int n, const uint8_t *d) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, dl_dtypes[d[i]].name);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, k);
}

static void push_op(lua_State *L, const dl_rec_op *e) {
  static const struct { const char *name; uint8_t bit; } flag[] = {
    {"grad", DL_REC_GRAD}, {"inference", DL_REC_INFERENCE}, {"autocast", DL_REC_AUTOCAST},
    {"backward", DL_REC_BACKWARD}, {"step", DL_REC_STEP}, {"kernel", DL_REC_KERNEL},
    {"inplace", DL_REC_INPLACE}, {"one_device", DL_REC_ONE_DEVICE}};
  char buf[24];
  lua_createtable(L, 0, 24);
  dl_put_str(L, "op", dl_op_schema((dl_opid)e->op)->name);
  dl_put_str(L, "id", dl_ops[e->op].id);
  dl_put_int(L, "depth", e->depth);
  for (size_t i = 0; i < sizeof flag / sizeof *flag; i++)
    dl_put_bool(L, flag[i].name, e->mode & flag[i].bit);
  put_devices(L, "devices", e->nin, e->in_dev);
  put_dtypes(L, "dtypes", e->nin, e->in_dtype);
  if (e->nout) {
    dl_put_str(L, "device", dl_device_str(e->out_dev[0], buf));
    dl_put_str(L, "dtype", dl_dtypes[e->out_dtype[0]].name);
    put_sizes(L, "shape", e->ndim, e->size);
  }
  dl_put_int(L, "flops", e->flops);
  dl_put_int(L, "bytes_read", e->read);
  dl_put_int(L, "bytes_written", e->written);
  dl_put_int(L, "flushed", e->flushed);
  dl_put_int(L, "overflowed", e->overflowed);
  dl_put_int(L, "nonfinite", e->nonfinite);
}

static void put_ops(lua_State *L, const dl_record *r) {
  lua_createtable(L, (int)r->n, 0);
  for (int64_t i = 0; i < r->n; i++) {
    push_op(L, &r->op[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "ops");
  dl_put_int(L, "dropped", r->dropped);
}

static void push_sum(lua_State *L, const dl_rec_sum *s) {
  lua_createtable(L, 0, 8);
  dl_put_int(L, "calls", s->calls);
  dl_put_int(L, "flops", s->flops);
  dl_put_int(L, "bytes_read", s->read);
  dl_put_int(L, "bytes_written", s->written);
  dl_put_int(L, "flushed", s->flushed);
  dl_put_int(L, "overflowed", s->overflowed);
  dl_put_int(L, "nonfinite", s->nonfinite);
  dl_put_num(L, "seconds", 1e-9 * (double)s->ns);
}

/* by_op[id], and the sums over all kernels */
static void put_sums(lua_State *L, const dl_record *r) {
  dl_rec_sum all = {0};
  lua_newtable(L);
  for (int op = 0; op < DL_OP_COUNT; op++) {
    const dl_rec_sum *s = &r->sum[op];
    if (s->calls == 0) continue;
    push_sum(L, s);
    lua_setfield(L, -2, dl_ops[op].id);
    all.flops += s->flops;
    all.read += s->read;
    all.written += s->written;
    all.flushed += s->flushed;
    all.overflowed += s->overflowed;
    all.nonfinite += s->nonfinite;
  }
  lua_setfield(L, -2, "by_op");
  dl_put_int(L, "kernels", r->kernels);
  dl_put_int(L, "flops", all.flops);
  dl_put_int(L, "bytes_read", all.read);
  dl_put_int(L, "bytes_written", all.written);
  dl_put_int(L, "flushed", all.flushed);
  dl_put_int(L, "overflowed", all.overflowed);
  dl_put_int(L, "nonfinite", all.nonfinite);
  dl_put_int(L, "draws", r->draws);
}

/* ---- memory, copies, graph ------------------------------------------------------------------ */
int64_t dl_roles_total(const int64_t *bytes) {
  int64_t n = 0;
  for (int r = 0; r < DL_ROLE_COUNT; r++) n += bytes[r];
  return n;
}

const char *dl_slot_name(int slot, char buf[24]) {
  if (slot == 0) return "cpu";
  if (slot == DL_LEDGER_MPS) return "mps";
  if (slot == DL_LEDGER_META) return "meta";
  snprintf(buf, 24, "cuda:%d", slot - DL_LEDGER_CUDA);
  return buf;
}

static void put_memory(lua_State *L, const dl_record *r) {
  char buf[24];
  lua_newtable(L);
  for (int s = 0; s < DL_LEDGER_SLOTS; s++) {
    const dl_rec_memory *m = &r->memory[s];
    if (m->peak == 0 && m->ooms == 0) continue;
    lua_createtable(L, 0, 8);
    dl_put_int(L, "start", dl_roles_total(m->start));
    dl_put_int(L, "now", dl_roles_total(dl_ledger[s]));
    dl_put_int(L, "peak", m->peak);
    dl_put_int(L, "ooms", m->ooms);
    dl_put_int(L, "reserved", m->reserved);
    dl_put_int(L, "reserved_peak", m->reserved_peak);
    dl_put_int(L, "capacity", m->capacity);
    dl_put_roles(L, "start_by_role", m->start);
    dl_put_roles(L, "now_by_role", dl_ledger[s]);
    dl_put_roles(L, "at_peak", m->at_peak);
    dl_put_roles(L, "peak_by_role", m->peak_role);
    lua_setfield(L, -2, dl_slot_name(s, buf));
  }
  lua_setfield(L, -2, "memory");
}

static void put_copies(lua_State *L, const dl_record *r) {
  static const char *const way[4] = {"h2d", "d2h", "d2d", "h2h"};
  lua_createtable(L, 0, 4);
  for (int i = 0; i < 4; i++) {
    lua_createtable(L, 0, 3);
    dl_put_int(L, "count", r->copy[i].count);
    dl_put_int(L, "bytes", r->copy[i].bytes);
    dl_put_roles(L, "by_role", r->copy[i].role);
    lua_setfield(L, -2, way[i]);
  }
  lua_setfield(L, -2, "copies");
  dl_put_int(L, "syncs", r->syncs);
  lua_newtable(L);
  for (int i = 0; i < DL_REC_WHY && r->sync_why[i].why; i++)
    dl_put_int(L, r->sync_why[i].why, r->sync_why[i].n);
  lua_setfield(L, -2, "syncs_by_reason");
}

static void put_graph(lua_State *L, const dl_record *r) {
  int64_t saved = 0;
  for (int s = 0; s < DL_LEDGER_SLOTS; s++) saved += r->memory[s].peak_role[DL_ROLE_SAVED];
  lua_createtable(L, 0, 5);
  dl_put_int(L, "nodes_start", r->nodes_start);
  dl_put_int(L, "nodes_end", r->nodes_end);
  dl_put_int(L, "nodes_peak", r->nodes_peak);
  dl_put_int(L, "backward_calls", r->backwards);
  dl_put_int(L, "saved_peak", saved);
  lua_setfield(L, -2, "graph");
}

/* ---- training ------------------------------------------------------------------------------- */
static void push_param(lua_State *L, const dl_rec_param *p) {
  static const char *const grads[] = {"none", "zero", "finite", "nonfinite"};
  lua_createtable(L, 0, 9);
  if (p->name[0]) dl_put_str(L, "name", p->name);
  put_sizes(L, "shape", p->ndim, p->size);
  dl_put_int(L, "numel", p->numel);
  dl_put_int(L, "updates", p->updates);
  dl_put_bool(L, "changed", p->changed);
  dl_put_num(L, "delta_norm", p->delta);
  dl_put_str(L, "grad", grads[p->grad + 1]);
  dl_put_num(L, "grad_norm", p->grad_norm);
}

static void put_params(lua_State *L, const dl_record *r, bool buffers, const char *key) {
  lua_createtable(L, (int)r->nparam, 0);
  lua_Integer n = 0;
  for (int64_t i = 0; i < r->nparam; i++) {
    if (r->param[i].buffer != buffers) continue;
    push_param(L, &r->param[i]);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, key);
}

/* lr[step] = the groups' learning rates at that step */
static void put_rates(lua_State *L, const dl_record *r) {
  lua_createtable(L, (int)r->steps, 0);
  for (int64_t i = 0; i < r->nlr; i++) {
    if (lua_rawgeti(L, -1, r->lr[i].step) != LUA_TTABLE) {
      lua_pop(L, 1);
      lua_newtable(L);
      lua_pushvalue(L, -1);
      lua_rawseti(L, -3, r->lr[i].step);
    }
    lua_pushnumber(L, r->lr[i].lr);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
  }
  lua_setfield(L, -2, "lr");
}

static void put_times(lua_State *L, const char *key, const dl_record *r, bool of_clock) {
  static const char *const stage[] = {"forward", "backward", "optimizer", "copy", "load"};
  lua_createtable(L, 0, DL_REC_STAGES + 2);
  for (int i = 0; i < DL_REC_STAGES; i++)
    dl_put_num(L, stage[i], of_clock ? 1e-6 * r->virtual_us[i] : 1e-9 * (double)r->ns[i]);
  if (of_clock) {
    dl_put_num(L, "elapsed", 1e-6 * r->elapsed_us);
    dl_put_num(L, "busy", 1e-6 * r->busy_us);
  }
  lua_setfield(L, -2, key);
}

static void put_training(lua_State *L, const dl_record *r) {
  lua_createtable(L, 0, 4);
  dl_put_int(L, "taken", r->steps);
  dl_put_int(L, "skipped", r->skipped);
  dl_put_int(L, "updates", r->updates);
  put_rates(L, r);
  lua_setfield(L, -2, "optimizer");
  lua_createtable(L, (int)r->nscale, 0);
  for (int64_t i = 0; i < r->nscale; i++) {
    lua_pushnumber(L, r->scale[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "scales");
  put_times(L, "seconds", r, false);
  put_times(L, "virtual_seconds", r, true);
  lua_createtable(L, (int)r->nmodule, 0);
  for (int64_t i = 0; i < r->nmodule; i++) {
    lua_createtable(L, 0, 3);
    dl_put_str(L, "name", r->module[i].name);
    dl_put_bool(L, "training", r->module[i].training);
    dl_put_bool(L, "grad", r->module[i].grad);
    dl_put_int(L, "depth", r->module[i].depth);
    dl_put_int(L, "saved", r->module[i].saved);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "modules");
}

/* hooks: a list of {kind =, name =, count =} */
static void put_hooks(lua_State *L, const dl_record *r) {
  lua_createtable(L, (int)r->nhook, 0);
  for (int64_t i = 0; i < r->nhook; i++) {
    lua_createtable(L, 0, 3);
    dl_put_str(L, "kind", r->hook[i].kind);
    dl_put_str(L, "name", r->hook[i].name);
    dl_put_int(L, "count", r->hook[i].count);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "hooks");
}

/* loader: batches, the wait for them, and each epoch's indices in the order served */
static void put_loader(lua_State *L, const dl_record *r) {
  lua_createtable(L, 0, 6);
  dl_put_int(L, "batches", r->batches);
  dl_put_int(L, "epochs", r->epochs);
  dl_put_int(L, "dropped", r->dropped_served);
  dl_put_num(L, "wait", 1e-9 * (double)r->ns[DL_REC_LOAD]);
  dl_put_num(L, "virtual_wait", 1e-6 * r->virtual_us[DL_REC_LOAD]);
  lua_createtable(L, (int)r->epochs, 0);
  for (int64_t e = 1; e <= r->epochs; e++) {
    lua_newtable(L);
    lua_rawseti(L, -2, e);
  }
  for (int64_t i = 0; i < r->nserved; i++) {
    lua_rawgeti(L, -1, r->served[i].epoch);
    lua_pushinteger(L, r->served[i].index);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
  }
  lua_setfield(L, -2, "indices");
  lua_setfield(L, -2, "loader");
}

/* timeline: a list of {op =, cpu = {role = bytes}, cuda = {role = bytes}} */
static void put_timeline(lua_State *L, const dl_record *r) {
  lua_createtable(L, (int)r->nsample, 0);
  for (int64_t i = 0; i < r->nsample; i++) {
    lua_createtable(L, 0, 3);
    dl_put_int(L, "op", r->sample[i].op);
    dl_put_roles(L, "cpu", r->sample[i].bytes[0]);
    dl_put_roles(L, "cuda", r->sample[i].bytes[1]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "timeline");
}

void dl_push_record(lua_State *L, const dl_record *r) {
  lua_createtable(L, 0, 32);
  put_ops(L, r);
  put_sums(L, r);
  put_memory(L, r);
  put_copies(L, r);
  put_graph(L, r);
  put_training(L, r);
  put_params(L, r, false, "params");
  put_params(L, r, true, "buffers");
  put_hooks(L, r);
  put_loader(L, r);
  put_timeline(L, r);
}
