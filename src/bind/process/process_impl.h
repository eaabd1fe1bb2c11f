/* What hocket.process.run and hocket.process.open have in common: a program's options and its end. */
#pragma once

#include "bind/options.h"
#include "bind/runtime.h"
#include "os/capture.h"
#include "os/process.h"

#include <lua.h>

/* What a program is started with, as the table at 1 says. */
struct hocket__program_asked {
    struct hocket__process_spec spec;
    const char *sandbox;
    double grace, timeout;
    size_t head, tail;
    bool idempotent; /* for runs that are kept: base/script/effects.lua */
};

#define HOCKET__PROGRAM_ROW(kind, name, field)                                                     \
    {                                                                                              \
        HOCKET__OPT_##kind(name, struct hocket__program_asked, field)                              \
    }
#define HOCKET__PROGRAM_LIMIT(name, field)                                                         \
    {                                                                                              \
        HOCKET__OPT_INT(                                                                           \
            name, struct hocket__program_asked, spec.launch.limits.field, 0, INT64_C(1) << 50)     \
    }
#define HOCKET__PROGRAM_ROWS                                                                       \
    { HOCKET__OPT_OWN("argv") }, { HOCKET__OPT_OWN("env") },                                       \
        HOCKET__PROGRAM_ROW(WORD, "cwd", spec.launch.cwd),                                         \
        HOCKET__PROGRAM_ROW(BOOL, "idempotent", idempotent), { HOCKET__OPT_OWN("readable") },      \
        { HOCKET__OPT_OWN("writable") }, { HOCKET__OPT_OWN("guarded") },                           \
        HOCKET__PROGRAM_ROW(WORD, "protect", spec.launch.protect),                                 \
        HOCKET__PROGRAM_ROW(WORD, "sandbox", sandbox),                                             \
        HOCKET__PROGRAM_ROW(BOOL, "network", spec.launch.network),                                 \
        HOCKET__PROGRAM_ROW(BOOL, "sockets", spec.launch.sockets),                                 \
        HOCKET__PROGRAM_LIMIT("cpu", cpu_s), HOCKET__PROGRAM_LIMIT("memory", memory),              \
        HOCKET__PROGRAM_LIMIT("file_size", file_bytes), HOCKET__PROGRAM_LIMIT("written", written), \
        HOCKET__PROGRAM_LIMIT("open_files", open_files),                                           \
        HOCKET__PROGRAM_LIMIT("processes", processes),                                             \
        HOCKET__PROGRAM_ROW(NUMBER, "grace", grace),                                               \
        HOCKET__PROGRAM_ROW(WORD, "launcher", spec.launcher)

/* Reads the table at 1, whose rows begin with HOCKET__PROGRAM_ROWS, apart from its lists; raises what is wrong
 * with it. What is absent stays as it stands in *asked. */
void hocket__program_read(lua_State *L, struct hocket__runtime *rt, const struct hocket__opt rows[],
    struct hocket__program_asked *asked);
/* Reads its lists, and checks what it is together. The texts stay while the table and what is left on the stack
 * do (at most 8 values). 0, or EUNSUPPORTED: nothing can be started here. */
int hocket__program_check(
    lua_State *L, struct hocket__program_asked *asked, struct hocket_error *err);

/* Sets code or signal, and what else is known of its end, in the table on top. */
void hocket__program_push_end(lua_State *L, const struct hocket__launch_result *r);
/* nil and the error of a program that was not started; `said`: its standard error. */
int hocket__program_fail(
    lua_State *L, const struct hocket__launch_result *r, struct hocket__str said);

/* open{…} -> program: hocket.process.open */
int hocket__program_open(lua_State *L);
/* Makes the metatable of such programs. */
void hocket__program_register(lua_State *L);
