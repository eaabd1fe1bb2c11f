/* The thread of a store. In each round it takes every write handed over, writes them as one
 * transaction, reports it, and then answers questions and does background work. So load makes
 * transactions larger, not more frequent.
 *
 *    wait until due ─> take the round ─> write (again and again while the disk is full) ─> answer ─> chores ─┐
 *          ^                               │ the database is no longer what it was                               │
 *          └───────────────────────────────┼─────────────────────────────────────────────────────────────────┘
 *                                          └─> broken: everything ends with the reason, until it is closed
 *
 * One that cannot be opened is broken, too, until somebody needs it again: then it is opened anew. */
#include "store/writer/thread.h"

#include <stdlib.h>

#include "os/clock.h"

#define RETRY_MIN_MS  20 /* between two attempts to write */
#define RETRY_MAX_MS  5000
#define SHORT_MS      10000 /* memory is out */
#define CLOSING_TRIES 5
#define CLOSING_MS    1000 /* for all of them: a server that does not answer takes its time for each */
#define OPEN_LATE_MS  30
#define OPEN_MIN_MS   500 /* between two attempts to open, each of which waits a moment by itself */
#define WATCH_MS      500
#define QUIET_MS      2000 /* after so long without work it looks for others' once a second */
#define QUIET_GAP_MS  1000
#define SWEEP_MS      (10 * 60 * 1000)
#define SWEEP_GAP_MS  20
#define SWEEP_END_MS  100 /* for what a short process removed */

/* ---- The thread: what it tells ------------------------------------------------------------------ */

static void tell_broken(struct hocket__writer_store *q, const struct hocket_error *err)
{
    hocket__writer_lock(q);
    if (!q->broken)
        q->error = *err;
    q->broken = true;
    hocket__writer_unlock(q);
    uv_async_send(&q->out);
}

/* Told when it changes: a disk that is full for an hour is two events and not one for each attempt. */
static void tell_paused(struct hocket__writer_store *q, bool paused)
{
    hocket__writer_lock(q);
    bool news = q->paused != paused;
    q->paused = paused;
    if (paused)
        q->error = *q->w->error;
    hocket__writer_unlock(q);
    if (news)
        uv_async_send(&q->out);
}

static struct hocket__writer_refusal *refusal_of(
    const struct hocket__writer *w, const struct hocket__claimed *c)
{
    struct hocket__writer_refusal *r = hocket__zero(&hocket__malloc, sizeof(*r));
    struct hocket__store_refused *refused =
        r ? hocket__store_refused_new(&hocket__malloc, c->id) : NULL;
    if (!refused) {
        hocket__free(&hocket__malloc, r, sizeof(*r));
        return NULL;
    }
    r->refused = refused;
    memcpy(r->id, c->id, sizeof(r->id));
    hocket__store_refusal(c->refused_kind, c->id, c->refusal, &refused->error);
    if (c->refusal == HOCKET_EDENIED && w->denied)
        hocket__error(&refused->error, HOCKET_EDENIED, "%s cannot be kept: %s", c->id, w->denied);
    r->over = c->released && c->transaction == w->transaction;
    return r;
}

static void tell_refusal(struct hocket__writer_store *q, struct hocket__writer_refusal *r)
{
    hocket__writer_lock(q);
    r->written = q->written;
    r->synced = q->synced;
    r->answered = q->answered;
    hocket__list_add(&q->refusals, &r->link);
    hocket__writer_unlock(q);
    uv_async_send(&q->out);
}

int hocket__writer_report_refusals(struct hocket__writer_store *q)
{
    struct hocket__writer *w = q->w;
    if (!w->has_refusals)
        return 0;
    for (struct hocket__list *l = w->claims.next; l != &w->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        struct hocket__writer_refusal *r = c->refusal && !c->told ? refusal_of(w, c) : NULL;
        if (c->refusal && !c->told && !r)
            return hocket__error_nomem(w->error);
        c->told |= r != NULL;
        if (r)
            tell_refusal(q, r);
    }
    w->has_refusals = false; /* all are reported: if memory was short it is tried again */
    return 0;
}

