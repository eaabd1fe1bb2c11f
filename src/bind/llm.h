/* The Lua modules over net/llm.h. */
#pragma once

#include "net/lane.h"
#include "net/llm.h"

#include <lua.h>

struct hocket__lua_provider {
    struct hocket__provider net;
    struct hocket__lane *lane; /* kept alive by the first user value; may be NULL */
    bool simulated;            /* the scripted model of this process */
};

int hocket__open_llm(lua_State *L);
/* Adds `history` to the module table on top (lua_history.c). */
void hocket__open_history(lua_State *L);
struct hocket__history *hocket__check_history(lua_State *L, int arg);
/* Adds `provider` and `lane` (lua_provider.c). */
void hocket__open_provider(lua_State *L);
struct hocket__lua_provider *hocket__check_provider(lua_State *L, int arg);

/* What all calls of a session have in common; its texts live as long as it does. */
struct hocket__lua_request {
    struct hocket__llm_request net; /* without model, history and traits */
    int connect_ms, first_ms, idle_ms, max_wait_ms;
    bool deltas; /* wanted as they come */
};
/* Adds `request` (lua_request.c). */
void hocket__open_request(lua_State *L);
struct hocket__lua_request *hocket__check_request(lua_State *L, int arg);
/* Rounded down, but not to 0, which stands for none, as anything below it does. */
int hocket__seconds_to_ms(double seconds);

/* Pushes the reply of a call that is done (lua_reply.c). */
void hocket__push_reply(lua_State *L, const struct hocket__llm_call *call);
