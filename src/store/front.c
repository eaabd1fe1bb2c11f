/* The front of every store: turns, waits, calls.
 *
 * Nothing here waits, and nothing is done at once: what is handed over, asked or waited for in a
 * turn of the loop goes to the backend together when the turn is over (on_turn). So a run that
 * appends ten entries costs one batch, and no callback comes before the function that asked for it
 * has returned.
 *
 * `handed`, `written` and `synced` count bytes of batches since the store was opened: a wait is due
 * when what was handed over before it lies below one of the other two. A store that breaks stays
 * broken: what could not be kept is not forgotten by going on.
 *
 * Lists: `waits` in the order of their commits; `calls` that the backend has not seen; `asked` that
 * it has, and owns until it answers. */
#include "store/store_impl.h"

#include <time.h>

#define MAX_PENDING ((size_t) 64 * 1024 * 1024)
#define LEASE_MS    60000
#define LINGER_MS   10

/* A run that others write now, or whose writes made no sense. */
struct refused {
    struct hocket__list link;
    char id[HOCKET__STORE_ID + 1];
    struct hocket_error error;
};

static void on_turn(uv_idle_t *turn);
static void close_now(struct hocket__store *s);

void hocket__store_next_turn(struct hocket__store *s)
{
    if (!s->closing)
        uv_idle_start(&s->turn, on_turn);
}

/* The backend keeps the loop alive while somebody waits for it, and at no other time: an open store
 * alone must not keep a program from ending. */
static void hold(struct hocket__store *s)
{
    bool on = !hocket__list_empty(&s->waits) || !hocket__list_empty(&s->asked) || s->closing;
    if (on != s->held)
        s->backend->ops->hold(s->backend, s->held = on);
}

/* ---- Refused runs ------------------------------------------------------------------------ */

static struct refused *refused_of(struct hocket__store *s, const char *id)
{
    for (struct hocket__list *l = s->refused.next; l != &s->refused; l = l->next) {
        struct refused *r = hocket__container_of(l, struct refused, link);
        if (memcmp(r->id, id, HOCKET__STORE_ID) == 0)
            return r;
    }
    return NULL;
}

/* The run was claimed anew: what was refused under an older claim is settled. */
static void forgive(struct hocket__store *s, const char *id)
{
    struct refused *r = refused_of(s, id);
    if (!r)
        return;
    hocket__list_del(&r->link);
    hocket__free(s->o.alloc, r, sizeof(*r));
}

/* Out of memory it is not remembered: then the store as a whole is of no use any more. */
static int refuse(struct hocket__store *s, const char *id, const struct hocket_error *err)
{
    if (refused_of(s, id))
        return HOCKET_EEXIST;
    struct refused *r = hocket__zero(s->o.alloc, sizeof(*r));
    if (!r)
        return HOCKET_ENOMEM;
    memcpy(r->id, id, HOCKET__STORE_ID);
    r->error = *err;
    hocket__list_add(&s->refused, &r->link);
    return 0;
}

/* ---- Waits ------------------------------------------------------------------------------- */

void hocket__store_commit(struct hocket__store *s, const struct hocket__store_claim *claim,
    enum hocket__store_kept kept, struct hocket__store_wait *w)
{
    w->seq = s->handed;
    w->kept = kept;
    w->id[0] = 0;
    if (claim)
        memcpy(w->id, claim->id, sizeof(w->id));
    hocket__list_add(&s->waits, &w->link);
    hocket__store_next_turn(s);
}

/* Also for a wait that was never begun, or is over: its link is empty then. */
void hocket__store_forget(struct hocket__store_wait *w)
{
    if (w->link.next)
        hocket__list_del(&w->link);
}

/* Nothing is due before the file is open, also where nothing was handed over: "kept" would be said
 * of a store that may turn out to be no store. */
static bool is_kept(const struct hocket__store *s, const struct hocket__store_wait *w)
{
    return s->ready && w->seq <= (w->kept == HOCKET__STORE_SYNCED ? s->synced : s->written);
}

static bool is_due(const struct hocket__store *s, const struct hocket__store_wait *w)
{
    return s->broken || (s->paused && w->no_pause) || is_kept(s, w);
}

/* Why it ends without having been kept; NULL: it was. */
static const struct hocket_error *reason(
    const struct hocket__store *s, const struct hocket__store_wait *w)
{
    return s->broken ? &s->error : is_kept(s, w) ? NULL : &s->pause;
}

/* A run that was refused fails its own waits; others that were in the same batch are not touched by
 * it. */
