/* The floor: a bare client, libcurl's multi interface on libuv, that sends recorded bodies and
 * reads nothing of the answers but whether they end with [DONE].
 *
 *   bench_floor --bodies FILE [--clients N] [--rounds R] [--multis K] [--buffer BYTES]
 *
 * N clients at once hold the conversations of FILE (floor_bodies.h), R times one after the other,
 * spread over K multi handles. The server is OPENAI_BASE_URL. One JSON line comes out; the exit
 * status is 1 when a request failed. What a real client cannot do without costs at least this
 * much, so that the ratio to it says what ours adds. */
#include "floor_bodies.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <uv.h>

#define TAIL 16

struct shard {
    struct floor *floor;
    CURLM *multi;
    uv_timer_t timer;
};

struct watch {
    uv_poll_t poll; /* first: its close callback frees the watch */
    struct shard *shard;
    curl_socket_t fd;
};

struct client;

struct stream {
    struct client *client;
    struct talk *talk;
    struct shard *shard;
    CURL *easy;
    size_t next;
    char tail[TAIL];
    size_t n_tail;
};

struct client {
    struct floor *floor;
    struct stream *streams; /* one per talk */
    size_t helpers;         /* still talking */
    long round;
};

struct floor {
    uv_loop_t *loop;
    struct bodies bodies;
    struct curl_slist *headers;
    char url[256];
    long clients, rounds, multis, buffer;
    struct shard *shards;
    uint64_t requests, failed, bytes, chunks;
};

static void *must(void *p)
{
    if (!p) {
        fputs("floor: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static uint64_t clock_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t) t.tv_sec * 1000000u + (uint64_t) t.tv_nsec / 1000;
}

/* ---- libcurl on libuv ---- */

static void take_done(struct shard *s);

static void act(struct shard *s, curl_socket_t fd, int flags)
{
    int running;
    curl_multi_socket_action(s->multi, fd, flags, &running);
    take_done(s);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *w = (struct watch *) poll;
    int flags = (events & UV_READABLE ? CURL_CSELECT_IN : 0)
                | (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0)
                | (status < 0 ? CURL_CSELECT_ERR : 0);
    act(w->shard, w->fd, flags);
}

static void on_timeout(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer(CURLM *multi, long ms, void *ud)
{
    struct shard *s = ud;
    if (ms < 0)
        uv_timer_stop(&s->timer);
    else
        uv_timer_start(&s->timer, on_timeout, (uint64_t) ms, 0);
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ud, void *socket_ud)
{
    struct shard *s = ud;
    struct watch *w = socket_ud;
    if (what == CURL_POLL_REMOVE) {
        if (w) {
            curl_multi_assign(s->multi, fd, NULL);
            uv_close((uv_handle_t *) &w->poll, on_closed);
        }
        return 0;
    }
    if (!w) {
        w = must(calloc(1, sizeof(*w)));
        w->shard = s;
        w->fd = fd;
        if (uv_poll_init_socket(s->floor->loop, &w->poll, fd) < 0) {
            fputs("floor: uv_poll_init\n", stderr);
            exit(1);
        }
        curl_multi_assign(s->multi, fd, w);
    }
    uv_poll_start(&w->poll,
        (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0),
        on_poll);
    return 0;
}

/* ---- Requests ---- */

/* Keeps the last bytes only: whether the answer is whole shows at its end. */
static size_t on_data(char *p, size_t size, size_t n, void *ud)
{
    struct stream *st = ud;
    size_t keep = n < TAIL ? n : TAIL;
    st->client->floor->bytes += n;
    st->client->floor->chunks++;
    if (keep < TAIL) {
        size_t old = st->n_tail < TAIL - keep ? st->n_tail : TAIL - keep;
        memmove(st->tail, st->tail + st->n_tail - old, old);
        st->n_tail = old;
    } else {
        st->n_tail = 0;
    }
    memcpy(st->tail + st->n_tail, p + n - keep, keep);
    st->n_tail += keep;
    return n;
}

static void stream_open(struct stream *st)
{
    struct floor *f = st->client->floor;
    CURL *e = must(curl_easy_init());
    curl_easy_setopt(e, CURLOPT_URL, f->url);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, f->headers);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, st);
    curl_easy_setopt(e, CURLOPT_PRIVATE, st);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_PROXY, "");
    if (f->buffer)
        curl_easy_setopt(e, CURLOPT_BUFFERSIZE, f->buffer);
    st->easy = e;
}

static void stream_send(struct stream *st)
{
    const struct body *b = &st->talk->bodies[st->next++];
    if (!st->easy)
        stream_open(st);
    st->n_tail = 0;
    curl_easy_setopt(st->easy, CURLOPT_POSTFIELDS, b->data);
    curl_easy_setopt(st->easy, CURLOPT_POSTFIELDSIZE, (long) b->size);
    curl_multi_add_handle(st->shard->multi, st->easy);
}

static void stream_close(struct stream *st)
{
    curl_easy_cleanup(st->easy);
    st->easy = NULL;
}

static void fork_helpers(struct client *c)
{
    c->helpers = c->floor->bodies.n_talks - 1;
    for (size_t i = 1; i <= c->floor->bodies.n_talks - 1; i++)
        stream_send(&c->streams[i]);
}

static void next_round(struct client *c)
{
    for (size_t i = 0; i < c->floor->bodies.n_talks; i++)
        c->streams[i].next = 0;
    if (++c->round < c->floor->rounds) {
        stream_send(&c->streams[0]);
        return;
    }
    for (size_t i = 0; i < c->floor->bodies.n_talks; i++)
        stream_close(&c->streams[i]);
}