bool hocket__writer_has_work(struct hocket__writer *w)
{
    struct hocket__writer_store *q = w->store;
    hocket__writer_lock(q);
    bool has = q->incoming.len > 0;
    hocket__writer_unlock(q);
    return has;
}

static void tell_written(struct hocket__writer_store *q, uint64_t seq, bool sync)
{
    hocket__writer_lock(q);
    q->written = seq;
    if (q->w->wal_to)
        q->noted = seq;
    if (sync)
        q->synced = seq;
    hocket__writer_unlock(q);
    uv_async_send(&q->out);
}

static void tell_answer(struct hocket__writer_store *q, struct hocket__store_call *c)
{
    hocket__writer_lock(q);
    hocket__list_add(&q->answers, &c->backend_link);
    q->answered++;
    hocket__writer_unlock(q);
    uv_async_send(&q->out);
}

/* Another attempt would end as this one did. Memory may become free again, unless this process itself holds it. So we
 * wait a while, from *since_ms on (0: memory was not out before). */
static bool is_fatal(const struct hocket_error *err, int64_t *since_ms)
{
    bool is_short = err->status == HOCKET_ENOMEM;
    if (!is_short || *since_ms == 0)
        *since_ms = is_short ? hocket__monotonic_ms() : 0;
    return is_short ? hocket__monotonic_ms() - *since_ms >= SHORT_MS : !err->retryable;
}

/* ---- The thread: waiting ------------------------------------------------------------------------- */

/* Under the lock, which is let go meanwhile. */
static void wait_until(struct hocket__writer_store *q, int64_t ms)
{
    int64_t from = hocket__monotonic_ms();
    if (q->w->ops->wait) {
        hocket__writer_unlock(q);
        q->w->ops->wait(q->w, ms);
        hocket__writer_lock(q);
    } else {
        uv_cond_timedwait(&q->cond, &q->lock, ms > from ? (uint64_t) (ms - from) * 1000000 : 0);
    }
    hocket__leases_slept(q->w, from, ms);
}

/* Somebody waits for what is not there yet. What nobody waits for may linger, and share a
 * transaction. */
static bool is_wanted(const struct hocket__writer_store *q)
{
    return q->wanted[HOCKET__STORE_WRITTEN] > q->written
           || q->wanted[HOCKET__STORE_SYNCED] > q->synced;
}

/* When there is something to do: 0 for now. */
static int64_t due_ms(const struct hocket__writer_store *q)
{
    const struct hocket__writer *w = q->w;
    if (q->closing || is_wanted(q) || !hocket__list_empty(&q->questions))
        return 0;
    int64_t due = w->next_sweep_ms;
    if (q->incoming.len > 0 && q->incoming_ms + w->o.linger_ms < due)
        due = q->incoming_ms + w->o.linger_ms;
    if (!hocket__list_empty(&w->claims) && w->next_renewal_ms < due)
        due = w->next_renewal_ms;
    if (q->watching && w->next_watch_ms < due)
        due = w->next_watch_ms;
    return due;
}

/* ---- The thread: work ------------------------------------------------------------------------------ */

/* Many that wait for the same server do not come all at once when it is back. */
static int with_jitter(const struct hocket__writer_store *q, int gap)
{
    uint64_t n = (uint64_t) q->w->self.store + (uint64_t) hocket__monotonic_ms();
    return gap / 2 + (int) (n % (uint64_t) (gap / 2 + 1));
}

/* Unless it is being closed. */
static void pause_for(struct hocket__writer_store *q, int ms)
{
    hocket__writer_lock(q);
    if (!q->closing)
        wait_until(q, hocket__monotonic_ms() + ms);
    hocket__writer_unlock(q);
}

static int write_once(struct hocket__writer *w, struct hocket__str work, bool sync)
{
    int rc = w->ops->write(w, work, sync);
    if (work.n > 0) /* else it may have had nothing to ask */
        hocket__leases_answered(w, rc);
    return rc;
}

