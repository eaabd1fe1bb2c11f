/* A store with a thread as the loop sees it: orders go over under the lock, news come back with the async
 * handle. The loop never waits for the database. What the other thread does is in thread.c, the way between
 * both at the head of writer.h. */
#include "store/writer/thread.h"

#include "os/clock.h"
#include "os/thread.h"

#define STACK_SIZE (512 * 1024)

static struct hocket__writer_store *of(struct hocket__store_backend *b)
{
    return hocket__container_of(b, struct hocket__writer_store, base);
}

/* ---- The loop: news ------------------------------------------------------------------------------- */

/* News are taken under the lock and told without it: their callbacks may hand over and ask, which
 * takes it again. */
static void tell_state(struct hocket__writer_store *q)
{
    struct hocket__store *s = q->base.store;
    hocket__writer_lock(q);
    bool opened = q->opened, broken = q->broken && !q->reported_broken, paused = q->paused,
         changed = q->changed;
    struct hocket_error error = q->error, denied = q->denied;
    q->opened = q->changed = false;
    hocket__writer_unlock(q);
    if (opened)
        hocket__store_report(s, HOCKET__STORE_READY, NULL, denied.status ? &denied : NULL);
    if (changed)
        hocket__store_report(s, HOCKET__STORE_CHANGED, NULL, NULL);
    if (paused != q->reported_paused && !q->reported_broken) {
        q->reported_paused = paused;
        hocket__store_report(
            s, paused ? HOCKET__STORE_PAUSED : HOCKET__STORE_GOING, NULL, paused ? &error : NULL);
    }
    if (broken) {
        q->reported_broken = true;
        hocket__store_report(s, HOCKET__STORE_BROKEN, NULL, &error);
    }
}

/* One at a time: the thread may go on adding while the callbacks run. */
static struct hocket__list *take_first(struct hocket__writer_store *q, struct hocket__list *from)
{
    struct hocket__list *l = NULL;
    hocket__writer_lock(q);
    if (!hocket__list_empty(from)) {
        l = from->next;
        hocket__list_del(l);
    }
    hocket__writer_unlock(q);
    return l;
}

static void tell_kept(struct hocket__writer_store *q, uint64_t written, uint64_t synced)
{
    if (written <= q->reported_written && synced <= q->reported_synced)
        return;
    q->reported_written = written > q->reported_written ? written : q->reported_written;
    q->reported_synced = synced > q->reported_synced ? synced : q->reported_synced;
    hocket__store_kept(q->base.store, q->reported_written, q->reported_synced);
}

static void tell_answers(struct hocket__writer_store *q, uint64_t up_to)
{
    struct hocket__list *l;
    while (q->reported_answers < up_to && (l = take_first(q, &q->answers))) {
        q->reported_answers++;
        hocket__store_answer(
            q->base.store, hocket__container_of(l, struct hocket__store_call, backend_link));
    }
}

static void tell_refusals(struct hocket__writer_store *q)
{
    struct hocket__list *l;
    while ((l = take_first(q, &q->refusals))) {
        struct hocket__writer_refusal *r =
            hocket__container_of(l, struct hocket__writer_refusal, link);
        tell_kept(q, r->written, r->synced);
        tell_answers(q, r->answered);
        hocket__store_refuse(q->base.store, r->refused);
        if (r->over)
            hocket__store_released(q->base.store, r->id);
        hocket__free(&hocket__malloc, r, sizeof(*r));
    }
}

/* Reports in the order of events. A refusal stands before its commit, and after the answer that gave us the run: first
 * the claim is reported, then its loss. The other way round the loss would count for the claim before. */
static void deliver(struct hocket__writer_store *q)
{
    hocket__writer_lock(q);
    uint64_t written = q->written, synced = q->synced, answered = q->answered;
    hocket__writer_unlock(q);
    tell_state(q);
    tell_refusals(q);
    tell_kept(q, written, synced);
    tell_answers(q, answered); /* what came since has refusals that came before it */
}

static void free_writer(struct hocket__writer *w)
{
    hocket__strfree(&hocket__malloc, w->path);
    w->ops->free(w);
}