/* What comes after a reply: the same talk's next body, the helpers, or the lead again. */
static void go_on(struct stream *st)
{
    struct client *c = st->client;
    bool leads = st == c->streams;
    if (leads && st->next == c->floor->bodies.fork && c->floor->bodies.n_talks > 1)
        fork_helpers(c);
    else if (st->next < st->talk->n)
        stream_send(st);
    else if (!leads && --c->helpers == 0 && c->streams[0].next < c->streams[0].talk->n)
        stream_send(&c->streams[0]);
    else if (leads || (c->helpers == 0 && c->streams[0].next == c->streams[0].talk->n))
        next_round(c);
}

static bool is_whole(const struct stream *st)
{
    static const char last[] = "[DONE]\n\n";
    size_t n = sizeof(last) - 1;
    return st->n_tail >= n && memcmp(st->tail + st->n_tail - n, last, n) == 0;
}

static void take_done(struct shard *s)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(s->multi, &left))) {
        CURL *easy = m->easy_handle;
        CURLcode result = m->data.result;
        struct stream *st;
        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &st);
        curl_multi_remove_handle(s->multi, easy);
        s->floor->requests++;
        if (result != CURLE_OK || !is_whole(st)) {
            if (s->floor->failed++ == 0)
                fprintf(stderr, "floor: %s\n",
                    result ? curl_easy_strerror(result) : "the answer is cut short");
        }
        go_on(st);
    }
}

/* ---- The whole ---- */

static void shards_open(struct floor *f)
{
    f->shards = must(calloc((size_t) f->multis, sizeof(*f->shards)));
    for (long i = 0; i < f->multis; i++) {
        struct shard *s = &f->shards[i];
        s->floor = f;
        s->multi = must(curl_multi_init());
        uv_timer_init(f->loop, &s->timer);
        s->timer.data = s;
        curl_multi_setopt(s->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(s->multi, CURLMOPT_SOCKETDATA, s);
        curl_multi_setopt(s->multi, CURLMOPT_TIMERFUNCTION, on_timer);
        curl_multi_setopt(s->multi, CURLMOPT_TIMERDATA, s);
        curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, 20000L);
    }
}

static void shards_close(struct floor *f)
{
    for (long i = 0; i < f->multis; i++) {
        curl_multi_cleanup(f->shards[i].multi);
        uv_close((uv_handle_t *) &f->shards[i].timer, NULL);
    }
    uv_run(f->loop, UV_RUN_DEFAULT);
    free(f->shards);
}

static struct client *clients_start(struct floor *f)
{
    size_t n_talks = f->bodies.n_talks;
    struct client *clients = must(calloc((size_t) f->clients, sizeof(*clients)));
    for (long i = 0; i < f->clients; i++) {
        struct client *c = &clients[i];
        c->floor = f;
        c->streams = must(calloc(n_talks, sizeof(*c->streams)));
        for (size_t j = 0; j < n_talks; j++) {
            c->streams[j].client = c;
            c->streams[j].talk = &f->bodies.talks[j];
            c->streams[j].shard = &f->shards[i % f->multis];
        }
        stream_send(&c->streams[0]);
    }
    return clients;
}

static void report(const struct floor *f, uint64_t wall_us)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"requests\":%llu,\"failed\":%llu,\"chunks\":%llu,\"bytes\":%llu,\"wall_us\":%llu,"
           "\"cpu_us\":%llu,\"rss_kb\":%ld}\n",
        (unsigned long long) f->requests, (unsigned long long) f->failed,
        (unsigned long long) f->chunks, (unsigned long long) f->bytes, (unsigned long long) wall_us,
        (unsigned long long) clock_us(CLOCK_PROCESS_CPUTIME_ID), usage.ru_maxrss);
}

static void run(struct floor *f)
{
    uint64_t began = clock_us(CLOCK_MONOTONIC);
    shards_open(f);
    struct client *clients = f->rounds > 0 ? clients_start(f) : NULL;
    uv_run(f->loop, UV_RUN_DEFAULT);
    report(f, clock_us(CLOCK_MONOTONIC) - began);
    shards_close(f);
    for (long i = 0; clients && i < f->clients; i++)
        free(clients[i].streams);
    free(clients);
}

static const char *read_options(int argc, char **argv, struct floor *f)
{
    const char *file = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--bodies") == 0)
            file = argv[i + 1];
        else if (strcmp(argv[i], "--clients") == 0)
            f->clients = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--rounds") == 0)
            f->rounds = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--multis") == 0)
            f->multis = atol(argv[i + 1]);
        else if (strcmp(argv[i], "--buffer") == 0)
            f->buffer = atol(argv[i + 1]);
    }
    return file;
}

int main(int argc, char **argv)
{
    struct floor f = { .clients = 1, .rounds = 1, .multis = 1 };
    const char *file = read_options(argc, argv, &f), *base = getenv("OPENAI_BASE_URL");
    if (!file || !base) {
        fputs("usage: OPENAI_BASE_URL=… bench_floor --bodies FILE [--clients N] [--rounds R] "
              "[--multis K] [--buffer BYTES]\n",
            stderr);
        return 2;
    }
    snprintf(f.url, sizeof(f.url), "%s/chat/completions", base);
    f.bodies = bodies_read(file);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    f.loop = uv_default_loop();
    f.headers = curl_slist_append(NULL, "Content-Type: application/json");
    f.headers = must(curl_slist_append(f.headers, "Expect:"));
    run(&f);
    uv_loop_close(f.loop);
    curl_slist_free_all(f.headers);
    bodies_free(&f.bodies);
    curl_global_cleanup();
    return f.failed ? 1 : 0;
}
