/* The thread of a store: in each round it takes all that was handed over, writes it as one
 * transaction, tells so, and then answers questions and does what nobody waits for. So under load
 * transactions grow and do not become more.
 *
 *    wait until due ─> take the round ─> write (again and again while the disk is full) ─> answer ─> chores ─┐
 *          ^                               │ the database is no longer what it was                               │
 *          └───────────────────────────────┼─────────────────────────────────────────────────────────────────┘
 *                                          └─> broken: everything ends with the reason, until it is closed
 *
 * One that cannot be opened is broken, too, until somebody needs it again: then it is opened anew. */
#include "store/keeper/thread.h"

#include <stdlib.h>

#include "os/clock.h"

#define RETRY_MIN_MS  20 /* between two attempts to write */
#define RETRY_MAX_MS  5000
#define CLOSING_TRIES 5
#define CLOSING_MS    1000 /* for all of them: a server that does not answer takes its time for each */
#define OPEN_LATE_MS  30
#define OPEN_MIN_MS   500 /* between two attempts to open, each of which waits a moment by itself */
#define WATCH_MS      500
#define SWEEP_MS      (10 * 60 * 1000)
#define SWEEP_GAP_MS  20
#define SWEEP_END_MS  100 /* for what a short process removed */

/* ---- The thread: what it tells ------------------------------------------------------------------ */

static void tell_broken(struct hocket__keeper_store *q, const struct hocket_error *err)
{
    hocket__keeper_lock(q);
    if (!q->broken)
        q->error = *err;
    q->broken = true;
    hocket__keeper_unlock(q);
    uv_async_send(&q->out);
}

/* Told when it changes: a disk that is full for an hour is two events and not one for each attempt. */
static void tell_paused(struct hocket__keeper_store *q, bool paused)
{
    hocket__keeper_lock(q);
    bool news = q->paused != paused;
    q->paused = paused;
    if (paused)
        q->error = *q->k->error;
    hocket__keeper_unlock(q);
    if (news)
        uv_async_send(&q->out);
}

static struct hocket__keeper_refusal *refusal_of(
    const struct hocket__keeper *k, const struct hocket__claimed *c)
{
    struct hocket__keeper_refusal *r = hocket__zero(&hocket__malloc, sizeof(*r));
    struct hocket__store_refused *refused =
        r ? hocket__store_refused_new(&hocket__malloc, c->id) : NULL;
    if (!refused) {
        hocket__free(&hocket__malloc, r, sizeof(*r));
        return NULL;
    }
    r->refused = refused;
    memcpy(r->id, c->id, sizeof(r->id));
    hocket__store_refusal(c->refused_kind, c->id, c->refusal, &refused->error);
    if (c->refusal == HOCKET_EDENIED && k->denied)
        hocket__error(&refused->error, HOCKET_EDENIED, "%s cannot be kept: %s", c->id, k->denied);
    r->over = c->released && c->transaction == k->transaction;
    return r;
}

static void tell_refusal(struct hocket__keeper_store *q, struct hocket__keeper_refusal *r)
{
    hocket__keeper_lock(q);
    r->written = q->written;
    r->synced = q->synced;
    r->answered = q->answered;
    hocket__list_add(&q->refusals, &r->link);
    hocket__keeper_unlock(q);
    uv_async_send(&q->out);
}

int hocket__keeper_tell_refusals(struct hocket__keeper_store *q)
{
    struct hocket__keeper *k = q->k;
    if (!k->has_refusals)
        return 0;
    for (struct hocket__list *l = k->claims.next; l != &k->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        struct hocket__keeper_refusal *r = c->refusal && !c->told ? refusal_of(k, c) : NULL;
        if (c->refusal && !c->told && !r)
            return hocket__error_nomem(k->error);
        c->told |= r != NULL;
        if (r)
            tell_refusal(q, r);
    }
    k->has_refusals = false; /* all are told: where memory was short it is tried again */
    return 0;
}

bool hocket__keeper_has_work(struct hocket__keeper *k)
{
    struct hocket__keeper_store *q = k->store;
    hocket__keeper_lock(q);
    bool has = q->incoming.len > 0;
    hocket__keeper_unlock(q);
    return has;
}

static void tell_written(struct hocket__keeper_store *q, uint64_t seq, bool sync)
{
    hocket__keeper_lock(q);
    q->written = seq;
    if (q->k->ahead_to)
        q->noted = seq;
    if (sync)
        q->synced = seq;
    hocket__keeper_unlock(q);
    uv_async_send(&q->out);
}

