/* Scripts, agents and templates that the build compiled in. */
#pragma once

#include "base/unpack.h"

#include <lua.h>

/* A script or text file that the build compiled in: packed (base/unpack.h), or as it is. */
struct hocket__asset {
    const char *name; /* "hocket/flow.lua", "agents/planner.md" */
    uint32_t at, n_packed, len;
};

/* Many of them, made by the build (cmake/embed/). */
struct hocket__pack {
    const struct hocket__asset *files; /* sorted by name; behind them a row whose name is NULL */
    const unsigned char *bytes;
    const struct hocket__unpack_code *code; /* NULL: the files are not packed */
    struct hocket__asset dictionary;        /* what the files have in common, packed without one */
    const char *lua;                        /* of bytecode: which release of Lua made it */
};

/* What every run may need: in libhocket. */
extern const struct hocket__pack hocket__pack_library;
/* What stands on a server, or serves a program's commands alone: in libhocket-serve. */
extern const struct hocket__pack hocket__pack_serve;
/* Of those scripts of the library that every run begins with ("hocket/flow.luac" of "hocket/flow.lua"), so that it
 * begins sooner. Not packed: to unpack them took a third of a start. In the program alone: an engine loads its own
 * scripts for longer than this takes. */
extern const struct hocket__pack hocket__pack_bytecode __attribute__((weak));

/* The documentation, one text "docs.txt" (cmake/HocketTopics.cmake), for `hocket help TOPIC`. In the program alone. */
extern const struct hocket__pack hocket__pack_topics __attribute__((weak));

const struct hocket__asset *hocket__asset_find(const struct hocket__pack *p, const char *name);
/* The bytes of a file that is not packed; they live as long as the program. */
struct hocket__str hocket__asset_bytes(const struct hocket__pack *p, const struct hocket__asset *a);
/* Pushes its text. */
void hocket__asset_push(lua_State *L, const struct hocket__pack *p, const struct hocket__asset *a);
/* A script's bytecode, where it has one and `lua`, the lua_ident of the Lua that is to run it or
 * NULL, is what made it; else NULL. */
const struct hocket__asset *hocket__asset_compiled(
    const struct hocket__asset *script, const char *lua);
