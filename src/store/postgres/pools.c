/* What lies in pools, and who waits for whom: for people who look. It reads all runs that have not ended and belong to a
 * pool, by their indexes, and nothing of those that have. */
#include "store/postgres/postgres_impl.h"

static struct hocket__store_pool pool_of(struct hocket__pg *d, int i)
{
    struct hocket__store_pool one = { .pid = hocket__pg_int_of(d, i, 3) };
    hocket__pg_begin_row(d, i);
    one.pool = hocket__pg_text_of(d, i, 0);
    one.what = hocket__pg_text_of(d, i, 1);
    one.host = hocket__pg_text_of(d, i, 2);
    one.n = hocket__pg_int_of(d, i, 4);
    one.since_ms = hocket__pg_int_of(d, i, 5);
    return one;
}

int hocket__pg_pools(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, hocket__pg_now(k));
    int rc = hocket__pg_query(d, PG_ONCE, HOCKET__QUEUE_POOLS("MATERIALIZED (SELECT $1 AS now)"));
    for (int i = 0; rc == 0 && i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_POOL, .pool = pool_of(d, i) };
        hocket__store_pack(&c->rows, &row);
    }
    return rc;
}

int hocket__pg_blocked(struct hocket__pg_keeper *k, struct hocket__store_call *c)
{
    struct hocket__pg *d = &k->db;
    hocket__pg_new(d);
    hocket__pg_int(d, (int64_t) c->limit);
    int rc = hocket__pg_query(d, PG_ONCE,
        "SELECT " HOCKET__PG_RUN_COLUMNS_WITH("'', ''") HOCKET__PG_RUN_FROM
        " WHERE r.no IN " HOCKET__QUEUE_BLOCKED " ORDER BY r.id LIMIT $1");
    for (int i = 0; rc == 0 && i < hocket__pg_rows(d); i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
        hocket__pg_begin_row(d, i);
        hocket__pg_run_of(d, i, &row.run);
        hocket__store_pack(&c->rows, &row);
    }
    return rc;
}
