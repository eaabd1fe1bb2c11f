/* Runs that workers share: any of them may take such a run, end it half done, and another one goes on.
 *
 *     a message {"wish":"cancel"}   ──> heard within a second of being put, also by a run that is busy; it stays until the run
 *                                       has ended, so that whoever takes it over hears it, too
 *     drained                       ──> what is under way ends, nothing more is begun; then it is queued again
 *     the end of one with a pool    ──> its result is kept as a file of its own, for whoever waits for it */
#include "host/run/stored.h"

#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"

/* ---- Hearing ------------------------------------------------------------------------------------- */

static bool wishes_cancel(struct hocket__str json)
{
    struct hocket__str wish;
    return hocket__json_find(json, "wish", &wish) && hocket__str_is(wish, "\"cancel\"");
}

bool hocket__shared_cancels(struct hocket__stored *s, struct hocket__str json)
{
    if (!wishes_cancel(json))
        return false;
    if (!s->parked)
        hocket_run_cancel(s->run->host, s->run->id);
    return true;
}

static int on_message(void *ud, const struct hocket__store_row *row)
{
    hocket__shared_cancels(ud, row->message.json);
    return 0;
}

static void on_messages(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__stored *s = ud;
    (void) status; /* it is asked again with the next news */
    (void) err;
    s->ear = NULL;
    if (s->deaf)
        hocket__shared_look(s);
}

void hocket__shared_look(struct hocket__stored *s)
{
    struct hocket__store_reply reply = { on_message, on_messages, s };
    if (!s->listening || !s->claimed || s->run->ended)
        return;
    s->deaf = s->ear != NULL;
    if (!s->ear)
        hocket__store_messages(s->store, hocket__cstr(s->run->name), &reply, &s->ear);
}

void hocket__shared_listen(struct hocket__stored *s)
{
    if (s->off || s->listening)
        return;
    s->listening = true;
    hocket__store_watch(s->store, true);
    if (s->run->told_before > 0 || s->pool.len > 0) /* of one that begins nobody knows yet */
        hocket__shared_look(s);
}

void hocket__shared_deafen(struct hocket__stored *s)
{
    if (s->ear)
        hocket__store_cancel(s->store, s->ear);
    if (s->listening && !s->off)
        hocket__store_watch(s->store, false);
    s->ear = NULL;
    s->listening = false;
}

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
