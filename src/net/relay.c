/* A thread with a loop and the transport, and two queues. Each queue has a uv_async that is
 * sent when the queue was empty; while something is in it the other side is awake or on its
 * way.
 *
 * Life: new (thread starts) ─> send, tell … ─> close ─> close_msg ends the transport, then the
 * thread's loop ─> ended_msg, which is the last word of the thread ─> on_ended joins it ─>
 * finish informs the clients ─> `out` is closed ─> on_closed
 *
 * After a fork only the forking thread exists in the child. The relay is then as good as
 * ended: nothing is sent to it, and closing it touches neither the thread nor its loop. */
#include "net/relay.h"

#include "os/descriptors.h"
#include "os/thread.h"

#include <uv.h>
#include <string.h>
#include <uv.h>

#define STACK_SIZE (512 * 1024)
#define BATCH      64 /* messages between two looks at what else the host has to do */

struct hocket__relay {
    const struct hocket_allocator *a;
    uv_pid_t pid;
    uv_mutex_t lock;
    struct hocket__list to_thread, to_host; /* under the lock */

    /* the thread's */
    uv_thread_t thread;
    uv_loop_t loop;
    uv_async_t in;
    struct hocket__http_options options; /* with texts of its own */
    struct hocket__http *http;           /* NULL: it has not started */
    bool thread_closing;
    struct hocket__relay_msg close_msg;

    /* the host's */
    uv_async_t out;
    struct hocket__relay_host host;
    struct hocket__list clients;
    int n_clients;
    bool closing;
    bool ended; /* the thread is over, or in another process */
    struct hocket__relay_msg ended_msg;
    void (*on_closed)(void *ud);
    void *ud;
};

void hocket__relay_lock(struct hocket__relay *r)
{
    uv_mutex_lock(&r->lock);
}

void hocket__relay_unlock(struct hocket__relay *r)
{
    uv_mutex_unlock(&r->lock);
}

/* ---- Messages ------------------------------------------------------------------------ */

/* With the lock held, which it gives back. Whether the other side had to be woken. */
static bool put(struct hocket__relay *r, struct hocket__list *queue, struct hocket__relay_msg *m,
    uv_async_t *wake)
{
    bool was_empty = hocket__list_empty(queue), is_new = hocket__list_empty(&m->link);
    if (is_new)
        hocket__list_add(queue, &m->link);
    hocket__relay_unlock(r);
    if (!is_new || !was_empty)
        return false;
    /* Outside the lock: the other side would wake and wait for it. */
    uv_async_send(wake);
    return true;
}

static struct hocket__relay_msg *take(struct hocket__relay *r, struct hocket__list *queue)
{
    struct hocket__relay_msg *m = NULL;
    hocket__relay_lock(r);
    if (!hocket__list_empty(queue)) {
        m = hocket__container_of(queue->next, struct hocket__relay_msg, link);
        hocket__list_del(&m->link);
    }
    hocket__relay_unlock(r);
    return m;
}

void hocket__relay_send(struct hocket__relay *r, struct hocket__relay_msg *m)
{
    /* in another process, or after the end: nobody takes messages any more */
    if (r->ended)
        return;
    hocket__relay_lock(r);
    put(r, &r->to_thread, m, &r->in);
}

void hocket__relay_tell(struct hocket__relay *r, struct hocket__relay_msg *m)
{
    if (put(r, &r->to_host, m, &r->out) && r->host.on_news)
        r->host.on_news(r->host.ud);
}

static void on_in(uv_async_t *in)
{
    struct hocket__relay *r = in->data;
    struct hocket__relay_msg *m;
    while (!r->thread_closing && (m = take(r, &r->to_thread)) != NULL)
        m->run(m);
}

static void finish(struct hocket__relay *r);

