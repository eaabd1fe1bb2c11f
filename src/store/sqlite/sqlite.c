#include "store/sqlite/sqlite_impl.h"

#include "store/sqlite/place.h"
#include "store/sqlite/schema.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE   (512 * 1024)
#define RETRY_MIN_MS 20 /* between two attempts to write */
#define RETRY_MAX_MS 5000
#define OPEN_TRIES   20
#define OPEN_GAP_MS  100
#define WATCH_MS     500
#define SWEEP_MS     (10 * 60 * 1000)
#define SWEEP_GAP_MS 20
#define SWEEP_END_MS 100 /* for what a short process removed */

/* What is told of a run. */
struct refusal {
    struct hocket__list link;
    char id[HOCKET__STORE_ID + 1];
    struct hocket_error error;
};

struct sqlite {
    struct hocket__store_backend base;
    pid_t pid;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t cond;

    /* Under the lock: to the thread … */
    struct hocket__buf incoming; /* malloc'ed */
    uint64_t incoming_seq;
    int64_t incoming_ms; /* when the oldest of it came */
    uint64_t wanted[2];
    struct hocket__list questions;
    bool closing, watching;
    /* … and back. */
    uint64_t written, synced;
    struct hocket__list answers, refusals;
    bool opened, broken, paused, changed, ended;
    struct hocket_error error; /* of broken or paused */

    /* The loop's. */
    uv_async_t out;
    uint64_t told_written, told_synced;
    bool told_paused, told_broken;

    char *file;              /* as it was named; malloc'ed */
    struct hocket__keeper k; /* the thread's */
};