static void finish_wait(struct hocket__store *s, struct hocket__store_wait *w)
{
    struct refused *r = w->id[0] ? refused_of(s, w->id) : NULL;
    hocket__list_del(&w->link);
    const struct hocket_error *why = r ? &r->error : reason(s, w);
    w->done(w, why ? why->status : 0, why);
}

/* Those that are due go to a list of their own first: `done` may forget others, and add some. */
static void finish_waits(struct hocket__store *s)
{
    struct hocket__list due;
    hocket__list_init(&due);
    for (struct hocket__list *l = s->waits.next, *next; l != &s->waits; l = next) {
        struct hocket__store_wait *w = hocket__container_of(l, struct hocket__store_wait, link);
        next = l->next;
        if ((w->seq > s->written || !s->ready) && !s->broken && !s->paused)
            break;
        if (is_due(s, w)) {
            hocket__list_del(l);
            hocket__list_add(&due, l);
        }
    }
    while (!hocket__list_empty(&due))
        finish_wait(s, hocket__container_of(due.next, struct hocket__store_wait, link));
    hold(s);
}

void hocket__store_kept(struct hocket__store *s, uint64_t written, uint64_t synced)
{
    s->written = written;
    s->synced = synced;
    finish_waits(s);
}

/* ---- Calls ------------------------------------------------------------------------------- */

static void free_call(struct hocket__store *s, struct hocket__store_call *c)
{
    hocket__list_del(&c->link);
    hocket__buf_deinit(&c->rows);
    hocket__buf_deinit(&c->after);
    hocket__free(s->o.alloc, c, c->size);
}

static void finish_call(
    struct hocket__store *s, struct hocket__store_call *c, int status, const struct hocket_error *e)
{
    struct hocket__store_reply reply = c->reply;
    bool tell = !c->cancelled && reply.done;
    struct hocket_error error;
    if (status < 0)
        error = *e;
    free_call(s, c);
    if (tell)
        reply.done(reply.ud, status, status < 0 ? &error : NULL);
}

static bool is_taking(const struct hocket__store_call *c)
{
    return c->kind == HOCKET__STORE_TAKE || c->kind == HOCKET__STORE_TAKE_NEXT;
}

/* Nobody heard that the run is ours: it is let go, or it would be ours for as long as the store is open. */
static void let_go(struct hocket__store *s, struct hocket__store_call *c)
{
    struct hocket__str rows = hocket__buf_str(&c->rows);
    struct hocket__store_row row;
    if (!c->cancelled || !is_taking(c) || c->status < 0 || hocket__store_unpack(&rows, &row) != 1)
        return;
    struct hocket__store_claim claim = { .fence = row.run.fence };
    memcpy(claim.id, row.run.id, sizeof(claim.id));
    forgive(s, claim.id);
    hocket__store_release(s, &claim);
}

/* 0, or what the reader ended it with.
 * The rows are views into the answer's bytes: good until the reader returns. */
static int hand_rows(struct hocket__store *s, struct hocket__store_call *c)
{
    struct hocket__str rows = hocket__buf_str(&c->rows);
    struct hocket__store_row row;
    int rc = 0;
    while (rc == 0 && !c->cancelled && hocket__store_unpack(&rows, &row) == 1) {
        if (is_taking(c) && c->status == 0)
            forgive(s, row.run.id);
        rc = c->reply.row ? c->reply.row(c->reply.ud, &row) : 0;
    }
    return rc;
}

/* A reader may end with a positive number, which is no error: it has found what it looked for. */
static void stopped(struct hocket__store *s, struct hocket__store_call *c, int rc)
{
    struct hocket_error e;
    if (rc < 0)
        hocket__error(&e, rc, "the reading was ended");
    finish_call(s, c, rc, &e);
}

/* One piece at a time, and the next one is asked for in the next turn: a run of a gigabyte is read
 * with the memory of a piece, and others have their turn between two. */
void hocket__store_answer(struct hocket__store *s, struct hocket__store_call *c)
{
    let_go(s, c);
    int rc = hand_rows(s, c);
    hocket__buf_reset(&c->rows);
    hocket__list_del(&c->link);
    if (rc != 0) {
        stopped(s, c, rc);
    } else if (c->more && !c->cancelled && !s->closing && !s->broken) {
        c->more = false;
        hocket__list_add(&s->calls, &c->link);
        hocket__store_next_turn(s);
    } else {
        if (c->more && c->status == 0)
            c->status = hocket__error(&c->error, HOCKET_ECLOSED, "the store was closed");
        finish_call(s, c, c->status, &c->error);
    }
    hold(s);
}