/* Refusals are reported before the commits that they fail, which wait until memory allows it. */
static int tell_refusals(struct hocket__writer_store *q)
{
    int rc;
    while ((rc = hocket__writer_report_refusals(q)) < 0 && !atomic_load(&q->w->closing)) {
        tell_paused(q, true);
        pause_for(q, RETRY_MIN_MS);
    }
    return rc;
}

/* Tries until it is written, or will not be: while it fails, with growing gaps; at the end a few times more.
 * The work is written again as a whole, since nothing of a transaction that failed is there.
 * Meanwhile questions wait, too: an answer could show a run without what was said about it before. Leases do not: what fails
 * may be one run's, whose row somebody has locked. */
static int write_all(struct hocket__writer_store *q, struct hocket__str work, bool sync)
{
    int gap = RETRY_MIN_MS, last_tries = CLOSING_TRIES, rc;
    int64_t end = 0, short_since = 0;
    while ((rc = write_once(q->w, work, sync)) < 0 && !is_fatal(q->w->error, &short_since)) {
        bool closing = atomic_load(&q->w->closing);
        tell_paused(q, true);
        if (closing && end == 0)
            end = hocket__monotonic_ms() + CLOSING_MS;
        if (closing && (--last_tries == 0 || hocket__monotonic_ms() >= end))
            return rc;
        q->w->leases.writing = true;
        hocket__leases_poll(q->w);
        q->w->leases.writing = false;
        pause_for(q, with_jitter(q, gap));
        if (closing)
            uv_sleep(RETRY_MIN_MS);
        gap = gap * 2 < RETRY_MAX_MS ? gap * 2 : RETRY_MAX_MS;
    }
    if (rc == 0)
        rc = tell_refusals(q);
    tell_paused(q, false);
    if (rc == 0)
        hocket__writer_forget(q->w);
    return rc;
}

/* Nobody waits for it any more. */
static bool is_given_up(struct hocket__store_call *c)
{
    if (!atomic_load(&c->given_up))
        return false;
    c->status = hocket__error(&c->error, HOCKET_ECLOSED, "it was given up");
    return true;
}

static int answer(struct hocket__writer *w, struct hocket__store_call *c)
{
    if (!c->rows.a)
        hocket__buf_init(&c->rows, &hocket__malloc, 0);
    c->status = 0;
    if (is_given_up(c))
        return 0;
    int rc = w->ops->answer(w, c);
    hocket__leases_answered(w, rc);
    if (rc == 0 && c->rows.status < 0 && c->status == 0)
        c->status = hocket__error_nomem(&c->error);
    return rc;
}

/* A question that fails is that question's failure; only a file that makes no sense any more breaks
 * the store. */
static void answer_all(struct hocket__writer_store *q, struct hocket__list *questions)
{
    while (!hocket__list_empty(questions)) {
        struct hocket__list *l = questions->next;
        struct hocket__store_call *c =
            hocket__container_of(l, struct hocket__store_call, backend_link);
        hocket__list_del(l);
        int rc = answer(q->w, c);
        if (rc < 0) {
            hocket__buf_reset(&c->rows);
            c->status = rc;
            c->error = *q->w->error;
            c->more = false;
        }
        if (rc == HOCKET_EPARSE)
            tell_broken(q, q->w->error);
        tell_answer(q, c);
        hocket__leases_poll(
            q->w); /* each may have waited long for a row that somebody has locked */
    }
}

void hocket__writer_fail_all(
    struct hocket__writer_store *q, struct hocket__list *questions, const struct hocket_error *err)
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

static void look_for_others(struct hocket__writer_store *q)
{
    int rc = q->w->ops->look(q->w);
    hocket__leases_answered(q->w, rc);
    if (rc != 1)
        return;
    hocket__writer_lock(q);
    q->changed = true;
    hocket__writer_unlock(q);
    uv_async_send(&q->out);
}

/* After the report of the writes: nobody waits for it. It covers this store's own writes too, since one process may
 * both submit and execute runs. */
