/* Questions. One waits for a connection that is made anew, and is asked again. */
#include "store/postgres/postgres_impl.h"

#include "os/clock.h"

#define PATIENCE_MS 20000 /* how long a question waits for a connection */
#define GAP_MIN_MS  50
#define GAP_MAX_MS  2000

/* Who hears that it is done relies on it. */
static bool is_acknowledged(const struct hocket__store_call *c)
{
    switch (c->q.kind) {
    case HOCKET__STORE_MESSAGE:
    case HOCKET__STORE_SUBMIT:
    case HOCKET__STORE_REMOVE:
    case HOCKET__STORE_ITEM_PUT:
    case HOCKET__STORE_ITEM_DEL:
    case HOCKET__STORE_NOTE_PUT:
    case HOCKET__STORE_NOTE_DEL: return true;
    default: return false;
    }
}

/* What an attempt before has done is found to be there, and was not committed anew. */
static int attempt(struct hocket__pg_writer *w, struct hocket__store_call *c, bool again)
{
    hocket__buf_reset(&c->rows);
    c->status = 0;
    c->more = false;
    w->db.out_of_memory = false;
    int rc = hocket__pg_connect(&w->db);
    if (rc == 0 && atomic_load(&c->given_up)) /* while it was connected */
        return c->status = hocket__error(&c->error, HOCKET_ECLOSED, "it was given up"), 0;
    if (rc == 0) {
        w->base.again = again;
        rc = hocket__sql_answer(&w->base, c);
    };
    return rc == 0 && again && c->status == 0 && is_acknowledged(c)
               ? hocket__pg_until_replicated(&w->base)
               : rc;
}

/* A question waits for a connection that is made anew, and is asked again. */
int hocket__pg_answer(struct hocket__writer *base, struct hocket__store_call *c)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    struct hocket__store_place place = c->place; /* an attempt that failed may have moved it */
    w->asked_ms = hocket__pg_now(w);
    int64_t end = hocket__monotonic_ms() + PATIENCE_MS, gap = GAP_MIN_MS;
    int rc = attempt(w, c, false);
    while (rc < 0 && w->db.error.retryable && !atomic_load(&base->closing)
           && !atomic_load(&c->given_up) && hocket__monotonic_ms() < end) {
        uint64_t jitter = (uint64_t) base->self.store % (uint64_t) (gap / 2 + 1);
        hocket__pg_idle(&w->db, gap / 2 + (int64_t) jitter);
        gap = gap * 2 < GAP_MAX_MS ? gap * 2 : GAP_MAX_MS;
        c->place = place;
        rc = attempt(w, c, true);
    }
    if (rc == 0 && w->db.out_of_memory)
        c->status = hocket__error_nomem(&c->error);
    return rc;
}
