/* A model call on the relay's thread. There the call is an ordinary one, whose callbacks gather
 * what comes; here the gathered text is handed on in one piece, however many deltas it came in:
 *
 *   the relay's thread                      the host's thread
 *   on_delta ─> gathered ─(end of a chunk)─> fresh ─(news)─> taken ─> spec.on_delta
 *   on_head, on_done ──────────────────────> marks ─(news)─────────> spec.on_head, spec.on_done
 *
 * The call belongs to the relay's thread from its start until `done` or `stopped` was sent. */

#include <string.h>

#include "net/llm/llm_impl.h"
#include "net/relay.h"

enum { TEXT, REASONING, KINDS };

struct hocket__llm_remote {
    const struct hocket_allocator *a;
    struct hocket__relay *relay;
    struct hocket__llm_call *call;
    struct hocket__relay_msg start, stop, news;

    /* the relay's thread */
    struct hocket__buf gathered[KINDS];

    /* both, under the lock */
    struct hocket__buf fresh[KINDS];
    bool head, done, stopped, failed, is_multiplexed;
    int status;
    struct hocket__advice advice;
    struct hocket_error err;

    /* the host's thread */
    struct hocket__relay_client client;
    struct hocket__buf taken[KINDS];
    bool joined, asked_to_stop, deaf, doomed, multiplexed;
    hocket__delta_cb on_delta;
    void (*on_head)(void *ud, int status, const struct hocket__advice *advice);
    void (*on_done)(void *ud, const struct hocket_error *err);
    void *ud;
};

/* ---- On the relay's thread ------------------------------------------------------------ */

static void remote_delta(
    void *ud, enum hocket__delta_kind kind, size_t index, struct hocket__str text)
{
    struct hocket__llm_remote *m = ud;
    (void) index;
    /* Arguments of tool calls are whole only at the end: nobody looks at their pieces. */
    if (kind != HOCKET__DELTA_CALL && m->on_delta)
        hocket__buf_addstr(&m->gathered[kind == HOCKET__DELTA_TEXT ? TEXT : REASONING], text);
}

static void swap(struct hocket__buf *a, struct hocket__buf *b)
{
    struct hocket__buf c = *a;
    *a = *b;
    *b = c;
}

/* Under the lock. Nearly always the other side is empty, and only pointers change hands. */
static bool move(struct hocket__buf *from, struct hocket__buf *to)
{
    if (from->len == 0)
        return false;
    if (to->len == 0)
        swap(from, to);
    else
        hocket__buf_addstr(to, hocket__buf_str(from));
    hocket__buf_cut(from, 0);
    return true;
}

static void remote_chunk(void *ud)
{
    struct hocket__llm_remote *m = ud;
    if (m->gathered[TEXT].len == 0 && m->gathered[REASONING].len == 0)
        return;
    hocket__relay_lock(m->relay);
    for (int i = 0; i < KINDS; i++)
        move(&m->gathered[i], &m->fresh[i]);
    hocket__relay_tell(m->relay, &m->news);
}

static void remote_head(void *ud, int status, const struct hocket__advice *advice)
{
    struct hocket__llm_remote *m = ud;
    struct hocket__transport *t = m->call->transport;
    bool multiplexed = m->call->id > 0 && t->ops->multiplexed(t, m->call->id);
    hocket__relay_lock(m->relay);
    m->head = true;
    m->status = status;
    m->advice = *advice;
    m->is_multiplexed = multiplexed;
    hocket__relay_tell(m->relay, &m->news);
}

static void remote_done(void *ud, const struct hocket_error *err)
{
    struct hocket__llm_remote *m = ud;
    remote_chunk(m);
    hocket__relay_lock(m->relay);
    m->done = true;
    m->failed = err != NULL;
    if (err)
        m->err = *err;
    hocket__relay_tell(m->relay, &m->news);
}

/* An error is reported as an end like any other: the starter on the host's side has returned long ago. */
static void on_start(struct hocket__relay_msg *msg)
{
    struct hocket__llm_remote *m = hocket__container_of(msg, struct hocket__llm_remote, start);
    struct hocket_error err;
    struct hocket__http *http = hocket__relay_http(m->relay, &err);
    if (!http || hocket__llm_launch(m->call, hocket__http_transport(http), &err) < 0)
        remote_done(m, &err);
}

static void on_stop(struct hocket__relay_msg *msg)
{
    struct hocket__llm_remote *m = hocket__container_of(msg, struct hocket__llm_remote, stop);
    struct hocket__transport *t = m->call->transport;
    if (m->call->id > 0)
        t->ops->cancel(t, m->call->id);
    m->call->id = 0;
    hocket__relay_lock(m->relay);
    m->stopped = true;
    hocket__relay_tell(m->relay, &m->news);
}

/* ---- On the host's thread ---------------------------------------------------------------- */

static void free_remote(struct hocket__llm_remote *m)
{
    for (int i = 0; i < KINDS; i++) {
        hocket__buf_deinit(&m->gathered[i]);
        hocket__buf_deinit(&m->fresh[i]);
        hocket__buf_deinit(&m->taken[i]);
    }
    hocket__free(m->a, m, sizeof(*m));
}

