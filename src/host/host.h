/* A host: a Lua state, an event loop and the runs that go on in it (see the public header). */
#pragma once

#include "base/slab.h"
#include "bind/runtime.h"

struct hocket_host {
    struct hocket_allocator alloc;
    struct hocket__slab slab; /* of a Lua state of our own */
    struct hocket__runtime *rt;
    lua_State *L;
    uv_loop_t own_loop, *loop;
    uv_async_t wakeup;
    uv_timer_t wait_timer;
    bool owns_loop, owns_lua, in_callback, close_asked, closed;
    int open_handles;
    struct hocket__list runs;
    size_t n_runs;
    uint64_t next_id;
    size_t max_journal;
    hocket_closed_cb on_closed;
    void *closed_ud;
};

/* Calls what the events and ends of runs are due for (runs.c); after each drain. */
void hocket__host_deliver(void *host);
