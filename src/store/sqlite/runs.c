/* Runs: one of them, lists, and an end to one. */
#include "store/sqlite/sqlite_impl.h"

/* ---- Runs -------------------------------------------------------------------------------------- */

static void copy_id(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    if (from.n == HOCKET__STORE_ID)
        memcpy(to, from.p, from.n);
}

/* One that was removed still says what it was called. */
static void copy_parent(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    size_t skip = sizeof(HOCKET__REMOVED) - 1;
    if (from.n > skip + HOCKET__STORE_ID && memcmp(from.p, HOCKET__REMOVED, skip) == 0)
        from = hocket__str(from.p + skip, HOCKET__STORE_ID);
    copy_id(from, to);
}

static struct hocket__store_owner owner(struct hocket__db *d, sqlite3_stmt *st)
{
    struct hocket__store_owner o = { .pid = hocket__db_int(d, st, HOCKET__RUN_OWNER) };
    if (o.pid == 0)
        return o;
    o.host = hocket__db_str(d, st, 20);
    o.since_ms = hocket__db_int(d, st, 21);
    o.lease_ms = hocket__db_int(d, st, 22);
    return o;
}

void hocket__row_run(struct hocket__db *d, sqlite3_stmt *st, struct hocket__store_run *r)
{
    copy_id(hocket__db_str(d, st, 0), r->id);
    copy_parent(hocket__db_str(d, st, 1), r->parent);
    r->at_n = (uint64_t) hocket__db_int(d, st, 2);
    r->at_seq = (uint64_t) hocket__db_int(d, st, 3);
    r->target = hocket__db_str(d, st, 4);
    r->input = hocket__db_str(d, st, 5);
    r->options = hocket__db_str(d, st, 6);
    r->generation = hocket__db_str(d, st, 7);
    r->waiting_for = hocket__db_str(d, st, 8);
    r->version = hocket__db_str(d, st, 9);
    struct hocket__str seed = hocket__db_str(d, st, 10);
    if (seed.n == sizeof(r->seed))
        memcpy(r->seed, seed.p, seed.n);
    r->state = hocket__store_state_of(hocket__db_str(d, st, 11));
    if (r->state == HOCKET__STORE_STATE_COUNT)
        r->state = HOCKET__STORE_FAILED;
    r->simulated = hocket__db_int(d, st, 12) != 0;
    r->cost = hocket__db_count(d, st, 13);
    r->tokens = hocket__db_count(d, st, 14);
    r->created_ms = hocket__db_int(d, st, 15);
    r->updated_ms = hocket__db_int(d, st, 16);
    r->last_n = (uint64_t) hocket__db_int(d, st, 17);
    r->fence = (uint64_t) hocket__db_int(d, st, 18);
    r->last_seq = (uint64_t) hocket__db_int(d, st, HOCKET__RUN_LAST_SEQ);
    r->pool = hocket__db_str(d, st, HOCKET__RUN_POOL);
    r->due_ms = hocket__db_int(d, st, HOCKET__RUN_POOL + 1);
    copy_id(hocket__db_str(d, st, HOCKET__RUN_POOL + 2), r->caller);
    r->project = hocket__db_str(d, st, HOCKET__RUN_POOL + 3);
    r->attempts = (uint32_t) hocket__db_int(d, st, HOCKET__RUN_POOL + 4);
    r->owner = owner(d, st);
}

/* Who had it and has ended has it no more, whatever the row says. */
static void give_run(
    struct hocket__sqlite_keeper *k, sqlite3_stmt *st, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__row_run(&k->db, st, &row.run);
    if (row.run.owner.pid != 0 && !hocket__sqlite_is_held(k, st))
        row.run.owner = (struct hocket__store_owner){ 0 };
    hocket__store_pack(&c->rows, &row);
    copy_id(hocket__cstr(row.run.id), c->before);
}

