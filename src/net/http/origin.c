/* Queues by host. Two things hold a request back: connections (has_room) and the look-up of
 * its name (may_probe). A request that goes ahead while the name is unknown is a probe; it
 * stops being one when libcurl opens a socket or finds a connection, and then wakes the
 * others.
 *
 * An origin that may let something through stands in http->runnable; the kick takes it from
 * there. It is put there by whoever makes room: a request that leaves, a look-up that ends, a
 * new request. */
#include "net/http/origin.h"

#include "net/http/http_impl.h"
#include "net/http/check.h"
#include "net/http/request.h"
#include "net/http/shard.h"

#define STREAMS_PER_CONNECTION 100 /* libcurl's own limit */
#define RESOLVING_MAX          16
#define KNOWN_PROBES           8     /* a name that was resolved before mostly is again */
#define NAME_KEPT_MS           50000 /* libcurl keeps addresses for a minute */

/* ---- Letting through ------------------------------------------------------------ */

/* With HTTP/2 a connection counts as full only when its streams are: libcurl spreads them
 * itself. */
static bool has_room(const struct hocket__origin *o)
{
    int per_connection = o->multiplexed ? STREAMS_PER_CONNECTION : 1;
    return o->active / per_connection < o->http->max_per_host;
}

/* A little less than libcurl keeps it: a request that relied on a look-up which has just
 * expired would start a resolver thread that nobody counted. */
static bool name_is_known(const struct hocket__origin *o)
{
    return o->literal || (o->known && hocket__deadlines_now() - o->resolved_at < NAME_KEPT_MS);
}

static bool may_probe(const struct hocket__origin *o)
{
    return o->probes < (o->known ? KNOWN_PROBES : 1) && o->http->resolving < RESOLVING_MAX;
}

static void make_runnable(struct hocket__origin *o)
{
    if (hocket__list_empty(&o->waiting) || !hocket__list_empty(&o->runnable))
        return;
    hocket__list_add(&o->http->runnable, &o->runnable);
    hocket__http_kick(o->http);
}

void hocket__origin_wait(struct hocket__origin *origin, struct hocket__request *req)
{
    hocket__list_add(&origin->waiting, &req->node);
    make_runnable(origin);
}

static void let_through(struct hocket__origin *o, struct hocket__request *req, bool probe)
{
    struct hocket_error err;
    /* counted before it is handed over: when that fails, hocket__request_end gives back
     * what was counted */
    hocket__list_del(&req->node);
    req->place = probe ? HOCKET__REQUEST_PROBE : HOCKET__REQUEST_ADMITTED;
    o->active++;
    o->probes += probe;
    o->http->resolving += probe;
    if (hocket__shard_submit(o->pool, req, &err) < 0)
        hocket__request_end(req, &err);
    else
        hocket__request_admitted(req);
}

void hocket__origin_run(struct hocket__origin *o)
{
    while (!hocket__list_empty(&o->waiting) && has_room(o) && !o->http->closing) {
        bool probe = !name_is_known(o);
        if (probe && !may_probe(o))
            return;
        if (hocket__http_is_late(o->http)) {
            make_runnable(o);
            return;
        }
        let_through(o, hocket__container_of(o->waiting.next, struct hocket__request, node), probe);
    }
}

/* Origins that wait only because many names are being looked up are not noted
 * anywhere: when a look-up ends, all are asked. */
static void end_probe(struct hocket__request *req)
{
    struct hocket__http *http = req->http;
    if (req->place != HOCKET__REQUEST_PROBE)
        return;
    req->place = HOCKET__REQUEST_ADMITTED;
    req->origin->probes--;
    if (http->resolving-- < RESOLVING_MAX)
        return;
    for (struct hocket__list *n = http->origins.next; n != &http->origins; n = n->next)
        make_runnable(hocket__container_of(n, struct hocket__origin, node));
}

void hocket__origin_resolved(struct hocket__request *req, bool fresh)
{
    struct hocket__origin *o = req->origin;
    if (fresh) {
        o->known = true;
        o->resolved_at = hocket__deadlines_now();
    }
    end_probe(req);
    make_runnable(o);
}