static struct sqlite *of(struct hocket__store_backend *b)
{
    return hocket__container_of(b, struct sqlite, base);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void lock(struct sqlite *q)
{
    pthread_mutex_lock(&q->lock);
}

static void unlock(struct sqlite *q)
{
    pthread_mutex_unlock(&q->lock);
}

/* ---- The thread: what it tells ------------------------------------------------------------------ */

static void tell_broken(struct sqlite *q, const struct hocket_error *err)
{
    lock(q);
    if (!q->broken)
        q->error = *err;
    q->broken = true;
    unlock(q);
    uv_async_send(&q->out);
}

static void tell_paused(struct sqlite *q, bool paused)
{
    lock(q);
    bool news = q->paused != paused;
    q->paused = paused;
    if (paused)
        q->error = q->k.db.error;
    unlock(q);
    if (news)
        uv_async_send(&q->out);
}

/* Refusals of what is written now. They are told before the commits that they spoil. */
static int tell_refusals(struct sqlite *q)
{
    struct hocket__keeper *k = &q->k;
    if (!k->has_refusals)
        return 0;
    k->has_refusals = false;
    for (struct hocket__list *l = k->claims.next; l != &k->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (!c->refusal || c->told)
            continue;
        struct refusal *r = hocket__zero(&hocket__malloc, sizeof(*r));
        if (!r)
            return hocket__error_nomem(&k->db.error);
        memcpy(r->id, c->id, sizeof(r->id));
        hocket__store_refusal(c->refused_kind, c->id, c->refusal, &r->error);
        c->told = true;
        lock(q);
        hocket__list_add(&q->refusals, &r->link);
        unlock(q);
    }
    return 0;
}

static void tell_written(struct sqlite *q, uint64_t seq, bool sync)
{
    lock(q);
    q->written = seq;
    if (sync)
        q->synced = seq;
    unlock(q);
    uv_async_send(&q->out);
}

static void tell_answer(struct sqlite *q, struct hocket__store_call *c)
{
    lock(q);
    hocket__list_add(&q->answers, &c->backend_link);
    unlock(q);
    uv_async_send(&q->out);
}

/* Another attempt would end as this one did. */
static bool is_fatal(const struct hocket_error *err)
{
    return !err->retryable;
}

/* ---- The thread: waiting ------------------------------------------------------------------------- */

static void wait_until(struct sqlite *q, int64_t ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    pthread_cond_timedwait(&q->cond, &q->lock, &t);
}

static bool is_wanted(const struct sqlite *q)
{
    return q->wanted[HOCKET__STORE_WRITTEN] > q->written
           || q->wanted[HOCKET__STORE_SYNCED] > q->synced;
}

/* When there is something to do: 0 for now. */
static int64_t due_ms(const struct sqlite *q)
{
    const struct hocket__keeper *k = &q->k;
    if (q->closing || is_wanted(q) || !hocket__list_empty(&q->questions))
        return 0;
    int64_t due = k->next_sweep_ms;
    if (q->incoming.len > 0 && q->incoming_ms + k->o.linger_ms < due)
        due = q->incoming_ms + k->o.linger_ms;
    if (!hocket__list_empty(&k->claims) && k->next_renewal_ms < due)
        due = k->next_renewal_ms;
    if (q->watching && k->next_watch_ms < due)
        due = k->next_watch_ms;
    return due;
}

/* ---- The thread: work ------------------------------------------------------------------------------ */

/* Tries until it is written, or will not be: while it fails, with growing gaps; at the end once more. */
static int write_all(struct sqlite *q, struct hocket__str work, bool sync)
{
    int gap = RETRY_MIN_MS, rc;
    while ((rc = hocket__keeper_write(&q->k, work, sync)) < 0 && !is_fatal(&q->k.db.error)) {
        lock(q);
        bool closing = q->closing;
        unlock(q);
        tell_paused(q, true);
        if (closing)
            return rc;
        lock(q);
        if (!q->closing)
            wait_until(q, now_ms() + gap);
        unlock(q);
        gap = gap * 2 < RETRY_MAX_MS ? gap * 2 : RETRY_MAX_MS;
    }
    tell_paused(q, false);
    return rc < 0 ? rc : tell_refusals(q);
}

static void answer_all(struct sqlite *q, struct hocket__list *questions)
{
    while (!hocket__list_empty(questions)) {
        struct hocket__list *l = questions->next;
        struct hocket__store_call *c =
            hocket__container_of(l, struct hocket__store_call, backend_link);
        hocket__list_del(l);
        int rc = hocket__keeper_answer(&q->k, c);
        if (rc < 0) {
            hocket__buf_reset(&c->rows);
            c->status = rc;
            c->error = q->k.db.error;
            c->more = false;
        }
        if (rc == HOCKET_EPARSE)
            tell_broken(q, &q->k.db.error);
        tell_answer(q, c);
    }
}

static void fail_all(
    struct sqlite *q, struct hocket__list *questions, const struct hocket_error *err)
{
    while (!hocket__list_empty(questions)) {
        struct hocket__list *l = questions->next;
        struct hocket__store_call *c =
            hocket__container_of(l, struct hocket__store_call, backend_link);
        hocket__list_del(l);
        if (!c->rows.a)
            hocket__buf_init(&c->rows, &hocket__malloc, 0);
        c->status = err->status;
        c->error = *err;
        tell_answer(q, c);
    }
}

static void look_for_others(struct sqlite *q)
{
    int rc;
    int64_t version = hocket__db_ask(&q->k.db, "PRAGMA data_version", &rc);
    if (rc < 0 || version == q->k.data_version)
        return;
    q->k.data_version = version;
    lock(q);
    q->changed = true;
    unlock(q);
    uv_async_send(&q->out);
}

/* What nobody waits for. Failures are seen again when somebody does. */
static void do_chores(struct sqlite *q, bool watching)
{
    struct hocket__keeper *k = &q->k;
    int64_t now = now_ms();
    if (watching && now >= k->next_watch_ms) {
        look_for_others(q);
        k->next_watch_ms = now + WATCH_MS;
    }
    if (now >= k->next_renewal_ms) {
        if (hocket__claims_renew(k) == 0)
            tell_refusals(q);
        k->next_renewal_ms = now + k->o.lease_ms / 3;
        uv_async_send(&q->out);
    }
    if (k->more_to_sweep && k->next_sweep_ms > now + SWEEP_GAP_MS)
        k->next_sweep_ms = now + SWEEP_GAP_MS;
    if (now >= k->next_sweep_ms) {
        int rc = hocket__sweep_step(k);
        k->next_sweep_ms = now + (rc == 0 && k->more_to_sweep ? SWEEP_GAP_MS : SWEEP_MS);
        if (rc == HOCKET_EPARSE)
            tell_broken(q, &k->db.error);
    }
}

struct round {
    struct hocket__buf work;
    uint64_t seq;
    bool sync, closing, watching, idle;
    struct hocket__list questions;
};

static void move_list(struct hocket__list *from, struct hocket__list *to)
{
    hocket__list_init(to);
    while (!hocket__list_empty(from)) {
        struct hocket__list *l = from->next;
        hocket__list_del(l);
        hocket__list_add(to, l);
    }
}

/* What is handed over goes to the thread as a whole: its memory is taken, and given back empty. */
static void take_round(struct sqlite *q, struct round *r)
{
    lock(q);
    int64_t due = due_ms(q);
    while (due > now_ms()) {
        wait_until(q, due);
        due = due_ms(q);
    }
    struct hocket__buf empty = r->work;
    r->work = q->incoming;
    q->incoming = empty;
    r->seq = q->incoming_seq;
    r->sync = q->wanted[HOCKET__STORE_SYNCED] > q->synced;
    r->closing = q->closing;
    r->watching = q->watching;
    q->k.pending = q->incoming_seq - q->written;
    move_list(&q->questions, &r->questions);
    unlock(q);
}

static bool serve(struct sqlite *q, struct round *r)
{
    if (r->work.len > 0 || r->sync) {
        if (write_all(q, hocket__buf_str(&r->work), r->sync) < 0)
            return false;
        tell_written(q, r->seq, r->sync);
    }
    hocket__buf_reset(&r->work);
    answer_all(q, &r->questions);
    do_chores(q, r->watching);
    return true;
}

/* Nothing more is kept: everything ends with the reason, until the store is closed. */
static void be_broken(struct sqlite *q, struct round *r, const struct hocket_error *err)
{
    struct hocket_error error = *err;
    tell_broken(q, &error);
    fail_all(q, &r->questions, &error);
    for (bool closing = r->closing; !closing;) {
        struct hocket__list questions;
        lock(q);
        while (!q->closing && hocket__list_empty(&q->questions))
            pthread_cond_wait(&q->cond, &q->lock);
        move_list(&q->questions, &questions);
        hocket__buf_reset(&q->incoming);
        closing = q->closing;
        unlock(q);
        fail_all(q, &questions, &error);
    }
}

static void keep(struct sqlite *q, struct round *r)
{
    struct hocket__keeper *k = &q->k;
    bool ok = true;
    while (ok && !r->closing) {
        take_round(q, r);
        ok = serve(q, r);
    }
    if (!ok) {
        be_broken(q, r, &k->db.error);
        return;
    }
    int64_t end = now_ms() + SWEEP_END_MS;
    while (k->more_to_sweep && now_ms() < end && hocket__sweep_step(k) == 0)
        ;
    hocket__claims_release(k);
}

/* Another process may be making the file just now. */
static int open_file(struct sqlite *q)
{
    struct hocket__keeper *k = &q->k;
    int rc = hocket__store_place(k->o.path, &k->path, &k->db.error);
    for (int i = 0; rc >= 0 && i < OPEN_TRIES; i++) {
        rc = hocket__schema_open(&k->db, k->path.data);
        bool busy = rc == HOCKET_EIO
                    && ((k->db.code & 0xff) == SQLITE_BUSY || (k->db.code & 0xff) == SQLITE_LOCKED);
        if (!busy)
            return rc;
        uv_sleep(OPEN_GAP_MS);
        rc = i + 1 < OPEN_TRIES ? 0 : rc;
    }
    return rc;
}

static void *work(void *ud)
{
    struct sqlite *q = ud;
    struct hocket__keeper *k = &q->k;
    struct round r = { .closing = false };
    hocket__buf_init(&r.work, &hocket__malloc, 0);
    hocket__list_init(&r.questions);
    hocket__self_init(&k->self);
    if (open_file(q) < 0) {
        be_broken(q, &r, &k->db.error);
    } else {
        int rc;
        k->data_version = hocket__db_ask(&k->db, "PRAGMA data_version", &rc);
        k->next_renewal_ms = now_ms() + k->o.lease_ms / 3;
        k->next_sweep_ms = now_ms() + WATCH_MS;
        lock(q);
        q->opened = true;
        unlock(q);
        uv_async_send(&q->out);
        keep(q, &r);
        hocket__db_close(&k->db, k->db.error.status == HOCKET_EPARSE);
    }
    hocket__claims_free(k);
    hocket__buf_deinit(&r.work);
    hocket__buf_deinit(&k->path);
    lock(q);
    q->ended = true;
    unlock(q);
    uv_async_send(&q->out);
    return NULL;
}

/* ---- The loop: news ------------------------------------------------------------------------------- */

static void tell_state(struct sqlite *q)
{
    struct hocket__store *s = q->base.store;
    lock(q);
    bool opened = q->opened, broken = q->broken && !q->told_broken, paused = q->paused,
         changed = q->changed;
    struct hocket_error error = q->error;
    q->opened = q->changed = false;
    unlock(q);
    if (opened)
        hocket__store_tell(s, HOCKET__STORE_READY, NULL, NULL);
    if (changed)
        hocket__store_tell(s, HOCKET__STORE_CHANGED, NULL, NULL);
    if (paused != q->told_paused && !q->told_broken) {
        q->told_paused = paused;
        hocket__store_tell(
            s, paused ? HOCKET__STORE_PAUSED : HOCKET__STORE_GOING, NULL, paused ? &error : NULL);
    }
    if (broken) {
        q->told_broken = true;
        hocket__store_tell(s, HOCKET__STORE_BROKEN, NULL, &error);
    }
}

static struct hocket__list *take_first(struct sqlite *q, struct hocket__list *from)
{
    struct hocket__list *l = NULL;
    lock(q);
    if (!hocket__list_empty(from)) {
        l = from->next;
        hocket__list_del(l);
    }
    unlock(q);
    return l;
}

static void tell_runs(struct sqlite *q)
{
    struct hocket__list *l;
    while ((l = take_first(q, &q->refusals))) {
        struct refusal *r = hocket__container_of(l, struct refusal, link);
        hocket__store_tell(q->base.store, HOCKET__STORE_REFUSED, r->id, &r->error);
        hocket__free(&hocket__malloc, r, sizeof(*r));
    }
}

/* In the order in which it happened: refusals stand before the commit that they belong to. */
static void deliver(struct sqlite *q)
{
    struct hocket__list *l;
    lock(q);
    uint64_t written = q->written, synced = q->synced;
    unlock(q);
    tell_state(q);
    tell_runs(q);
    if (written != q->told_written || synced != q->told_synced) {
        q->told_written = written;
        q->told_synced = synced;
        hocket__store_kept(q->base.store, written, synced);
    }
    while ((l = take_first(q, &q->answers)))
        hocket__store_answer(
            q->base.store, hocket__container_of(l, struct hocket__store_call, backend_link));
}

static void on_out_closed(uv_handle_t *handle)
{
    struct sqlite *q = handle->data;
    struct hocket__store *s = q->base.store;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->cond);
    hocket__buf_deinit(&q->incoming);
    hocket__strfree(&hocket__malloc, q->file);
    hocket__free(s->o.alloc, q, sizeof(*q));
    hocket__store_closed(s);
}

