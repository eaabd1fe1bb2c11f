/* A run as the host sees it: a fiber, a journal, and the events that the embedder has not received yet. */
#pragma once

#include "bind/journal/journal.h"
#include "core/run_id.h"
#include "host/host.h"

struct hocket__run {
    struct hocket__list link; /* host.runs */
    struct hocket__list due;  /* host.due, while the embedder has something to receive */
    struct hocket_host *host;
    uint64_t id, cursor;
    uint64_t reported_before; /* an earlier process has reported its records up to this one */
    char name[HOCKET__RUN_ID_LEN + 1]; /* in events and results: unique everywhere */
    uint64_t fiber;
    int journal_ref; /* keeps the journal's userdata */
    struct hocket__journal *journal;
    struct hocket__lua_journal *lua_journal;
    struct hocket__kept *kept;         /* a reference; NULL: the run is not durable */
    struct hocket__resuming *resuming; /* while it is read from the store (resume.c) */
    struct hocket__stored *stored;     /* its state in the host's store; NULL: none */
    struct hocket__save *save;         /* this is the work on a save and not a run (save.c) */
    struct hocket__list deltas;        /* text of streams that was not delivered yet (events.c) */
    size_t delta_bytes;
    hocket_event_cb on_event;
    hocket_done_cb on_done;
    void *ud;
    bool ended;
    bool pulled; /* there are no callbacks: the embedder calls hocket_event_next */
    bool is_run; /* a run and not another operation: its journal ends with workflow_finished */
    int status;
    struct hocket__buf text, json;
    struct hocket_error err;
};

/* ---- run.c ------------------------------------------------------------------------------------------------- */

/* 0, or why no run may begin now. */
int hocket__run_may_start(struct hocket_host *host, struct hocket_error *err);
/* Whether a run's options are one JSON object. */
int hocket__run_check_options(struct hocket__str options, struct hocket_error *err);
/* Makes a run that is in no list and has no fiber yet. NULL: out of memory. */
struct hocket__run *hocket__run_new(struct hocket_host *host, const char *name,
    hocket_event_cb on_event, hocket_done_cb on_done, void *ud);
/* Adds it to the host's runs. */
void hocket__run_join(struct hocket__run *r);
/* The embedder has something to receive from it. */
void hocket__run_mark_due(struct hocket__run *r);
/* The same, and makes the loop look, where no fiber has run that would. */
void hocket__run_report_soon(struct hocket__run *r);
/* The run with this id if it has begun and not ended, or NULL. */
struct hocket__run *hocket__run_find(struct hocket_host *host, uint64_t id);
/* Whether its log is in the host's store now. */
bool hocket__run_is_durable(const struct hocket__run *r);
/* Whether it is in a replay. Its events are delivered when the replay is over, so that nobody answers a question a second
 * time. */
bool hocket__run_is_replayed(const struct hocket__run *r);
/* Whether writing its log failed: what it did since then is not in the log. */
bool hocket__run_log_failed(const struct hocket__run *r);
/* Gives the host's present approval rules (HOCKET_APPROVE, policies) to durable runs at work: they bind the runs beside the rules
 * from their beginning. */
void hocket__runs_say_operator(struct hocket_host *h);

/* Says something to a run that is awake, as hocket_run_answer and the like do. */
int hocket__run_say(struct hocket__run *r, const char *wish, const char *a, struct hocket__str b,
    struct hocket_error *err);
/* The same for a wish with an answer: *reply, or NULL. */
int hocket__run_ask(struct hocket__run *r, const char *wish, const char *a, struct hocket__str b,
    hocket_json **reply, struct hocket_error *err);
/* Stops it, as hocket_run_stop does, also before it has begun; err may be NULL. */
int hocket__run_stop(struct hocket__run *r, struct hocket_error *err);
/* Calls the wish in Lua without logging it: 0, or the status that it returned. */
int hocket__run_wish(struct hocket__run *r, const char *wish, const char *a, struct hocket__str b,
    struct hocket_error *err);
int hocket__run_wish_stop(struct hocket__run *r);
/* Makes its last events say that it is parked and not over. The caller cancels it then. `due_ms`: the time of day that is the
 * only thing it waits for; 0: none. */
int hocket__run_wish_park(struct hocket__run *r, int64_t due_ms);

/* ---- start.c ----------------------------------------------------------------------------------------------- */

/* Makes its fiber, which has not run yet when this returns 0, and a name if it has none. */
int hocket__run_begin(
    struct hocket__run *r, const char *name, struct hocket__str args, struct hocket_error *err);
void hocket__run_free(struct hocket__run *r);

/* ---- save.c ------------------------------------------------------------------------------------------------ */

/* Its run is gone; the save frees itself when its reads are over. NULL is fine. */
void hocket__save_leave(struct hocket__save *s);

/* ---- events.c ---------------------------------------------------------------------------------------------- */

void hocket__run_on_append(void *run);
void hocket__run_free_deltas(struct hocket__run *r);
/* Adds text of a stream, which is delivered as an event model_delta with what else has come by then. When too much waits, the
 * oldest text is dropped: the answer has all of it. */
void hocket__run_delta(struct hocket__run *r, struct hocket__str kind, struct hocket__str text,
    struct hocket__str agent, struct hocket__str op);
