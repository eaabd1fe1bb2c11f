/* A run as the host sees it: a fiber, a journal, and what is still to be told to the embedder. */
#pragma once

#include "bind/journal/journal.h"
#include "core/run_id.h"
#include "host/host.h"

struct hocket__run {
    struct hocket__list link; /* host.runs */
    struct hocket__list due;  /* host.due, while it has something to tell */
    struct hocket_host *host;
    uint64_t id, cursor;
    uint64_t reported_before;          /* its records up to this one were told in an earlier life */
    char name[HOCKET__RUN_ID_LEN + 1]; /* in events and results: unique everywhere */
    uint64_t fiber;
    int journal_ref; /* keeps the journal's userdata */
    struct hocket__journal *journal;
    struct hocket__lua_journal *lua_journal;
    struct hocket__kept *kept;         /* held; NULL: nothing of it is kept */
    struct hocket__resuming *resuming; /* it is being read from there (resume.c) */
    struct hocket__stored *stored;     /* its life in the host's store; NULL: it has none */
    struct hocket__save *save;         /* it is none, but the work on a save (save.c) */
    struct hocket__list deltas;        /* text of streams that nobody has heard of (events.c) */
    size_t delta_bytes;
    hocket_event_cb on_event;
    hocket_done_cb on_done;
    void *ud;
    bool ended;
    bool pulled; /* no callbacks: hocket_event_next takes its events */
    bool is_run; /* and no other operation: its journal ends with workflow_finished */
    int status;
    struct hocket__buf text, json;
    struct hocket_error err;
};

/* ---- run.c ------------------------------------------------------------------------------------------------- */

/* 0, or why no run may begin now. */
int hocket__run_may_start(struct hocket_host *host, struct hocket_error *err);
/* Whether a run's options are one JSON object. */
int hocket__run_check_options(struct hocket__str options, struct hocket_error *err);
/* One that is in no list, and has no fiber yet. NULL: out of memory. */
struct hocket__run *hocket__run_new(struct hocket_host *host, const char *name,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud);
/* From here on it is one of the host's. */
void hocket__run_join(struct hocket__run *r);
/* It has something to tell. */
void hocket__run_mark_due(struct hocket__run *r);
/* The same, where no fiber has run that would lead to it. */
void hocket__run_report_soon(struct hocket__run *r);
/* One that has begun, and not ended; or NULL. */
struct hocket__run *hocket__run_find(struct hocket_host *host, uint64_t id);
/* Whether it goes on in the host's store. */
bool hocket__run_is_durable(const struct hocket__run *r);
/* Whether its log still says what comes: what it tells is told when it goes on, so that nobody answers
 * what was answered. */
bool hocket__run_is_replayed(const struct hocket__run *r);
/* Whether its log ended with an error: what it did since is not in it. */
bool hocket__run_log_failed(const struct hocket__run *r);
/* Runs that are kept and at work hear what the host says of approvals now (HOCKET_APPROVE, policies): it binds them beside what was said
 * when they began. */
void hocket__runs_say_operator(struct hocket_host *h);

/* What hocket_run_answer and its like do, for a run that goes on. */
int hocket__run_say(struct hocket__run *r, const char *wish, const char *a, struct hocket__str b,
    struct hocket_error *err);
/* The same, of a wish that answers: *reply is what, or NULL. */
int hocket__run_ask(struct hocket__run *r, const char *wish, const char *a, struct hocket__str b,
    hocket_json **reply, struct hocket_error *err);
/* What hocket_run_stop does, of one that may not have begun; err may be NULL. */
int hocket__run_stop(struct hocket__run *r, struct hocket_error *err);
/* Says to a run what an embedder wishes: 0, or what it was answered. */
int hocket__run_wish(struct hocket__run *r, const char *wish, const char *a, struct hocket__str b,
    struct hocket_error *err);
int hocket__run_wish_stop(struct hocket__run *r);
/* It is going to be cancelled, and is not over: that is what its last events say. `due_ms`: the time of day that it waits
 * for, and for nothing else; 0: none. */
int hocket__run_wish_park(struct hocket__run *r, int64_t due_ms);

/* ---- start.c ----------------------------------------------------------------------------------------------- */

/* Makes its fiber, which has not run when this returns 0, and gives it a name where it has none. */
int hocket__run_begin(
    struct hocket__run *r, const char *name, struct hocket__str args, struct hocket_error *err);
void hocket__run_free(struct hocket__run *r);

/* ---- save.c ------------------------------------------------------------------------------------------------ */

/* Nobody waits for it any more. NULL is fine. */
void hocket__save_leave(struct hocket__save *s);

/* ---- events.c ---------------------------------------------------------------------------------------------- */

void hocket__run_on_append(void *run);
void hocket__run_free_deltas(struct hocket__run *r);
/* Text of a stream, to be told as an event model_delta, together with what else has come by then.
 * Where too much of it waits the oldest is forgotten: all of it is in the answer. */
void hocket__run_delta(struct hocket__run *r, struct hocket__str kind, struct hocket__str text,
    struct hocket__str agent, struct hocket__str op);

/* ---- ../lua_started.c: functions of hocket.internal.core.host ---------------------------------------------- */

/* Makes what it needs in the Lua state. */
void hocket__lua_started_open(lua_State *L);
/* start(target, input or nil, options as JSON) -> started | nil, error */
int hocket__lua_run_start(lua_State *L);
