/* A model call as Lua makes it: one attempt, with all that lasts as long. Nothing here touches Lua:
 * the callbacks of transport and lane note what came and wake the fiber that waits.
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
    struct hocket_error err;
    struct hocket__buf text, reasoning; /* deltas not handed out yet */
    struct hocket__buf trace;           /* see hocket__llm_spec */
    struct hocket__usage_sum counted;   /* apart from any account */
};

/* The name of their metatable. */
extern const char hocket__call_name[];
/* The call at arg (call.c): raises when it was released. */
struct hocket__attempt *hocket__check_call(lua_State *L, int arg);

/* An attempt without anything in it; NULL: out of memory. */
struct hocket__attempt *hocket__attempt_new(struct hocket__runtime *rt);
/* Ends it, which has not begun, with a reply as a log has it (recall.c): 0, or EPARSE, ENOMEM, ELIMIT. */
int hocket__attempt_recall(
    struct hocket__attempt *a, struct hocket__str packed, struct hocket_error *err);
/* Whatever state it is in. */
void hocket__attempt_free(struct hocket__attempt *a);

/* Begins it, or queues it when the lane is full. `run`: whose turn it takes there; `again`: it was
 * turned away before. 0, or what forbids it: the free must follow. */
int hocket__attempt_start(
    struct hocket__attempt *a, uint64_t run, bool again, struct hocket_error *err);
/* Whatever has to be done for a queued attempt before anybody waits (on): begins it when its turn has
 * come, ends it when its time is over. */
void hocket__attempt_advance(struct hocket__attempt *a);
/* Ends it as cancelled, down to the socket. */
void hocket__attempt_abandon(struct hocket__attempt *a);
/* Milliseconds until its time is over, at least 1; 0: it has no limit. */
int hocket__attempt_left_ms(const struct hocket__attempt *a);

/* Counts an attempt that has failed, unless it is made again and has used nothing; once. */
void hocket__attempt_settle(struct hocket__attempt *a, bool again);

/* Whether it is worth another one, after it has failed: `made` and `retries` count those after the
 * first; left_ms as in net/limit/retry.h. A replay tries again what was tried again, and at once. */
struct hocket__retry_verdict hocket__attempt_retry(
    const struct hocket__attempt *a, int made, int retries, int64_t left_ms);
