/* hocket.core.files (lua_files.c, on jobs of files_job.c). */
#pragma once

#include <lua.h>

int hocket__open_files(lua_State *L);
