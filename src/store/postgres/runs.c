/* Runs: one of them, lists, and an end to one. */
#include "store/postgres/piece.h"
#include "store/postgres/postgres_impl.h"

/* ---- Runs -------------------------------------------------------------------------------------- */

static void copy_id(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    if (from.n == HOCKET__STORE_ID)
        memcpy(to, from.p, from.n);
}

/* One that was removed still says what it was called. */
static void copy_parent(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    size_t skip = sizeof(HOCKET__PG_REMOVED) - 1;
    if (from.n > skip + HOCKET__STORE_ID && memcmp(from.p, HOCKET__PG_REMOVED, skip) == 0)
        from = hocket__str(from.p + skip, HOCKET__STORE_ID);
    copy_id(from, to);
}

static struct hocket__store_owner owner_of(struct hocket__pg *d, int row)
{
    struct hocket__store_owner o = { .pid = hocket__pg_int_of(d, row, PG_RUN_PID) };
    if (o.pid == 0)
        return o;
    o.host = hocket__pg_text_of(d, row, PG_RUN_HOST);
    o.since_ms = hocket__pg_int_of(d, row, PG_RUN_SINCE);
    o.lease_ms = hocket__pg_int_of(d, row, PG_RUN_LEASE);
    return o;
}

void hocket__pg_run_of(struct hocket__pg *d, int row, struct hocket__store_run *r)
{
    copy_id(hocket__pg_bytes_of(d, row, 0), r->id);
    copy_parent(hocket__pg_bytes_of(d, row, 1), r->parent);
    r->at_n = (uint64_t) hocket__pg_int_of(d, row, 2);
    r->at_seq = (uint64_t) hocket__pg_int_of(d, row, 3);
    r->target = hocket__pg_text_of(d, row, 4);
    r->input = hocket__pg_text_of(d, row, 5);
    r->options = hocket__pg_text_of(d, row, 6);
    r->generation = hocket__pg_text_of(d, row, 7);
    r->waiting_for = hocket__pg_text_of(d, row, 8);
    r->version = hocket__pg_text_of(d, row, 9);
    struct hocket__str seed = hocket__pg_bytes_of(d, row, 10);
    if (seed.n == sizeof(r->seed))
        memcpy(r->seed, seed.p, seed.n);
    r->state = hocket__store_state_of(hocket__pg_bytes_of(d, row, 11));
    if (r->state == HOCKET__STORE_STATE_COUNT)
        r->state = HOCKET__STORE_FAILED;
    r->simulated = hocket__pg_int_of(d, row, 12) != 0;
    r->cost = hocket__pg_count_of(d, row, 13);
    r->tokens = hocket__pg_count_of(d, row, 14);
    r->created_ms = hocket__pg_int_of(d, row, 15);
    r->updated_ms = hocket__pg_int_of(d, row, 16);
    r->last_n = (uint64_t) hocket__pg_int_of(d, row, 17);
    r->fence = (uint64_t) hocket__pg_int_of(d, row, 18);
    r->last_seq = (uint64_t) hocket__pg_int_of(d, row, PG_RUN_LAST_SEQ);
    r->pool = hocket__pg_text_of(d, row, PG_RUN_POOL);
    r->due_ms = hocket__pg_int_of(d, row, PG_RUN_POOL + 1);
    copy_id(hocket__pg_bytes_of(d, row, PG_RUN_POOL + 2), r->caller);
    r->project = hocket__pg_text_of(d, row, PG_RUN_POOL + 3);
    r->attempts = (uint32_t) hocket__pg_int_of(d, row, PG_RUN_POOL + 4);
    r->owner = owner_of(d, row);
}

int64_t hocket__pg_run_no(struct hocket__pg *d, struct hocket__str id, int *rc)
{
    hocket__pg_new(d);
    hocket__pg_text(d, id);
    *rc = hocket__pg_query(d, PG_RUN_ID, "SELECT no FROM runs WHERE id = $1");
    return *rc == 0 && hocket__pg_rows(d) == 1 ? hocket__pg_int_of(d, 0, 0) : 0;
}

/* Who had it and has ended has it no more, whatever the row says. */
static void give_run(struct hocket__pg_keeper *k, struct hocket__store_call *c, int i)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__pg_begin_row(&k->db, i);
    hocket__pg_run_of(&k->db, i, &row.run);
    if (row.run.owner.pid != 0 && !hocket__pg_is_held(k, i))
        row.run.owner = (struct hocket__store_owner){ 0 };
    hocket__store_pack(&c->rows, &row);
    copy_id(hocket__cstr(row.run.id), c->before);
}

/* Ids are of digits and capitals: what begins with a prefix lies before the prefix and a tilde. */
int hocket__pg_find(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    int rc = hocket__pg_query(d, PG_FIND,
        HOCKET__PG_RUN " WHERE r.id >= $1 AND r.id < $1 || '~' AND r.removed = 0"
                       " ORDER BY r.id LIMIT 2");
    if (rc < 0)
        return rc;
    char ids[2][HOCKET__STORE_ID + 1] = { "", "" };
    for (int i = 0; i < hocket__pg_rows(d); i++)
        copy_id(hocket__pg_bytes_of(d, i, 0), ids[i]);
    if (ids[1][0])
        c->status = hocket__store_ambiguous(c, ids[0], ids[1]);
    else if (!ids[0][0])
        c->status = hocket__store_not_found(c);
    else
        give_run(k, c, 0);
    return 0;
}

