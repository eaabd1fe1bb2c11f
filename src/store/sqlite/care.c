/* What people do with a file as a whole: look at it, check it, make it smaller. */
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_impl.h"

/* What must hold between the tables; each gives a text for each row that is wrong. */
static const char *const rules[] = {
    "PRAGMA integrity_check(20)",
    "SELECT 'run ' || r.id || ' has entries up to ' || ifnull(max(e.n), 0) || ' and says ' || "
    "r.last_n"
    " FROM runs r LEFT JOIN entries e ON e.key BETWEEN r.no << 32 AND (r.no << 32) + 4294967295"
    " WHERE r.removed = 0 GROUP BY r.no HAVING max(ifnull(max(e.n), 0), r.at_n) <> r.last_n LIMIT "
    "20",
    "SELECT 'run ' || r.id || ' lacks entries' FROM runs r WHERE r.removed = 0 AND r.last_n - "
    "r.at_n <>"
    " (SELECT count(*) FROM entries WHERE key BETWEEN r.no << 32 AND (r.no << 32) + 4294967295) "
    "LIMIT 20",
    "SELECT 'there are entries of no run: ' || count(*) FROM entries WHERE run NOT IN (SELECT no "
    "FROM runs)"
    " HAVING count(*) > 0",
    "SELECT 'a long text is not there: entry ' || key FROM entries WHERE value IS NULL"
    " AND text NOT IN (SELECT no FROM texts) LIMIT 20",
    "SELECT 'the text of ' || path || ' is not there' FROM files WHERE text NOT IN (SELECT no FROM "
    "texts)"
    " LIMIT 20",
    "SELECT 'a text is counted ' || refs || ' times: ' || no FROM texts t WHERE refs <>"
    " (SELECT count(*) FROM entries WHERE text = t.no) + (SELECT count(*) FROM files WHERE text = "
    "t.no) LIMIT 20",
};

static int check_rule(
    struct hocket__sqlite_keeper *k, struct hocket__store_call *c, const char *sql)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = NULL;
    int rc;
    if (d->lib->prepare_v3(d->db, sql, -1, 0, &st, NULL) != SQLITE_OK)
        return hocket__db_fail(d);
    while ((rc = hocket__db_step(d, st)) == 1) {
        struct hocket__str text = hocket__db_str(d, st, 0);
        if (!hocket__str_is(text, "ok"))
            hocket__store_say(c, "problem", "%.*s", (int) text.n, text.p);
    }
    d->lib->finalize(st);
    return rc;
}

static int check(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
        rc = check_rule(k, c, rules[i]);
    return rc;
}

static int64_t count(struct hocket__sqlite_keeper *k, int *rc)
{
    return hocket__db_ask(&k->db, "SELECT count(*) FROM runs WHERE removed = 0", rc);
}

static int vacuum(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__store_options before = k->base.o;
    int rc;
    if (k->looks)
        return hocket__sqlite_deny(k);
    int64_t runs = count(k, &rc);
    k->base.o.max_age_ms = c->at_ms;
    do
        rc = rc == 0 ? hocket__sweep_step(&k->base) : rc;
    while (rc == 0 && k->base.more_to_sweep);
    k->base.o = before;
    if (rc == 0)
        rc = hocket__db_exec(
            &k->db, "PRAGMA incremental_vacuum; PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
    int64_t left = rc == 0 ? count(k, &rc) : 0;
    if (rc == 0)
        hocket__store_say(c, "removed", "%lld", (long long) (runs - left));
    return rc;
}

static int info(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc;
    int64_t runs = count(k, &rc);
    hocket__store_say(c, "kind", "sqlite");
    hocket__store_say(c, "place", "%s", k->path.data);
    hocket__store_say(c, "version", "%d", HOCKET__STORE_VERSION);
    hocket__store_say(c, "runs", "%lld", (long long) runs);
    return rc;
}

int hocket__sqlite_care(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    switch ((enum hocket__store_care) c->states) {
    case HOCKET__STORE_INFO: return info(k, c);
    case HOCKET__STORE_CHECK: return check(k, c);
    case HOCKET__STORE_VACUUM: return vacuum(k, c);
    case HOCKET__STORE_GRANT: break;
    }
    c->status = hocket__store_unheard(c, "a file has no roles: it belongs to the user who made it");
    return 0;
}
