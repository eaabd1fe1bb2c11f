/* Runs for workers: as in a file (sqlite/sql.c), except that one statement finds, locks and takes the next run. It
 * skips runs that another worker is taking.
 *
 * The clock is the server's, asked in the statement itself: a worker whose own has jumped would find all others gone. What
 * this store has itself is not the next, whatever its lease says; nor is what others have whose leases are not believed
 * (writer/leases.c).
 *
 * A lost answer may have contained runs. They are ours then, without our knowledge: the next call searches for them
 * first (lost_ones). A run that is never found goes to another worker when its lease is over. */
#include "store/postgres/postgres_impl.h"

static void add_now(struct hocket__writer *w)
{
    hocket__sql_count(w, w->o.wall_ms ? w->ops->now(w) : -1);
}

/* The runs of one answer. Unaltered runs are packed; here are their columns that no packed row has. */
struct taken {
    int64_t no[HOCKET__STORE_TAKES], writes[HOCKET__STORE_TAKES];
    size_t n;
    struct hocket__buf altered; /* the numbers of the others, with commas */
};

/* What is written next need not ask for it. */
static void learn(
    struct hocket__writer *w, const struct hocket__store_run *r, int64_t no, int64_t writes)
{
    struct hocket__claimed *c = hocket__claims_get(w, r->id);
    hocket__claims_taken(w, c, r->fence);
    c->no = no;
    c->writes = writes;
    c->last_n = r->last_n;
    c->last_seq = r->last_seq;
    c->updated_ms = r->updated_ms;
    c->called = r->caller[0] != 0;
    c->known = true;
}

/* No worker acts on a row that is not what was written. */
static int give(struct hocket__writer *w, struct hocket__store_call *call, struct taken *taken)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    int64_t no = hocket__sql_int_of(w, HOCKET__COLUMN_no);
    hocket__sql_read_run(w, &row.run);
    bool altered = hocket__sql_is_altered_run(w, &row.run);
    if (hocket__pg_of(w)->db.out_of_memory) /* what was read is not all of it */
        return hocket__error_nomem(w->error);
    if (altered) {
        hocket__store_altered(call, NULL, 0, hocket__cstr(row.run.id));
        hocket__buf_addf(
            &taken->altered, "%s%lld", taken->altered.len > 0 ? "," : "", (long long) no);
        return 0;
    }
    if (!hocket__claims_need(w, row.run.id) || hocket__store_pack(&call->rows, &row) < 0)
        return hocket__error_nomem(w->error);
    taken->no[taken->n] = no;
    taken->writes[taken->n++] = hocket__sql_int_of(w, HOCKET__COLUMNS);
    return 0;
}

/* Altered runs lose their owner and come back later. Otherwise no run behind them would ever be taken. */
static int put_off(struct hocket__writer *w, const struct hocket__buf *numbers)
{
    if (numbers->status < 0)
        return hocket__error_nomem(w->error);
    if (numbers->len == 0)
        return 0;
    hocket__sql_new(w, PG_PUT_OFF);
    hocket__sql_text(w, hocket__buf_str(numbers));
    hocket__sql_int(w, w->self.pid);
    hocket__sql_int(w, w->self.store);
    hocket__sql_int(w, w->ops->now(w) + 2 * w->o.lease_ms);
    return hocket__sql_run(w);
}

/* The reader gets an answer only as a whole: out of memory counts like an answer lost on the way. 1: there were runs,
 * and all were altered. */
static int give_all(struct hocket__writer *w, struct hocket__store_call *call)
{
    struct taken taken = { .n = 0 };
    struct hocket__store_row row;
    int rc;
    hocket__buf_init(&taken.altered, &hocket__malloc, 0);
    while ((rc = hocket__sql_step(w)) == 1)
        if ((rc = give(w, call, &taken)) < 0 || taken.n == HOCKET__STORE_TAKES)
            break;
    if (rc == 0)
        rc = put_off(w, &taken.altered);
    struct hocket__str rows = hocket__buf_str(&call->rows);
    for (size_t i = 0; rc == 0 && hocket__store_unpack(&rows, &row) == 1; i++)
        learn(w, &row.run, taken.no[i], taken.writes[i]);
    if (rc == 0 && taken.n == 0 && taken.altered.len > 0)
        rc = 1;
    hocket__buf_deinit(&taken.altered);
    return rc;
}

