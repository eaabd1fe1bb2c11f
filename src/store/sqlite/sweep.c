/* What is too old, or too much, goes: a run at a time, and its rows in small steps, between which the
 * thread does what is more urgent.
 *
 * A step is a transaction of a few milliseconds. Where it fails nothing is lost: the run stays
 * marked as removed, and the next step begins where this one did. */
#include "store/sqlite/sqlite_impl.h"

#define STEP_ROWS   "500"
#define STEP_PAGES  "256"
#define LOOSE_PAGES 64 /* free pages that are not worth giving back: they are used again */

static int run_with(struct hocket__sqlite_keeper *k, unsigned slot, const char *sql, int64_t no)
{
    sqlite3_stmt *st = hocket__db_stmt(&k->db, slot, sql);
    if (!st)
        return k->db.error.status;
    hocket__db_bind_int(&k->db, st, 1, no);
    return hocket__db_run(&k->db, st);
}

/* Its own id, and the generations that it has, with commas. */
static int names_of(struct hocket__sqlite_keeper *k, int64_t no, struct hocket__buf *names)
{
    sqlite3_stmt *st = hocket__db_stmt(
        &k->db, ST_NAMES, "SELECT id || ',' || ifnull(generation, '') FROM runs WHERE no = ?1");
    if (!st)
        return k->db.error.status;
    hocket__db_bind_int(&k->db, st, 1, no);
    int rc = hocket__db_step(&k->db, st);
    if (rc == 1)
        hocket__buf_addstr(names, hocket__db_str(&k->db, st, 0));
    hocket__db_reset(&k->db, st);
    return rc < 0 ? rc : names->status;
}

/* Files that no run has, and no item. Forks have the generations of those that they go through, and what another run has
 * called that one's; names that are no id of a run are shared by many, and found soon where one of those is left. */
static int purge_files(struct hocket__sqlite_keeper *k, struct hocket__str generation)
{
    sqlite3_stmt *st = hocket__db_stmt(&k->db, ST_PURGE_FILES,
        "DELETE FROM files WHERE generation = ?1"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE id = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE generation = ?1 AND removed = 0)"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE parent IS NOT NULL AND removed = 0"
        " AND instr(',' || generation || ',', ',' || ?1 || ','))"
        " AND NOT EXISTS (SELECT 1 FROM runs WHERE caller = ?1 AND removed = 0"
        " AND instr(',' || generation || ',', ',' || ?1 || ','))"
        " AND NOT (length(?1) <> 26 AND EXISTS (SELECT 1 FROM runs WHERE removed = 0"
        " AND instr(',' || generation || ',', ',' || ?1 || ',')))"
        " AND NOT EXISTS (SELECT 1 FROM items WHERE generation IS NOT NULL"
        " AND instr(',' || generation || ',', ',' || ?1 || ','))");
    if (!st)
        return k->db.error.status;
    hocket__db_bind_text(&k->db, st, 1, generation);
    return hocket__db_run(&k->db, st);
}

int hocket__sqlite_drop_files(struct hocket__sqlite_keeper *k, struct hocket__str generations)
{
    struct hocket__str name;
    int rc = 0;
    while (rc == 0 && hocket__store_next_generation(&generations, &name))
        rc = purge_files(k, name);
    return rc;
}

/* Its id is free at once, and so are files that no other run has. */
int hocket__sweep_remove(struct hocket__sqlite_keeper *k, int64_t no)
{
    struct hocket__buf names;
    hocket__buf_init(&names, &hocket__malloc, 0);
    int rc = names_of(k, no, &names);
    if (rc == 0)
        rc = run_with(k, ST_REMOVE,
            "UPDATE runs SET removed = 1, id = '" HOCKET__REMOVED "' || id || ' ' || no,"
            " owner_pid = 0, input = '', options = '', waiting_for = NULL WHERE no = ?1",
            no);
    if (rc == 0)
        rc = hocket__sqlite_drop_files(k, hocket__buf_str(&names));
    hocket__buf_deinit(&names);
    k->base.more_to_sweep = true;
    return rc;
}

/* The number of a run that a query names, 0 for none. */
static int64_t one_run(struct hocket__sqlite_keeper *k, sqlite3_stmt *st, int *rc)
{
    *rc = st ? hocket__db_step(&k->db, st) : k->db.error.status;
    int64_t no = *rc == 1 ? hocket__db_int(&k->db, st, 0) : 0;
    if (st)
        hocket__db_reset(&k->db, st);
    *rc = *rc < 0 ? *rc : 0;
    return no;
}

/* A fork reads what is before it from its parent: the parent's rows go when no fork has them any
 * more. */
static int64_t removed_run(struct hocket__sqlite_keeper *k, int *rc)
{
    return one_run(k,
        hocket__db_stmt(&k->db, ST_REMOVED,
            "SELECT no FROM runs r WHERE removed = 1"
            " AND NOT EXISTS (SELECT 1 FROM runs f WHERE f.parent = r.no) LIMIT 1"),
        rc);
}

/* The first part that deletes anything ends the step. The run's own row is the last, since it is
 * what leads here. */
