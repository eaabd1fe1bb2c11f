/* hocket.internal.core.board and hocket.internal.core.document (lua_board.c, lua_document.c). */
#pragma once

#include <lua.h>

#include "base/status.h"
#include "base/str.h"

struct hocket__lua_journal;

int hocket__open_board(lua_State *L);
int hocket__open_document(lua_State *L);

/* Where a board or document reports: a hocket__emit_cb over a journal. `ud` is a
 * struct hocket__lua_journal **; without a journal changes are simply made. */
int hocket__emit_to_journal(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud);