static void on_out(uv_async_t *out)
{
    struct sqlite *q = out->data;
    lock(q);
    bool ended = q->ended;
    unlock(q);
    if (ended)
        pthread_join(q->thread, NULL);
    deliver(q);
    if (ended)
        uv_close((uv_handle_t *) out, on_out_closed);
}

/* ---- The loop: orders -------------------------------------------------------------------------------- */

static void sqlite_submit(struct hocket__store_backend *b, struct hocket__buf *batch, uint64_t seq)
{
    struct sqlite *q = of(b);
    lock(q);
    bool was_empty = q->incoming.len == 0;
    int rc = hocket__buf_add(&q->incoming, batch->data, batch->len);
    if (was_empty)
        q->incoming_ms = now_ms();
    if (rc == 0)
        q->incoming_seq = seq;
    unlock(q);
    if (rc < 0) { /* half of what was handed over is not to be kept */
        struct hocket_error e;
        hocket__error_nomem(&e);
        hocket__store_tell(b->store, HOCKET__STORE_BROKEN, NULL, &e);
    } else if (was_empty) {
        pthread_cond_signal(&q->cond);
    }
}

static void sqlite_want(struct hocket__store_backend *b, uint64_t seq, enum hocket__store_kept kept)
{
    struct sqlite *q = of(b);
    lock(q);
    bool news = seq > q->wanted[kept];
    if (news)
        q->wanted[kept] = seq;
    unlock(q);
    if (news)
        pthread_cond_signal(&q->cond);
}

