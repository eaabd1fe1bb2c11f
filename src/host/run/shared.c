/* Runs that workers share: any of them may take such a run, end it half done, and another one goes on.
 *
 *     drained                       ──> what is under way ends, nothing more is begun; then it is queued again
 *     the end of one with a pool    ──> its result is kept as a file of its own, for whoever waits for it
 *
 * How it is cancelled: hearing.c. */
#include "host/run/stored.h"

#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"

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

static void keep_result(struct hocket__stored *s)
{
    const struct hocket__run *r = s->run;
    struct hocket__buf made;
    hocket__buf_init(&made, &r->host->alloc, 0);
    if (r->json.len <= 2)
        write_result(r, &made);
    if (made.status == 0)
        hocket__stored_file(
            s, HOCKET__STR("=result"), hocket__buf_str(made.len > 0 ? &made : &r->json));
    hocket__buf_deinit(&made);
}

void hocket__shared_end(
    struct hocket__stored *s, bool over, struct hocket__store_run *row, unsigned *set)
{
    if (s->pool.len == 0)
        return;
    if (over)
        keep_result(s);
    if (over || s->state == HOCKET__STORE_PARKED || s->state == HOCKET__STORE_WAITING)
        return;
    row->state = HOCKET__STORE_QUEUED;
    *set |= HOCKET__STORE_SET_STATE;
}

/* ---- Drains ---------------------------------------------------------------------------------------- */

bool hocket__shared_drained(struct hocket__stored *s)
{
    if (!s->draining || s->parked || s->run->ended || hocket__kept_is_at_work(s->run->kept))
        return false;
    return hocket_run_park(s->run->host, s->run->id) == 0;
}

int hocket_run_drain(hocket_host *h, uint64_t id)
{
    struct hocket__run *r = h ? hocket__run_find(h, id) : NULL;
    if (!r || !r->stored || r->stored->off || r->stored->replays || !r->kept)
        return hocket_run_park(h, id);
    if (!r->stored->draining) {
        r->stored->draining = true;
        hocket__kept_drain(r->kept);
    }
    if (hocket__list_empty(&r->stored->resting))
        hocket__list_add(&h->resting, &r->stored->resting);
    h->rt->undelivered = true; /* it may rest already: then nothing else would lead to it */
    hocket__fibers_settle(h->rt);
    return 0;
}
