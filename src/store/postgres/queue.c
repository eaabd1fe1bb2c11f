/* Runs for workers: as in a file (sqlite/queue.c), but that the next one is found, locked and taken by one statement, which
 * passes over those that another worker is taking.
 *
 * The clock is the server's, asked in the statement itself: a worker whose own has jumped would find all others gone. What
 * this store has itself is not the next, whatever its lease says; nor is what others have whose leases are not believed
 * (keeper/leases.c).
 *
 * An answer that is lost on the way may have been runs. They are ours then, and nobody knows: whoever asks next looks for
 * such ones first (lost_ones). One that is never found again is somebody else's when its lease is over. */
#include "store/postgres/postgres_impl.h"

static void add_now(struct hocket__keeper *k)
{
    hocket__sql_count(k, k->o.wall_ms ? k->ops->now(k) : -1);
}

/* What is written next need not ask for it. */
static void learn(
    struct hocket__pg *d, int i, struct hocket__claimed *c, const struct hocket__store_run *r)
{
    c->no = hocket__pg_int_of(d, i, HOCKET__COLUMN_no);
    c->writes = hocket__pg_int_of(d, i, HOCKET__COLUMNS);
    c->last_n = r->last_n;
    c->last_seq = r->last_seq;
    c->updated_ms = r->updated_ms;
    c->called = r->caller[0] != 0;
    c->known = true;
}

static int give(struct hocket__keeper *k, struct hocket__store_call *call)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__sql_read_run(k, &row.run);
    if (hocket__pg_of(k)->db.out_of_memory || !hocket__claims_need(k, row.run.id)
        || hocket__store_pack(&call->rows, &row) < 0)
        return hocket__error_nomem(k->error);
    return 0;
}

/* Nothing of an answer is known before all of it is told: where memory is out it is as if that had been lost on the way. */
static int give_all(struct hocket__keeper *k, struct hocket__store_call *call)
{
    struct hocket__store_row row;
    int rc;
    while ((rc = hocket__sql_step(k)) == 1)
        if ((rc = give(k, call)) < 0)
            break;
    struct hocket__str rows = hocket__buf_str(&call->rows);
    for (int i = 0; rc == 0 && hocket__store_unpack(&rows, &row) == 1; i++) {
        struct hocket__claimed *c = hocket__claims_get(k, row.run.id);
        hocket__claims_taken(k, c, row.run.fence);
        learn(&hocket__pg_of(k)->db, i, c, &row.run);
    }
    return rc;
}

/* ---- The next one ------------------------------------------------------------------------------------ */

/* Seven parameters, from the second on. */
static void add_self(struct hocket__keeper *k)
{
    hocket__sql_int(k, k->self.pid);
    hocket__sql_text(k, hocket__cstr(k->self.host));
    hocket__sql_text(k, hocket__cstr(k->self.place));
    hocket__sql_int(k, k->self.start);
    hocket__sql_int(k, k->self.store);
    hocket__sql_int(k, k->o.lease_ms);
    add_now(k);
}

/* That the server's clock was put forward shows when it is asked the next time (leases.c): up to then no lease is over that is not
 * by what it said last. */
static int64_t over(const struct hocket__keeper *k)
{
    int64_t believed = hocket__leases_over(k), now = k->ops->now(k);
    return believed < now ? believed : now;
}

static int take_next(struct hocket__keeper *k, struct hocket__store_call *call)
{
    struct hocket__buf ours;
    hocket__buf_init(&ours, &hocket__malloc, 0);
    int rc = hocket__claims_ids(k, &ours);
    bool several = memchr(call->q.take_next.pools.p, ',', call->q.take_next.pools.n);
    hocket__sql_new(k, several ? PG_TAKE_NEXT_OF : PG_TAKE_NEXT);
    hocket__sql_text(k, call->q.take_next.pools);
    add_self(k);
    hocket__sql_text(k, hocket__buf_str(&ours));
    hocket__sql_int(k, over(k));
    hocket__sql_int(k, (int64_t) call->q.take_next.most);
    if (rc == 0)
        rc = give_all(k, call);
    hocket__buf_deinit(&ours);
    return rc;
}

/* ---- What was lost on the way ----------------------------------------------------------------------- */

static bool is_known(struct hocket__keeper *k)
{
    struct hocket__str id = hocket__sql_text_of(k, 0);
    char text[HOCKET__STORE_ID + 1] = "";
    if (id.n != HOCKET__STORE_ID)
        return true;
    memcpy(text, id.p, id.n);
    return hocket__pg_knows(hocket__claims_get(k, text), hocket__sql_int_of(k, 2));
}

static int retake(
    struct hocket__keeper *k, struct hocket__store_call *call, struct hocket__str numbers)
{
    hocket__sql_new(k, PG_RETAKE);
    hocket__sql_text(k, numbers);
    add_self(k);
    return give_all(k, call);
}