void hocket__store_enqueue(struct hocket__store *s, struct hocket__store_call *c)
{
    hocket__list_add(&s->calls, &c->link);
    hocket__store_next_turn(s);
}

/* Those that were asked up to now. What is asked meanwhile is asked in the next turn, behind what is handed over meanwhile. */
static void take_calls(struct hocket__store *s, struct hocket__list *given)
{
    hocket__list_init(given);
    while (!hocket__list_empty(&s->calls)) {
        struct hocket__list *l = s->calls.next;
        hocket__list_del(l);
        hocket__list_add(given, l);
    }
}

static void give_calls(struct hocket__store *s, struct hocket__list *given)
{
    while (!hocket__list_empty(given)) {
        struct hocket__list *l = given->next;
        struct hocket__store_call *c = hocket__container_of(l, struct hocket__store_call, link);
        hocket__list_del(l);
        hocket__list_add(&s->asked, l);
        if (s->broken)
            finish_call(s, c, s->error.status, &s->error);
        else
            s->backend->ops->ask(s->backend, c);
    }
}

/* The backend may have it, on another thread: so it is not freed here, and is passed over in
 * silence when it comes back. */
void hocket__store_cancel(struct hocket__store *s, struct hocket__store_call *call)
{
    (void) s;
    call->cancelled = true;
}

static void tell(struct hocket__store *s, enum hocket__store_news news, const char *id,
    const struct hocket_error *err)
{
    if (s->o.on_news)
        s->o.on_news(s->o.ud, news, id, err);
}

/* ---- Turns --------------------------------------------------------------------------------- */

/* A backend that does it at once tells of it at once, and those who hear it hand over more: that is the next batch, with
 * memory of its own. Where there is none, this one's is used again. */
static void submit(struct hocket__store *s)
{
    struct hocket__buf batch = s->batch;
    if (batch.len == 0)
        return;
    hocket__buf_init(&s->batch, batch.a, batch.max);
    if (!s->broken)
        s->backend->ops->submit(s->backend, &batch, s->handed);
    if (s->batch.data) {
        hocket__buf_deinit(&batch);
        return;
    }
    hocket__buf_reset(&batch);
    s->batch = batch;
}

/* What those that wait need most: all that was handed over before the last of them. */
static void want(struct hocket__store *s)
{
    uint64_t seq[2] = { 0, 0 };
    for (struct hocket__list *l = s->waits.prev; l != &s->waits; l = l->prev) {
        struct hocket__store_wait *w = hocket__container_of(l, struct hocket__store_wait, link);
        if (w->seq > seq[w->kept])
            seq[w->kept] = w->seq;
        if (seq[0] && seq[1])
            break;
    }
    if (seq[HOCKET__STORE_WRITTEN] > s->written)
        s->backend->ops->want(s->backend, seq[HOCKET__STORE_WRITTEN], HOCKET__STORE_WRITTEN);
    if (seq[HOCKET__STORE_SYNCED] > s->synced)
        s->backend->ops->want(s->backend, seq[HOCKET__STORE_SYNCED], HOCKET__STORE_SYNCED);
}

/* All that was handed over and asked, in that order. */
static void hand_on(struct hocket__store *s)
{
    struct hocket__list given;
    take_calls(s, &given);
    submit(s);
    want(s);
    give_calls(s, &given);
}

static void on_turn(uv_idle_t *turn)
{
    struct hocket__store *s = turn->data;
    uv_idle_stop(turn);
    s->in_turn = true;
    if (s->opened) {
        s->opened = false;
        hocket__store_tell(s, HOCKET__STORE_READY, NULL, NULL);
    }
    hand_on(s);
    finish_waits(s);
    s->in_turn = false;
    if (s->closing)
        close_now(s);
}

/* ---- News ------------------------------------------------------------------------------------ */

/* What the backend holds it answers itself. */
static void break_store(struct hocket__store *s, const struct hocket_error *err)
{
    if (s->broken)
        return;
    s->broken = true;
    s->error = *err;
    tell(s, HOCKET__STORE_BROKEN, NULL, &s->error);
    hocket__store_next_turn(s);
}

void hocket__store_opened(struct hocket__store *s)
{
    s->opened = true;
    hocket__store_next_turn(s);
}

static void note_pause(
    struct hocket__store *s, enum hocket__store_news news, const struct hocket_error *err)
{
    if (news == HOCKET__STORE_PAUSED)
        s->pause = *err;
    if (news == HOCKET__STORE_PAUSED || news == HOCKET__STORE_GOING)
        s->paused = news == HOCKET__STORE_PAUSED;
}

