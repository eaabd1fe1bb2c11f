/* A model call as Lua makes it: one attempt, with everything that lives as long. Nothing here
 * touches Lua: the callbacks of transport and lane note what came and wake the fiber that waits.
 *
 *   start ──> queued (the lane is full) ──> begun ──> done
 *               └────────── advance ─────────┘
 *                 abandon: from anywhere, to done */
#pragma once

#include "bind/llm/llm.h"

struct hocket__attempt {
    struct hocket__answer answer;
    struct hocket__runtime *rt;
    struct hocket__lua_provider *provider;
    struct hocket__lua_request *request;
    const char *model;
    struct hocket__transport *transport;
    struct hocket__lane *lane;    /* the provider's; NULL: nothing holds the call back */
    struct hocket__llm_call *llm; /* NULL until it has begun */
    struct hocket__history *history;
    struct hocket__lane_wait turn;
    uint64_t fiber;                      /* who waits; 0: nobody */
    uint64_t asked_ms, begun_ms, due_ms; /* see hocket__deadlines_now; due 0: no limit */
    bool done, failed;
    bool handed_out; /* a delta was */
    bool began;      /* a delta has come, where the request says that this matters */
    struct hocket_error err;
    struct hocket__buf text, reasoning; /* deltas not handed out yet */
    struct hocket__buf trace;           /* see hocket__llm_spec */
    struct hocket__usage_sum counted;   /* apart from any account */
};

/* The name of their metatable. */
extern const char hocket__call_name[];
/* The call at arg (call.c): raises when it was released. */
struct hocket__attempt *hocket__check_call(lua_State *L, int arg);
