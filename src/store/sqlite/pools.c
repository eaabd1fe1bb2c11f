/* What lies in pools, and who waits for whom: as in PostgreSQL (postgres/pools.c). */
#include "store/sqlite/sqlite_impl.h"

int hocket__sqlite_pools(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    int rc;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_POOLS, HOCKET__QUEUE_POOLS("(SELECT ?1 AS now)"));
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, hocket__sqlite_now(k));
    while ((rc = hocket__db_step(d, st)) == 1) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_POOL };
        row.pool.pool = hocket__db_str(d, st, 0);
        row.pool.what = hocket__db_str(d, st, 1);
        row.pool.host = hocket__db_str(d, st, 2);
        row.pool.pid = hocket__db_int(d, st, 3);
        row.pool.n = hocket__db_int(d, st, 4);
        row.pool.since_ms = hocket__db_int(d, st, 5);
        hocket__store_pack(&c->rows, &row);
    }
    hocket__db_reset(d, st);
    return rc;
}

int hocket__sqlite_blocked(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    int rc;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_POOL_BLOCKED,
        "SELECT " HOCKET__RUN_COLUMNS_WITH("'', ''") HOCKET__RUN_FROM
        " WHERE r.no IN " HOCKET__QUEUE_BLOCKED " ORDER BY r.id LIMIT ?1");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, (int64_t) c->limit);
    while ((rc = hocket__db_step(d, st)) == 1) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
        hocket__row_run(d, st, &row.run);
        hocket__store_pack(&c->rows, &row);
    }
    hocket__db_reset(d, st);
    return rc;
}
