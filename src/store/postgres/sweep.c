/* What was removed goes in small steps, and what is too old where somebody has said what that is. A step is a
 * transaction of a few milliseconds; of several stores that sweep at once each takes another run. Room is
 * given back by the server's own autovacuum.
 *
 *     removed 0 ──> 1: nobody finds it ──> 2: its rows are gone, but its own, the trace ──> gone, a day after it was removed
 *
 * A trace is for who has put a run and lost the answer: a worker may have taken it, ended it, and somebody removed it, before
 * that can be asked again. */
#include "store/postgres/postgres_impl.h"

#include "os/clock.h"

#define STEP_ROWS     "500"
#define TRACE_MS      (INT64_C(24) * 3600 * 1000)
#define TRACES_GAP_MS (10 * 60 * 1000) /* they are found by reading all of them */
enum { STEP_NUMBERS = 10000 };

/* ---- Removing -------------------------------------------------------------------------------- */

/* Its own id, and the generations that it has, with commas. */
static int names_of(struct hocket__pg *d, int64_t no, struct hocket__buf *names)
{
    hocket__pg_new(d);
    hocket__pg_int(d, no);
    int rc = hocket__pg_query(
        d, PG_NAMES, "SELECT id || ',' || coalesce(generation, '') FROM runs WHERE no = $1");
    if (rc < 0 || hocket__pg_rows(d) == 0)
        return rc;
    hocket__pg_begin_row(d, 0);
    return hocket__buf_addstr(names, hocket__pg_text_of(d, 0, 0)) < 0
               ? hocket__error_nomem(&d->error)
               : 0;
}

/* Files that no run has, and no item. Forks have the generations of those that they go through, and what another run has
 * called that one's; names that are no id of a run are shared by many, and found soon where one of those is left. Nobody puts any
 * of them meanwhile: he would find them there, and the statement that looks for runs would not see his. */
static int purge_files(struct hocket__pg *d, struct hocket__str generation)
{
    hocket__pg_new(d);
    hocket__pg_text(d, generation);
    int rc = hocket__pg_query(
        d, PG_FILE_LOCK, "SELECT pg_advisory_xact_lock(" HOCKET__PG_GENERATION ")");
    if (rc < 0)
        return rc;
    hocket__pg_new(d);
    hocket__pg_text(d, generation);
    return hocket__pg_query(d, PG_PURGE_FILES,
        "DELETE FROM files WHERE generation = $1"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE id = $1)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE generation = $1 AND removed = 0)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE parent IS NOT NULL AND removed = 0"
        " AND strpos(',' || generation || ',', ',' || $1 || ',') > 0)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE caller = $1 AND removed = 0"
        " AND strpos(',' || generation || ',', ',' || $1 || ',') > 0)"
        " AND NOT (length($1) <> 26 AND EXISTS (SELECT 1 FROM runs WHERE removed = 0"
        " AND strpos(',' || generation || ',', ',' || $1 || ',') > 0))"
        " AND NOT EXISTS (SELECT 1 FROM items WHERE generation IS NOT NULL"
        " AND strpos(',' || generation || ',', ',' || $1 || ',') > 0)");
}

int hocket__pg_drop_files(struct hocket__pg *d, struct hocket__str generations)
{
    struct hocket__str name;
    int rc = 0;
    while (rc == 0 && hocket__store_next_generation(&generations, &name))
        rc = purge_files(d, name);
    return rc;
}

/* What runs that it was handed in with have as well is looked for at the end of all, where there is one. */
static int drop_files_of(struct hocket__pg_keeper *k, struct hocket__str generations)
{
    struct hocket__str name;
    int rc = 0;
    while (rc == 0 && hocket__store_next_generation(&generations, &name))
        if (name.n == HOCKET__STORE_ID || !k->keeps_shared)
            rc = purge_files(&k->db, name);
    return rc;
}