/* Ids are of digits and capitals: what begins with a prefix lies before the prefix and a tilde. */
int hocket__sqlite_find(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_FIND,
        "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM
        " WHERE r.id >= ?1 AND r.id < ?1 || '~' AND r.removed = 0 ORDER BY r.id LIMIT 2");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    int rc = hocket__db_step(d, st);
    if (rc == 1) {
        char first[HOCKET__STORE_ID + 1] = "", other[HOCKET__STORE_ID + 1] = "";
        give_run(k, st, c);
        copy_id(hocket__db_str(d, st, 0), first);
        if ((rc = hocket__db_step(d, st)) == 1) {
            copy_id(hocket__db_str(d, st, 0), other);
            hocket__buf_reset(&c->rows);
            c->status = hocket__store_ambiguous(c, first, other);
        }
    } else if (rc == 0) {
        c->status = hocket__store_not_found(c);
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

/* The states as a text that instr finds the words of. */
static void bind_states(struct hocket__db *d, sqlite3_stmt *st, int i, unsigned states, char *words)
{
    words[0] = 0;
    for (int s = 0; s < HOCKET__STORE_STATE_COUNT; s++)
        if (states == 0 || (states >> s & 1))
            strcat(strcat(words, " "), hocket__store_state_word((enum hocket__store_state) s));
    strcat(words, " ");
    hocket__db_bind_text(d, st, i, hocket__cstr(words));
}

#define RUNS                                                                                       \
    "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM                                                 \
    " WHERE r.id < ?1 AND r.removed = 0 AND instr(?2, ' ' || r.state || ' ')"                      \
    " AND (?3 = 0 OR r.updated_ms < ?3) AND (?4 = '' OR p.id = ?4)"                                \
    " AND (?6 = '' OR r.pool = ?6) AND (?7 = '' OR r.project = ?7)"
#define NEWEST " ORDER BY r.id DESC"

/* A caller has few, and an index: of a statement that may be about all it would be no part. */
static sqlite3_stmt *runs_of(struct hocket__db *d, struct hocket__str caller)
{
    return caller.n > 0 ? hocket__db_stmt(d, ST_RUNS_CALLED, RUNS " AND r.caller = ?5" NEWEST)
                        : hocket__db_stmt(d, ST_RUNS, RUNS NEWEST);
}

int hocket__sqlite_runs(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    char words[128];
    sqlite3_stmt *st = runs_of(d, c->key);
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->before[0] ? hocket__cstr(c->before) : HOCKET__STR("~"));
    bind_states(d, st, 2, c->states, words);
    hocket__db_bind_int(d, st, 3, c->updated_before_ms);
    hocket__db_bind_text(d, st, 4, c->parent);
    hocket__db_bind_text(d, st, 5, c->key);
    hocket__db_bind_text(d, st, 6, c->message_id);
    hocket__db_bind_text(d, st, 7, c->json);
    int rc;
    while ((rc = hocket__db_step(d, st)) == 1) {
        give_run(k, st, c);
        if (c->limit > 0 && --c->limit == 0)
            break;
        if ((c->more = c->rows.len >= HOCKET__STORE_PIECE))
            break;
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

/* ---- Removing ----------------------------------------------------------------------------------------- */

static int check_calls(struct hocket__sqlite_keeper *k, struct hocket__store_call *c, int64_t no)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_CALLS, HOCKET__CALLS_OF("?1"));
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, no);
    int rc = hocket__db_step(d, st);
    if (rc == 1)
        c->status = hocket__store_has_calls(c, hocket__db_str(d, st, 0), hocket__db_str(d, st, 1));
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

static int remove_run(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(
        d, ST_TAKE_FIND, "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM " WHERE r.id = ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    int rc = hocket__db_step(d, st);
    int64_t no = rc == 1 ? hocket__db_int(d, st, HOCKET__RUN_NO) : 0;
    if (rc == 0)
        c->status = hocket__store_not_found(c);
    if (rc == 1 && hocket__sqlite_is_held(k, st)) {
        struct hocket__store_owner o = owner(d, st);
        c->status = hocket__store_has_it(c, &o);
    }
    hocket__db_reset(d, st);
    if (rc == 1 && c->status == 0)
        rc = check_calls(k, c, no);
    return rc < 0 || c->status < 0 ? (rc < 0 ? rc : 0) : hocket__sweep_remove(k, no);
}

int hocket__sqlite_remove_named(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_begin(k);
    if (rc == 0)
        rc = remove_run(k, c);
    return hocket__sqlite_end(k, rc);
}
