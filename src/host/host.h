/* A host: a Lua state, an event loop and the runs that go on in it (see the public header). */
#pragma once

#include "base/slab.h"
#include "bind/runtime.h"

#include <sys/types.h>

struct hocket_host {
    struct hocket_allocator alloc;
    struct hocket__slab slab; /* of a Lua state of our own */
    struct hocket__runtime *rt;
    lua_State *L;
    uv_loop_t own_loop, *loop;
    uv_async_t wakeup;
    uv_timer_t wait_timer;
    bool owns_loop, owns_lua, in_callback;
    bool close_asked;    /* no run starts any more */
    bool close_deferred; /* hocket_close was called while the host was busy */
    bool closed;
    int open_handles;
    struct hocket__list runs;
    size_t n_runs;
    uint64_t next_id;
    pid_t pid; /* of the process that its loop works in */
    size_t max_journal;
    hocket_closed_cb on_closed;
    void *closed_ud;
};

/* 0, or ESTATE in a process that was forked after the host had begun to work. */
int hocket__host_check_process(struct hocket_host *host);

/* Calls what the events and ends of runs are due for (runs.c); after each drain. */
void hocket__host_deliver(void *host);

/* Whether a callback, or Lua, of this host is under way: neither may be left without its host. */
bool hocket__host_busy(const struct hocket_host *host);

/* Closes the host of a Lua state that is being closed: no Lua code runs any more, and no callback. */
void hocket__host_abandon(struct hocket_host *host);

/* Frees all runs, without a word to anybody (runs.c). */
void hocket__host_drop_runs(struct hocket_host *host);

/* On a loop of the embedder's: does what a hocket_close from inside of a callback asked for. */
void hocket__host_close_asked(struct hocket_host *host);
