/* Runs for workers: which is the next, and who is gone with one. What this store has itself is not the next, whatever its
 * lease says: nor is what others have whose leases are not believed (writer/leases.c).
 *
 * Whoever asks often finds nothing: so the file is looked at before it is locked, and once more when it is. */
#include "store/sqlite/sqlite_impl.h"
#include "store/queue.h"

/* The number of the next run that is due, or 0. */
struct next {
    int64_t no, at_ms;
    bool owned; /* by one that is gone */
    bool lost; /* was at work somewhere: by one that is gone, or that let go of it without a word */
    char id[HOCKET__STORE_ID + 1];
};

/* What is looked for. */
struct look {
    struct hocket__str pools;
    struct hocket__buf ours; /* ids, with commas */
};

static int begin_look(struct hocket__sqlite_writer *w, struct hocket__str pools, struct look *look)
{
    look->pools = pools;
    hocket__buf_init(&look->ours, &hocket__malloc, 0);
    return hocket__claims_ids(&w->base, &look->ours);
}

static int next_of_pool(struct hocket__sqlite_writer *w, const struct look *look,
    struct hocket__str pool, int64_t from_ms, int64_t until_ms, struct next *first)
{
    hocket__sql_new(&w->base, ST_NEXT);
    hocket__sql_text(&w->base, pool);
    hocket__sql_int(&w->base, from_ms);
    hocket__sql_int(&w->base, until_ms);
    hocket__sql_int(&w->base, hocket__leases_expired_before(&w->base));
    hocket__sql_text(&w->base, hocket__buf_str(&look->ours));
    int rc = hocket__sql_step(&w->base);
    int64_t at_ms = rc == 1 ? hocket__sql_int_of(&w->base, 1) : 0;
    struct hocket__str id = rc == 1 ? hocket__sql_text_of(&w->base, 2) : HOCKET__STR("");
    if (id.n == HOCKET__STORE_ID
        && (!first->no || at_ms < first->at_ms
            || (at_ms == first->at_ms && memcmp(id.p, first->id, id.n) < 0))) {
        *first = (struct next){ .no = hocket__sql_int_of(&w->base, 0), .at_ms = at_ms };
        first->owned = hocket__sql_int_of(&w->base, 3) != 0;
        first->lost = first->owned || hocket__sql_int_of(&w->base, 4) != 0;
        memcpy(first->id, id.p, id.n);
    }
    hocket__sql_done(&w->base);
    return rc < 0 ? rc : 0;
}

static int next_of_pools(struct hocket__sqlite_writer *w, const struct look *look, int64_t from_ms,
    int64_t until_ms, struct next *first)
{
    struct hocket__str pools = look->pools;
    int rc = 0;
    for (struct hocket__str pool; rc == 0 && (pool = hocket__store_next_pool(&pools)).n > 0;)
        rc = next_of_pool(w, look, pool, from_ms, until_ms, first);
    return rc;
}

/* What was lost and what had a time first (HOCKET__QUEUE_AT). */
static int find_next(struct hocket__sqlite_writer *w, const struct look *look, struct next *first)
{
    *first = (struct next){ 0 };
    int rc = next_of_pools(w, look, 1, hocket__sqlite_now(w), first);
    return rc == 0 && !first->no ? next_of_pools(w, look, 0, 0, first) : rc;
}

/* ---- Owners that are gone ------------------------------------------------------------------------ */

enum { MOST_OWNERS = 32 };

struct owner {
    int64_t pid, start;
};

/* Those of this machine that have ended, and whose leases have not. */
static int gone_of_pool(struct hocket__sqlite_writer *w, struct hocket__str pool, int64_t ahead_ms,
    struct owner *gone, int *n)
{
    struct hocket__str place = hocket__cstr(w->base.self.place);
    int64_t now = hocket__sqlite_now(w);
    hocket__sql_new(&w->base, ST_OWNERS);
    hocket__sql_text(&w->base, pool);
    hocket__sql_int(&w->base, now);
    hocket__sql_int(&w->base, now + ahead_ms);
    hocket__sql_text(&w->base, place);
    int rc;
    while ((rc = hocket__sql_step(&w->base)) == 1 && *n < MOST_OWNERS) {
        struct owner o = { hocket__sql_int_of(&w->base, 0), hocket__sql_int_of(&w->base, 1) };
        if (hocket__self_knows_ended(&w->base.self, place, o.pid, o.start))
            gone[(*n)++] = o;
    }
    hocket__sql_done(&w->base);
    return rc < 0 ? rc : 0;
}