/* The other thread has let go of it. */
static void let_go(struct hocket__llm_remote *m)
{
    if (m->joined)
        hocket__relay_leave(m->relay, &m->client);
    m->joined = false;
    if (!m->doomed)
        return;
    hocket__llm_dispose(m->call);
    free_remote(m);
}

struct news {
    bool head, ended, failed;
    int status;
    struct hocket__advice advice;
};

static struct news take(struct hocket__llm_remote *m)
{
    struct news n = { .head = false };
    hocket__relay_lock(m->relay);
    for (int i = 0; i < KINDS; i++)
        move(&m->fresh[i], &m->taken[i]);
    if (m->head) {
        n.head = true;
        n.status = m->status;
        n.advice = m->advice;
        m->multiplexed = m->is_multiplexed;
        m->head = false;
    }
    n.ended = m->asked_to_stop ? m->stopped : m->done;
    n.failed = m->failed;
    if (n.ended) /* told again since it was taken out of the queue: it is freed soon */
        hocket__list_del(&m->news.link);
    hocket__relay_unlock(m->relay);
    return n;
}

static void hand_on(struct hocket__llm_remote *m, int kind)
{
    static const enum hocket__delta_kind kinds[] = { HOCKET__DELTA_TEXT, HOCKET__DELTA_REASONING };
    if (m->taken[kind].len > 0 && !m->deaf)
        m->on_delta(m->ud, kinds[kind], 0, hocket__buf_str(&m->taken[kind]));
    hocket__buf_cut(&m->taken[kind], 0);
}

/* Callbacks may cancel the call, and none of its callbacks runs after that. */
static void on_news(struct hocket__relay_msg *msg)
{
    struct hocket__llm_remote *m = hocket__container_of(msg, struct hocket__llm_remote, news);
    struct news n = take(m);
    if (n.head && m->on_head && !m->deaf)
        m->on_head(m->ud, n.status, &n.advice);
    hand_on(m, REASONING);
    hand_on(m, TEXT);
    /* a callback above may have closed the relay, which has let go of the call */
    if (!n.ended || !m->joined)
        return;
    void (*on_done)(void *ud, const struct hocket_error *err) = m->deaf ? NULL : m->on_done;
    void *ud = m->ud;
    struct hocket_error err = m->err;
    /* Before on_done, which may free the call: from here on only locals are used. */
    m->deaf = true;
    let_go(m);
    if (on_done)
        on_done(ud, n.failed ? &err : NULL);
}

static void on_closed(struct hocket__relay_client *c)
{
    struct hocket__llm_remote *m = hocket__container_of(c, struct hocket__llm_remote, client);
    m->joined = false;
    m->call->id = 0;
    let_go(m);
}

void hocket__llm_remote_cancel(struct hocket__llm_remote *m)
{
    m->deaf = true;
    if (!m->joined || m->asked_to_stop)
        return;
    m->asked_to_stop = true;
    hocket__relay_send(m->relay, &m->stop);
}

bool hocket__llm_remote_multiplexed(const struct hocket__llm_remote *m)
{
    return m->multiplexed;
}

bool hocket__llm_remote_free(struct hocket__llm_remote *m)
{
    if (m->joined) {
        /* The other thread may be writing into it at this moment. It is freed with its last
         * message. */
        m->doomed = true;
        return false;
    }
    free_remote(m);
    return true;
}

/* ---- Starting ------------------------------------------------------------------------------ */

static void init(struct hocket__llm_remote *m, struct hocket__relay *relay,
    const struct hocket_allocator *a, const struct hocket__llm_spec *spec)
{
    *m = (struct hocket__llm_remote){ .a = a,
        .relay = relay,
        .on_delta = spec->on_delta,
        .on_head = spec->on_head,
        .on_done = spec->on_done,
        .ud = spec->ud,
        .start.run = on_start,
        .stop.run = on_stop,
        .news.run = on_news,
        .client.closed = on_closed };
    hocket__list_init(&m->start.link);
    hocket__list_init(&m->stop.link);
    hocket__list_init(&m->news.link);
    for (int i = 0; i < KINDS; i++) {
        hocket__buf_init(&m->gathered[i], a, spec->max_message);
        hocket__buf_init(&m->fresh[i], a, spec->max_message);
        hocket__buf_init(&m->taken[i], a, spec->max_message);
    }
}

int hocket__llm_start_remote(struct hocket__relay *relay, const struct hocket_allocator *a,
    const struct hocket__llm_spec *spec, struct hocket__llm_call **out, struct hocket_error *err)
{
    struct hocket__llm_remote *m = hocket__zero(a, sizeof(*m));
    if (!m)
        return hocket__error_nomem(err);
    init(m, relay, a, spec);
    struct hocket__llm_spec there = *spec;
    there.on_delta = remote_delta;
    there.on_head = remote_head;
    there.on_done = remote_done;
    there.ud = m;
    int rc = hocket__llm_prepare(a, &there, &m->call, err);
    if (rc < 0) {
        free_remote(m);
        return rc;
    }
    m->call->remote = m;
    m->call->on_chunk = remote_chunk;
    m->joined = true;
    hocket__relay_join(relay, &m->client);
    hocket__relay_send(relay, &m->start);
    *out = m->call;
    return 0;
}
