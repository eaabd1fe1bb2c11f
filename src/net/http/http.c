/* The actor itself: it is made and closed here, requests come in, and one idle handle (the
 * kick) does from the loop what a call from outside must not do on the caller's stack.
 *
 * A call from libuv that may run user code stands between enter and leave. Closing in the
 * middle of one only sets `closing`; every list is walked with a look at it, and the last
 * leave takes things down. So no function here needs to know whether its object was freed
 * below it.
 *
 * Life: new ─> (requests) ─> close ─> close_now, when nothing of it is on the stack ─> the uv
 * handles end one after another ─> http_free ─> on_closed */
#include "net/http/http.h"

#include "net/http/http_impl.h"
#include "net/http/check.h"
#include "net/http/origin.h"
#include "net/http/poll.h"
#include "net/http/request.h"
#include "net/http/setup.h"
#include "net/http/shard.h"
#include "net/http/wait.h"
#include "os/descriptors.h"
#include "os/fs.h"

#define MAX_PER_HOST     16384
#define SPARE_FILES      64 /* descriptors that are left to the rest of the program */
#define MAX_REQUESTS     65536
#define IDLE_ORIGINS_MAX 256

/* ---- Entering from the loop ------------------------------------------------------ */

static void close_now(struct hocket__http *http);

void hocket__http_enter(struct hocket__http *http)
{
    http->depth++;
}

void hocket__http_leave(struct hocket__http *http)
{
    if (--http->depth == 0 && http->closing && !http->closed)
        close_now(http);
}

/* `until` names the turn, too: two turns never end at the same nanosecond. So `served` says
 * whether this turn has had its one thing already, without a counter that somebody would have
 * to reset. */
bool hocket__http_is_late(struct hocket__http *http)
{
    uint64_t until = http->until ? *http->until : 0;
    bool late = until != 0 && until == http->served && uv_hrtime() >= until;
    http->served = until;
    return late;
}

/* The list is taken away as a whole before it is walked: what is added while it is walked
 * belongs to the next round, and a walk ends however much there comes. */
static void move_all(struct hocket__list *from, struct hocket__list *to)
{
    hocket__list_init(to);
    if (hocket__list_empty(from))
        return;
    hocket__list_add(from, to);
    hocket__list_del(from);
}

static void run_origins(struct hocket__http *http)
{
    struct hocket__list now;
    move_all(&http->runnable, &now);
    while (!hocket__list_empty(&now)) {
        struct hocket__origin *origin =
            hocket__container_of(now.next, struct hocket__origin, runnable);
        hocket__list_del(&origin->runnable);
        hocket__origin_run(origin);
    }
}

/* What becomes ready meanwhile waits for the next round, so that sockets get their turn. */
static void run_shards(struct hocket__http *http)
{
    struct hocket__list now;
    move_all(&http->ready, &now);
    while (!hocket__list_empty(&now)) {
        struct hocket__shard *shard = hocket__container_of(now.next, struct hocket__shard, ready);
        hocket__list_del(&shard->ready);
        if (!http->closing)
            hocket__shard_run(shard, CURL_SOCKET_TIMEOUT, 0);
    }
}

static void on_kick(uv_idle_t *idle)
{
    struct hocket__http *http = hocket__container_of(idle, struct hocket__http, kick);
    hocket__http_enter(http);
    run_origins(http);
    run_shards(http);
    if (hocket__list_empty(&http->runnable) && hocket__list_empty(&http->ready))
        uv_idle_stop(idle);
    /* A program that asks thousands of hosts once would keep them all. Here nothing points to
     * an origin that is idle; in the middle of a start something may. */
    if (http->n_origins > IDLE_ORIGINS_MAX)
        hocket__origin_free_idle(http, NULL);
    hocket__http_leave(http);
}

void hocket__http_kick(struct hocket__http *http)
{
    uv_idle_start(&http->kick, on_kick); /* does nothing when it is active or closing */
}

/* ---- Life ---------------------------------------------------------------------------- */

static void http_free(struct hocket__http *http)
{
    const struct hocket_allocator *a = http->a;
    if (http->share)
        http->curl->share_cleanup(http->share);
    hocket__map_deinit(&http->by_id);
    hocket__sockets_deinit(&http->sockets);
    hocket__buf_deinit(&http->scratch);
    hocket__deadlines_deinit(&http->deadlines);
    hocket__strfree(a, http->ca_file);
    hocket__strfree(a, http->user_agent);
    hocket__free(a, http, sizeof(*http));
}