/* Its id is free at once, and so are files that no other run has. */
int hocket__pg_remove(struct hocket__pg_keeper *k, int64_t no)
{
    struct hocket__pg *d = &k->db;
    struct hocket__buf names;
    hocket__buf_init(&names, &hocket__malloc, 0);
    int rc = names_of(d, no, &names);
    hocket__pg_new(d);
    hocket__pg_int(d, no);
    hocket__pg_int(d, hocket__pg_now(k));
    if (rc == 0)
        rc = hocket__pg_query(d, PG_REMOVE,
            "UPDATE runs SET removed = 1, id = '" HOCKET__PG_REMOVED "' || id || ' ' || no,"
            " updated_ms = $2,"
            " owner_pid = 0, input = '', options = '', waiting_for = NULL WHERE no = $1");
    if (rc == 0)
        rc = drop_files_of(k, hocket__buf_str(&names));
    hocket__buf_deinit(&names);
    k->base.more_to_sweep = true;
    return rc;
}

/* ---- Steps -------------------------------------------------------------------------------------- */

static int64_t one_run(struct hocket__pg *d, unsigned slot, const char *sql, int *rc)
{
    *rc = hocket__pg_query(d, slot, sql);
    return *rc == 0 && hocket__pg_rows(d) == 1 ? hocket__pg_int_of(d, 0, 0) : 0;
}

/* A fork reads what is before it from its parent: the parent's rows go when no fork has them any more. */
static int64_t removed_run(struct hocket__pg *d, int *rc)
{
    hocket__pg_new(d);
    return one_run(d, PG_REMOVED,
        "SELECT no FROM runs r WHERE removed = 1"
        " AND NOT EXISTS (SELECT 1 FROM runs f WHERE f.parent = r.no)"
        " LIMIT 1 FOR UPDATE SKIP LOCKED",
        rc);
}

/* The first part that changes anything ends the step. The run's own row is the last, since it is what leads here. */
static int purge(struct hocket__pg *d, int64_t no)
{
    static const struct {
        unsigned slot;
        const char *sql;
    } parts[] = {
        { PG_PURGE_ENTRIES, "DELETE FROM entries WHERE run = $1 AND n IN (SELECT n FROM entries"
                            " WHERE run = $1 LIMIT " STEP_ROWS ")" },
        { PG_PURGE_RECORDS, "DELETE FROM records WHERE run = $1 AND seq IN (SELECT seq FROM records"
                            " WHERE run = $1 LIMIT " STEP_ROWS ")" },
        { PG_PURGE_MESSAGES,
            "DELETE FROM messages WHERE run = $1 AND no IN (SELECT no FROM messages"
            " WHERE run = $1 LIMIT " STEP_ROWS ")" },
        { PG_PURGE_RUN,
            "UPDATE runs SET removed = 2, parent = NULL, target = '', generation = NULL,"
            " caller = NULL, project = NULL WHERE no = $1" },
    };
    int rc = 0;
    int64_t changed = 0;
    for (size_t i = 0; rc == 0 && changed == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        hocket__pg_new(d);
        hocket__pg_int(d, no);
        rc = hocket__pg_query(d, parts[i].slot, parts[i].sql);
        changed = rc == 0 ? hocket__pg_changed(d) : 0;
    }
    return rc;
}

/* Where the next pass begins and ends. */
static int begin_pass(struct hocket__pg_keeper *k)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    int rc = hocket__pg_query(
        d, PG_NUMBERS, "SELECT coalesce(min(no), 1), coalesce(max(no), 0) + 1 FROM runs");
    if (rc < 0)
        return rc;
    k->pass.lowest = hocket__pg_int_of(d, 0, 0);
    k->pass.below = hocket__pg_int_of(d, 0, 1);
    return 0;
}

/* As in a file (sqlite/sweep.c), but that how much there is plays no part: a database is others' as well, and gives
 * room back in its own time. Nor is there an index of times: rows are changed in place. So all numbers are passed through, some in
 * each step, the highest first: forks come before what they read from. */
