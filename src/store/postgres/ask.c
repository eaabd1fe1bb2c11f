/* Questions. One waits for a connection that is made anew, and is asked again. */
#include "store/postgres/postgres_impl.h"

#include "os/clock.h"

#define PATIENCE_MS 20000 /* how long a question waits for a connection */
#define GAP_MIN_MS  50
#define GAP_MAX_MS  2000

static int stats(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    hocket__pg_new(d);
    int rc = hocket__pg_query(d, PG_STATS,
        "SELECT (SELECT count(*) FROM runs WHERE removed = 0),"
        " (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'runs'::regclass))");
    if (rc < 0)
        return rc;
    row.stats = (struct hocket__store_stats){ (uint64_t) hocket__pg_int_of(d, 0, 0),
        (uint64_t) hocket__pg_int_of(d, 0, 1), k->base.commits, k->base.syncs, k->base.pending };
    return hocket__store_pack(&c->rows, &row);
}

/* ---- Answers -------------------------------------------------------------------------------------------- */

static int answer(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    switch (c->kind) {
    case HOCKET__STORE_FIND: return hocket__pg_find(k, c);
    case HOCKET__STORE_TAKE: return hocket__pg_take(k, c);
    case HOCKET__STORE_TAKE_NEXT: return hocket__pg_take_next(k, c, again);
    case HOCKET__STORE_SPOKEN: return hocket__pg_spoken(k, c);
    case HOCKET__STORE_POOLS: return hocket__pg_pools(k, c);
    case HOCKET__STORE_BLOCKED: return hocket__pg_blocked(k, c);
    case HOCKET__STORE_RUNS: return hocket__pg_runs(k, c);
    case HOCKET__STORE_ENTRIES:
    case HOCKET__STORE_RECORDS: return hocket__pg_log(k, c);
    case HOCKET__STORE_FILES: return hocket__pg_files(k, c);
    case HOCKET__STORE_MESSAGES: return hocket__pg_messages(k, c);
    case HOCKET__STORE_MESSAGE: return hocket__pg_message(k, c, again);
    case HOCKET__STORE_SUBMIT: return hocket__pg_submit(k, c, again);
    case HOCKET__STORE_REMOVE: return hocket__pg_remove_named(k, c, again);
    case HOCKET__STORE_STATS: return stats(k, c);
    case HOCKET__STORE_ITEM_PUT: return hocket__pg_item_put(k, c, again);
    case HOCKET__STORE_ITEM_DEL: return hocket__pg_item_del(k, c, again);
    case HOCKET__STORE_ITEMS: return hocket__pg_items(k, c);
    case HOCKET__STORE_CARE: return hocket__pg_care(k, c);
    case HOCKET__STORE_NOTE_PUT: return hocket__pg_note_put(k, c);
    case HOCKET__STORE_NOTE_DEL: return hocket__pg_note_del(k, c, again);
    case HOCKET__STORE_NOTES: return hocket__pg_notes(k, c);
    case HOCKET__STORE_DRAW: return hocket__pg_draw(k, c, again);
    }
    return 0;
}

/* Who hears that it is done relies on it. */
static bool is_acknowledged(const struct hocket__store_call *c)
{
    switch (c->kind) {
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
static int attempt(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    hocket__buf_reset(&c->rows);
    c->status = 0;
    c->more = false;
    k->db.out_of_memory = false;
    int rc = hocket__pg_connect(&k->db);
    if (rc == 0 && atomic_load(&c->given_up)) /* while it was connected */
        return c->status = hocket__error(&c->error, HOCKET_ECLOSED, "it was given up"), 0;
    if (rc == 0)
        rc = answer(k, c, again);
    return rc == 0 && again && c->status == 0 && is_acknowledged(c) ? hocket__pg_until_replicated(k)
                                                                    : rc;
}

/* Where a reading stands: what an attempt that failed may have moved on. The rest of a call is the loop's. */
struct place {
    uint64_t from;
    size_t limit;
    unsigned states;
    char before[HOCKET__STORE_ID + 1];
};

static struct place place_of(const struct hocket__store_call *c)
{
    struct place p = { c->from, c->limit, c->states, "" };
    memcpy(p.before, c->before, sizeof(p.before));
    return p;
}

static void go_back(struct hocket__store_call *c, const struct place *p)
{
    c->from = p->from;
    c->limit = p->limit;
    c->states = p->states;
    memcpy(c->before, p->before, sizeof(c->before));
}

/* A question waits for a connection that is made anew, and is asked again. */
int hocket__pg_answer(struct hocket__keeper *base, struct hocket__store_call *c)
{
    struct hocket__pg_keeper *k = hocket__pg_of(base);
    struct place place = place_of(c);
    k->asked_ms = hocket__pg_now(k);
    int64_t end = hocket__monotonic_ms() + PATIENCE_MS, gap = GAP_MIN_MS;
    int rc = attempt(k, c, false);
    while (rc < 0 && k->db.error.retryable && !atomic_load(&base->closing)
           && !atomic_load(&c->given_up) && hocket__monotonic_ms() < end) {
        uint64_t jitter = (uint64_t) base->self.store % (uint64_t) (gap / 2 + 1);
        hocket__pg_idle(&k->db, gap / 2 + (int64_t) jitter);
        gap = gap * 2 < GAP_MAX_MS ? gap * 2 : GAP_MAX_MS;
        go_back(c, &place);
        rc = attempt(k, c, true);
    }
    if (rc == 0 && k->db.out_of_memory)
        c->status = hocket__error_nomem(&c->error);
    return rc;
}
