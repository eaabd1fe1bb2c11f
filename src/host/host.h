/* A host: a Lua state, an event loop and the runs that go on in it (see the public header). */
#pragma once

#include "base/private.h"
#include "base/slab.h"
#include "bind/runtime.h"
#include "host/collector.h"

/* What a Lua state of our own uses, and may use. */
struct hocket__meter {
    struct hocket_allocator a;
    const struct hocket_allocator *below;
    size_t used, max;
};

struct hocket__run;
struct hocket__delta;
struct hocket__tools;
struct hocket__store_call;

enum hocket__host_life {
    HOCKET__HOST_OPEN,
    HOCKET__HOST_CLOSE_ASKED, /* no run starts any more; it is closed when nothing of it is on the C stack */
    HOCKET__HOST_CLOSING, /* close_now is at work, or was left at it */
    HOCKET__HOST_CLOSED   /* its handles have ended */
};

struct hocket_host {
    struct hocket_allocator alloc;
    struct hocket__slab slab; /* of a Lua state of our own */
    struct hocket__runtime *rt;
    lua_State *L;
    uv_loop_t own_loop, *loop;
    uv_async_t wakeup;
    uv_timer_t wait_timer;
    struct hocket__loop_event *loop_event; /* NULL: nobody asked for it (hocket_backend_handle) */
    bool owns_loop, owns_lua;
    bool starved;    /* a run has ended without memory, and its garbage may still lie there */
    bool drained;    /* there may be something to tell, when the loop has turned */
    bool complained; /* of calls inside of a callback */
    enum hocket__host_life life;
    bool said_work; /* the last pump or wait did so */
    bool turned;    /* the loop, once: what watches it knows the first handles from then on */
    int open_handles;
    struct hocket__list runs;
    struct hocket__list due;  /* runs that have something to tell */
    struct hocket__list idle; /* runs in the store whose fibers rest, and that wait for somebody */
    bool store_optional, store_warned, store_ready;
    uint64_t said;                     /* to runs that sleep */
    struct hocket__store_call *spoken; /* under way: to which runs others have said something */
    bool spoken_again;                 /* others have written since it was asked */
    struct hocket__list saves;         /* under way (run/save.c) */
    bool saved_some;                   /* this turn went on with one */
    size_t n_runs;
    size_t max_runs;
    struct hocket__run *telling; /* whose callback is under way */
    struct hocket__run *ending;  /* the same, and it is in no list any more */
    struct hocket__run *taken; /* its end was taken by hocket_event_next; freed by the next call */
    struct hocket__buf event;  /* the text of a model_delta event */
    struct hocket__tools *tools;
    struct hocket__delta *told;  /* the last emitted model_delta event */
    char type[64];               /* of the event that is being told */
    struct hocket_event pulled;  /* the event that was taken */
    struct hocket_result result; /* of the run that was taken */
    struct hocket__meter meter;
    struct hocket__collector collector;
    uint64_t next_id;
    size_t max_journal;
    uint64_t n_ended, n_events;
    hocket_closed_cb on_closed;
    void *closed_ud;
};

/* Has the loop go on, and the program know of it; from any thread. */
void hocket__host_wake(struct hocket_host *host);

/* Whether something new can begin: 0, ECLOSED while the host closes, ESTATE in a process that was
 * forked after the host had begun to work. */
int hocket__host_is_usable(struct hocket_host *host, struct hocket_error *err);

/* Calls what the events and ends of runs are due for (run/events.c). */
void hocket__host_deliver(struct hocket_host *host);

/* After a drain, and after a turn of our own loop. A callback may be left by an exception or a jump,
 * which libuv does not survive: so that those of our own loop are called when it has turned. */
void hocket__host_on_drained(void *host);
void hocket__host_on_turned(void *host);

/* Whether a callback, or Lua, of this host is under way: neither may be left without its host. */
bool hocket__host_busy(const struct hocket_host *host);

/* 0, or ECALLBACK where no function of the host may be called: inside of log_cb and its like. */
int hocket__host_may_enter(const struct hocket_host *host, struct hocket_error *err);

/* Closes the host of a Lua state that is being closed: no Lua code runs any more, and no callback.
 */
void hocket__host_abandon(struct hocket_host *host);

/* Forgets the last emitted model_delta event (run/events.c). */
void hocket__host_forget_told(struct hocket_host *host);

/* Says once that runs are not kept (run/stored.c). */
void hocket__host_warn_store(struct hocket_host *host, const struct hocket_error *err);
/* Looks at the runs that rest (run/waiting.c). */
void hocket__host_look(struct hocket_host *host);
/* The host closes: runs that are still being read end (run/resume.c). */
void hocket__host_cancel_resuming(struct hocket_host *host);
/* And saves, with an error (run/save.c). */
void hocket__host_cancel_saves(struct hocket_host *host);
/* The host closes and accepts no more messages from others (run/inbox.c). */
void hocket__host_close_inbox(struct hocket_host *host);
/* Hears what the store tells of runs (run/end.c). */
void hocket__host_watch_store(struct hocket_host *host);

struct hocket__kept;

/* Keeps a run that was just started, and has not gone on since: what comes into it goes to the log of `k`, or
 * comes from there (bind/fiber/fiber.h). Takes a reference. 0, ENOTFOUND, or ESTATE where the run is kept. */
int hocket__run_keep(struct hocket_host *host, uint64_t run, struct hocket__kept *k);

/* As hocket_run_resume, of a run that this host's store has claimed already, by its whole name. */
HOCKET__PRIVATE int hocket__run_go_on(hocket_host *host, const char *name, uint64_t fence,
    const char *options, uint64_t *id, hocket_done_cb on_done, void *ud, struct hocket_error *err);

/* Ends all runs with ECANCELLED, and tells so, without running any of their Lua (run/start.c). */
void hocket__host_cancel_runs(struct hocket_host *host);

/* Frees all runs, without a word to anybody (run/start.c). */
void hocket__host_drop_runs(struct hocket_host *host);

/* On a loop of the embedder's: does what a hocket_close from inside of a callback asked for. */
void hocket__host_close_asked(struct hocket_host *host);
