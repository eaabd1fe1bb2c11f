/* Shared by the bridge's C files: bridge.c opens, turns and closes a host; bridge_runs.c, bridge_save.c and
 * bridge_tools.c have the functions about these. */
#pragma once

#include "bridge.h"

/* A call of a tool, or its end. */
struct note {
    struct note *next;
    uint64_t id;
    bool cancelled;
    size_t args_len;
    char *args, *tool, *agent; /* behind the structure */
};

/* A save that was asked for; when it is done it waits in `saved` to be taken. */
struct save {
    struct save *next;
    struct bridge *bridge;
    char *bytes; /* NULL: err says why there are none */
    size_t len;
    struct hocket_error err;
};

struct bridge {
    hocket_host *host; /* NULL: closed */
    struct note *first, **last;
    struct save *saved;
};

/* Functions of hocket; set before any of ours can be called. */
extern const struct bridge_api *bridge_hocket;

/* Raises when the host is closed. */
struct bridge *bridge_check(lua_State *L);
uint64_t bridge_check_id(lua_State *L, int arg);
int bridge_fail_with(lua_State *L, const struct hocket_error *err); /* nil, err */
int bridge_done(lua_State *L);                                      /* true */

/* Reads the table at 1; raises for an unknown option. */
void bridge_read_options(lua_State *L, struct hocket_options *o, struct hocket_policy *policy);

int bridge_start(lua_State *L);
int bridge_cancel(lua_State *L);
int bridge_stop(lua_State *L);
int bridge_interrupt(lua_State *L);
int bridge_change(lua_State *L);
int bridge_run_tree(lua_State *L);
int bridge_answer(lua_State *L);
int bridge_say(lua_State *L);
int bridge_signal(lua_State *L);
int bridge_load_buffer(lua_State *L);
int bridge_load_dir(lua_State *L);
int bridge_next(lua_State *L);

int bridge_save(lua_State *L);
int bridge_saved(lua_State *L);
int bridge_restore(lua_State *L);

int bridge_tool(lua_State *L);
int bridge_untool(lua_State *L);
int bridge_hook(lua_State *L);
int bridge_unhook(lua_State *L);
int bridge_offer(lua_State *L);
int bridge_withdraw(lua_State *L);
int bridge_call(lua_State *L);
int bridge_reply(lua_State *L);