static void on_out_closed(uv_handle_t *handle)
{
    struct hocket__writer_store *q = handle->data;
    struct hocket__store *s = q->base.store;
    uv_mutex_destroy(&q->lock);
    uv_cond_destroy(&q->cond);
    hocket__buf_deinit(&q->incoming);
    hocket__wal_deinit(&q->wal);
    free_writer(q->w);
    hocket__free(s->o.alloc, q, sizeof(*q));
    hocket__store_closed(s);
}

/* The join does not block: `ended` is the last thing that the thread sets. */
static void on_out(uv_async_t *out)
{
    struct hocket__writer_store *q = out->data;
    hocket__writer_lock(q);
    bool ended = q->ended;
    hocket__writer_unlock(q);
    if (ended)
        uv_thread_join(&q->thread);
    deliver(q);
    if (ended)
        uv_close((uv_handle_t *) out, on_out_closed);
}

static void wake(struct hocket__writer_store *q)
{
    if (q->w->ops->wake)
        q->w->ops->wake(q->w);
    else
        uv_cond_signal(&q->cond);
}

/* ---- The loop: orders -------------------------------------------------------------------------------- */

/* Signals the thread only when the queue was empty and the thread sleeps. A busy thread takes the whole
 * queue in its next round, and an idle but awake thread sees it in time. */
static int writer_submit(struct hocket__store_backend *b, struct hocket__buf *batch, uint64_t seq)
{
    struct hocket__writer_store *q = of(b);
    hocket__writer_lock(q);
    size_t before = q->incoming.len;
    bool wakes = before == 0 && q->asleep;
    int rc = hocket__buf_add(&q->incoming, batch->data, batch->len);
    if (rc < 0) {
        hocket__buf_rewind(&q->incoming, before);
        hocket__writer_unlock(q);
        return rc;
    }
    hocket__wal_gather(&q->wal, hocket__buf_str(batch), seq, q->written);
    if (before == 0)
        q->incoming_ms = hocket__monotonic_ms();
    q->incoming_seq = seq;
    hocket__writer_unlock(q);
    if (wakes)
        wake(q);
    return 0;
}

static void writer_want(struct hocket__store_backend *b, uint64_t seq, enum hocket__store_kept kept)
{
    struct hocket__writer_store *q = of(b);
    hocket__writer_lock(q);
    bool news = seq > q->wanted[kept];
    if (news)
        q->wanted[kept] = seq;
    hocket__writer_unlock(q);
    if (news)
        wake(q);
}

/* In a process that was forked the file is the other's. */
static bool writer_secure(struct hocket__store_backend *b, struct hocket__str batch, uint64_t seq)
{
    struct hocket__writer_store *q = of(b);
    if (!q->w->ops->wal || q->pid != uv_os_getpid())
        return false;
    hocket__writer_lock(q);
    uint64_t written = q->written, noted = q->noted;
    bool was_on = q->wal_on, paused = q->paused || q->broken;
    q->wal_on = true;
    hocket__writer_unlock(q);
    if (!was_on)
        hocket__wal_begin(&q->wal, seq - batch.n);
    hocket__wal_gather(&q->wal, batch, seq, written);
    return was_on && !paused && hocket__wal_secure(&q->wal, q->w->ops->wal(q->w), noted);
}

static void writer_ask(struct hocket__store_backend *b, struct hocket__store_call *call)
{
    struct hocket__writer_store *q = of(b);
    hocket__writer_lock(q);
    hocket__list_add(&q->questions, &call->backend_link);
    hocket__writer_unlock(q);
    wake(q);
}

/* Earlier writes count as finished: their waits have received the error. */
static void writer_again(struct hocket__store_backend *b, uint64_t seq)
{
    struct hocket__writer_store *q = of(b);
    hocket__writer_lock(q);
    hocket__buf_reset(&q->incoming);
    q->written = q->synced = q->reported_written = q->reported_synced = q->incoming_seq = seq;
    q->broken = q->reported_broken = false;
    q->again = true;
    hocket__writer_unlock(q);
    wake(q);
}

static void writer_hold(struct hocket__store_backend *b, bool on)
{
    struct hocket__writer_store *q = of(b);
    if (on)
        uv_ref((uv_handle_t *) &q->out);
    else
        uv_unref((uv_handle_t *) &q->out);
}