/* Its leases are over. */
static int bury(struct hocket__sqlite_writer *w, const struct owner *o)
{
    hocket__sql_new(&w->base, ST_BURY);
    hocket__sql_int(&w->base, o->pid);
    hocket__sql_int(&w->base, o->start);
    hocket__sql_text(&w->base, hocket__cstr(w->base.self.place));
    hocket__sql_int(&w->base, HOCKET__QUEUE_BURIED);
    return hocket__sql_run(&w->base);
}

/* Whether there were any: 1, 0. */
static int bury_all(struct hocket__sqlite_writer *w, struct hocket__str pools)
{
    struct owner gone[MOST_OWNERS];
    int64_t ahead_ms = hocket__leases_horizon(&w->base);
    int n = 0, rc = 0;
    for (struct hocket__str pool; rc == 0 && (pool = hocket__store_next_pool(&pools)).n > 0;)
        rc = gone_of_pool(w, pool, ahead_ms, gone, &n);
    if (rc < 0 || n == 0)
        return rc;
    rc = hocket__sqlite_begin(w);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = bury(w, &gone[i]);
    rc = hocket__sqlite_end(w, rc);
    return rc < 0 ? rc : 1;
}

/* ---- Taking ---------------------------------------------------------------------------------------- */

static int claim(struct hocket__sqlite_writer *w, int64_t no)
{
    hocket__sql_new(&w->base, ST_TAKE_NEXT);
    hocket__sql_int(&w->base, no);
    hocket__sql_owner(&w->base);
    return hocket__sql_run(&w->base);
}

/* What one transaction takes: nothing of it is known before that is there. */
struct taken {
    struct hocket__claimed *claims[HOCKET__STORE_TAKES];
    uint64_t fences[HOCKET__STORE_TAKES];
    size_t n;
};

static int give(
    struct hocket__sqlite_writer *w, struct hocket__store_call *call, int64_t no, uint64_t *fence)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__sql_new(&w->base, HOCKET__SQL_TAKEN);
    hocket__sql_int(&w->base, no);
    int rc = hocket__sql_step(&w->base);
    if (rc == 1) {
        hocket__sql_read_run(&w->base, &row.run);
        *fence = row.run.fence;
        if (hocket__store_pack(&call->rows, &row) < 0)
            rc = hocket__error_nomem(w->base.error);
    }
    hocket__sql_done(&w->base);
    return rc < 0 ? rc : 0;
}

/* ---- What its owner left --------------------------------------------------------------------------- */

/* For about as long as nobody buries an owner (hocket__leases_horizon): the others go on meanwhile. Why stands in its row, where no question does. */
static int put_off(struct hocket__sqlite_writer *w, int64_t no, const struct hocket_error *why)
{
    struct hocket__buf words;
    hocket__leases_limit_horizon(&w->base);
    hocket__sql_new(&w->base, ST_PUT_OFF);
    hocket__buf_init(&words, &hocket__malloc, 0);
    hocket__store_write_why(&words, why);
    hocket__sql_int(&w->base, no);
    hocket__sql_int(&w->base, hocket__sqlite_now(w) + 2 * w->base.o.lease_ms);
    hocket__sql_text_or_null(&w->base, hocket__buf_str(&words));
    int rc = hocket__sql_run(&w->base);
    hocket__buf_deinit(&words);
    return rc;
}

/* One that had ended by what was written now has nobody any more, or it would be written again by the next who looks. */
static int settle(struct hocket__sqlite_writer *w, int64_t no)
{
    hocket__sql_new(&w->base, ST_SETTLE);
    hocket__sql_int(&w->base, no);
    return hocket__sql_run(&w->base);
}

/* Whether it will fail again, though the database as a whole is well: for want of the file, or by what stands in it. */
static bool is_its_own(const struct hocket__sqlite_writer *w, int rc, bool unreadable)
{
    return rc < 0 && (unreadable || (!w->db.error.retryable && rc != HOCKET_EPARSE));
}