static void give_hint(struct hocket__writer_store *q, bool watching)
{
    if (!q->w->hint)
        return;
    q->w->hint = false;
    if (watching) {
        hocket__writer_lock(q);
        q->changed = true;
        hocket__writer_unlock(q);
        uv_async_send(&q->out);
    }
    if (q->w->ops->hint)
        q->w->ops->hint(q->w);
}

/* What nobody waits for. Failures are seen again when somebody does. */
static void do_chores(struct hocket__writer_store *q, bool watching)
{
    struct hocket__writer *w = q->w;
    int64_t now = hocket__monotonic_ms();
    if (watching && now >= w->next_watch_ms) {
        look_for_others(q);
        w->next_watch_ms = now + (now - w->busy_ms < QUIET_MS ? WATCH_MS : QUIET_GAP_MS);
    }
    hocket__leases_poll(w);
    if (w->more_to_sweep && w->next_sweep_ms > now + SWEEP_GAP_MS)
        w->next_sweep_ms = now + SWEEP_GAP_MS;
    if (now >= w->next_sweep_ms) {
        int rc = w->ops->sweep(w);
        hocket__leases_answered(w, rc);
        w->next_sweep_ms = now + (rc == 0 && w->more_to_sweep ? SWEEP_GAP_MS : SWEEP_MS);
        if (rc == HOCKET_EPARSE)
            tell_broken(q, w->error);
    }
}

/* What the thread does between two looks at what came. `work` and q->incoming change places, so
 * that neither side copies or allocates. */
struct round {
    struct hocket__buf work;
    uint64_t seq;
    bool sync, closing, watching;
    bool idle; /* nobody handed over or asked anything */
    struct hocket__list questions;
};

static void move_list(struct hocket__list *from, struct hocket__list *to)
{
    hocket__list_init(to);
    while (!hocket__list_empty(from)) {
        struct hocket__list *l = from->next;
        hocket__list_move(to, l);
    }
}

/* Until there is something to do. After work, more is likely to come soon: so the thread polls while writes may linger,
 * and nobody has to wake it for a write without a wait. Afterwards it sleeps, and costs nothing. */
static void wait_for_work(struct hocket__writer_store *q, bool after_work)
{
    int64_t now = hocket__monotonic_ms(), awake = now + (after_work ? q->w->o.linger_ms : 0);
    for (int64_t due; (due = due_ms(q)) > now; now = hocket__monotonic_ms()) {
        q->asleep = now >= awake;
        wait_until(q, q->asleep || due < awake ? due : awake);
    }
    q->asleep = false;
}

/* What is handed over goes to the thread as a whole: its memory is taken, and given back empty. */
static void take_round(struct hocket__writer_store *q, struct round *r)
{
    hocket__writer_lock(q);
    wait_for_work(q, !r->idle);
    struct hocket__buf empty = r->work;
    r->work = q->incoming;
    q->incoming = empty;
    r->seq = q->incoming_seq;
    r->sync = q->wanted[HOCKET__STORE_SYNCED] > q->synced;
    q->w->wal_to = q->wal_on && r->work.len > 0 ? r->seq : 0;
    r->closing = q->closing;
    r->watching = q->watching;
    q->w->pending = q->incoming_seq - q->written;
    move_list(&q->questions, &r->questions);
    hocket__writer_unlock(q);
    r->idle = r->work.len == 0 && !r->sync && hocket__list_empty(&r->questions);
    if (!r->idle)
        q->w->busy_ms = hocket__monotonic_ms();
}

static bool serve(struct hocket__writer_store *q, struct round *r)
{
    if (r->work.len > 0 || r->sync) {
        if (write_all(q, hocket__buf_str(&r->work), r->sync) < 0)
            return false;
        tell_written(q, r->seq, r->sync);
    }
    hocket__buf_reset(&r->work);
    answer_all(q, &r->questions);
    give_hint(q, r->watching);
    do_chores(q, r->watching);
    return !q->w->gone;
}