void hocket__origin_leave(struct hocket__request *req)
{
    if (req->place == HOCKET__REQUEST_WAITING)
        return;
    end_probe(req);
    req->place = HOCKET__REQUEST_WAITING;
    req->origin->active--;
    make_runnable(req->origin);
}

void hocket__origin_fail(
    struct hocket__origin *origin, uint64_t up_to, const struct hocket_error *err)
{
    while (!hocket__list_empty(&origin->waiting) && !origin->http->closing) {
        struct hocket__request *req =
            hocket__container_of(origin->waiting.next, struct hocket__request, node);
        /* ids rise along the queue, so the first that is newer ends the walk */
        if (req->id > up_to)
            return;
        hocket__request_end(req, err);
    }
}

/* ---- Life ------------------------------------------------------------------------ */

static void origin_free(struct hocket__origin *o)
{
    const struct hocket_allocator *a = o->http->a;
    while (!hocket__list_empty(&o->spare))
        hocket__request_free(hocket__container_of(o->spare.next, struct hocket__request, node));
    hocket__list_del(&o->node);
    hocket__list_del(&o->runnable);
    o->http->n_origins--;
    hocket__free(a, (char *) o->key.p, o->key.n + 1);
    hocket__strfree(a, o->name);
    hocket__free(a, o, sizeof(*o));
}

void hocket__origin_free_idle(struct hocket__http *http, const struct hocket__pool *pool)
{
    for (struct hocket__list *n = http->origins.next, *next; n != &http->origins; n = next) {
        next = n->next;
        struct hocket__origin *o = hocket__container_of(n, struct hocket__origin, node);
        if (o->active == 0 && hocket__list_empty(&o->waiting) && (!pool || o->pool == pool))
            origin_free(o);
    }
}

static bool is_tls(const char *url)
{
    return url[4] == 's' || url[4] == 'S';
}

static struct hocket__origin *origin_new(
    struct hocket__http *http, const char *pool, struct hocket__str key, struct hocket_error *err)
{
    struct hocket__origin *o = hocket__zero(http->a, sizeof(*o));
    char *text = hocket__strdup(http->a, key.p, key.n);
    int status = HOCKET_ENOMEM;
    if (!o || !text)
        goto fail;
    if ((status = hocket__http_check_host(http, text, &o->name, &o->literal, err)) < 0)
        goto fail;
    status = HOCKET_ENOMEM;
    if (!(o->pool = hocket__pool_get(http, pool)))
        goto fail;
    o->http = http;
    o->key = hocket__str(text, key.n);
    o->tls = is_tls(text);
    hocket__list_init(&o->runnable);
    hocket__list_init(&o->waiting);
    hocket__list_init(&o->spare);
    /* The list is searched in order: the one used last stands first. There are few, but of
     * thousands of requests each asks. */
    hocket__list_add(http->origins.next, &o->node);
    http->n_origins++;
    return o;
fail:
    if (status == HOCKET_ENOMEM)
        hocket__error_nomem(err);
    if (o)
        hocket__strfree(http->a, o->name);
    hocket__free(http->a, text, key.n + 1);
    hocket__free(http->a, o, sizeof(*o));
    return NULL;
}

struct hocket__origin *hocket__origin_get(
    struct hocket__http *http, const char *pool, const char *url, struct hocket_error *err)
{
    struct hocket__str key = hocket__str(url, hocket__http_origin_length(url));
    for (struct hocket__list *n = http->origins.next; n != &http->origins; n = n->next) {
        struct hocket__origin *o = hocket__container_of(n, struct hocket__origin, node);
        if (!hocket__str_eq(o->key, key) || strcmp(o->pool->name, pool) != 0)
            continue;
        hocket__list_del(n);
        hocket__list_add(http->origins.next, n); /* read here, as it was perhaps n itself */
        return o;
    }
    return origin_new(http, pool, key, err);
}