/* One of which what is left cannot be read or written is put off, or none behind it would ever be taken. */
static int recover(
    struct hocket__sqlite_writer *w, const struct next *next, struct hocket__store_call *call)
{
    struct hocket__wal_of of;
    bool unreadable = false;
    int rc = hocket__db_exec(&w->db, "SAVEPOINT recovery");
    if (rc == 0)
        rc = hocket__sqlite_owner(w, next->id, &of);
    if (rc == 1)
        rc = hocket__wal_recover_run(w, &of, next->id, &unreadable);
    if (is_its_own(w, rc, unreadable)) {
        call->error = w->db.error;
        rc = hocket__db_exec(&w->db, "ROLLBACK TO recovery; RELEASE recovery");
        return rc < 0 ? rc : put_off(w, next->no, &call->error);
    }
    if (rc >= 0)
        rc = hocket__db_exec(&w->db, "RELEASE recovery");
    return rc < 0 ? rc : settle(w, next->no);
}

/* What its owner had handed over is written first: after that it may have ended, or wait for something, and another is the next. */
static int find_whole(struct hocket__sqlite_writer *w, const struct look *look,
    struct hocket__store_call *call, struct next *next)
{
    int64_t whole = 0;
    call->error.status = 0;
    for (;;) {
        int rc = find_next(w, look, next);
        if (rc < 0 || !next->no || !next->owned || next->no == whole)
            return rc;
        whole = next->no;
        rc = recover(w, next, call);
        if (rc < 0)
            return rc;
    }
}

static int take_one(struct hocket__sqlite_writer *w, const struct next *next,
    struct hocket__store_call *call, struct taken *taken)
{
    struct hocket__claimed *c = hocket__claims_need(&w->base, next->id);
    if (!c)
        return hocket__error_nomem(&w->db.error);
    size_t i = taken->n++;
    taken->claims[i] = c;
    int rc = claim(w, next->no);
    return rc < 0 ? rc : give(w, call, next->no, &taken->fences[i]);
}

/* Another process may have taken it since it was seen: then there may be another one, or none. */
static int take(struct hocket__sqlite_writer *w, const struct look *look,
    struct hocket__store_call *call, struct taken *taken)
{
    struct next next;
    int rc = find_whole(w, look, call, &next);
    if (rc == 0 && !next.no)
        call->status = call->error.status;
    while (rc == 0 && next.no) {
        rc = take_one(w, &next, call, taken);
        if (rc < 0 || next.lost || taken->n == call->q.take_next.most)
            return rc;
        rc = find_next(w, look, &next);
        if (next.lost) /* it comes alone, the next time */
            return rc;
    }
    return rc;
}

static int look_and_take(
    struct hocket__sqlite_writer *w, const struct look *look, struct hocket__store_call *call)
{
    struct taken taken = { .n = 0 };
    struct next next;
    int rc = find_next(w, look, &next);
    if (rc == 0 && !next.no && (rc = bury_all(w, look->pools)) == 1)
        rc = find_next(w, look, &next);
    if (rc < 0 || !next.no)
        return rc;
    rc = hocket__sqlite_begin(w);
    if (rc == 0)
        rc = take(w, look, call, &taken);
    rc = hocket__sqlite_end(w, rc);
    for (size_t i = 0; i < taken.n; i++)
        hocket__claims_taken(&w->base, taken.claims[i], rc < 0 ? 0 : taken.fences[i]);
    return rc;
}

int hocket__sqlite_take_next(struct hocket__writer *base, struct hocket__store_call *call)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    struct look look;
    int rc = w->looks ? hocket__sqlite_deny(w) : hocket__leases_renew(&w->base);
    if (rc < 0) /* a worker hears also where nothing is due */
        return rc;
    rc = begin_look(w, call->q.take_next.pools, &look);
    if (rc == 0)
        rc = look_and_take(w, &look, call);
    hocket__buf_deinit(&look.ours);
    return rc;
}

/* ---- Who was spoken to ------------------------------------------------------------------------------ */

static int give_spoken(
    struct hocket__writer *w, struct hocket__store_call *call, const struct hocket__claimed *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    int rc;
    hocket__sql_new(w, ST_SPOKEN);
    hocket__sql_text(w, hocket__cstr(c->id));
    row.run.fence = (uint64_t) hocket__sql_number(w, &rc);
    if (rc < 0 || row.run.fence != c->fence)
        return rc;
    memcpy(row.run.id, c->id, sizeof(c->id));
    hocket__store_pack(&call->rows, &row);
    return 0;
}

int hocket__sqlite_spoken(struct hocket__writer *w, struct hocket__store_call *call)
{
    int rc = 0;
    for (struct hocket__list *l = w->claims.next; rc == 0 && l != &w->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (hocket__claims_is_ours(c))
            rc = give_spoken(w, call, c);
    }
    return rc;
}
