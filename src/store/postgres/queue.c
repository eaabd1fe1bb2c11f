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

/* $N is NULL, or what a test says that the time is. */
#define NOW(N)                                                                                     \
    "(SELECT coalesce($" #N ", (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now)"

static void add_now(struct hocket__pg_keeper *k)
{
    hocket__pg_count(&k->db, k->base.o.wall_ms ? hocket__pg_now(k) : -1);
}

/* What is written next need not ask for it. */
static void learn(struct hocket__pg_keeper *k, int i, struct hocket__claimed *c,
    const struct hocket__store_run *r)
{
    c->no = hocket__pg_int_of(&k->db, i, PG_RUN_NO);
    c->writes = hocket__pg_int_of(&k->db, i, PG_RUN_WRITES);
    c->last_n = r->last_n;
    c->last_seq = r->last_seq;
    c->updated_ms = r->updated_ms;
    c->called = r->caller[0] != 0;
    c->known = true;
}

static int give(struct hocket__pg_keeper *k, struct hocket__store_call *call, int i)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__pg_begin_row(&k->db, i);
    hocket__pg_run_of(&k->db, i, &row.run);
    if (k->db.out_of_memory || !hocket__claims_need(&k->base, row.run.id)
        || hocket__store_pack(&call->rows, &row) < 0)
        return hocket__error_nomem(&k->db.error);
    return 0;
}

/* Nothing of an answer is known before all of it is told: where memory is out it is as if that had been lost on the way. */
static int give_all(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    struct hocket__store_row row;
    int rc = 0, n = hocket__pg_rows(&k->db);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = give(k, call, i);
    struct hocket__str rows = hocket__buf_str(&call->rows);
    for (int i = 0; rc == 0 && hocket__store_unpack(&rows, &row) == 1; i++) {
        struct hocket__claimed *c = hocket__claims_get(&k->base, row.run.id);
        hocket__claims_taken(&k->base, c, row.run.fence);
        learn(k, i, c, &row.run);
    }
    return rc;
}

/* ---- The next one ------------------------------------------------------------------------------------ */

/* Seven parameters, from the second on. */
static void add_self(struct hocket__pg_keeper *k)
{
    struct hocket__pg *d = &k->db;
    const struct hocket__self *self = &k->base.self;
    hocket__pg_int(d, self->pid);
    hocket__pg_text(d, hocket__cstr(self->host));
    hocket__pg_text(d, hocket__cstr(self->place));
    hocket__pg_int(d, self->start);
    hocket__pg_int(d, self->store);
    hocket__pg_int(d, k->base.o.lease_ms);
    add_now(k);
}

#define OWN                                                                                        \
    "owner_pid = $2, owner_host = $3, owner_place = $4, owner_start = $5, owner_store = $6,"       \
    " owner_since_ms = (SELECT now FROM t), lease_ms = (SELECT now FROM t) + $7"
#define TOLD                                                                                       \
    " RETURNING r.id, (SELECT f.id FROM runs f WHERE f.no = r.parent), r.at_n, r.at_seq, "         \
    "r.target,"                                                                                    \
    " r.input, r.options, r.generation, r.waiting_for, r.version, r.seed, r.state, r.simulated,"   \
    " r.cost, r.tokens, r.created_ms, r.updated_ms, r.last_n, r.fence, r.owner_pid, r.owner_host," \
    " r.owner_since_ms, r.lease_ms, r.no, r.owner_place, r.owner_start, r.owner_store, "           \
    "r.last_seq,"                                                                                  \
    " r.pool, r.due_ms, r.caller, r.project, r.attempts, r.writes"

/* What was lost and what had a time comes first, then what is due at once (HOCKET__QUEUE_AT): two looks at a pool. */
#define LOOK                                                                                       \
    "(SELECT no, id, " HOCKET__QUEUE_AT " AS at_ms, owner_pid <> 0 OR state = 'running' AS lost"   \
    " FROM runs WHERE " HOCKET__QUEUE_OPEN " AND pool COLLATE \"C\" = "