void hocket__http_handle_closed(struct hocket__http *http)
{
    if (--http->handles > 0)
        return;
    void (*on_closed)(void *ud) = http->on_closed;
    void *ud = http->ud;
    http_free(http);
    if (on_closed)
        on_closed(ud);
}

static void on_timer_closed(uv_handle_t *handle)
{
    uv_timer_t *timer = (uv_timer_t *) handle;
    hocket__http_handle_closed(hocket__container_of(timer, struct hocket__http, deadlines.timer));
}

static void on_kick_closed(uv_handle_t *handle)
{
    hocket__http_handle_closed(
        hocket__container_of((uv_idle_t *) handle, struct hocket__http, kick));
}

/* Requests first: they stand in shards, origins and deadlines, which stand in pools. No callback comes: whoever
 * closes the actor knows. */
static void close_now(struct hocket__http *http)
{
    http->closed = true;
    while (!hocket__list_empty(&http->requests))
        hocket__request_drop(
            hocket__container_of(http->requests.next, struct hocket__request, all));
    hocket__origin_free_idle(http, NULL);
    while (!hocket__list_empty(&http->pools))
        hocket__pool_free(hocket__container_of(http->pools.next, struct hocket__pool, node));
    hocket__poll_close_all(http);
    hocket__deadlines_close(&http->deadlines, on_timer_closed);
    uv_close((uv_handle_t *) &http->kick, on_kick_closed);
}

void hocket__http_close(struct hocket__http *http, void (*on_closed)(void *ud), void *ud)
{
    http->on_closed = on_closed;
    http->ud = ud;
    http->closing = true;
    if (http->depth == 0)
        close_now(http);
}

static int copy_text(const struct hocket_allocator *a, const char *text, char **copy)
{
    return !text || (*copy = hocket__strdup(a, text, strlen(text))) ? 0 : HOCKET_ENOMEM;
}

/* As many connections as the process may have descriptors: whoever waits for one is in a queue,
 * where running out of them would be an error. */
int hocket__http_per_host(int asked)
{
    uint64_t files = hocket__descriptors_limit();
    if (asked > 0)
        return asked;
    if (files >= MAX_PER_HOST + SPARE_FILES)
        return MAX_PER_HOST;
    return files > 2 * SPARE_FILES ? (int) files - SPARE_FILES : SPARE_FILES;
}

/* Where systems have the certificates of the authorities that they trust. A libcurl of a distribution knows its own place;
 * that of a static program runs everywhere. NULL: there are none. */
static const char *authorities(void)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Arch, Gentoo */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
        "/etc/pki/tls/certs/ca-bundle.crt",                  /* older releases of the same */
        "/etc/ssl/ca-bundle.pem",                            /* openSUSE */
        "/etc/ssl/cert.pem",                                 /* Alpine */
        "/etc/ca-certificates.crt",                          /* an image that has this one file */
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (hocket__fs_may_read(places[i]))
            return places[i];
    return NULL;
}

static int take_options(struct hocket__http *http, const struct hocket__http_options *o)
{
    http->loop = o->loop;
    http->verbose = o->verbose;
    http->until = o->until;
    http->max_per_host = hocket__http_per_host(o->max_per_host);
    http->max_active = o->max_requests > 0 ? o->max_requests : MAX_REQUESTS;
    const char *ca_file = o->ca_file || !HOCKET_STATIC ? o->ca_file : authorities();
    if (copy_text(http->a, ca_file, &http->ca_file) < 0
        || copy_text(http->a, o->user_agent, &http->user_agent) < 0
        || !(http->share = http->curl->share_init()))
        return HOCKET_ENOMEM;
    http->curl->share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    http->curl->share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return 0;
}

static void add_handles(struct hocket__http *http)
{
    hocket__deadlines_init(&http->deadlines, http->a, http->loop);
    uv_unref((uv_handle_t *) &http->deadlines.timer); /* only requests keep the loop alive */
    uv_idle_init(http->loop, &http->kick);
    http->handles = 2;
}

static const struct hocket__transport_ops transport_ops;

