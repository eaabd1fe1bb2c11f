/* The actor behind http.h: what its parts share.
 *
 *   http.c          public functions, the kick that starts things from the loop
 *   origin.c        queues by host: how many at once, and who resolves the name
 *   shard.c         curl multi handles: which one takes a transfer, and its results
 *   poll.c          sockets between libcurl and the loop
 *   request.c       one transfer: libcurl's callbacks, its end
 *   wait.c          its timeouts
 *   setup.c         a transfer's options, set only where they differ from the last time
 *   head.c          status line and headers of an answer
 *   check.c         what a caller may ask for
 *   error.c         libcurl's results and our timeouts, in words
 *
 *   start ─> origin.waiting ─(kick)─> shard ─(sockets, timers)─> message ─> on_done
 *
 * All entries from libuv stand between enter and leave. User code may run in the
 * middle of them, and close the actor: nothing is then taken down before the last
 * leave. */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "net/curl.h"
#include "net/deadline.h"
#include "net/http/http.h"
#include "os/socket_set.h"
#include "net/transport.h"

struct hocket__http {
    struct hocket__transport transport;
    const struct hocket_allocator *a;
    const struct hocket__curl *curl;
    uv_loop_t *loop;
    struct hocket__deadlines deadlines;
    uv_idle_t kick;               /* active while `runnable` or `ready` is not empty */
    struct hocket__list runnable; /* origins that may let requests through */
    struct hocket__list ready;    /* shards that libcurl wants to be run at once */
    struct hocket__list pools, origins, requests;
    struct hocket__map by_id; /* requests */
    struct hocket__sockets sockets;
    struct hocket__buf scratch;
    CURLSH *share; /* names and TLS sessions, of all shards */
    uint64_t last_id;
    int active, max_active, max_per_host;
    int resolving; /* requests that may be looking up a name */
    int n_origins, n_spare;
    int handles; /* uv handles that are not closed yet */
    int depth;   /* entries on the stack */
    bool closing, closed, verbose;
    char *ca_file, *user_agent;
    const uint64_t *until;
    uint64_t served; /* the turn in which something was done */
    void (*on_closed)(void *ud);
    void *ud;
};

void hocket__http_enter(struct hocket__http *http);
void hocket__http_leave(struct hocket__http *http);

/* Whether what can wait is to be left to the next turn of the loop: this one's time is over. One
 * thing is done in each turn, however late it is. */
bool hocket__http_is_late(struct hocket__http *http);

/* Has the loop look at `runnable` and `ready` in its next round. */
void hocket__http_kick(struct hocket__http *http);

/* To be said of each uv handle once, from its close callback. */
void hocket__http_handle_closed(struct hocket__http *http);
