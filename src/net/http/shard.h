/* Curl multi handles.
 *
 * A pool's transfers begin on one multi handle, so that few of them reuse each
 * other's connections well. One multi handle with thousands of transfers is slow,
 * so a full one (HOCKET__SHARD_FULL) is given a sibling; the first that has room is
 * always taken, so a load that falls comes back to the first. A shard that has
 * nothing to do is closed after a while, its connections with it. */
#pragma once

#include "base/list.h"
#include "net/curl.h"
#include "net/deadline.h"

/* Also what libcurl puts on one HTTP/2 connection: so a shard needs one. */
#define HOCKET__SHARD_FULL 100
#define HOCKET__SHARDS_MAX 256

struct hocket__http;
struct hocket__request;

struct hocket__shard {
    struct hocket__http *http;
    struct hocket__pool *pool;
    CURLM *multi;
    int active;                     /* transfers in it */
    struct hocket__list members;    /* these */
    bool busy;                      /* libcurl is on the stack */
    struct hocket__list ready;      /* in http->ready */
    struct hocket__list aborted;    /* requests that end when libcurl has returned */
    struct hocket__deadline timer;  /* what libcurl asked for */
    struct hocket__deadline reaper; /* when nothing happens until then, it is closed */
    uint64_t idle_since;
};

/* Connections that may be shared: of one credential, say. */
struct hocket__pool {
    struct hocket__list node; /* in http->pools */
    struct hocket__http *http;
    char *name;
    struct hocket__shard **shards;
    size_t n_shards, cap_shards;
};

/* Finds or makes the pool; NULL when memory is out. */
struct hocket__pool *hocket__pool_get(struct hocket__http *http, const char *name);
/* With its shards; no request may be in them any more. */
void hocket__pool_free(struct hocket__pool *pool);

/* Gives the request to a shard of the pool: 0, ENOMEM or EIO. */
int hocket__shard_submit(
    struct hocket__pool *pool, struct hocket__request *req, struct hocket_error *err);
/* Takes the request out of its shard; connection and name look-up end at once when it
 * is under way. Not while the shard is busy. */
void hocket__shard_drop(struct hocket__request *req);

/* Has the shard run in the loop's next round. */
void hocket__shard_wake(struct hocket__shard *shard);
/* Has libcurl work on a descriptor, or on its timeouts (CURL_SOCKET_TIMEOUT), then
 * ends the requests that are done. To be called between enter and leave. */
void hocket__shard_run(struct hocket__shard *shard, curl_socket_t fd, int flags);