/* Questions come, or it is to be closed, or opened again. */
static bool take_broken_round(struct hocket__writer_store *q, struct round *r)
{
    hocket__writer_lock(q);
    while (!q->closing && !q->again && hocket__list_empty(&q->questions))
        wait_until(q, hocket__monotonic_ms() + SWEEP_MS);
    r->closing = q->closing;
    bool again = q->again && !q->closing;
    q->again = false;
    if (!again) {
        move_list(&q->questions, &r->questions);
        hocket__buf_reset(&q->incoming);
    }
    hocket__writer_unlock(q);
    return !again;
}

/* Nothing more is kept: everything ends with the reason, until the store is closed, or somebody needs one that could not be
 * opened. Whether it is that. */
static bool be_broken(
    struct hocket__writer_store *q, struct round *r, const struct hocket_error *err)
{
    struct hocket_error error = *err;
    error.retryable = false; /* whoever waits for a store that is away would wait for ever */
    tell_broken(q, &error);
    hocket__writer_fail_all(q, &r->questions, &error);
    while (!r->closing && take_broken_round(q, r))
        hocket__writer_fail_all(q, &r->questions, &error);
    return !r->closing;
}

static void keep(struct hocket__writer_store *q, struct round *r)
{
    struct hocket__writer *w = q->w;
    bool ok = true;
    while (ok && !r->closing) {
        take_round(q, r);
        ok = serve(q, r);
    }
    if (!ok) {
        be_broken(q, r, w->error);
        return;
    }
    int64_t end = hocket__monotonic_ms() + SWEEP_END_MS;
    while (w->more_to_sweep && hocket__monotonic_ms() < end && w->ops->sweep(w) == 0)
        ;
    w->ops->release(w);
}

/* A run opens its store when it begins and sends its first request right after that: what it takes to open it comes
 * behind the request, unless somebody waits for it. */
static void wait_to_open(struct hocket__writer_store *q)
{
    int64_t end = hocket__monotonic_ms() + OPEN_LATE_MS;
    hocket__writer_lock(q);
    while (!q->closing && !is_wanted(q) && hocket__list_empty(&q->questions)
           && hocket__monotonic_ms() < end)
        wait_until(q, end);
    hocket__writer_unlock(q);
}

/* As a write does, where it is to be patient. */
static int open_database(struct hocket__writer_store *q)
{
    struct hocket__writer *w = q->w;
    int64_t short_since = 0;
    int gap = OPEN_MIN_MS, rc;
    while ((rc = w->ops->open(w)) < 0 && w->o.patient && !is_fatal(w->error, &short_since)
           && !atomic_load(&w->closing)) {
        tell_paused(q, true);
        pause_for(q, with_jitter(q, gap));
        gap = gap * 2 < RETRY_MAX_MS ? gap * 2 : RETRY_MAX_MS;
    }
    if (rc == 0)
        tell_paused(q, false);
    return rc;
}

/* False: it is closed without. */
static bool open_at_last(struct hocket__writer_store *q, struct round *r)
{
    while (open_database(q) < 0)
        if (!be_broken(q, r, q->w->error))
            return false;
    return true;
}

void *hocket__writer_work(void *ud)
{
    struct hocket__writer_store *q = ud;
    struct hocket__writer *w = q->w;
    struct round r = { .closing = false };
    hocket__buf_init(&r.work, &hocket__malloc, 0);
    hocket__list_init(&r.questions);
    wait_to_open(q);
    hocket__self_init(&w->self);
    if (open_at_last(q, &r)) {
        hocket__leases_init(w);
        w->next_sweep_ms = hocket__monotonic_ms() + WATCH_MS;
        hocket__writer_lock(q);
        q->opened = true;
        if (w->denied)
            hocket__error(&q->denied, HOCKET_EDENIED, "%s", w->denied);
        hocket__writer_unlock(q);
        uv_async_send(&q->out);
        keep(q, &r);
        w->ops->close(w);
    }
    hocket__claims_free(w);
    hocket__buf_deinit(&r.work);
    hocket__writer_lock(q);
    q->ended = true;
    hocket__writer_unlock(q);
    uv_async_send(&q->out);
    return NULL;
}