void hocket__store_tell(struct hocket__store *s, enum hocket__store_news news, const char *id,
    const struct hocket_error *err)
{
    int rc = news == HOCKET__STORE_REFUSED ? refuse(s, id, err) : 0;
    struct hocket_error nomem;
    if (rc == HOCKET_ENOMEM) {
        hocket__error_nomem(&nomem);
        break_store(s, &nomem);
    } else if (news == HOCKET__STORE_BROKEN) {
        break_store(s, err);
    } else if (rc == 0) {
        s->ready |= news == HOCKET__STORE_READY;
        note_pause(s, news, err);
        tell(s, news, id, err);
        if (news == HOCKET__STORE_READY || news == HOCKET__STORE_PAUSED)
            finish_waits(s);
    }
}

bool hocket__store_secure(struct hocket__store *s, const struct hocket__store_claim *claim)
{
    struct hocket__store_backend *b = s->backend;
    return b->ops->secure && s->ready && !s->broken && !s->paused && !s->closing
           && !refused_of(s, claim->id) && b->ops->secure(b, hocket__buf_str(&s->batch), s->handed);
}

bool hocket__store_is_behind(const struct hocket__store *s)
{
    return s->handed > s->written;
}

void hocket__store_watch(struct hocket__store *s, bool on)
{
    int before = s->watchers;
    s->watchers += on ? 1 : -1;
    if (!s->closing && (before > 0) != (s->watchers > 0))
        s->backend->ops->watch(s->backend, s->watchers > 0);
}

/* ---- Life ------------------------------------------------------------------------------------ */

int64_t hocket__store_wall_ms(const struct hocket__store_options *o)
{
    if (o->wall_ms)
        return o->wall_ms(o->ud);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void set_defaults(struct hocket__store_options *o)
{
    if (o->linger_ms == 0)
        o->linger_ms = LINGER_MS;
    if (o->max_pending == 0)
        o->max_pending = MAX_PENDING;
    if (o->lease_ms == 0)
        o->lease_ms = LEASE_MS;
}

int64_t hocket__store_lease_ms(const struct hocket__store *s)
{
    return s->o.lease_ms;
}

int hocket__store_new(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct hocket__store *s = hocket__zero(o->alloc, sizeof(*s));
    if (!s)
        return hocket__error_nomem(err);
    s->o = *o;
    set_defaults(&s->o);
    uv_idle_init(o->loop, &s->turn);
    s->turn.data = s;
    hocket__buf_init(&s->batch, o->alloc, 0);
    hocket__list_init(&s->waits);
    hocket__list_init(&s->calls);
    hocket__list_init(&s->asked);
    hocket__list_init(&s->refused);
    *out = s;
    return 0;
}

static void on_turn_closed(uv_handle_t *handle)
{
    struct hocket__store *s = handle->data;
    void (*on_closed)(void *ud) = s->on_closed;
    void *ud = s->ud;
    while (!hocket__list_empty(&s->refused))
        forgive(s, hocket__container_of(s->refused.next, struct refused, link)->id);
    hocket__buf_deinit(&s->batch);
    hocket__free(s->o.alloc, s, sizeof(*s));
    if (on_closed)
        on_closed(ud);
}

/* Waits end before calls: a wait's callback may still cancel a call, and not the other way round. */
static void end_all(struct hocket__store *s)
{
    struct hocket_error closed;
    hocket__error(&closed, HOCKET_ECLOSED, "the store was closed");
    if (!s->broken)
        s->error = closed;
    s->broken = true;
    while (!hocket__list_empty(&s->waits))
        finish_wait(s, hocket__container_of(s->waits.next, struct hocket__store_wait, link));
    while (!hocket__list_empty(&s->calls))
        finish_call(s, hocket__container_of(s->calls.next, struct hocket__store_call, link),
            s->error.status, &s->error);
}

void hocket__store_closed(struct hocket__store *s)
{
    s->backend = NULL;
    end_all(s);
    uv_close((uv_handle_t *) &s->turn, on_turn_closed);
}

/* The last batch goes out before the backend is closed, which keeps it before it says that it is
 * closed: a program that ends right after its last event loses nothing. */
static void close_now(struct hocket__store *s)
{
    uv_idle_stop(&s->turn);
    hand_on(s);
    hold(s);
    s->backend->ops->close(s->backend);
}

/* A callback of a turn may close the store: the turn goes on to its end. */
void hocket__store_close(struct hocket__store *s, void (*on_closed)(void *ud), void *ud)
{
    s->on_closed = on_closed;
    s->ud = ud;
    s->closing = true;
    if (!s->in_turn)
        close_now(s);
}