static int purge(struct hocket__sqlite_keeper *k, int64_t no)
{
    static const struct {
        unsigned slot;
        const char *sql;
    } parts[] = {
        { ST_PURGE_ENTRIES,
            "DELETE FROM entries WHERE key IN (SELECT key FROM entries"
            " WHERE key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 LIMIT " STEP_ROWS ")" },
        { ST_PURGE_RECORDS,
            "DELETE FROM records WHERE key IN (SELECT key FROM records"
            " WHERE key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 LIMIT " STEP_ROWS ")" },
        { ST_PURGE_MESSAGES, "DELETE FROM messages WHERE no IN (SELECT no FROM messages WHERE run "
                             "= ?1 LIMIT " STEP_ROWS ")" },
        { ST_PURGE_RUN, "DELETE FROM runs WHERE no = ?1" },
    };
    int rc = 0, changed = 0;
    for (size_t i = 0; rc == 0 && changed == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        rc = run_with(k, parts[i].slot, parts[i].sql, no);
        changed = rc == 0 ? k->db.lib->changes(k->db.db) : 0;
    }
    return rc;
}

static bool is_too_large(struct hocket__sqlite_keeper *k, int *rc)
{
    if (k->base.o.max_bytes == 0)
        return false;
    int64_t bytes = hocket__db_ask(&k->db,
        "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count,"
        " pragma_freelist_count, pragma_page_size",
        rc);
    return *rc == 0 && (uint64_t) bytes > k->base.o.max_bytes;
}

/* What may go, as bits. Runs that wait for a person, a signal, a time or a worker are no rubbish, however old. */
enum {
    ENDED = 1,
    LEFT = 2,   /* a conversation at its prompt: nobody may ever come back */
    CUT_OFF = 4 /* it may be gone on with: not before it has lain for a day */
};

/* The oldest of these kinds that nobody has. Whose lease is over may have slept, and be about to go on: only after a day
 * nobody has it. */
static int64_t oldest(struct hocket__sqlite_keeper *k, int kinds, int64_t before_ms, int *rc)
{
    struct hocket__db *d = &k->db;
    int64_t yesterday = hocket__sqlite_now(k) - HOCKET__SLEEP_MS;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_OLDEST,
        "SELECT no FROM runs r WHERE removed = 0 AND ?3 & CASE"
        " WHEN state IN ('done', 'failed', 'cancelled') THEN 1"
        " WHEN state = 'waiting' AND waiting_for GLOB '[[]{\"kind\":\"input\"*'"
        " AND waiting_for NOT GLOB '*\"kind\":\"signal\"*'"
        " AND waiting_for NOT GLOB '*\"kind\":\"time\"*' THEN 2"
        " WHEN state = 'running' AND pool IS NULL AND updated_ms < ?1 THEN 4 ELSE 0 END"
        " AND (owner_pid = 0 OR lease_ms < ?1) AND updated_ms < ?2"
        " AND NOT EXISTS (SELECT 1 FROM runs f WHERE f.parent = r.no)"
        " ORDER BY updated_ms LIMIT 1");
    if (st) {
        hocket__db_bind_int(d, st, 1, yesterday);
        hocket__db_bind_int(d, st, 2, before_ms);
        hocket__db_bind_int(d, st, 3, kinds);
    }
    return one_run(k, st, rc);
}

/* Its time is over, or room is needed. */
static int64_t old_run(struct hocket__sqlite_keeper *k, int *rc)
{
    int64_t no = 0, now = hocket__sqlite_now(k);
    *rc = 0;
    if (k->base.o.max_age_ms > 0)
        no = oldest(k, ENDED | LEFT | CUT_OFF, now - k->base.o.max_age_ms, rc);
    if (no || *rc < 0 || !is_too_large(k, rc))
        return no;
    for (int kind = ENDED; !no && *rc == 0 && kind <= CUT_OFF; kind *= 2)
        no = oldest(k, kind, now + 1, rc);
    return no;
}

/* Pages are given back to the file system in pieces, and only when there are many: a file that
 * shrinks and grows costs more than it saves. */
static int vacuum(struct hocket__sqlite_keeper *k)
{
    int rc;
    int64_t before = hocket__db_ask(&k->db, "PRAGMA freelist_count", &rc), after = before;
    if (rc == 0 && before > LOOSE_PAGES)
        rc = hocket__db_exec(&k->db, "PRAGMA incremental_vacuum(" STEP_PAGES ")");
    if (rc == 0 && before > LOOSE_PAGES)
        after = hocket__db_ask(&k->db, "PRAGMA freelist_count", &rc);
    k->base.more_to_sweep = after > LOOSE_PAGES && after < before;
    return rc;
}

int hocket__sweep_step(struct hocket__keeper *base)
{
    struct hocket__sqlite_keeper *k = hocket__sqlite_of(base);
    int rc = k->looks ? 0 : hocket__sqlite_begin(k);
    if (rc < 0 || k->looks)
        return rc;
    int64_t removed = removed_run(k, &rc), old = rc == 0 && !removed ? old_run(k, &rc) : 0;
    if (rc == 0 && removed)
        rc = purge(k, removed);
    else if (rc == 0 && old)
        rc = hocket__sweep_remove(k, old);
    rc = hocket__sqlite_end(k, rc);
    k->base.more_to_sweep = true;
    if (rc < 0 || removed || old)
        return rc;
    if (k->is_tidy)
        hocket__ahead_recover(k); /* nobody may open the store for a long time */
    else
        hocket__ahead_tidy(k);
    k->is_tidy = true;
    return vacuum(k);
}
