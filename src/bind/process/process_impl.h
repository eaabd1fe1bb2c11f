/* What hocket.process.run and hocket.process.open have in common: a program's options and its end. */
#pragma once

#include "bind/runtime.h"
#include "os/capture.h"
#include "os/process.h"

#include <lua.h>

/* Names of the options that say what is started and what holds it. */
#define HOCKET__PROGRAM_OPTIONS                                                                    \
    "argv", "env", "cwd", "idempotent", "readable", "writable", "guarded", "protect", "sandbox",   \
        "network", "sockets", "cpu", "memory", "file_size", "written", "open_files", "processes",  \
        "grace", "launcher"

/* Reads them from the table at 1; raises what is wrong with one. The texts stay while the table and
 * what is left on the stack do (at most 8 values). 0, or EUNSUPPORTED: nothing can be started here. */
int hocket__program_read(lua_State *L, struct hocket__runtime *rt,
    struct hocket__process_spec *spec, struct hocket_error *err);

/* Sets `name`, and name_omitted and name_tail where it was cut, in the table on top. */
void hocket__program_push_output(lua_State *L, struct hocket__capture *c, const char *name);
/* Sets code or signal, and what else is known of its end, in the table on top. */
void hocket__program_push_end(lua_State *L, const struct hocket__launch_result *r);
/* nil and the error of a program that was not started; `said`: its standard error. */
int hocket__program_fail(
    lua_State *L, const struct hocket__launch_result *r, struct hocket__str said);

/* open{…} -> program: hocket.process.open */
int hocket__program_open(lua_State *L);
/* Makes the metatable of such programs. */
void hocket__program_register(lua_State *L);