/* ---- The next one ------------------------------------------------------------------------------------ */

/* Seven parameters, from the second on. */
static void add_self(struct hocket__writer *w)
{
    hocket__sql_int(w, w->self.pid);
    hocket__sql_text(w, hocket__cstr(w->self.host));
    hocket__sql_text(w, hocket__cstr(w->self.place));
    hocket__sql_int(w, w->self.start);
    hocket__sql_int(w, w->self.store);
    hocket__sql_int(w, w->o.lease_ms);
    add_now(w);
}

/* That the server's clock was put forward shows when it is asked the next time (leases.c): up to then no lease is over that is not
 * by what it said last. */
static int64_t over(const struct hocket__writer *w)
{
    int64_t believed = hocket__leases_expired_before(w), now = w->ops->now(w);
    return believed < now ? believed : now;
}

static int take_next(struct hocket__writer *w, struct hocket__store_call *call)
{
    struct hocket__buf ours = hocket__buf(&hocket__malloc, 0);
    int rc = hocket__claims_ids(w, &ours);
    bool several = memchr(call->q.take_next.pools.p, ',', call->q.take_next.pools.n);
    hocket__sql_new(w, several ? PG_TAKE_NEXT_OF : PG_TAKE_NEXT);
    hocket__sql_text(w, call->q.take_next.pools);
    add_self(w);
    hocket__sql_text(w, hocket__buf_str(&ours));
    hocket__sql_int(w, over(w));
    hocket__sql_int(w, (int64_t) call->q.take_next.most);
    if (rc == 0)
        rc = give_all(w, call);
    hocket__buf_deinit(&ours);
    return rc;
}

/* ---- What was lost on the way ----------------------------------------------------------------------- */

static bool is_known(struct hocket__writer *w)
{
    struct hocket__str id = hocket__sql_text_of(w, 0);
    char text[HOCKET__STORE_ID + 1] = "";
    if (id.n != HOCKET__STORE_ID)
        return true;
    memcpy(text, id.p, id.n);
    return hocket__pg_knows(hocket__claims_get(w, text), hocket__sql_int_of(w, 2));
}

static int retake(
    struct hocket__writer *w, struct hocket__store_call *call, struct hocket__str numbers)
{
    hocket__sql_new(w, PG_RETAKE);
    hocket__sql_text(w, numbers);
    add_self(w);
    return give_all(w, call);
}

/* The numbers of those of the answer that this store does not know; the first ones have been lost before, and come alone. */
static int unknown(
    struct hocket__writer *w, const struct hocket__store_call *call, struct hocket__buf *numbers)
{
    bool alone = false;
    size_t n = 0;
    int rc = 0;
    while (n < call->q.take_next.most && !alone && (rc = hocket__sql_step(w)) == 1) {
        if (is_known(w))
            continue;
        alone = hocket__sql_int_of(w, 3) > 0;
        hocket__buf_addf(
            numbers, "%s%lld", n++ > 0 ? "," : "", (long long) hocket__sql_int_of(w, 1));
    }
    return rc < 0 ? rc : numbers->status < 0 ? hocket__error_nomem(w->error) : 0;
}

/* Runs that are ours by their rows, by claims of which this store knows nothing, are of an answer that was lost. */
static int lost_ones(struct hocket__writer *w, struct hocket__store_call *call)
{
    struct hocket__buf numbers = hocket__buf(&hocket__malloc, 0);
    hocket__sql_new(w, PG_LOST);
    hocket__sql_int(w, w->self.pid);
    hocket__sql_int(w, w->self.store);
    hocket__sql_text(w, call->q.take_next.pools);
    int rc = unknown(w, call, &numbers);
    hocket__pg_of(w)->unsure &= rc != 0 || numbers.len > 0;
    if (rc == 0 && numbers.len > 0)
        rc = retake(w, call, hocket__buf_str(&numbers));
    hocket__buf_deinit(&numbers);
    return rc;
}

