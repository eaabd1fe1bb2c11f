/* Tools that the embedding program carries out. */
#pragma once

#include "host/host.h"

int hocket__tools_new(struct hocket_host *host);
/* Calls the program's functions for what models have asked for; when no Lua is running. */
void hocket__tools_deliver(struct hocket_host *host);
/* Passes on the answers that have come, from the host's loop. */
void hocket__tools_answered(struct hocket_host *host);
/* Whether the program has to be told of a call. */
bool hocket__tools_due(const struct hocket_host *host);

size_t hocket__tools_open_calls(const struct hocket_host *host);
void hocket__tools_free(struct hocket_host *host);

/* Makes what call_tool needs in the Lua state. */
void hocket__tools_open(lua_State *L);

/* call_tool(name, arguments, agent) -> text | nil, error: a function of hocket.internal.core.host. Waits. */
int hocket__call_tool(lua_State *L);
