/* The table of our Lua modules: C ones, and those whose source is compiled in. */
#pragma once

#include "base/private.h"
#include "bind/assets.h"
#include "bind/runtime.h"

/* Puts loaders for all modules into package.preload of L and returns 0, or fails with ELUA. With
 * `path` (may be NULL) scripts come from that directory in place of the compiled-in ones. */
int hocket__modules_open(
    struct hocket__runtime *rt, lua_State *L, const char *path, struct hocket_error *err);

/* Pushes the module, loading it when it is not loaded yet; without the global `require`, which
 * an embedding program may have changed. Raises what the loader raises. */
void hocket__require(lua_State *L, const char *name);

/* Adds one C module to package.preload, its open function with the runtime as upvalue. */
HOCKET__PRIVATE int hocket__module_add(
    lua_State *L, const char *name, lua_CFunction open, struct hocket_error *err);

/* Adds an optional component's scripts to package.preload; the runtime knows one such pack. */
HOCKET__PRIVATE int hocket__modules_add_pack(struct hocket__runtime *rt, lua_State *L,
    const struct hocket__pack *pack, struct hocket_error *err);
