/* What people do with a file as a whole: look at it, check it, make it smaller. */
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_impl.h"

static int check(struct hocket__writer *w, struct hocket__store_call *c)
{
    static const unsigned rules[] = { ST_CHECK_PAGES, HOCKET__SQL_CHECK_ENDS,
        HOCKET__SQL_CHECK_GAPS, HOCKET__SQL_CHECK_STRAY, ST_CHECK_LONG, ST_CHECK_FILES,
        ST_CHECK_COUNTS };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
        rc = hocket__sql_check(w, c, "problem", rules[i]);
    return rc;
}

static int vacuum(struct hocket__sqlite_writer *w, struct hocket__store_call *c)
{
    struct hocket__store_options before = w->base.o;
    int rc;
    if (w->looks)
        return hocket__sqlite_deny(w);
    int64_t runs = hocket__sql_count_runs(&w->base, &rc);
    w->base.o.max_age_ms = c->q.maintenance.max_age_ms;
    do
        rc = rc == 0 ? hocket__sweep_step(&w->base) : rc;
    while (rc == 0 && w->base.more_to_sweep);
    w->base.o = before;
    if (rc == 0)
        rc = hocket__db_exec(
            &w->db, "PRAGMA incremental_vacuum; PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
    int64_t left = rc == 0 ? hocket__sql_count_runs(&w->base, &rc) : 0;
    if (rc == 0)
        hocket__store_add_row(c, "removed", "%lld", (long long) (runs - left));
    return rc;
}

static int info(struct hocket__sqlite_writer *w, struct hocket__store_call *c)
{
    int rc;
    int64_t runs = hocket__sql_count_runs(&w->base, &rc);
    hocket__store_add_row(c, "kind", "sqlite");
    hocket__store_add_row(c, "place", "%s", w->path.data);
    hocket__store_add_row(c, "version", "%d", HOCKET__STORE_VERSION);
    hocket__store_add_row(c, "runs", "%lld", (long long) runs);
    return rc;
}

int hocket__sqlite_maintain(struct hocket__writer *base, struct hocket__store_call *c)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    switch (c->q.maintenance.what) {
    case HOCKET__STORE_INFO: return info(w, c);
    case HOCKET__STORE_CHECK: return check(base, c);
    case HOCKET__STORE_VACUUM: return vacuum(w, c);
    case HOCKET__STORE_GRANT: break;
    }
    c->status =
        hocket__store_unsupported(c, "a file has no roles: it belongs to the user who made it");
    return 0;
}
