/* The parts of the binding for other Luas. One source for 5.1 (and LuaJIT), 5.2 and 5.3; and for hocket.open of a 5.4. */
#pragma once

#include <hocket/hocket.h>

#include <lauxlib.h>
#include <lua.h>

/* The functions of hocket that are used. */
#define BRIDGE_API(X)                                                                              \
    X(backend_fd)                                                                                  \
    X(backend_timeout)                                                                             \
    X(close)                                                                                       \
    X(event_next)                                                                                  \
    X(hook_add)                                                                                    \
    X(hook_remove)                                                                                 \
    X(json_bool)                                                                                   \
    X(json_first)                                                                                  \
    X(json_free)                                                                                   \
    X(json_kind)                                                                                   \
    X(json_name)                                                                                   \
    X(json_next)                                                                                   \
    X(json_number)                                                                                 \
    X(json_parse)                                                                                  \
    X(json_text)                                                                                   \
    X(load)                                                                                        \
    X(load_buffer)                                                                                 \
    X(load_dir)                                                                                    \
    X(offer)                                                                                       \
    X(open)                                                                                        \
    X(options_init)                                                                                \
    X(prepare)                                                                                     \
    X(pump)                                                                                        \
    X(run_answer)                                                                                  \
    X(run_cancel)                                                                                  \
    X(run_change)                                                                                  \
    X(run_interrupt)                                                                               \
    X(run_save)                                                                                    \
    X(run_say)                                                                                     \
    X(run_signal)                                                                                  \
    X(run_start)                                                                                   \
    X(run_stop)                                                                                    \
    X(run_tree)                                                                                    \
    X(save)                                                                                        \
    X(serve_attach)                                                                                \
    X(stats)                                                                                       \
    X(status_word)                                                                                 \
    X(tool_add)                                                                                    \
    X(tool_answer)                                                                                 \
    X(tool_remove)                                                                                 \
    X(version)                                                                                     \
    X(wait)                                                                                        \
    X(withdraw)

struct bridge_api {
#define BRIDGE_MEMBER(name) __typeof__(hocket_##name) *name;
    BRIDGE_API(BRIDGE_MEMBER)
#undef BRIDGE_MEMBER
};

/* The table, or NULL and why not. Safe from any thread. */
const struct bridge_api *bridge_load(const char **why);

/* Functions of the core table: decode(text) -> value | nil, err; encode(value) -> text. */
int bridge_decode(lua_State *L);
int bridge_encode(lua_State *L);
/* array(table) -> the same, which is written as an array also when it is empty. */
int bridge_array(lua_State *L);
/* Pushes the value of a valid JSON text, or nil. */
void bridge_push_json(lua_State *L, const char *text, size_t len);
/* Pushes who has used what in a run, or nil and an error; returns how many values. */
int bridge_tree(lua_State *L, hocket_host *host, uint64_t id);
/* Pushes nil and {code, message}; returns 2. */
int bridge_fail(lua_State *L, const char *code, const char *message);

/* Pushes the value that stands for null: in a 5.4 that of its module hocket.json. */
void bridge_push_null(lua_State *L);

/* Pushes the module as bridge.lua makes it; raises where hocket cannot be loaded. */
int bridge_module(lua_State *L);

/* Raises in a program of another Lua than the 5.4 that this module is for (hocket.c). */
void module_check_lua(lua_State *L);

/* Makes the metatable that bridge_push_json needs. */
void bridge_open_json(lua_State *L);

/* The text of bridge.lua. */
extern const char bridge_lua[];
extern const size_t bridge_lua_size;