/* The numbers of those of the answer that this store does not know; the first ones have been lost before, and come alone. */
static int unknown(
    struct hocket__keeper *k, const struct hocket__store_call *call, struct hocket__buf *numbers)
{
    bool alone = false;
    size_t n = 0;
    int rc = 0;
    while (n < call->q.take_next.most && !alone && (rc = hocket__sql_step(k)) == 1) {
        if (is_known(k))
            continue;
        alone = hocket__sql_int_of(k, 3) > 0;
        hocket__buf_addf(
            numbers, "%s%lld", n++ > 0 ? "," : "", (long long) hocket__sql_int_of(k, 1));
    }
    return rc < 0 ? rc : numbers->status < 0 ? hocket__error_nomem(k->error) : 0;
}

/* Runs that are ours by their rows, by claims of which this store knows nothing, are of an answer that was lost. */
static int lost_ones(struct hocket__keeper *k, struct hocket__store_call *call)
{
    struct hocket__buf numbers;
    hocket__buf_init(&numbers, &hocket__malloc, 0);
    hocket__sql_new(k, PG_LOST);
    hocket__sql_int(k, k->self.pid);
    hocket__sql_int(k, k->self.store);
    hocket__sql_text(k, call->q.take_next.pools);
    int rc = unknown(k, call, &numbers);
    hocket__pg_of(k)->unsure &= rc != 0 || numbers.len > 0;
    if (rc == 0 && numbers.len > 0)
        rc = retake(k, call, hocket__buf_str(&numbers));
    hocket__buf_deinit(&numbers);
    return rc;
}

/* ---- Owners that are gone ------------------------------------------------------------------------------ */

enum { MOST_OWNERS = 32 };

static int find_gone(struct hocket__keeper *k, struct hocket__str pools, int64_t gone[][2], int *n)
{
    struct hocket__str place = hocket__cstr(k->self.place);
    int64_t reach = hocket__leases_reach(k);
    int rc;
    hocket__sql_new(k, PG_OWNERS);
    hocket__sql_text(k, pools);
    hocket__sql_text(k, place);
    hocket__sql_int(k, reach);
    add_now(k);
    while ((rc = hocket__sql_step(k)) == 1 && *n < MOST_OWNERS) {
        int64_t pid = hocket__sql_int_of(k, 0), start = hocket__sql_int_of(k, 1);
        if (!hocket__self_sees_end(&k->self, place, pid, start))
            continue;
        gone[*n][0] = pid;
        gone[(*n)++][1] = start;
    }
    return rc < 0 ? rc : 0;
}

static int bury(struct hocket__keeper *k, const int64_t owner[2])
{
    hocket__sql_new(k, PG_BURY);
    hocket__sql_int(k, owner[0]);
    hocket__sql_int(k, owner[1]);
    hocket__sql_text(k, hocket__cstr(k->self.place));
    hocket__sql_int(k, HOCKET__QUEUE_BURIED);
    return hocket__sql_run(k);
}

/* Processes of this machine that have ended: their leases are over. Whether there were any: 1, 0. */
static int bury_all(struct hocket__keeper *k, struct hocket__str pools)
{
    int64_t gone[MOST_OWNERS][2];
    int n = 0, rc = find_gone(k, pools, gone, &n);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = bury(k, gone[i]);
    return rc < 0 ? rc : n > 0;
}

/* ---- Answers ---------------------------------------------------------------------------------------------- */

static int take(struct hocket__keeper *k, struct hocket__store_call *call)
{
    int rc = hocket__leases_renew(k);
    if (rc == 0 && hocket__pg_of(k)->unsure)
        rc = lost_ones(k, call);
    if (rc == 0 && call->rows.len == 0)
        rc = take_next(k, call);
    if (rc == 0 && call->rows.len == 0 && (rc = bury_all(k, call->q.take_next.pools)) == 1)
        rc = take_next(k, call);
    return rc;
}

int hocket__pg_take_next(struct hocket__keeper *base, struct hocket__store_call *call)
{
    struct hocket__pg_keeper *k = hocket__pg_of(base);
    k->unsure |= base->again;
    int rc = take(base, call);
    k->unsure |= rc < 0;
    return rc;
}

static void give_spoken(struct hocket__keeper *k, struct hocket__store_call *call)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    struct hocket__str id = hocket__sql_text_of(k, 0);
    row.run.fence = (uint64_t) hocket__sql_int_of(k, 1);
    if (id.n != HOCKET__STORE_ID)
        return;
    memcpy(row.run.id, id.p, id.n);
    struct hocket__claimed *c = hocket__claims_get(k, row.run.id);
    if (c && c->fence == row.run.fence)
        hocket__store_pack(&call->rows, &row);
}

int hocket__pg_spoken(struct hocket__keeper *k, struct hocket__store_call *call)
{
    struct hocket__buf ids;
    hocket__buf_init(&ids, &hocket__malloc, 0);
    int rc = hocket__claims_ids(k, &ids);
    hocket__sql_new(k, PG_SPOKEN);
    hocket__sql_text(k, hocket__buf_str(&ids));
    while (rc >= 0 && (rc = hocket__sql_step(k)) == 1)
        give_spoken(k, call);
    hocket__buf_deinit(&ids);
    return rc;
}