#define FIRST                                                                                      \
    " AND (owner_pid = 0 OR lease_ms <= $10) AND NOT (id = ANY(string_to_array($9, ',')))"         \
    " ORDER BY " HOCKET__QUEUE_AT ", id LIMIT $11 FOR NO KEY UPDATE SKIP LOCKED)"
#define OF_ONE                                                                                     \
    "SELECT * FROM " LOOK "$1 AND " HOCKET__QUEUE_AT " BETWEEN 1 AND (SELECT now FROM t)" FIRST    \
    " a UNION ALL SELECT * FROM " LOOK "$1 AND " HOCKET__QUEUE_AT " = 0" FIRST " b LIMIT $11"
#define OF_SEVERAL                                                                                 \
    "SELECT b.* FROM unnest(string_to_array($1, ',')) p(name)"                                     \
    " CROSS JOIN (SELECT 1::bigint AS low, now AS high FROM t UNION ALL SELECT 0, 0) w"            \
    " CROSS JOIN LATERAL " LOOK "p.name AND " HOCKET__QUEUE_AT " BETWEEN w.low AND w.high" FIRST   \
    " b ORDER BY b.at_ms = 0, b.at_ms, b.id LIMIT $11"
/* What is in WITH is asked once: else an UPDATE may ask what it is joined with several times, and lock several. Of those that
 * were found one that was lost is taken alone, and the others up to the first such one. */
#define BEST "WITH t AS MATERIALIZED " NOW(8) ", found AS MATERIALIZED ("
#define TAKEN                                                                                      \
    "), best AS MATERIALIZED (SELECT no, nth FROM (SELECT no, row_number() OVER w AS nth,"         \
    " bool_or(lost) OVER w AS lost FROM found WINDOW w AS (ORDER BY at_ms = 0, at_ms, id)) f"      \
    " WHERE nth = 1 OR NOT lost), taken AS (UPDATE runs r SET " HOCKET__QUEUE_TAKE ", " OWN        \
    " WHERE r.no = ANY(ARRAY(SELECT no FROM best))" TOLD                                           \
    ", array_position(ARRAY(SELECT no FROM best ORDER BY nth), r.no) AS nth)"                      \
    " SELECT * FROM taken ORDER BY nth"

/* Of one pool, as nearly all workers ask: the server plans it once, and looks a second time only where the first look finds
 * too few. Of several the first of each are locked, and the first of those taken: others pass over them for that moment. */
static int ask_next(struct hocket__pg *d, bool several)
{
    return several ? hocket__pg_query(d, PG_TAKE_NEXT_OF, BEST OF_SEVERAL TAKEN)
                   : hocket__pg_query(d, PG_TAKE_NEXT, BEST OF_ONE TAKEN);
}

/* That the server's clock was put forward shows when it is asked the next time (leases.c): up to then no lease is over that is not
 * by what it said last. */
static int64_t over(const struct hocket__pg_keeper *k)
{
    int64_t believed = hocket__leases_over(&k->base), now = hocket__pg_now(k);
    return believed < now ? believed : now;
}

static int take_next(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    struct hocket__buf ours;
    hocket__buf_init(&ours, &hocket__malloc, 0);
    int rc = hocket__claims_ids(&k->base, &ours);
    hocket__pg_new(&k->db);
    hocket__pg_text(&k->db, call->key);
    add_self(k);
    hocket__pg_text(&k->db, hocket__buf_str(&ours));
    hocket__pg_int(&k->db, over(k));
    hocket__pg_int(&k->db, (int64_t) call->limit);
    if (rc == 0)
        rc = ask_next(&k->db, memchr(call->key.p, ',', call->key.n));
    hocket__buf_deinit(&ours);
    return rc < 0 ? rc : give_all(k, call);
}

