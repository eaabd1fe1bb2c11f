/* The front of every store: turns, waits, calls.
 *
 * Nothing here waits, and nothing is done at once: what is handed over, asked or waited for in a
 * turn of the loop goes to the backend together when the turn is over (on_turn). So a run that
 * appends ten entries costs one batch, and no callback comes before the function that asked for it
 * has returned. Who waits is in waits.c, questions and their answers in calls.c.
 *
 * `handed`, `written` and `synced` count bytes of batches since the store was opened: a wait is due
 * when what was handed over before it lies below one of the other two. A store that breaks stays
 * broken: what could not be kept is not forgotten by going on. But one that could not be opened has kept nothing, and is opened
 * again when it is needed. Where only memory is out nothing breaks: what could not be handed
 * to the backend is handed over again, and what comes meanwhile waits behind it.
 *
 * Lists: `waits` in the order of their commits; `calls` that the backend has not seen; `asked` that
 * it has, and owns until it answers. */
#include "store/front/front_impl.h"

#include "os/clock.h"

#define MAX_PENDING ((size_t) 64 * 1024 * 1024)
#define LEASE_MS    60000
#define LINGER_MS   10
#define MEND_SHARE                                                                                 \
    3 /* what the last try to open it took, so many times over there is no other one */
#define AGAIN_MS 20 /* until what there was no memory for is handed over again */

static void on_turn(uv_idle_t *turn);
static void close_now(struct hocket__store *s);

void hocket__store_next_turn(struct hocket__store *s)
{
    if (!s->closing)
        uv_idle_start(&s->turn, on_turn);
}

/* The backend keeps the loop alive while somebody waits for it, and at no other time: an open store
 * alone must not keep a program from ending. */
void hocket__front_hold(struct hocket__store *s)
{
    bool on = !hocket__list_empty(&s->waits) || !hocket__list_empty(&s->asked) || s->closing;
    if (on != s->held)
        s->backend->ops->hold(s->backend, s->held = on);
}

static void report(struct hocket__store *s, enum hocket__store_news news, const char *id,
    const struct hocket_error *err)
{
    if (s->o.on_news)
        s->o.on_news(s->o.ud, news, id, err);
}

/* ---- Turns --------------------------------------------------------------------------------- */

/* Told when it changes, whoever it is that cannot go on; err NULL: he can. */
static void set_pause(struct hocket__store *s, unsigned who, const struct hocket_error *err)
{
    bool was = s->paused != 0;
    s->paused = err ? s->paused | who : s->paused & ~who;
    if (err)
        s->pause = *err;
    if (was != (s->paused != 0))
        report(s, err ? HOCKET__STORE_PAUSED : HOCKET__STORE_GOING, NULL, err);
    if (err)
        hocket__front_finish_waits(s);
}

static void on_again(uv_timer_t *again)
{
    hocket__store_next_turn(again->data);
}

static void note_memory(struct hocket__store *s, int rc)
{
    struct hocket_error err;
    if (rc == 0 && !(s->paused & HOCKET__STORE_PAUSE_MEMORY))
        return;
    if (rc < 0 && !s->closing)
        uv_timer_start(&s->again, on_again, AGAIN_MS, 0);
    hocket__error_nomem(&err);
    set_pause(s, HOCKET__STORE_PAUSE_MEMORY, rc < 0 ? &err : NULL);
}

/* 0, or ENOMEM: then it stays where it is. */
static int take_batch(struct hocket__store *s)
{
    int rc = s->batch.len > 0 ? hocket__store_reserve(s, &s->unsent) : 0;
    if (rc < 0 || s->batch.len == 0)
        return rc;
    struct hocket__buf empty = s->unsent;
    s->unsent = s->batch;
    s->unsent_to = s->handed;
    s->batch = empty;
    return 0;
}

/* A backend that works at once reports at once, and the callbacks hand over more writes: those form the next batch, in
 * the other buffer. */
static int submit(struct hocket__store *s)
{
    int rc = s->unsent.len == 0 ? take_batch(s) : 0;
    if (rc == 0 && s->unsent.len > 0 && !s->broken)
        rc = s->backend->ops->submit(s->backend, &s->unsent, s->unsent_to);
    if (rc == 0)
        hocket__buf_reset(&s->unsent);
    note_memory(s, rc);
    return rc;
}

/* Submits writes, then calls. Writes that an earlier turn could not submit form a turn of their own. */
static void hand_on(struct hocket__store *s)
{
    struct hocket__list given;
    bool behind = s->unsent.len > 0;
    hocket__front_take_calls(s, &given);
    int rc = submit(s);
    if (rc == 0 && !behind) {
        hocket__front_want(s);
        hocket__front_give_calls(s, &given);
        return;
    }
    hocket__front_put_back_calls(s, &given);
    if (rc == 0)
        hocket__store_next_turn(s);
}