static void on_out(uv_async_t *out)
{
    struct hocket__relay *r = out->data;
    struct hocket__relay_msg *m;
    int left = BATCH;
    do { /* one at least, however late it is */
        if (!(m = take(r, &r->to_host)))
            return;
        m->run(m);
        /* on_ended was the message: no other can come */
        if (r->ended) {
            finish(r);
            return;
        }
    } while (--left > 0 && (*r->host.until == 0 || uv_hrtime() < *r->host.until));
    uv_async_send(out); /* there may be more */
}

/* ---- The thread ------------------------------------------------------------------------ */

static void on_http_closed(void *ud)
{
    struct hocket__relay *r = ud;
    uv_close((uv_handle_t *) &r->in, NULL);
}

static void on_close_msg(struct hocket__relay_msg *m)
{
    struct hocket__relay *r = hocket__container_of(m, struct hocket__relay, close_msg);
    r->thread_closing = true;
    if (r->http)
        hocket__http_close(r->http, on_http_closed, r);
    else
        on_http_closed(r);
}

/* Loading libcurl and its TLS takes milliseconds, which are the thread's too. */
static void *work(void *ud)
{
    struct hocket__relay *r = ud;
    hocket__http_new(&r->options, &r->http, NULL);
    uv_run(&r->loop, UV_RUN_DEFAULT); /* until `in` is closed */
    hocket__relay_lock(r);
    hocket__relay_tell(r, &r->ended_msg);
    return NULL;
}

/* ---- Life ------------------------------------------------------------------------------- */

static void free_relay(struct hocket__relay *r)
{
    uv_mutex_destroy(&r->lock);
    hocket__strfree(r->a, (char *) r->options.ca_file);
    hocket__strfree(r->a, (char *) r->options.user_agent);
    hocket__free(r->a, r, sizeof(*r));
}

static void on_out_closed(uv_handle_t *handle)
{
    struct hocket__relay *r = handle->data;
    void (*on_closed)(void *ud) = r->on_closed;
    void *ud = r->ud;
    free_relay(r);
    if (on_closed)
        on_closed(ud);
}

/* No thread is there any more: what its clients have is theirs alone. */
static void finish(struct hocket__relay *r)
{
    while (!hocket__list_empty(&r->clients)) {
        struct hocket__list *first = r->clients.next;
        hocket__list_del(first);
        struct hocket__relay_client *c =
            hocket__container_of(first, struct hocket__relay_client, link);
        c->closed(c);
    }
    uv_close((uv_handle_t *) &r->out, on_out_closed);
}

static void on_ended(struct hocket__relay_msg *m)
{
    struct hocket__relay *r = hocket__container_of(m, struct hocket__relay, ended_msg);
    uv_thread_join(&r->thread);
    uv_loop_close(&r->loop);
    r->ended = true;
}

static int no_loop(struct hocket_error *err, int rc)
{
    char words[HOCKET__ERRNO_WORDS];
    hocket__error(err, rc == UV_ENOMEM ? HOCKET_ENOMEM : HOCKET_EIO,
        "cannot make an event loop: %s", hocket__errno_words(-rc, words));
    if (err)
        err->retryable = true;
    return rc == UV_ENOMEM ? HOCKET_ENOMEM : HOCKET_EIO;
}

static int open_thread_side(struct hocket__relay *r, struct hocket_error *err)
{
    int rc = -hocket__descriptors_hold_standard();
    if (rc < 0 || (rc = uv_loop_init(&r->loop)) < 0)
        return no_loop(err, rc);
    rc = uv_async_init(&r->loop, &r->in, on_in);
    if (rc == 0)
        return 0;
    uv_loop_close(&r->loop);
    return no_loop(err, rc);
}

static int copy_text(const struct hocket_allocator *a, const char **text)
{
    if (!*text)
        return 0;
    *text = hocket__strdup(a, *text, strlen(*text));
    return *text ? 0 : HOCKET_ENOMEM;
}