/* ---- What was lost on the way ----------------------------------------------------------------------- */

static bool is_known(struct hocket__pg_keeper *k, int row)
{
    struct hocket__str id = hocket__pg_bytes_of(&k->db, row, 0);
    char text[HOCKET__STORE_ID + 1] = "";
    if (id.n != HOCKET__STORE_ID)
        return true;
    memcpy(text, id.p, id.n);
    return hocket__pg_knows(hocket__claims_get(&k->base, text), hocket__pg_int_of(&k->db, row, 2));
}

static int retake(
    struct hocket__pg_keeper *k, struct hocket__store_call *call, struct hocket__str numbers)
{
    hocket__pg_new(&k->db);
    hocket__pg_text(&k->db, numbers);
    add_self(k);
    int rc = hocket__pg_query(&k->db, PG_RETAKE,
        "WITH t AS MATERIALIZED " NOW(
            8) " UPDATE runs r SET fence = fence + 1, " OWN
               " WHERE r.no = ANY(string_to_array($1, ',')::bigint[]) AND r.owner_pid = $2"
               " AND r.owner_store = $6" TOLD);
    return rc < 0 ? rc : give_all(k, call);
}

/* The numbers of those of the answer that this store does not know; the first ones have been lost before, and come alone. */
static int unknown(
    struct hocket__pg_keeper *k, const struct hocket__store_call *call, struct hocket__buf *numbers)
{
    bool alone = false;
    size_t n = 0;
    for (int i = 0; i < hocket__pg_rows(&k->db) && n < call->limit && !alone; i++) {
        if (is_known(k, i))
            continue;
        alone = hocket__pg_int_of(&k->db, i, 3) > 0;
        hocket__buf_addf(
            numbers, "%s%lld", n++ > 0 ? "," : "", (long long) hocket__pg_int_of(&k->db, i, 1));
    }
    return numbers->status < 0 ? hocket__error_nomem(&k->db.error) : 0;
}

/* Runs that are ours by their rows, by claims of which this store knows nothing, are of an answer that was lost. */
static int lost_ones(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    struct hocket__pg *d = &k->db;
    struct hocket__buf numbers;
    hocket__buf_init(&numbers, &hocket__malloc, 0);
    hocket__pg_new(d);
    hocket__pg_int(d, k->base.self.pid);
    hocket__pg_int(d, k->base.self.store);
    hocket__pg_text(d, call->key);
    int rc = hocket__pg_query(d, PG_LOST,
        "SELECT id, no, fence, attempts FROM runs WHERE owner_pid = $1 AND owner_store = $2"
        " AND state = 'running' AND pool = ANY(string_to_array($3, ',')) AND removed = 0"
        " ORDER BY attempts DESC, id");
    if (rc == 0)
        rc = unknown(k, call, &numbers);
    k->unsure &= rc != 0 || numbers.len > 0;
    if (rc == 0 && numbers.len > 0)
        rc = retake(k, call, hocket__buf_str(&numbers));
    hocket__buf_deinit(&numbers);
    return rc;
}

/* ---- Owners that are gone ------------------------------------------------------------------------------ */

enum { MOST_OWNERS = 32 };

static int find_gone(
    struct hocket__pg_keeper *k, struct hocket__str pools, int64_t gone[][2], int *n)
{
    struct hocket__pg *d = &k->db;
    struct hocket__str place = hocket__cstr(k->base.self.place);
    hocket__pg_new(d);
    hocket__pg_text(d, pools);
    hocket__pg_text(d, place);
    hocket__pg_int(d, hocket__leases_reach(&k->base));
    add_now(k);
    int rc = hocket__pg_query(d, PG_OWNERS,
        "WITH t AS MATERIALIZED " NOW(4) " SELECT DISTINCT owner_pid, owner_start"
                                         " FROM unnest(string_to_array($1, ',')) p(name) JOIN runs "
                                         "ON pool = p.name COLLATE \"C\""
                                         " WHERE " HOCKET__QUEUE_OPEN " AND " HOCKET__QUEUE_AT
                                         " > (SELECT now FROM t)"
                                         " AND " HOCKET__QUEUE_AT " <= (SELECT now + $3 FROM t)"
                                         " AND owner_pid <> 0 AND owner_place = $2");
    for (int i = 0; rc == 0 && i < hocket__pg_rows(d) && *n < MOST_OWNERS; i++) {
        int64_t pid = hocket__pg_int_of(d, i, 0), start = hocket__pg_int_of(d, i, 1);
        if (!hocket__self_sees_end(&k->base.self, place, pid, start))
            continue;
        gone[*n][0] = pid;
        gone[(*n)++][1] = start;
    }
    return rc;
}