static int64_t old_run(struct hocket__pg_keeper *k, int *rc)
{
    struct hocket__pg *d = &k->db;
    *rc = 0;
    if (k->base.o.max_age_ms == 0 || (k->pass.below == 0 && (*rc = begin_pass(k)) < 0))
        return 0;
    int64_t now = hocket__pg_now(k);
    hocket__pg_new(d);
    hocket__pg_int(d, now - HOCKET__SLEEP_MS);
    hocket__pg_int(d, now - k->base.o.max_age_ms);
    hocket__pg_int(d, k->pass.below - STEP_NUMBERS);
    hocket__pg_int(d, k->pass.below);
    int64_t no = one_run(d, PG_OLD,
        "SELECT no FROM runs r WHERE no >= $3 AND no < $4"
        " AND removed = 0 AND (state NOT IN ('waiting', 'parked', 'queued')"
        " OR (state = 'waiting' AND waiting_for LIKE '[{\"kind\":\"input\"%'"
        " AND waiting_for NOT LIKE '%\"kind\":\"signal\"%'"
        " AND waiting_for NOT LIKE '%\"kind\":\"time\"%'))"
        " AND NOT (state = 'running' AND pool IS NOT NULL)"
        " AND (owner_pid = 0 OR lease_ms < $1) AND updated_ms < $2"
        " AND NOT EXISTS (SELECT 1 FROM runs f WHERE f.parent = r.no)"
        " ORDER BY no DESC LIMIT 1 FOR UPDATE SKIP LOCKED",
        rc);
    if (*rc == 0)
        k->pass.below = no ? no : k->pass.below - STEP_NUMBERS;
    if (k->pass.below <= k->pass.lowest)
        k->pass.below = 0;
    return no;
}

/* Some of those that are old enough: 1: there may be more. */
static int drop_traces(struct hocket__pg_keeper *k)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, hocket__pg_now(k) - TRACE_MS);
    int rc = hocket__pg_query(d, PG_TRACES,
        "DELETE FROM runs WHERE no IN (SELECT no FROM runs WHERE removed = 2 AND updated_ms < $1"
        " AND id >= '" HOCKET__PG_REMOVED "' AND id < '" HOCKET__PG_REMOVED_END "'"
        " LIMIT " STEP_ROWS " FOR UPDATE SKIP LOCKED)");
    bool more = rc == 0 && hocket__pg_changed(d) > 0;
    if (rc == 0 && !more)
        k->next_traces_ms = hocket__monotonic_ms() + TRACES_GAP_MS;
    return rc < 0 ? rc : more;
}

int hocket__pg_sweep(struct hocket__keeper *base)
{
    struct hocket__pg_keeper *k = hocket__pg_of(base);
    int64_t removed = 0, old = 0;
    int rc = hocket__pg_connect(&k->db);
    if (rc == 0)
        rc = hocket__pg_begin(&k->db);
    if (rc == 0)
        removed = removed_run(&k->db, &rc);
    if (rc == 0 && !removed)
        old = old_run(k, &rc);
    if (rc == 0 && removed)
        rc = purge(&k->db, removed);
    else if (rc == 0 && old)
        rc = hocket__pg_remove(k, old);
    else if (rc == 0 && hocket__monotonic_ms() >= k->next_traces_ms)
        rc = drop_traces(k);
    base->more_to_sweep = removed || old || k->pass.below > 0 || rc == 1;
    return k->db.conn ? hocket__pg_finish(&k->db, rc < 0 ? rc : 0) : rc;
}

/* ---- All at once --------------------------------------------------------------------------------- */

/* Those of all names that are no id of a run: each is looked for once. */
static int drop_shared_files(struct hocket__pg *d)
{
    struct hocket__buf names;
    hocket__buf_init(&names, &hocket__malloc, 0);
    hocket__pg_new(d);
    int rc = hocket__pg_query(d, PG_ONCE,
        "SELECT string_agg(DISTINCT generation, ',') FROM files WHERE length(generation) <> 26");
    if (rc == 0) {
        hocket__pg_begin_row(d, 0);
        rc = hocket__buf_addstr(&names, hocket__pg_text_of(d, 0, 0)) < 0
                 ? hocket__error_nomem(&d->error)
                 : hocket__pg_begin(d);
    }
    if (rc == 0)
        rc = hocket__pg_finish(d, hocket__pg_drop_files(d, hocket__buf_str(&names)));
    hocket__buf_deinit(&names);
    return rc;
}

int hocket__pg_sweep_all(struct hocket__pg_keeper *k, int64_t max_age_ms)
{
    struct hocket__store_options before = k->base.o;
    int rc;
    k->base.o.max_age_ms = max_age_ms;
    k->pass.below = 0;
    k->keeps_shared = true;
    do
        rc = hocket__pg_sweep(&k->base);
    while (rc == 0 && k->base.more_to_sweep);
    k->base.o = before;
    k->pass.below = 0;
    k->keeps_shared = false;
    return rc == 0 ? drop_shared_files(&k->db) : rc;
}
