/* The Lua modules over net/llm/llm.h. */
#pragma once

#include "bind/account/account.h"
#include "bind/runtime.h"
#include "net/limit/limit.h"
#include "net/llm/llm.h"
#include "net/protocol/protocol.h"

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
/* Nobody uses it for now: `h` is one of check_history's. Once resting histories hold much, the longest resting
 * ones give back what only later requests need. */
void hocket__history_rests(struct hocket__history *h);
/* Adds `provider` and `lane` (lua_provider.c). */
void hocket__open_provider(lua_State *L);
struct hocket__lua_provider *hocket__check_provider(lua_State *L, int arg);

/* What all calls of a session have in common; its texts live as long as it does. */
struct hocket__lua_request {
    struct hocket__llm_request net;           /* without model, history and traits */
    struct hocket__prepared prepared;         /* for the provider that is its second user value */
    struct hocket__buf fitted, fitted_schema; /* its tools and its schema as … */
    unsigned fitted_by; /* … these rules want them; empty: as they are. 0: by none yet */
    int connect_ms, first_ms, idle_ms, max_wait_ms;
    bool deltas; /* wanted as they come */
    bool first;  /* it matters when the first of them comes: call:first() */
};
/* Adds `request` (lua_request.c). */
void hocket__open_request(lua_State *L);
struct hocket__lua_request *hocket__check_request(lua_State *L, int arg);

/* What a call has brought, and who pays for it. */
struct hocket__answer {
    struct hocket__runtime *rt;
    const struct hocket__llm_call *llm; /* NULL until the reply has come */
    struct hocket__history *history;
    struct hocket__tally tally;
    const struct hocket__price *price; /* NULL: not known */
    int64_t cost;                      /* nano-dollars; below 0: not known */
    int64_t guess;               /* tokens of the request, where a limit binds; 0: none does */
    uint64_t waited_ms;          /* for the rate limit */
    bool kept;                   /* the reply is in the history … */
    size_t kept_at, kept_behind; /* … after so many bytes, and messages */
    bool closed;                 /* so are the results of its tool calls */
    uint64_t wrong[HOCKET__REPLY_MAX_CALLS / 64]; /* a bit for each call whose result is an error */
};
enum { HOCKET__CALL_RESULTS = 8 }; /* the user value of a call that holds its results, the last */

/* The answer of the call at arg: raises when it has none. */
struct hocket__answer *hocket__check_answer(lua_State *L, int arg);
/* Whether the server has told how many tokens the reply took. */
bool hocket__answer_is_metered(const struct hocket__answer *a);
/* Counts a reply that has come (answer.c); once. Where a limit binds, and the server tells no usage, by estimate. */
void hocket__answer_count(struct hocket__answer *a);
/* Counts one that broke off: what the provider said of it, which is all only when it was read to its
 * end. What it cost beyond that nobody knows. */
void hocket__answer_count_failed(struct hocket__answer *a, const struct hocket__llm_call *llm);
/* Adds `begins_calls` to the module table on top (lua_answer.c). */
void hocket__open_text_calls(lua_State *L);
/* Adds the methods of a call that has its reply to the metatable on top (lua_answer.c). */
void hocket__open_answer(lua_State *L);

/* Providers count differently; here input always holds what was cached, and output the reasoning.
 */
struct hocket__usage hocket__usage_of(const struct hocket__llm_call *call);
