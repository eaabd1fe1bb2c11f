/* Multi handles, and the pools that they stand in. A shard owns its CURLM and two deadlines
 * (joined when it is made, so that setting one cannot fail); its requests own their easy
 * handles.
 *
 * While libcurl is on the stack (`busy`) nothing may be taken out of the multi handle:
 * curl_multi_remove_handle fails inside a callback (CURLM_RECURSIVE_API_CALL). What is to end
 * then goes into `aborted`, and ends when libcurl has returned. */
#include "net/http/shard.h"

#include "net/http/error.h"
#include "net/http/http_impl.h"
#include "net/http/origin.h"
#include "net/http/poll.h"
#include "net/http/request.h"

/* How long a shard without transfers keeps its connections: those of the first are likely to
 * be used again, a sibling was made for a peak. */
#define FIRST_IDLE_MS   300000
#define FURTHER_IDLE_MS 20000

/* ---- Running ---------------------------------------------------------------- */

void hocket__shard_wake(struct hocket__shard *shard)
{
    if (!hocket__list_empty(&shard->ready))
        return;
    hocket__list_add(&shard->http->ready, &shard->ready);
    hocket__http_kick(shard->http);
}

/* The timer that libcurl wants. 0 means soon, but never from in here: the next
 * round of the loop. */
static int on_timer_wish(CURLM *multi, long ms, void *ud)
{
    struct hocket__shard *shard = ud;
    struct hocket__http *http = shard->http;
    if (ms > 0) {
        hocket__deadline_set(
            &http->deadlines, &shard->timer, hocket__deadlines_now() + (uint64_t) ms);
        return 0;
    }
    hocket__deadline_clear(&http->deadlines, &shard->timer);
    if (ms == 0)
        hocket__shard_wake(shard);
    return 0;
}

static void end_doomed(struct hocket__shard *shard)
{
    while (!hocket__list_empty(&shard->aborted) && !shard->http->closing)
        hocket__request_end_aborted(
            hocket__container_of(shard->aborted.next, struct hocket__request, node));
}

/* Checks `closing` each time: a handler may have closed the actor. */
static void end_done(struct hocket__shard *shard)
{
    const struct hocket__curl *curl = shard->http->curl;
    CURLMsg *msg;
    int left;
    while (!shard->http->closing && (msg = curl->multi_info_read(shard->multi, &left))) {
        struct hocket__request *req = NULL;
        CURLcode code = msg->data.result; /* the message does not outlive the transfer */
        curl->easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **) &req);
        if (req)
            hocket__request_finish(req, code);
    }
}

/* A multi handle that fails as a whole (out of memory, mostly) ends its transfers. */
static void fail_all(struct hocket__shard *shard, CURLMcode code)
{
    struct hocket__http *http = shard->http;
    struct hocket_error err;
    if (code == CURLM_OUT_OF_MEMORY)
        hocket__http_no_handle(&err);
    else
        hocket__error(
            &err, HOCKET_EIO, "HTTP transfers failed: %s", http->curl->multi_strerror(code));
    /* none is taken out here: the shard is busy, so they are only marked */
    for (struct hocket__list *n = shard->members.next; n != &shard->members; n = n->next)
        hocket__request_abort(hocket__container_of(n, struct hocket__request, member), &err);
}

void hocket__shard_run(struct hocket__shard *shard, curl_socket_t fd, int flags)
{
    int running;
    shard->busy = true;
    CURLMcode code = shard->http->curl->multi_socket_action(shard->multi, fd, flags, &running);
    if (code != CURLM_OK)
        fail_all(shard, code);
    shard->busy = false;
    end_doomed(shard);
    end_done(shard);
}

static void on_timer(struct hocket__deadline *d)
{
    struct hocket__shard *shard = hocket__container_of(d, struct hocket__shard, timer);
    struct hocket__http *http = shard->http;
    hocket__http_enter(http);
    hocket__shard_run(shard, CURL_SOCKET_TIMEOUT, 0);
    hocket__http_leave(http);
}

/* ---- Life --------------------------------------------------------------------- */

