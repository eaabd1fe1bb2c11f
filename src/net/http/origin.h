/* Where requests go: scheme, host and port, within one pool. Every request waits
 * here, in order, until it may go:
 *
 * - at most max_per_host connections at a time (with HTTP/2, that many times 100
 *   streams);
 * - libcurl's resolver starts a thread for each look-up, so while a name is not known, one request
 *   resolves it for all others, and over all hosts only a few names are looked up at once. When the
 *   name cannot be resolved, the waiting requests fail with the first. */
#pragma once

#include "base/list.h"
#include "base/status.h"
#include "base/str.h"

struct hocket__http;
struct hocket__pool;
struct hocket__request;

struct hocket__origin {
    struct hocket__list node;     /* in http->origins, the last used first */
    struct hocket__list runnable; /* in http->runnable */
    struct hocket__list waiting;  /* requests */
    struct hocket__list spare;    /* requests that wait to be used again */
    struct hocket__http *http;
    struct hocket__pool *pool;
    struct hocket__str key; /* as it stands in URLs: "https://user@host:1" (owned) */
    char *name;             /* "host:1", for messages */
    int active;             /* requests let through that have not ended */
    int probes;             /* how many of them may be looking up the name */
    bool tls;
    bool literal;         /* the host needs no look-up */
    bool known;           /* its name was resolved once */
    bool multiplexed;     /* it speaks HTTP/2 */
    uint64_t resolved_at; /* milliseconds */
};

/* Finds or makes it; checks the URL when it has to be made. NULL with *err: EINVAL,
 * ENOMEM. */
struct hocket__origin *hocket__origin_get(
    struct hocket__http *http, const char *pool, const char *url, struct hocket_error *err);
/* Puts a request into the queue. */
void hocket__origin_wait(struct hocket__origin *origin, struct hocket__request *req);
/* Lets through what may go. From the kick only. */
void hocket__origin_run(struct hocket__origin *origin);
/* The request has a socket (`fresh`: for an address that was looked up now) or a
 * connection: others need not wait for the name. */
void hocket__origin_resolved(struct hocket__request *req, bool fresh);
/* A request that was let through has ended or goes elsewhere. */
void hocket__origin_leave(struct hocket__request *req);
/* Ends the waiting requests, up to this id: the name could not be resolved. */
void hocket__origin_fail(
    struct hocket__origin *origin, uint64_t up_to, const struct hocket_error *err);

/* Frees origins without requests, and their spare ones; NULL: of all pools. */
void hocket__origin_free_idle(struct hocket__http *http, const struct hocket__pool *pool);