static void writer_watch(struct hocket__store_backend *b, bool on)
{
    struct hocket__writer_store *q = of(b);
    hocket__writer_lock(q);
    q->watching = on;
    hocket__writer_unlock(q);
    wake(q);
}

/* In a process that was forked the thread is not there, nor is the file ours to touch. */
static void writer_close(struct hocket__store_backend *b)
{
    struct hocket__writer_store *q = of(b);
    if (q->pid != uv_os_getpid()) {
        uv_mutex_init(&q->lock); /* the thread may have held it when it was lost */
        hocket__writer_fail_all(
            q, &q->questions, &(struct hocket_error){ .status = HOCKET_ECLOSED });
        deliver(q);
        uv_close((uv_handle_t *) &q->out, on_out_closed);
        return;
    }
    atomic_store(&q->w->closing, true);
    hocket__writer_lock(q);
    q->closing = true;
    hocket__writer_unlock(q);
    wake(q);
}

static const struct hocket__store_backend_ops writer_ops = {
    .name = "writer",
    .submit = writer_submit,
    .want = writer_want,
    .secure = writer_secure,
    .ask = writer_ask,
    .again = writer_again,
    .hold = writer_hold,
    .watch = writer_watch,
    .close = writer_close,
};

/* ---- Life ------------------------------------------------------------------------------------------------ */

static void init(struct hocket__writer_store *q, struct hocket__writer *w, struct hocket__store *s)
{
    q->base = (struct hocket__store_backend){ &writer_ops, s };
    q->pid = uv_os_getpid();
    q->out.data = q;
    uv_mutex_init(&q->lock);
    uv_cond_init(&q->cond);
    hocket__buf_init(&q->incoming, &hocket__malloc, 0);
    hocket__wal_init(&q->wal);
    hocket__list_init(&q->questions);
    hocket__list_init(&q->answers);
    hocket__list_init(&q->refusals);
    q->w = w;
    w->store = q;
    hocket__list_init(&w->claims);
    hocket__list_init(&w->touched);
    hocket__map_init(&w->claimed, &hocket__malloc);
    w->o = s->o;
    w->o.path = w->path;
}

static void fail(struct hocket__writer_store *q)
{
    const struct hocket_allocator *a = q->base.store->o.alloc;
    uv_mutex_destroy(&q->lock);
    uv_cond_destroy(&q->cond);
    free_writer(q->w);
    hocket__free(a, q, sizeof(*q));
}

static int start_handle(
    struct hocket__writer_store *q, const struct hocket__store_options *o, struct hocket_error *err)
{
    int rc = uv_async_init(o->loop, &q->out, on_out);
    if (rc < 0)
        return hocket__error(err, HOCKET_EIO, "cannot make an event handle: %s", uv_strerror(rc));
    uv_unref((uv_handle_t *) &q->out);
    return 0;
}

/* Both sides' memory, and the front. */
static struct hocket__writer_store *make(struct hocket__writer *w,
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct hocket__writer_store *q = hocket__zero(o->alloc, sizeof(*q));
    w->path = hocket__strdup(&hocket__malloc, o->path, strlen(o->path));
    if (!q || !w->path)
        hocket__error_nomem(err);
    else if (hocket__store_new(o, out, err) == 0)
        return q;
    if (q)
        hocket__free(o->alloc, q, sizeof(*q));
    free_writer(w);
    return NULL;
}

int hocket__writer_start(struct hocket__writer *w, const struct hocket__store_options *o,
    struct hocket__store **out, struct hocket_error *err)
{
    struct hocket__writer_store *q = make(w, o, out, err);
    if (!q)
        return HOCKET_ENOMEM;
    init(q, w, *out);
    int rc = start_handle(q, o, err);
    if (rc < 0) {
        fail(q);
        hocket__store_closed(*out);
        return rc;
    }
    (*out)->backend = &q->base;
    if (hocket__thread_start(&q->thread, STACK_SIZE, hocket__writer_work, q) == 0)
        return 0;
    q->pid = 0; /* closed as if it were another process's: there is no thread */
    hocket__store_close(*out, NULL, NULL);
    return hocket__error(err, HOCKET_EIO, "cannot start a thread");
}