static void shard_free(struct hocket__shard *shard)
{
    struct hocket__http *http = shard->http;
    http->curl->multi_cleanup(shard->multi);
    hocket__list_del(&shard->ready);
    hocket__deadline_clear(&http->deadlines, &shard->timer);
    hocket__deadline_clear(&http->deadlines, &shard->reaper);
    hocket__deadlines_leave(&http->deadlines);
    hocket__deadlines_leave(&http->deadlines);
    hocket__free(http->a, shard, sizeof(*shard));
}

static uint64_t patience(const struct hocket__shard *shard)
{
    return shard->pool->shards[0] == shard ? FIRST_IDLE_MS : FURTHER_IDLE_MS;
}

static void remove_from_pool(struct hocket__shard *shard)
{
    struct hocket__pool *pool = shard->pool;
    size_t i = 0;
    while (pool->shards[i] != shard)
        i++;
    pool->n_shards--;
    memmove(&pool->shards[i], &pool->shards[i + 1], (pool->n_shards - i) * sizeof(*pool->shards));
}

/* Checked lazily: work in the meantime has not touched the deadline. */
static void on_reaper(struct hocket__deadline *d)
{
    struct hocket__shard *shard = hocket__container_of(d, struct hocket__shard, reaper);
    struct hocket__pool *pool = shard->pool;
    uint64_t due = shard->idle_since + patience(shard);
    if (shard->active > 0)
        return;
    if (due > hocket__deadlines_now()) {
        hocket__deadline_set(&pool->http->deadlines, d, due);
        return;
    }
    remove_from_pool(shard);
    shard_free(shard);
    if (pool->n_shards == 0)
        hocket__origin_free_idle(pool->http, pool);
}

static void set_up(struct hocket__shard *shard)
{
    const struct hocket__curl *curl = shard->http->curl;
    curl->multi_setopt(shard->multi, CURLMOPT_SOCKETFUNCTION, hocket__poll_want);
    curl->multi_setopt(shard->multi, CURLMOPT_SOCKETDATA, shard);
    curl->multi_setopt(shard->multi, CURLMOPT_TIMERFUNCTION, on_timer_wish);
    curl->multi_setopt(shard->multi, CURLMOPT_TIMERDATA, shard);
    curl->multi_setopt(shard->multi, CURLMOPT_MAXCONNECTS, (long) HOCKET__SHARD_FULL);
    curl->multi_setopt(
        shard->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long) shard->http->max_per_host);
}

static struct hocket__shard *shard_new(struct hocket__pool *pool)
{
    struct hocket__http *http = pool->http;
    struct hocket__shard *shard = NULL;
    if (hocket__grow(
            http->a, &pool->shards, &pool->cap_shards, pool->n_shards + 1, sizeof(*pool->shards))
        < 0)
        return NULL;
    if (hocket__deadlines_join(&http->deadlines) < 0)
        return NULL;
    if (hocket__deadlines_join(&http->deadlines) < 0)
        goto no_deadline;
    if (!(shard = hocket__zero(http->a, sizeof(*shard))))
        goto no_shard;
    if (!(shard->multi = http->curl->multi_init()))
        goto no_multi;
    shard->http = http;
    shard->pool = pool;
    shard->timer.passed = on_timer;
    shard->reaper.passed = on_reaper;
    hocket__list_init(&shard->ready);
    hocket__list_init(&shard->aborted);
    hocket__list_init(&shard->members);
    set_up(shard);
    pool->shards[pool->n_shards++] = shard;
    return shard;
no_multi:
    hocket__free(http->a, shard, sizeof(*shard));
no_shard:
    hocket__deadlines_leave(&http->deadlines);
no_deadline:
    hocket__deadlines_leave(&http->deadlines);
    return NULL;
}

/* The first with room; when there may be no more shards, the one with the fewest. */
static struct hocket__shard *choose(struct hocket__pool *pool)
{
    struct hocket__shard *least = NULL;
    for (size_t i = 0; i < pool->n_shards; i++) {
        struct hocket__shard *shard = pool->shards[i];
        if (shard->active < HOCKET__SHARD_FULL)
            return shard;
        if (!least || shard->active < least->active)
            least = shard;
    }
    return pool->n_shards < HOCKET__SHARDS_MAX ? shard_new(pool) : least;
}