static void on_turn(uv_idle_t *turn)
{
    struct hocket__store *s = turn->data;
    uv_idle_stop(turn);
    s->in_turn = true;
    if (s->opened) {
        s->opened = false;
        hocket__store_report(s, HOCKET__STORE_READY, NULL, NULL);
    }
    hand_on(s);
    hocket__front_finish_waits(s);
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
    s->broken_ms = hocket__store_wall_ms(&s->o);
    s->error = *err;
    report(s, HOCKET__STORE_BROKEN, NULL, &s->error);
    hocket__store_next_turn(s);
}

/* A file is asked for at once, a server that lets everybody wait only now and then. A clock that was put back keeps nobody from it. */
static bool may_mend(const struct hocket__store *s)
{
    int64_t ms = hocket__store_wall_ms(&s->o) - s->broken_ms;
    return s->broken && !s->ready && !s->closing && s->backend->ops->again
           && (ms < 0 || ms >= MEND_SHARE * (s->broken_ms - s->begun_ms));
}

/* Callers of earlier writes have received the error that they are not saved. */
void hocket__store_reopen(struct hocket__store *s)
{
    if (!s->broken || !may_mend(s))
        return;
    s->broken = false;
    s->owed = 0;
    hocket__buf_reset(&s->batch);
    hocket__buf_reset(&s->unsent);
    hocket__front_forgive_all(s);
    s->written = s->synced = s->handed;
    s->begun_ms = hocket__store_wall_ms(&s->o);
    s->backend->ops->again(s->backend, s->handed);
}

void hocket__store_opened(struct hocket__store *s)
{
    s->opened = true;
    hocket__store_next_turn(s);
}

void hocket__store_report(struct hocket__store *s, enum hocket__store_news news, const char *id,
    const struct hocket_error *err)
{
    switch (news) {
    case HOCKET__STORE_BROKEN: break_store(s, err); return;
    case HOCKET__STORE_PAUSED: set_pause(s, HOCKET__STORE_PAUSE_BACKEND, err); return;
    case HOCKET__STORE_GOING: set_pause(s, HOCKET__STORE_PAUSE_BACKEND, NULL); return;
    default: break;
    }
    s->ready |= news == HOCKET__STORE_READY;
    report(s, news, id, err);
    if (news == HOCKET__STORE_READY)
        hocket__front_finish_waits(s);
}

void hocket__store_refuse(struct hocket__store *s, struct hocket__store_refused *r)
{
    struct hocket__store_refused said = *r; /* who hears it may let go of it */
    if (hocket__front_refuse(s, r))
        report(s, HOCKET__STORE_REFUSED, said.id, &said.error);
}

bool hocket__store_secure(struct hocket__store *s, const struct hocket__store_claim *claim)
{
    struct hocket__store_backend *b = s->backend;
    return b->ops->secure && s->ready && !s->broken && !s->paused && !s->closing
           && !hocket__front_is_refused(s, claim->id)
           && b->ops->secure(b, hocket__buf_str(&s->batch), s->handed);
}

const struct hocket_error *hocket__store_broken(const struct hocket__store *s)
{
    return s->broken ? &s->error : NULL;
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
    return hocket__wall_ms();
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
    s->begun_ms = hocket__store_wall_ms(o);
    uv_idle_init(o->loop, &s->turn);
    uv_timer_init(o->loop, &s->again);
    s->turn.data = s->again.data = s;
    s->open_handles = 2;
    hocket__buf_init(&s->batch, o->alloc, 0);
    hocket__buf_init(&s->unsent, o->alloc, 0);
    hocket__list_init(&s->waits);
    hocket__list_init(&s->calls);
    hocket__list_init(&s->asked);
    hocket__list_init(&s->refused);
    *out = s;
    return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct hocket__store *s = handle->data;
    void (*on_closed)(void *ud) = s->on_closed;
    void *ud = s->ud;
    if (--s->open_handles > 0)
        return;
    hocket__front_forgive_all(s);
    hocket__buf_deinit(&s->batch);
    hocket__buf_deinit(&s->unsent);
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
    hocket__front_end_waits(s);
    hocket__front_end_calls(s);
}

void hocket__store_closed(struct hocket__store *s)
{
    s->backend = NULL;
    end_all(s);
    uv_close((uv_handle_t *) &s->turn, on_handle_closed);
    uv_close((uv_handle_t *) &s->again, on_handle_closed);
}

/* The last batch goes out before the backend is closed, which keeps it before it says that it is
 * closed: a program that ends right after its last event loses nothing. */
static void close_now(struct hocket__store *s)
{
    uv_idle_stop(&s->turn);
    uv_timer_stop(&s->again);
    hand_on(s);
    if (s->unsent.len > 0 || s->batch.len > 0)
        hand_on(s);
    hocket__front_hold(s);
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
