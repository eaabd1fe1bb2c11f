/* The end of a durable run: writes the result to its row and releases its claim. The run's end is held back until the store has
 * confirmed or refused it.
 *
 * Workers share the runs of a pool: one may end such a run half done, and another one continues it.
 *
 *     drained              ──> calls that are under way end, the run begins no new ones; then it is queued again
 *     end of a pool's run  ──> its result is stored as a file of its own, for those who wait for it
 *
 * When a message cancels a run (inbox.c), the sender has already cancelled the runs that it had called and submitted
 * (internal/run/cancel.lua). Between that and its end the run may have submitted more.
 *
 *     its last fiber has ended ──> a fiber outside of the run cancels its calls again ──> its end is stored, and reported
 *
 * A process that ends in between leaves the row and the message as they were, so the next process does the same. */
#include "host/run/stored.h"

#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "core/log/log.h"

#define NANO 1e9

/* ---- Of runs that workers share -------------------------------------------------------------------------------------- */

/* The result of a run that has none: it was cancelled before it had one. */
static void write_result(const struct hocket__run *r, struct hocket__buf *b)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "run", r->name);
    hocket__jw_key_bool(b, "ok", r->status == 0);
    hocket__jw_key_cstring(b, "text", "");
    hocket__jw_key_open(b, "error", '{');
    hocket__jw_key_cstring(b, "code", hocket_status_word(r->status));
    hocket__jw_key_cstring(b, "message", r->err.message);
    hocket__jw_close(b, '}');
    hocket__jw_close(b, '}');
}

/* Under the claim's number, since files belong to nobody's claim: internal/run/ended.lua. */
static void keep_result(struct hocket__stored *s)
{
    const struct hocket__run *r = s->run;
    struct hocket__buf made;
    char path[32];
    snprintf(path, sizeof(path), HOCKET__STORE_RESULT, s->claim.fence);
    hocket__buf_init(&made, &r->host->alloc, 0);
    if (r->json.len <= 2)
        write_result(r, &made);
    if (made.status == 0)
        hocket__stored_file(
            s, hocket__cstr(path), hocket__buf_str(made.len > 0 ? &made : &r->json));
    hocket__buf_deinit(&made);
}

/* Sets further columns of its row at its end in this process: stores its result; queues a run again that was parked in the
 * middle. `over`: it has ended for good. */
static void shared_end(struct hocket__stored *s, bool over, struct hocket__buf *waiting,
    struct hocket__store_run *row, unsigned *set)
{
    const struct hocket_error *why =
        s->run->kept ? hocket__log_error(hocket__kept_log(s->run->kept)) : NULL;
    if (s->pool.len == 0)
        return;
    if (!over && s->origin == HOCKET__ORIGIN_BY_HAND && !hocket__run_phase_is_live(s->phase)) {
        hocket__pooled_restore(s, row, set);
        return;
    }
    if (over)
        keep_result(s);
    else if (why && s->run->host->life < HOCKET__HOST_CLOSING)
        hocket__pooled_put_off(s, why, waiting, row, set);
    if (over || why || s->state == HOCKET__STORE_PARKED || s->state == HOCKET__STORE_WAITING)
        return;
    row->state = HOCKET__STORE_QUEUED;
    *set |= HOCKET__STORE_SET_STATE;
}

/* ---- What its row says ------------------------------------------------------------------------ */

static double number(struct hocket__str object, const char *name)
{
    struct hocket__str v;
    struct hocket__json reader;
    if (!hocket__json_find(object, name, &v))
        return -1;
    hocket__json_init(&reader, v);
    return hocket__json_next(&reader) == HOCKET__JSON_NUMBER ? hocket__json_double(&reader) : -1;
}

/* The usage in the run's result. */
static void take_usage(const struct hocket__run *r, struct hocket__store_run *row)
{
    struct hocket__str usage, v;
    row->cost = row->tokens = -1;
    if (!hocket__json_find(hocket__buf_str(&r->json), "usage", &usage))
        return;
    double cost = number(usage, "cost"), in = number(usage, "input"), out = number(usage, "output");
    row->cost = cost < 0 ? -1 : (int64_t) (cost * NANO + 0.5);
    row->tokens = in < 0 || out < 0 ? -1 : (int64_t) (in + out);
    row->simulated =
        hocket__json_find(hocket__buf_str(&r->json), "simulated", &v) && hocket__str_is(v, "true");
}

static enum hocket__store_state state_of(const struct hocket__run *r)
{
    return r->status == 0                   ? HOCKET__STORE_DONE
           : r->status == HOCKET_ECANCELLED ? HOCKET__STORE_CANCELLED
                                            : HOCKET__STORE_FAILED;
}