/* ---- Owners that are gone ------------------------------------------------------------------------------ */

enum { MOST_OWNERS = 32 };

static int find_gone(struct hocket__writer *w, struct hocket__str pools, int64_t gone[][2], int *n)
{
    struct hocket__str place = hocket__cstr(w->self.place);
    int64_t reach = hocket__leases_horizon(w);
    int rc;
    hocket__sql_new(w, PG_OWNERS);
    hocket__sql_text(w, pools);
    hocket__sql_text(w, place);
    hocket__sql_int(w, reach);
    add_now(w);
    while ((rc = hocket__sql_step(w)) == 1 && *n < MOST_OWNERS) {
        int64_t pid = hocket__sql_int_of(w, 0), start = hocket__sql_int_of(w, 1);
        if (!hocket__self_knows_ended(&w->self, place, pid, start))
            continue;
        gone[*n][0] = pid;
        gone[(*n)++][1] = start;
    }
    return rc < 0 ? rc : 0;
}

static int bury(struct hocket__writer *w, const int64_t owner[2])
{
    hocket__sql_new(w, PG_BURY);
    hocket__sql_int(w, owner[0]);
    hocket__sql_int(w, owner[1]);
    hocket__sql_text(w, hocket__cstr(w->self.place));
    hocket__sql_int(w, HOCKET__QUEUE_BURIED);
    return hocket__sql_run(w);
}

/* Processes of this machine that have ended: their leases are over. Whether there were any: 1, 0. */
static int bury_all(struct hocket__writer *w, struct hocket__str pools)
{
    int64_t gone[MOST_OWNERS][2];
    int n = 0, rc = find_gone(w, pools, gone, &n);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = bury(w, gone[i]);
    return rc < 0 ? rc : n > 0;
}

/* ---- Answers ---------------------------------------------------------------------------------------------- */

static int take_sound(struct hocket__writer *w, struct hocket__store_call *call)
{
    int rc;
    do
        rc = take_next(w, call);
    while (rc == 1);
    return rc;
}

/* That some were altered is said where none is taken: the others come first. */
static int take(struct hocket__writer *w, struct hocket__store_call *call)
{
    int rc = hocket__leases_renew(w);
    call->error.status = 0;
    if (rc == 0 && hocket__pg_of(w)->unsure)
        rc = lost_ones(w, call);
    if (rc >= 0 && call->rows.len == 0)
        rc = take_sound(w, call);
    if (rc == 0 && call->rows.len == 0 && (rc = bury_all(w, call->q.take_next.pools)) == 1)
        rc = take_sound(w, call);
    if (rc == 0 && call->rows.len == 0)
        call->status = call->error.status;
    return rc < 0 ? rc : 0;
}

int hocket__pg_take_next(struct hocket__writer *base, struct hocket__store_call *call)
{
    struct hocket__pg_writer *w = hocket__pg_of(base);
    w->unsure |= base->again;
    int rc = take(base, call);
    w->unsure |= rc < 0;
    return rc;
}

static void give_spoken(struct hocket__writer *w, struct hocket__store_call *call)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    struct hocket__str id = hocket__sql_text_of(w, 0);
    row.run.fence = (uint64_t) hocket__sql_int_of(w, 1);
    if (id.n != HOCKET__STORE_ID)
        return;
    memcpy(row.run.id, id.p, id.n);
    struct hocket__claimed *c = hocket__claims_get(w, row.run.id);
    if (c && c->fence == row.run.fence)
        hocket__store_pack(&call->rows, &row);
}

int hocket__pg_spoken(struct hocket__writer *w, struct hocket__store_call *call)
{
    struct hocket__buf ids = hocket__buf(&hocket__malloc, 0);
    int rc = hocket__claims_ids(w, &ids);
    hocket__sql_new(w, PG_SPOKEN);
    hocket__sql_text(w, hocket__buf_str(&ids));
    while (rc >= 0 && (rc = hocket__sql_step(w)) == 1)
        give_spoken(w, call);
    hocket__buf_deinit(&ids);
    return rc;
}
