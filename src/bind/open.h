/* What opens the C modules that offer nothing to other bindings: each pushes its table, with the
 * runtime as its upvalue. The names are those of the files. */
#pragma once

#include "base/private.h"

#include <lua.h>

int hocket__open_arguments(lua_State *L);
int hocket__open_decode(lua_State *L);
int hocket__open_files(lua_State *L);
int hocket__open_fs(lua_State *L);
int hocket__open_http(lua_State *L);
int hocket__open_permission(lua_State *L);
int hocket__open_process(lua_State *L);
int hocket__open_proxy(lua_State *L); /* of the optional component hocket-serve */
int hocket__open_runs(lua_State *L);  /* of the optional component hocket-serve */
int hocket__open_scan(lua_State *L);
int hocket__open_server(lua_State *L); /* of the optional component hocket-serve */
int hocket__open_bounds(lua_State *L);
int hocket__open_secrets(lua_State *L);
int hocket__open_socket(lua_State *L);
int hocket__open_spool(lua_State *L);
int hocket__open_store(lua_State *L);
int hocket__open_system(lua_State *L);
int hocket__open_watch(lua_State *L);
int hocket__open_web(lua_State *L);
int hocket__open_yaml(lua_State *L);