/* The run has no fiber meanwhile; its end waits for the store. */
static void hold_end(struct hocket__stored *s)
{
    hocket__run_phase_on(&s->phase, HOCKET__RUN_HOLD);
    s->run->host->rt->n_outside++;
}

static void let_go(struct hocket__stored *s)
{
    s->run->host->rt->n_outside -= hocket__run_phase_is_held(s->phase);
    hocket__run_phase_on(&s->phase, HOCKET__RUN_LET_GO);
}

/* Whether a run continues without a store that refuses it for this reason: nobody has named the store, and it has nothing of the run. */
static bool may_lack(const struct hocket__stored *s, int status)
{
    return s->run->host->store_optional && status == HOCKET_EDENIED
           && !hocket__run_claim_is_known(s->claim_state);
}

static void let_end(struct hocket__stored *s, int status, const struct hocket_error *err)
{
    struct hocket__run *r = s->run;
    bool lost = status < 0 && !hocket__stored_is_off(s), parked = hocket__stored_is_parked(s);
    let_go(s);
    if (lost && !parked && may_lack(s, status)) {
        hocket__host_warn_store(r->host, err);
    } else if (lost && (r->status == 0 || parked)) {
        struct hocket_error why = *err;
        if (parked)
            hocket__error_because(&why, err, "the run could not be kept");
        hocket__run_fail_late(r, &why);
    }
    hocket__run_report_soon(r);
}

static void on_open(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    let_end(hocket__container_of(w, struct hocket__stored, opening), status, err);
}

/* An open store is enough: waiting for more, such as room on a full disk, may take for ever. A run that is parked gets
 * that error, too. */
static void store_opened(struct hocket__stored *s)
{
    if (!hocket__run_phase_is_held(s->phase) || s->opening.no_pause)
        return;
    hocket__store_forget(&s->opening);
    let_end(s, 0, NULL);
}

/* It ended before the store was open; or it is parked, and the store has nothing of it. */
static void hold_until_known(struct hocket__stored *s)
{
    bool nowhere = hocket__stored_is_parked(s) && !hocket__store_has(s->store, s->put);
    if ((s->run->host->store_ready && !nowhere) || s->run->host->life >= HOCKET__HOST_CLOSING)
        return;
    hold_end(s);
    s->opening.done = on_open;
    s->opening.no_pause = nowhere;
    hocket__store_commit(s->store, &s->claim, HOCKET__STORE_WRITTEN, &s->opening);
}

/* A run that ends with its host, or is parked, is not over: it can be resumed. A run whose log could not be written can be
 * resumed from the part that is stored, unless it was to be cancelled, maybe in the middle of its replay. */
static bool is_over(struct hocket__stored *s)
{
    struct hocket__run *r = s->run;
    if (hocket__stored_is_parked(s) || r->host->life >= HOCKET__HOST_CLOSING)
        return false;
    if (!hocket__run_log_failed(r))
        return true;
    if (s->cancel)
        r->status = hocket__error(&r->err, HOCKET_ECANCELLED, "cancelled");
    return s->cancel;
}

/* A replay that did not reach its end has counted less than the row already has. */
static bool is_counted(
    const struct hocket__stored *s, const struct hocket__store_run *row, bool over)
{
    bool whole = hocket__run_phase_is_live(s->phase) || (over && !hocket__run_log_failed(s->run));
    return whole && (over || row->cost >= 0 || row->tokens >= 0);
}

/* Writes to its row how it ended, if the claim is still ours. */
static void write_end(struct hocket__stored *s)
{
    struct hocket__run *r = s->run;
    struct hocket__store_run row = { 0 };
    struct hocket__buf waiting = hocket__buf(&r->host->alloc, 0);
    take_usage(r, &row);
    bool over = is_over(s);
    unsigned set = is_counted(s, &row, over) ? HOCKET__STORE_SET_USAGE : 0;
    if (over) {
        row.state = state_of(r);
        set |= HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    }
    shared_end(s, over, &waiting, &row, &set);
    if (set)
        hocket__store_update(s->store, &s->claim, set, &row);
    hocket__buf_deinit(&waiting);
    hocket__stored_give_back(s);
    if (over && s->pool.len > 0) /* the store reports a process's own writes only to others */
        hocket__inbox_ask(r->host);
}

static void end(struct hocket__stored *s)
{
    bool ours = hocket__stored_is_ours(s);
    if (s->phase == HOCKET__RUN_RETELLING)
        hocket__retold_end(s);
    if (ours)
        write_end(s);
    else
        hocket__stored_give_back(s);
    hocket__run_phase_on(&s->phase, HOCKET__RUN_END);
    if (ours)
        hold_until_known(s);
}

/* ---- It was cancelled, and its log does not say so ------------------------------------------------- */

static void on_done(struct hocket__fiber *f, void *ud)
{
    struct hocket__stored *s = ud;
    (void) f; /* the log has its errors */
    s->ending = 0;
    end(s);
    hocket__run_mark_due(s->run);
}

