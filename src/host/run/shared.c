/* Runs that workers share: any of them may take such a run, end it half done, and another one goes on.
 *
 *     drained                       ──> what is under way ends, nothing more is begun; then it is queued again
 *     the end of one with a pool    ──> its result is kept as a file of its own, for whoever waits for it
 *
 * How it is cancelled: hearing.c. */
#include "host/run/stored.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "core/log/log.h"

/* ---- Its end -------------------------------------------------------------------------------------- */

/* Of one that has none: it was cancelled before it had any. */
static void write_result(const struct hocket__run *r, struct hocket__buf *b)
{
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "run");
    hocket__jw_cstring(b, r->name);
    hocket__jw_key(b, "ok");
    hocket__jw_bool(b, r->status == 0);
    hocket__jw_key(b, "text");
    hocket__jw_cstring(b, "");
    hocket__jw_key(b, "error");
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "code");
    hocket__jw_cstring(b, hocket_status_word(r->status));
    hocket__jw_key(b, "message");
    hocket__jw_cstring(b, r->err.message);
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

/* A key that is missing here another worker may have, or somebody puts it in place; so is it with trust in the run's code; a store that is away, or is behind, comes
 * back: that is waited for as long as it takes. What is wrong with its log is likely to be wrong everywhere, but for a program
 * of another version: it stays at work, so that those who take it are counted (worker's ATTEMPTS), with pauses the last of
 * which is a lease. */
void hocket__shared_put_off(struct hocket__stored *s, const struct hocket_error *why,
    struct hocket__buf *waiting, struct hocket__store_run *row, unsigned *set)
{
    int64_t lease = hocket__store_lease_ms(s->store), pause = lease / 4;
    bool lacks = why->status == HOCKET_EAUTH || why->status == HOCKET_EDENIED || why->retryable;
    if (!lacks)
        pause = lease >> (s->attempts < 3 ? 2 * (3 - s->attempts) : 0);
    hocket__store_write_why(waiting, why);
    row->state = lacks ? HOCKET__STORE_QUEUED : HOCKET__STORE_RUNNING;
    row->waiting_for = hocket__buf_str(waiting);
    row->pool = hocket__buf_str(&s->pool);
    row->due_ms = hocket__wall_ms() + pause;
    *set |= HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    if (s->pool.len > 0) /* else it stays as it is, and it is due at once */
        *set |= HOCKET__STORE_SET_QUEUE;
}

void hocket__shared_restore(
    const struct hocket__stored *s, struct hocket__store_run *row, unsigned *set)
{
    row->state = s->was;
    row->waiting_for = hocket__buf_str(&s->waits_for);
    *set |= HOCKET__STORE_SET_STATE
            | HOCKET__STORE_SET_WAITING_FOR; /* its pool and its time stand there still */
}

void hocket__shared_end(struct hocket__stored *s, bool over, struct hocket__buf *waiting,
    struct hocket__store_run *row, unsigned *set)
{
    const struct hocket_error *why =
        s->run->kept ? hocket__log_error(hocket__kept_log(s->run->kept)) : NULL;
    if (s->pool.len == 0)
        return;
    if (!over && s->way == HOCKET__WAY_BY_HAND && !hocket__run_phase_is_live(s->phase)) {
        hocket__shared_restore(s, row, set);
        return;
    }
    if (over)
        keep_result(s);
    else if (why && s->run->host->life < HOCKET__HOST_CLOSING)
        hocket__shared_put_off(s, why, waiting, row, set);
    if (over || why || s->state == HOCKET__STORE_PARKED || s->state == HOCKET__STORE_WAITING)
        return;
    row->state = HOCKET__STORE_QUEUED;
    *set |= HOCKET__STORE_SET_STATE;
}

/* ---- Drains ---------------------------------------------------------------------------------------- */

bool hocket__shared_drained(struct hocket__stored *s)
{
    if (!s->draining || hocket__stored_is_parked(s) || s->run->ended
        || hocket__kept_is_at_work(s->run->kept))
        return false;
    return hocket_run_park(s->run->host, s->run->id) == 0;
}

int hocket_run_drain(hocket_host *h, uint64_t id)
{
    struct hocket__run *r = h ? hocket__run_find(h, id) : NULL;
    if (!r || !hocket__stored_may_be_parked(r->stored))
        return hocket_run_park(h, id);
    if (!r->stored->draining) {
        r->stored->draining = true;
        hocket__kept_drain(r->kept);
    }
    hocket__waiting_look_soon(r->stored);
    return 0;
}