static int bury(struct hocket__pg_keeper *k, const int64_t owner[2])
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, owner[0]);
    hocket__pg_int(d, owner[1]);
    hocket__pg_text(d, hocket__cstr(k->base.self.place));
    hocket__pg_int(d, HOCKET__QUEUE_BURIED);
    return hocket__pg_query(d, PG_BURY,
        "UPDATE runs SET lease_ms = $4 WHERE owner_pid = $1 AND owner_start = $2 AND owner_place = "
        "$3"
        " AND " HOCKET__QUEUE_OPEN);
}

/* Processes of this machine that have ended: their leases are over. Whether there were any: 1, 0. */
static int bury_all(struct hocket__pg_keeper *k, struct hocket__str pools)
{
    int64_t gone[MOST_OWNERS][2];
    int n = 0, rc = find_gone(k, pools, gone, &n);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = bury(k, gone[i]);
    return rc < 0 ? rc : n > 0;
}

/* ---- Answers ---------------------------------------------------------------------------------------------- */

static int take(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    int rc = hocket__leases_renew(&k->base);
    if (rc == 0 && k->unsure)
        rc = lost_ones(k, call);
    if (rc == 0 && call->rows.len == 0)
        rc = take_next(k, call);
    if (rc == 0 && call->rows.len == 0 && (rc = bury_all(k, call->key)) == 1)
        rc = take_next(k, call);
    return rc;
}

int hocket__pg_take_next(struct hocket__pg_keeper *k, struct hocket__store_call *call, bool again)
{
    k->unsure |= again;
    int rc = take(k, call);
    k->unsure |= rc < 0;
    return rc;
}

static void give_spoken(struct hocket__pg_keeper *k, struct hocket__store_call *call, int i)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    struct hocket__str id = hocket__pg_bytes_of(&k->db, i, 0);
    row.run.fence = (uint64_t) hocket__pg_int_of(&k->db, i, 1);
    if (id.n != HOCKET__STORE_ID)
        return;
    memcpy(row.run.id, id.p, id.n);
    struct hocket__claimed *c = hocket__claims_get(&k->base, row.run.id);
    if (c && c->fence == row.run.fence)
        hocket__store_pack(&call->rows, &row);
}

int hocket__pg_spoken(struct hocket__pg_keeper *k, struct hocket__store_call *call)
{
    struct hocket__buf ids;
    hocket__buf_init(&ids, &hocket__malloc, 0);
    int rc = hocket__claims_ids(&k->base, &ids);
    hocket__pg_new(&k->db);
    hocket__pg_text(&k->db, hocket__buf_str(&ids));
    if (rc == 0)
        rc = hocket__pg_query(&k->db, PG_SPOKEN,
            "SELECT id, fence FROM runs r WHERE id = ANY(string_to_array($1, ',') COLLATE \"C\")"
            " AND EXISTS (SELECT 1 FROM messages m WHERE m.run = r.no AND m.json IS NOT NULL)");
    for (int i = 0; rc == 0 && i < hocket__pg_rows(&k->db); i++)
        give_spoken(k, call, i);
    hocket__buf_deinit(&ids);
    return rc;
}