/* Protected: require("hocket.internal.host.entry").end_called(id, calls_alone) in a fiber that is no part of the run. */
static int begin_protected(lua_State *L)
{
    struct hocket__stored *s = lua_touserdata(L, 1);
    struct hocket__runtime *rt = s->run->host->rt;
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, "end_called");
    lua_pushstring(L, s->claim.id);
    lua_pushboolean(L, s->cancel == HOCKET__CANCEL_HERE);
    struct hocket__fiber *f = hocket__fiber_spawn_outside(L, rt, 2, NULL);
    f->on_done = on_done;
    f->on_done_ud = s;
    s->ending = f->id;
    return 0;
}

/* False: nothing is left to be ended, and its end can be kept. */
static bool end_called(struct hocket__stored *s)
{
    const struct hocket_host *h = s->run->host;
    struct hocket_error err;
    if (!s->cancel || !hocket__stored_is_ours(s) || hocket__stored_is_parked(s)
        || h->life >= HOCKET__HOST_CLOSING)
        return false;
    if (hocket__pcall(h->L, begin_protected, s, &err) == 0)
        return true;
    hocket__runtime_log(h->rt, HOCKET_LOG_WARN,
        "run %s: what it has called last is not cancelled: %s", s->run->name, err.message);
    return false;
}

static void drop_ending(struct hocket__stored *s)
{
    struct hocket__fiber *f = hocket__map_get(&s->run->host->rt->fibers, s->ending);
    s->ending = 0;
    if (!f)
        return;
    f->on_done = NULL;
    hocket__fiber_cancel(f);
}

void hocket__stored_end(struct hocket__stored *s)
{
    if (!end_called(s))
        end(s);
}

/* Its end is not to be reported any more. */
static void drop_end(struct hocket__stored *s)
{
    drop_ending(s);
    if (!hocket__run_phase_is_held(s->phase))
        return;
    hocket__store_forget(&s->opening);
    let_go(s);
}

/* ---- Drains ---------------------------------------------------------------------------------------- */

/* Whether it can be parked now, or be left or drained. */
static bool may_be_parked(const struct hocket__stored *s)
{
    return s && s->run->kept && s->phase != HOCKET__RUN_RETELLING && !hocket__stored_is_off(s);
}

bool hocket__pooled_park_drained(struct hocket__stored *s)
{
    if (!s->draining || hocket__stored_is_parked(s) || s->run->ended
        || hocket__kept_is_at_work(s->run->kept))
        return false;
    return hocket_run_park(s->run->host, s->run->id) == 0;
}

int hocket_run_drain(hocket_host *h, uint64_t id)
{
    struct hocket__run *r = h ? hocket__run_find(h, id) : NULL;
    if (!r || !may_be_parked(r->stored))
        return hocket_run_park(h, id);
    if (!r->stored->draining) {
        r->stored->draining = true;
        hocket__kept_drain(r->kept);
    }
    hocket__waiting_look_soon(r->stored);
    return 0;
}

/* A run that is suspended or still being read: the store has all of it. */
static int park_unread(hocket_host *h, uint64_t id)
{
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id && hocket__resume_park(r))
            return 0;
    }
    return HOCKET_ENOTFOUND;
}

int hocket_run_park(hocket_host *h, uint64_t id)
{
    struct hocket__run *r = h ? hocket__run_find(h, id) : NULL;
    if (!r)
        return h ? park_unread(h, id) : HOCKET_EINVAL;
    if (!may_be_parked(r->stored))
        return HOCKET_ESTATE;
    hocket__waiting_state(r->stored);
    hocket__run_wish_park(r, hocket__waiting_until(r->stored));
    hocket__run_phase_on(&r->stored->phase, HOCKET__RUN_PARK);
    hocket__kept_leave(r->kept);
    struct hocket__fiber *f = hocket__map_get(&h->rt->fibers, r->fiber);
    if (f)
        hocket__fiber_cancel(f);
    return 0;
}

int hocket_run_leave(hocket_host *h, uint64_t id)
{
    struct hocket__run *r = h ? hocket__run_find(h, id) : NULL;
    if (!r || !may_be_parked(r->stored))
        return hocket_run_park(h, id);
    r->stored->parks = HOCKET__PARKS_FOR_INPUT;
    hocket__waiting_look_soon(r->stored);
    return 0;
}

/* It is being read or suspended, or it replays, and its end can be kept. */
static bool is_early(const struct hocket__run *r)
{
    const struct hocket__stored *s = r->stored;
    if (!s || r->ended || (r->resuming && r->resuming->replay))
        return false;
    return r->resuming || (hocket__run_phase_is_replaying(s->phase) && hocket__stored_is_ours(s));
}