/* The states as a text in which their words are found. */
static void add_states(struct hocket__pg *d, unsigned states, char *words)
{
    words[0] = 0;
    for (int s = 0; s < HOCKET__STORE_STATE_COUNT; s++)
        if (states == 0 || (states >> s & 1))
            strcat(strcat(words, " "), hocket__store_state_word((enum hocket__store_state) s));
    strcat(words, " ");
    hocket__pg_text(d, hocket__cstr(words));
}

enum { RUNS_AT_ONCE = 100 };

/* Which fill a piece is found by lengths alone; then those are read. */
#define RUNS(of_caller)                                                                            \
    "SELECT " HOCKET__PG_RUN_COLUMNS ", s.all_of FROM (" HOCKET__PG_PIECE("no", "id DESC",         \
        "SELECT r.no, r.id, octet_length(r.input) + octet_length(r.options)"                       \
        " + coalesce(octet_length(r.waiting_for), 0) + coalesce(octet_length(r.generation), 0)"    \
        " + 300 AS size" HOCKET__PG_RUN_FROM                                                       \
        " WHERE r.id < $1 AND r.removed = 0 AND strpos($2, ' ' || r.state || ' ') > 0"             \
        " AND ($3 = 0 OR r.updated_ms < $3) AND ($4 = '' OR p.id = $4)"                            \
        " AND ($6 = '' OR r.pool = $6) AND ($7 = '' OR r.project = $7)" of_caller                  \
        " ORDER BY r.id DESC LIMIT $5") ") s JOIN runs r ON r.no = s.no"                           \
                                        " LEFT JOIN runs p ON p.no = r.parent ORDER BY r.id DESC"

/* A caller has few, and an index: of a statement that may be about all it would be no part. */
static int ask_runs(struct hocket__pg *d, struct hocket__str caller)
{
    if (caller.n == 0)
        return hocket__pg_query(d, PG_RUNS, RUNS(""));
    hocket__pg_text(d, caller);
    return hocket__pg_query(d, PG_RUNS_CALLED, RUNS(" AND r.caller = $8"));
}

int hocket__pg_runs(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    char words[128];
    int n = c->limit > 0 && c->limit < RUNS_AT_ONCE ? (int) c->limit : RUNS_AT_ONCE;
    hocket__pg_new(d);
    hocket__pg_text(d, c->before[0] ? hocket__cstr(c->before) : HOCKET__STR(HOCKET__PG_REMOVED));
    add_states(d, c->states, words);
    hocket__pg_int(d, c->updated_before_ms);
    hocket__pg_text(d, c->parent);
    hocket__pg_int(d, n);
    hocket__pg_text(d, c->message_id);
    hocket__pg_text(d, c->json);
    int rc = ask_runs(d, c->key);
    if (rc < 0)
        return rc;
    int rows = hocket__pg_rows(d);
    for (int i = 0; i < rows; i++)
        give_run(k, c, i);
    bool cut = rows > 0 && hocket__pg_int_of(d, 0, PG_RUN_COLUMNS) > rows;
    c->more = cut || (rows == n && c->limit != (size_t) n);
    if (c->limit > 0)
        c->limit -= (size_t) rows;
    return 0;
}

/* ---- Removing ------------------------------------------------------------------------------------------- */

static int check_calls(struct hocket__pg_keeper *k, struct hocket__store_call *c, int64_t no)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, no);
    int rc = hocket__pg_query(d, PG_CALLS, HOCKET__CALLS_OF("$1"));
    if (rc == 0 && hocket__pg_rows(d) == 1)
        c->status =
            hocket__store_has_calls(c, hocket__pg_text_of(d, 0, 0), hocket__pg_text_of(d, 0, 1));
    return rc;
}

static int remove_run(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_text(d, c->key);
    int rc = hocket__pg_query(d, PG_TAKE_FIND, HOCKET__PG_RUN " WHERE r.id = $1 FOR UPDATE OF r");
    if (rc < 0)
        return rc;
    if (hocket__pg_rows(d) == 0) {
        if (!again)
            c->status = hocket__store_not_found(c);
        return 0;
    }
    int64_t no = hocket__pg_int_of(d, 0, PG_RUN_NO);
    if (!hocket__pg_is_held(k, 0)) {
        rc = check_calls(k, c, no);
        return rc < 0 || c->status < 0 ? rc : hocket__pg_remove(k, no);
    }
    hocket__pg_begin_row(d, 0);
    struct hocket__store_owner o = owner_of(d, 0);
    c->status = hocket__store_has_it(c, &o);
    return 0;
}

int hocket__pg_remove_named(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again)
{
    int rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        rc = remove_run(k, c, again);
    return hocket__pg_finish(&k->db, rc);
}
