/* record.h -- between record.c, record_seen.c and record_table.c */
#ifndef DL_BIND_RECORD_H
#define DL_BIND_RECORD_H

#include "bind/bind.h"
#include "op/record.h"

void dl_push_record(lua_State *L, const dl_record *r); /* the table */
/* top[k] = {role = bytes, …} */
void dl_put_roles(lua_State *L, const char *k, const int64_t *bytes);
int64_t dl_roles_total(const int64_t *bytes);
const char *dl_slot_name(int slot, char buf[24]);      /* "cpu", "cuda:0" … of the ledger */
/* dlrepl._record_hook and what loaders report: record_seen.c */
void dl_record_seen_open(lua_State *L, int dlrepl);
/* The module at 1 by its path in the watched model, else by its class. Pushes the text. */
const char *dl_push_module_name(lua_State *L);

#endif