static void sqlite_ask(struct hocket__store_backend *b, struct hocket__store_call *call)
{
    struct sqlite *q = of(b);
    lock(q);
    hocket__list_add(&q->questions, &call->backend_link);
    unlock(q);
    pthread_cond_signal(&q->cond);
}

static void sqlite_hold(struct hocket__store_backend *b, bool on)
{
    struct sqlite *q = of(b);
    if (on)
        uv_ref((uv_handle_t *) &q->out);
    else
        uv_unref((uv_handle_t *) &q->out);
}

static void sqlite_watch(struct hocket__store_backend *b, bool on)
{
    struct sqlite *q = of(b);
    lock(q);
    q->watching = on;
    unlock(q);
    pthread_cond_signal(&q->cond);
}

/* In a process that was forked the thread is not there, nor is the file ours to touch. */
static void sqlite_close(struct hocket__store_backend *b)
{
    struct sqlite *q = of(b);
    if (q->pid != getpid()) {
        pthread_mutex_init(&q->lock, NULL); /* the thread may have held it when it was lost */
        fail_all(q, &q->questions, &(struct hocket_error){ .status = HOCKET_ECLOSED });
        deliver(q);
        uv_close((uv_handle_t *) &q->out, on_out_closed);
        return;
    }
    lock(q);
    q->closing = true;
    unlock(q);
    pthread_cond_signal(&q->cond);
}