bool hocket__run_cancel_fiber(struct hocket__run *r)
{
    struct hocket__fiber *f = hocket__map_get(&r->host->rt->fibers, r->fiber);
    return f && hocket__fiber_cancel(f);
}

static bool cancel(struct hocket__run *r)
{
    if (is_early(r) && hocket__inbox_cancel(r->stored))
        return true;
    return hocket__resume_cancel(r) || hocket__run_cancel_fiber(r);
}

int hocket_run_cancel(hocket_host *h, uint64_t id)
{
    if (!h)
        return HOCKET_EINVAL;
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__run *r = hocket__container_of(l, struct hocket__run, link);
        if (r->id == id && cancel(r))
            return 0;
    }
    return HOCKET_ENOTFOUND;
}

/* ---- Its store is lost --------------------------------------------------------------------------- */

/* Ends it, even while it is suspended or still being read: nothing that it does is stored any more. */
static void fail(struct hocket__stored *s, const struct hocket_error *why)
{
    if (s->run->kept)
        hocket__kept_fail(s->run->kept, why);
    else if (s->run->resuming)
        hocket__resume_end(s->run, why->status, why);
}

/* It may already wait for an answer that would come through the store. */
static void do_without(struct hocket__stored *s)
{
    hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_WITHOUT);
    if (s->run->kept)
        hocket__waiting_look_soon(s);
}

/* The store broke: the run continues without it if the host allows that, and ends otherwise. */
static void lose_store(struct hocket__stored *s, const struct hocket_error *err)
{
    if (hocket__host_may_do_without(s->run->host)) {
        do_without(s);
        return;
    }
    hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_BREAK);
    fail(s, err);
}

static struct hocket__stored *stored_of(struct hocket__list *l)
{
    return hocket__container_of(l, struct hocket__run, link)->stored;
}

/* The claim is lost: another process has the run, so this one must stop. Or the store cannot keep the run at all (`why`): it
 * continues without the store if the host allows that and no effect began under the claim. A run that is not ours (only
 * replayed, or not claimed yet) loses nothing: the news is about an earlier claim. */
static void lose(struct hocket__stored *s, const struct hocket_error *why)
{
    struct hocket_error err = *why;
    bool without = may_lack(s, err.status);
    if (!hocket__stored_is_ours(s))
        return;
    if (err.status == HOCKET_ESTATE)
        hocket__error(&err, HOCKET_ESTATE,
            "another process has taken the run over: what is done here is not kept any more");
    hocket__run_claim_on(&s->claim_state, HOCKET__CLAIM_REFUSED);
    if (without) {
        hocket__inbox_end(s);
        do_without(s);
        hocket__host_warn_store(s->run->host, why);
    } else {
        fail(s, &err);
    }
}

static void on_news(
    void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err)
{
    struct hocket_host *h = ud;
    bool told = news != HOCKET__STORE_BROKEN || hocket__host_may_do_without(h), late = false;
    bool ready =
        news == HOCKET__STORE_READY && !err; /* else the end of a run waits for its refusal */
    h->store_ready |= ready;
    if (news == HOCKET__STORE_BROKEN && told)
        hocket__host_warn_store(h, err);
    for (struct hocket__list *l = h->runs.next; l != &h->runs; l = l->next) {
        struct hocket__stored *s = stored_of(l);
        if (!s)
            continue;
        bool hears = !s->run->ended || hocket__stored_is_held(s);
        told |= hears;
        if (ready)
            store_opened(s);
        if (news == HOCKET__STORE_BROKEN)
            lose_store(s, err);
        if (news == HOCKET__STORE_REFUSED && strcmp(s->claim.id, id) == 0) {
            late = !hears;
            lose(s, err);
        }
    }
    if (news == HOCKET__STORE_CHANGED)
        hocket__inbox_ask(h);
    if (!told || late) /* a run that is over cannot fail any more */
        hocket__runtime_store_lost(h->rt, err);
}

void hocket__host_watch_store(struct hocket_host *h)
{
    hocket__runtime_store_news(h->rt, on_news, h);
}

void hocket__stored_free(struct hocket__stored *s)
{
    if (!s)
        return;
    struct hocket__deadlines *deadlines = &s->run->host->rt->deadlines;
    if (s->call)
        hocket__store_cancel(s->store, s->call);
    hocket__deadline_clear(deadlines, &s->later);
    hocket__deadlines_leave(deadlines);
    hocket__inbox_end(s);
    hocket__buf_deinit(&s->pool);
    drop_end(s);
    hocket__list_del(&s->idle);
    hocket__retold_free(s);
    hocket__buf_deinit(&s->fork);
    hocket__buf_deinit(&s->consent);
    hocket__waiting_free(s);
    hocket__suspended_free(s);
    hocket__free(&s->run->host->alloc, s, sizeof(*s));
}