/* user_agent is NULL until it is ours: after a failure free_relay frees both texts */
static int take_options(struct hocket__relay *r, const struct hocket__http_options *o)
{
    r->options = *o;
    r->options.loop = &r->loop;
    r->options.user_agent = NULL;
    if (copy_text(r->a, &r->options.ca_file) < 0)
        return HOCKET_ENOMEM;
    r->options.user_agent = o->user_agent;
    return copy_text(r->a, &r->options.user_agent);
}

/* The thread did not start, so its loop is run here to its end. */
static void close_thread_side(struct hocket__relay *r)
{
    on_close_msg(&r->close_msg);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
}

static struct hocket__relay *make(
    const struct hocket__http_options *o, const struct hocket__relay_host *host)
{
    struct hocket__relay *r = hocket__zero(o->alloc, sizeof(*r));
    if (!r)
        return NULL;
    r->a = o->alloc;
    r->pid = uv_os_getpid();
    r->host = *host;
    r->in.data = r->out.data = r;
    r->close_msg.run = on_close_msg;
    r->ended_msg.run = on_ended;
    hocket__list_init(&r->to_thread);
    hocket__list_init(&r->to_host);
    hocket__list_init(&r->clients);
    hocket__list_init(&r->close_msg.link);
    hocket__list_init(&r->ended_msg.link);
    uv_mutex_init(&r->lock);
    return r;
}

static int fail(struct hocket__relay *r, int status)
{
    free_relay(r);
    return status;
}

int hocket__relay_new(const struct hocket__http_options *o, const struct hocket__relay_host *host,
    struct hocket__relay **out, struct hocket_error *err)
{
    struct hocket__relay *r = make(o, host);
    if (!r)
        return hocket__error_nomem(err);
    if (take_options(r, o) < 0)
        return fail(r, hocket__error_nomem(err));
    int rc = open_thread_side(r, err);
    if (rc < 0)
        return fail(r, rc);
    rc = uv_async_init(o->loop, &r->out, on_out);
    if (rc < 0) {
        close_thread_side(r);
        return fail(r, no_loop(err, rc));
    }
    uv_unref((uv_handle_t *) &r->out);
    if (hocket__thread_start(&r->thread, STACK_SIZE, work, r) != 0) {
        close_thread_side(r);
        r->ended = true;
        r->on_closed = NULL;
        uv_close((uv_handle_t *) &r->out, on_out_closed);
        return hocket__error(err, HOCKET_EIO, "cannot start a thread");
    }
    *out = r;
    return 0;
}

void hocket__relay_close(struct hocket__relay *r, void (*on_closed)(void *ud), void *ud)
{
    r->on_closed = on_closed;
    r->ud = ud;
    r->closing = true;
    if (!hocket__relay_is_here(r)) { /* what the thread had is lost in this process */
        r->ended = true;
        finish(r);
        return;
    }
    uv_ref((uv_handle_t *) &r->out);
    hocket__relay_send(r, &r->close_msg);
}

bool hocket__relay_is_here(const struct hocket__relay *r)
{
    return r->pid == uv_os_getpid();
}

void hocket__relay_join(struct hocket__relay *r, struct hocket__relay_client *c)
{
    hocket__list_add(&r->clients, &c->link);
    if (r->n_clients++ == 0)
        uv_ref((uv_handle_t *) &r->out);
}

void hocket__relay_leave(struct hocket__relay *r, struct hocket__relay_client *c)
{
    hocket__list_del(&c->link);
    if (--r->n_clients == 0 && !r->closing)
        uv_unref((uv_handle_t *) &r->out);
}

int hocket__relay_active(const struct hocket__relay *r)
{
    return r->n_clients;
}

struct hocket__http *hocket__relay_http(struct hocket__relay *r, struct hocket_error *err)
{
    if (!r->http) /* it did not start: memory or descriptors may be there by now */
        hocket__http_new(&r->options, &r->http, err);
    return r->http;
}
