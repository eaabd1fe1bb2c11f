/* The end of a run of the store: its row says what came of it, its claim is given back. Where nobody knows yet whether it could be
 * kept, its end is held. */
#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "host/run/stored.h"

#define NANO 1e9

static double number(struct hocket__str object, const char *name)
{
    struct hocket__str v;
    struct hocket__json reader;
    if (!hocket__json_find(object, name, &v))
        return -1;
    hocket__json_init(&reader, v);
    return hocket__json_next(&reader) == HOCKET__JSON_NUMBER ? hocket__json_double(&reader) : -1;
}

/* What the run's result says that it has used. */
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

bool hocket__stored_is_held(const struct hocket__stored *s)
{
    return s && (hocket__run_phase_is_held(s->phase) || s->ending)
           && s->run->host->life < HOCKET__HOST_CLOSING;
}

/* Meanwhile no fiber of the run is there; whoever waits for its end waits for the store. */
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

static void let_end(struct hocket__stored *s, int status, const struct hocket_error *err)
{
    struct hocket__run *r = s->run;
    bool lost = status < 0 && !hocket__stored_is_off(s), parked = hocket__stored_is_parked(s);
    let_go(s);
    if (lost && !parked && hocket__stored_may_lack(s, status)) {
        hocket__host_warn_store(r->host, err);
    } else if (lost && (r->status == 0 || parked)) {
        struct hocket_error why = *err;
        if (parked)
            hocket__error(&why, status, "the run could not be kept: %s", err->message);
        hocket__run_fail_late(r, &why);
    }
    hocket__run_mark_due(r);
    r->host->rt->undelivered = true; /* no fiber has run that would lead to it */
    hocket__fibers_settle(r->host->rt);
}

static void on_open(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    let_end(hocket__container_of(w, struct hocket__stored, opening), status, err);
}

/* That it is open is enough: what it waits for then, a disk that is full, may take for ever. One that is put away hears
 * of that, too. */
void hocket__stored_opened(struct hocket__stored *s)
{
    if (!hocket__run_phase_is_held(s->phase) || s->opening.no_pause)
        return;
    hocket__store_forget(&s->opening);
    let_end(s, 0, NULL);
}

void hocket__stored_drop_end(struct hocket__stored *s)
{
    if (!hocket__run_phase_is_held(s->phase))
        return;
    hocket__store_forget(&s->opening);
    let_go(s);
}

/* It was done before anybody knew whether its store can be used; or is to be gone on with, and the store has nothing of it. */
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

/* A run that ends with its host, or is parked, is not over: it can be resumed. So can one whose log could not be
 * written, from what there is of it; but for one that was to be cancelled, maybe in the middle of its replay. */
static bool is_over(struct hocket__stored *s)
{
    struct hocket__run *r = s->run;
    if (hocket__stored_is_parked(s) || r->host->life >= HOCKET__HOST_CLOSING)
        return false;
    if (!hocket__run_log_failed(r))
        return true;
    if (s->cancel_heard)
        r->status = hocket__error(&r->err, HOCKET_ECANCELLED, "cancelled");
    return s->cancel_heard;
}

/* What was counted in a replay that did not come to its end is less than what its row says already. */
static bool is_counted(
    const struct hocket__stored *s, const struct hocket__store_run *row, bool over)
{
    bool whole = hocket__run_phase_is_live(s->phase) || (over && !hocket__run_log_failed(s->run));
    return whole && (over || row->cost >= 0 || row->tokens >= 0);
}

/* Its row says how it ended, where it is still ours. */
static void write_end(struct hocket__stored *s)
{
    struct hocket__run *r = s->run;
    struct hocket__store_run row = { 0 };
    struct hocket__buf waiting;
    hocket__buf_init(&waiting, &r->host->alloc, 0);
    take_usage(r, &row);
    bool over = is_over(s);
    unsigned set = is_counted(s, &row, over) ? HOCKET__STORE_SET_USAGE : 0;
    if (over) {
        row.state = state_of(r);
        set |= HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    }
    hocket__shared_end(s, over, &waiting, &row, &set);
    if (set)
        hocket__store_update(s->store, &s->claim, set, &row);
    hocket__buf_deinit(&waiting);
    hocket__stored_give_back(s);
    if (over && s->pool.len > 0) /* what a process writes is news for others alone */
        hocket__hearing_ask(r->host);
}

void hocket__stored_end(struct hocket__stored *s)
{
    bool ours = hocket__stored_is_ours(s);
    if (s->phase == HOCKET__RUN_RETELLING)
        hocket__told_end(s);
    if (ours)
        write_end(s);
    else
        hocket__stored_give_back(s);
    hocket__run_phase_on(&s->phase, HOCKET__RUN_END);
    if (ours)
        hold_until_known(s);
}