static const struct hocket__store_backend_ops sqlite_ops = {
    .name = "sqlite",
    .submit = sqlite_submit,
    .want = sqlite_want,
    .ask = sqlite_ask,
    .hold = sqlite_hold,
    .watch = sqlite_watch,
    .close = sqlite_close,
};

/* ---- Life ------------------------------------------------------------------------------------------------ */

/* With all signals blocked: the program's handlers run on the program's threads. */
static int start_thread(struct sqlite *q)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&q->thread, &attr, work, q);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

static void init(struct sqlite *q, struct hocket__store *s)
{
    pthread_condattr_t attr;
    q->base = (struct hocket__store_backend){ &sqlite_ops, s };
    q->pid = getpid();
    q->out.data = q;
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->cond, &attr);
    pthread_condattr_destroy(&attr);
    hocket__buf_init(&q->incoming, &hocket__malloc, 0);
    hocket__buf_init(&q->k.path, &hocket__malloc, 0);
    hocket__list_init(&q->questions);
    hocket__list_init(&q->answers);
    hocket__list_init(&q->refusals);
    hocket__list_init(&q->k.claims);
    hocket__list_init(&q->k.touched);
    hocket__map_init(&q->k.claimed, &hocket__malloc);
    q->k.o = s->o;
}

static void fail(struct sqlite *q)
{
    const struct hocket_allocator *a = q->base.store->o.alloc;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->cond);
    hocket__strfree(&hocket__malloc, q->file);
    hocket__free(a, q, sizeof(*q));
}

/* Its handles, then its thread. */
static int start(struct sqlite *q, const struct hocket__store_options *o, struct hocket_error *err)
{
    q->file = hocket__strdup(&hocket__malloc, o->path, strlen(o->path));
    if (!q->file)
        return hocket__error_nomem(err);
    q->k.o.path = q->file;
    int rc = uv_async_init(o->loop, &q->out, on_out);
    if (rc < 0)
        return hocket__error(err, HOCKET_EIO, "cannot make an event handle: %s", uv_strerror(rc));
    uv_unref((uv_handle_t *) &q->out);
    return 0;
}

int hocket__store_sqlite_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    if (!o->path || !*o->path)
        return hocket__error(err, HOCKET_EINVAL, "no file to keep runs in was named");
    struct sqlite *q = hocket__zero(o->alloc, sizeof(*q));
    if (!q)
        return hocket__error_nomem(err);
    int rc = hocket__store_new(o, out, err);
    if (rc < 0) {
        hocket__free(o->alloc, q, sizeof(*q));
        return rc;
    }
    init(q, *out);
    rc = start(q, o, err);
    if (rc < 0) {
        fail(q);
        hocket__store_closed(*out);
        return rc;
    }
    (*out)->backend = &q->base;
    if (start_thread(q) == 0)
        return 0;
    q->pid = 0; /* closed as if it were another process's: there is no thread */
    hocket__store_close(*out, NULL, NULL);
    return hocket__error(err, HOCKET_EIO, "cannot start a thread");
}