int hocket__http_new(
    const struct hocket__http_options *o, struct hocket__http **out, struct hocket_error *err)
{
    struct hocket_error why = { .status = HOCKET_EUNSUPPORTED };
    const struct hocket__curl *curl = hocket__curl_load(&why);
    if (!curl && err)
        *err = why;
    if (!curl)
        return why.status;
    int no = hocket__descriptors_hold_standard(); /* no socket may take their place */
    if (no != 0)
        return hocket__error(err, HOCKET_EIO, "HTTP cannot be opened: /dev/null: error %d", no);
    struct hocket__http *http = hocket__zero(o->alloc, sizeof(*http));
    if (!http)
        return hocket__error_nomem(err);
    http->transport.ops = &transport_ops;
    http->a = o->alloc;
    http->curl = curl;
    hocket__list_init(&http->runnable);
    hocket__list_init(&http->ready);
    hocket__list_init(&http->pools);
    hocket__list_init(&http->origins);
    hocket__list_init(&http->requests);
    hocket__map_init(&http->by_id, http->a);
    hocket__sockets_init(&http->sockets, http->a);
    hocket__buf_init(&http->scratch, http->a, 0);
    if (take_options(http, o) < 0) {
        /* http_free counts on it; the handles of the loop are not made yet and need no closing */
        http->deadlines.a = http->a;
        http_free(http);
        return hocket__error_nomem(err);
    }
    add_handles(http);
    *out = http;
    return 0;
}

/* ---- Requests -------------------------------------------------------------------------- */

static int check(
    struct hocket__http *http, const struct hocket__http_spec *spec, struct hocket_error *err)
{
    if (http->closing)
        return hocket__error(err, HOCKET_ECLOSED, "HTTP is closed");
    if (http->active >= http->max_active)
        return hocket__error(
            err, HOCKET_ELIMIT, "more than %d HTTP requests at once", http->max_active);
    return hocket__http_check_spec(spec, err);
}

int64_t hocket__http_start(struct hocket__http *http, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err)
{
    int status = check(http, spec, err);
    if (status < 0)
        return status;
    struct hocket_error local;
    struct hocket__origin *origin =
        hocket__origin_get(http, spec->pool ? spec->pool : "", spec->url, err ? err : &local);
    if (!origin)
        /* origin_get tells by *err alone what went wrong, and the caller may have none */
        return err ? err->status : local.status;
    struct hocket__request *req = hocket__request_get(origin);
    if (!req)
        return hocket__error_nomem(err);
    req->handler = handler;
    req->ud = ud;
    status = hocket__setup_spec(req, spec, err);
    if (status == 0 && (status = hocket__request_go(req)) < 0)
        hocket__error_nomem(err);
    if (status < 0) {
        hocket__request_free(req);
        return status;
    }
    /* Last, when nothing can fail any more: a caller whose request did not start still has its
     * body. */
    hocket__setup_body(req, spec->body);
    req->body_back = spec->body_back ? spec->body : NULL;
    return (int64_t) req->id;
}

static struct hocket__request *find(const struct hocket__http *http, int64_t id)
{
    return id > 0 ? hocket__map_get(&http->by_id, (uint64_t) id) : NULL;
}

bool hocket__http_multiplexed(const struct hocket__http *http, int64_t id)
{
    const struct hocket__request *req = find(http, id);
    return req && req->origin->multiplexed;
}

void hocket__http_cancel(struct hocket__http *http, int64_t id)
{
    struct hocket__request *req = find(http, id);
    if (req)
        hocket__request_abort(req, NULL);
}

int hocket__http_active(const struct hocket__http *http)
{
    return http->active;
}

/* ---- As a transport ---------------------------------------------------------------------- */

static struct hocket__http *http_of(const struct hocket__transport *t)
{
    return hocket__container_of(t, struct hocket__http, transport);
}

static int64_t start(struct hocket__transport *t, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err)
{
    return hocket__http_start(http_of(t), spec, handler, ud, err);
}

static void cancel(struct hocket__transport *t, int64_t id)
{
    hocket__http_cancel(http_of(t), id);
}

static bool multiplexed(const struct hocket__transport *t, int64_t id)
{
    return hocket__http_multiplexed(http_of(t), id);
}

static const struct hocket__transport_ops transport_ops = { start, cancel, multiplexed };

struct hocket__transport *hocket__http_transport(struct hocket__http *http)
{
    return &http->transport;
}