static void tell_answer(struct hocket__keeper_store *q, struct hocket__store_call *c)
{
    hocket__keeper_lock(q);
    hocket__list_add(&q->answers, &c->backend_link);
    q->answered++;
    hocket__keeper_unlock(q);
    uv_async_send(&q->out);
}

/* Another attempt would end as this one did. Memory that is out may be there again. */
static bool is_fatal(const struct hocket_error *err)
{
    return !err->retryable && err->status != HOCKET_ENOMEM;
}

/* ---- The thread: waiting ------------------------------------------------------------------------- */

/* Under the lock, which is let go meanwhile. */
static void wait_until(struct hocket__keeper_store *q, int64_t ms)
{
    int64_t from = hocket__monotonic_ms();
    if (q->k->ops->wait) {
        hocket__keeper_unlock(q);
        q->k->ops->wait(q->k, ms);
        hocket__keeper_lock(q);
    } else {
        uv_cond_timedwait(&q->cond, &q->lock, ms > from ? (uint64_t) (ms - from) * 1000000 : 0);
    }
    hocket__leases_slept(q->k, from, ms);
}

/* Somebody waits for what is not there yet. What nobody waits for may linger, and share a
 * transaction. */
static bool is_wanted(const struct hocket__keeper_store *q)
{
    return q->wanted[HOCKET__STORE_WRITTEN] > q->written
           || q->wanted[HOCKET__STORE_SYNCED] > q->synced;
}

