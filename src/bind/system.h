/* Small modules: files, YAML, and what a script may know of its host. */
#pragma once

#include <lua.h>

int hocket__open_fs(lua_State *L);     /* hocket.fs */
int hocket__open_yaml(lua_State *L);   /* hocket.yaml */
int hocket__open_system(lua_State *L); /* hocket.core.system */
int hocket__open_door(lua_State *L);   /* hocket.core.door */