int hocket__shard_submit(
    struct hocket__pool *pool, struct hocket__request *req, struct hocket_error *err)
{
    struct hocket__shard *shard = choose(pool);
    if (!shard)
        return hocket__http_no_handle(err);
    const struct hocket__curl *curl = shard->http->curl;
    CURLMcode code = curl->multi_add_handle(shard->multi, req->easy);
    /* The request is not in any list of the shard yet: origin.c ends it with this error. */
    if (code == CURLM_OUT_OF_MEMORY)
        return hocket__http_no_handle(err);
    if (code != CURLM_OK)
        return hocket__error(
            err, HOCKET_EIO, "HTTP transfer failed: %s", curl->multi_strerror(code));
    req->shard = shard;
    hocket__list_add(&shard->members, &req->member);
    shard->active++;
    return 0;
}

static bool shares_connection(const struct hocket__request *a, const struct hocket__request *b)
{
    return a->origin == b->origin && a->local_port == b->local_port
           && hocket__request_is_connected(a) && !a->finished;
}

/* libcurl (7.88 at least) leaves the reset of an HTTP/2 stream in a buffer until its
 * connection is used again, and a server without the reset continues sending. So a connection that carries nothing
 * else is closed; otherwise a pause of some other stream, which is over at once, has the buffer written. */
static void abort_stream(struct hocket__request *req)
{
    struct hocket__shard *shard = req->shard;
    const struct hocket__curl *curl = shard->http->curl;
    curl->easy_setopt(req->easy, CURLOPT_FORBID_REUSE, 1L);
    curl->multi_remove_handle(shard->multi, req->easy);
    curl->easy_setopt(req->easy, CURLOPT_FORBID_REUSE, 0L);
    for (struct hocket__list *n = shard->members.next; n != &shard->members; n = n->next) {
        struct hocket__request *other = hocket__container_of(n, struct hocket__request, member);
        if (!shares_connection(other, req))
            continue;
        curl->easy_pause(other->easy, CURLPAUSE_RECV);
        curl->easy_pause(other->easy, CURLPAUSE_CONT);
        return;
    }
}

void hocket__shard_drop(struct hocket__request *req)
{
    struct hocket__shard *shard = req->shard;
    struct hocket__http *http = shard->http;
    hocket__list_del(&req->member);
    if (req->origin->tls && hocket__request_is_connected(req) && (req->refused || !req->finished))
        abort_stream(req);
    else
        http->curl->multi_remove_handle(shard->multi, req->easy);
    req->shard = NULL;
    if (--shard->active > 0)
        return;
    shard->idle_since = uv_now(http->loop);
    if (shard->reaper.place == 0)
        hocket__deadline_set(&http->deadlines, &shard->reaper, shard->idle_since + patience(shard));
}

/* ---- Pools -------------------------------------------------------------------- */

struct hocket__pool *hocket__pool_get(struct hocket__http *http, const char *name)
{
    for (struct hocket__list *n = http->pools.next; n != &http->pools; n = n->next) {
        struct hocket__pool *pool = hocket__container_of(n, struct hocket__pool, node);
        if (strcmp(pool->name, name) == 0)
            return pool;
    }
    struct hocket__pool *pool = hocket__zero(http->a, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->http = http;
    if (!(pool->name = hocket__strdup(http->a, name, strlen(name)))) {
        hocket__free(http->a, pool, sizeof(*pool));
        return NULL;
    }
    hocket__list_add(&http->pools, &pool->node);
    return pool;
}

void hocket__pool_free(struct hocket__pool *pool)
{
    const struct hocket_allocator *a = pool->http->a;
    while (pool->n_shards > 0)
        shard_free(pool->shards[--pool->n_shards]);
    hocket__free(a, pool->shards, pool->cap_shards * sizeof(*pool->shards));
    hocket__list_del(&pool->node);
    hocket__strfree(a, pool->name);
    hocket__free(a, pool, sizeof(*pool));
}