/* When there is something to do: 0 for now. */
static int64_t due_ms(const struct hocket__keeper_store *q)
{
    const struct hocket__keeper *k = q->k;
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

/* Many that wait for the same server do not come all at once when it is back. */
static int with_jitter(const struct hocket__keeper_store *q, int gap)
{
    uint64_t n = (uint64_t) q->k->self.store + (uint64_t) hocket__monotonic_ms();
    return gap / 2 + (int) (n % (uint64_t) (gap / 2 + 1));
}

/* Unless it is being closed. */
static void pause_for(struct hocket__keeper_store *q, int ms)
{
    hocket__keeper_lock(q);
    if (!q->closing)
        wait_until(q, hocket__monotonic_ms() + ms);
    hocket__keeper_unlock(q);
}

static int write_once(struct hocket__keeper *k, struct hocket__str work, bool sync)
{
    int rc = k->ops->write(k, work, sync);
    if (work.n > 0) /* else it may have had nothing to ask */
        hocket__leases_heard(k, rc);
    return rc;
}

/* What was refused is told before the commits that it spoils, which wait for the memory to do so. */
static int tell_refusals(struct hocket__keeper_store *q)
{
    int rc;
    while ((rc = hocket__keeper_tell_refusals(q)) < 0 && !atomic_load(&q->k->closing)) {
        tell_paused(q, true);
        pause_for(q, RETRY_MIN_MS);
    }
    return rc;
}

/* Tries until it is written, or will not be: while it fails, with growing gaps; at the end a few times more.
 * The work is written again as a whole, since nothing of a transaction that failed is there.
 * Meanwhile questions wait, too: an answer could show a run without what was said about it before. Leases do not: what fails
 * may be one run's, whose row somebody has locked. */
static int write_all(struct hocket__keeper_store *q, struct hocket__str work, bool sync)
{
    int gap = RETRY_MIN_MS, last_tries = CLOSING_TRIES, rc;
    int64_t end = 0;
    while ((rc = write_once(q->k, work, sync)) < 0 && !is_fatal(q->k->error)) {
        bool closing = atomic_load(&q->k->closing);
        tell_paused(q, true);
        if (closing && end == 0)
            end = hocket__monotonic_ms() + CLOSING_MS;
        if (closing && (--last_tries == 0 || hocket__monotonic_ms() >= end))
            return rc;
        q->k->leases.writing = true;
        hocket__leases_look(q->k);
        q->k->leases.writing = false;
        pause_for(q, with_jitter(q, gap));
        if (closing)
            uv_sleep(RETRY_MIN_MS);
        gap = gap * 2 < RETRY_MAX_MS ? gap * 2 : RETRY_MAX_MS;
    }
    if (rc == 0)
        rc = tell_refusals(q);
    tell_paused(q, false);
    if (rc == 0)
        hocket__keeper_forget(q->k);
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

static int answer(struct hocket__keeper *k, struct hocket__store_call *c)
{
    if (!c->rows.a)
        hocket__buf_init(&c->rows, &hocket__malloc, 0);
    c->status = 0;
    if (is_given_up(c))
        return 0;
    int rc = k->ops->answer(k, c);
    hocket__leases_heard(k, rc);
    if (rc == 0 && c->rows.status < 0 && c->status == 0)
        c->status = hocket__error_nomem(&c->error);
    return rc;
}

/* A question that fails is that question's failure; only a file that makes no sense any more breaks
 * the store. */
static void answer_all(struct hocket__keeper_store *q, struct hocket__list *questions)
{
    while (!hocket__list_empty(questions)) {
        struct hocket__list *l = questions->next;
        struct hocket__store_call *c =
            hocket__container_of(l, struct hocket__store_call, backend_link);
        hocket__list_del(l);
        int rc = answer(q->k, c);
        if (rc < 0) {
            hocket__buf_reset(&c->rows);
            c->status = rc;
            c->error = *q->k->error;
            c->more = false;
        }
        if (rc == HOCKET_EPARSE)
            tell_broken(q, q->k->error);
        tell_answer(q, c);
        hocket__leases_look(
            q->k); /* each may have waited long for a row that somebody has locked */
    }
}

void hocket__keeper_fail_all(
    struct hocket__keeper_store *q, struct hocket__list *questions, const struct hocket_error *err)
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

static void look_for_others(struct hocket__keeper_store *q)
{
    int rc = q->k->ops->look(q->k);
    hocket__leases_heard(q->k, rc);
    if (rc != 1)
        return;
    hocket__keeper_lock(q);
    q->changed = true;
    hocket__keeper_unlock(q);
    uv_async_send(&q->out);
}

/* After what was written is told: nobody waits for it. Of this store's own, too: who hands a run in may be who works. */
static void give_hint(struct hocket__keeper_store *q, bool watching)
{
    if (!q->k->hint)
        return;
    q->k->hint = false;
    if (watching) {
        hocket__keeper_lock(q);
        q->changed = true;
        hocket__keeper_unlock(q);
        uv_async_send(&q->out);
    }
    if (q->k->ops->hint)
        q->k->ops->hint(q->k);
}

/* What nobody waits for. Failures are seen again when somebody does. */
static void do_chores(struct hocket__keeper_store *q, bool watching)
{
    struct hocket__keeper *k = q->k;
    int64_t now = hocket__monotonic_ms();
    if (watching && now >= k->next_watch_ms) {
        look_for_others(q);
        k->next_watch_ms = now + WATCH_MS;
    }
    hocket__leases_look(k);
    if (k->more_to_sweep && k->next_sweep_ms > now + SWEEP_GAP_MS)
        k->next_sweep_ms = now + SWEEP_GAP_MS;
    if (now >= k->next_sweep_ms) {
        int rc = k->ops->sweep(k);
        hocket__leases_heard(k, rc);
        k->next_sweep_ms = now + (rc == 0 && k->more_to_sweep ? SWEEP_GAP_MS : SWEEP_MS);
        if (rc == HOCKET_EPARSE)
            tell_broken(q, k->error);
    }
}

/* What the thread does between two looks at what came. `work` and q->incoming change places, so
 * that neither side copies or allocates. */
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

/* Until there is something to do. More is likely to come soon: so it looks by itself as long as that may linger, and nobody
 * has to wake it only to hand something over that nobody waits for. Then it is asleep, and costs nothing. */
static void wait_for_work(struct hocket__keeper_store *q)
{
    int64_t now = hocket__monotonic_ms(), awake = now + q->k->o.linger_ms;
    for (int64_t due; (due = due_ms(q)) > now; now = hocket__monotonic_ms()) {
        q->asleep = now >= awake;
        wait_until(q, q->asleep || due < awake ? due : awake);
    }
    q->asleep = false;
}

/* What is handed over goes to the thread as a whole: its memory is taken, and given back empty. */
static void take_round(struct hocket__keeper_store *q, struct round *r)
{
    hocket__keeper_lock(q);
    wait_for_work(q);
    struct hocket__buf empty = r->work;
    r->work = q->incoming;
    q->incoming = empty;
    r->seq = q->incoming_seq;
    r->sync = q->wanted[HOCKET__STORE_SYNCED] > q->synced;
    q->k->ahead_to = q->ahead_on && r->work.len > 0 ? r->seq : 0;
    r->closing = q->closing;
    r->watching = q->watching;
    q->k->pending = q->incoming_seq - q->written;
    move_list(&q->questions, &r->questions);
    hocket__keeper_unlock(q);
}

static bool serve(struct hocket__keeper_store *q, struct round *r)
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
    return !q->k->gone;
}

/* Questions come, or it is to be closed, or opened again. */
static bool take_broken_round(struct hocket__keeper_store *q, struct round *r)
{
    hocket__keeper_lock(q);
    while (!q->closing && !q->again && hocket__list_empty(&q->questions))
        wait_until(q, hocket__monotonic_ms() + SWEEP_MS);
    r->closing = q->closing;
    bool again = q->again && !q->closing;
    q->again = false;
    if (!again) {
        move_list(&q->questions, &r->questions);
        hocket__buf_reset(&q->incoming);
    }
    hocket__keeper_unlock(q);
    return !again;
}

/* Nothing more is kept: everything ends with the reason, until the store is closed, or somebody needs one that could not be
 * opened. Whether it is that. */
static bool be_broken(
    struct hocket__keeper_store *q, struct round *r, const struct hocket_error *err)
{
    struct hocket_error error = *err;
    error.retryable = false; /* whoever waits for a store that is away would wait for ever */
    tell_broken(q, &error);
    hocket__keeper_fail_all(q, &r->questions, &error);
    while (!r->closing && take_broken_round(q, r))
        hocket__keeper_fail_all(q, &r->questions, &error);
    return !r->closing;
}

static void keep(struct hocket__keeper_store *q, struct round *r)
{
    struct hocket__keeper *k = q->k;
    bool ok = true;
    while (ok && !r->closing) {
        take_round(q, r);
        ok = serve(q, r);
    }
    if (!ok) {
        be_broken(q, r, k->error);
        return;
    }
    int64_t end = hocket__monotonic_ms() + SWEEP_END_MS;
    while (k->more_to_sweep && hocket__monotonic_ms() < end && k->ops->sweep(k) == 0)
        ;
    k->ops->release(k);
}

/* A run opens its store when it begins and sends its first request right after that: what it takes to open it comes
 * behind the request, unless somebody waits for it. */
static void wait_to_open(struct hocket__keeper_store *q)
{
    int64_t end = hocket__monotonic_ms() + OPEN_LATE_MS;
    hocket__keeper_lock(q);
    while (!q->closing && !is_wanted(q) && hocket__list_empty(&q->questions)
           && hocket__monotonic_ms() < end)
        wait_until(q, end);
    hocket__keeper_unlock(q);
}

/* As a write does, where it is to be patient. */
static int open_database(struct hocket__keeper_store *q)
{
    struct hocket__keeper *k = q->k;
    int gap = OPEN_MIN_MS, rc;
    while ((rc = k->ops->open(k)) < 0 && k->o.patient && !is_fatal(k->error)
           && !atomic_load(&k->closing)) {
        tell_paused(q, true);
        pause_for(q, with_jitter(q, gap));
        gap = gap * 2 < RETRY_MAX_MS ? gap * 2 : RETRY_MAX_MS;
    }
    if (rc == 0)
        tell_paused(q, false);
    return rc;
}

/* False: it is closed without. */
static bool open_at_last(struct hocket__keeper_store *q, struct round *r)
{
    while (open_database(q) < 0)
        if (!be_broken(q, r, q->k->error))
            return false;
    return true;
}

void *hocket__keeper_work(void *ud)
{
    struct hocket__keeper_store *q = ud;
    struct hocket__keeper *k = q->k;
    struct round r = { .closing = false };
    hocket__buf_init(&r.work, &hocket__malloc, 0);
    hocket__list_init(&r.questions);
    wait_to_open(q);
    hocket__self_init(&k->self);
    if (open_at_last(q, &r)) {
        hocket__leases_init(k);
        k->next_sweep_ms = hocket__monotonic_ms() + WATCH_MS;
        hocket__keeper_lock(q);
        q->opened = true;
        if (k->denied)
            hocket__error(&q->denied, HOCKET_EDENIED, "%s", k->denied);
        hocket__keeper_unlock(q);
        uv_async_send(&q->out);
        keep(q, &r);
        k->ops->close(k);
    }
    hocket__claims_free(k);
    hocket__buf_deinit(&r.work);
    hocket__keeper_lock(q);
    q->ended = true;
    hocket__keeper_unlock(q);
    uv_async_send(&q->out);
    return NULL;
}
