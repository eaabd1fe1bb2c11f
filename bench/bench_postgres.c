/* The store in PostgreSQL beside bare SQL on the same server (tests/support/postgres.sh starts it): an entry kept and
 * waited for, one that a thousand wait for, and a run that is taken and given back. Bare is one libpq connection with
 * prepared statements that writes the same rows: BEGIN, the run's row locked, the entry, the run's row, COMMIT. */
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "bare.h"

enum { ROWS = 1000, WAITERS = 1000, CLAIMS = 400 };

static const char id[] = "01KANC3V0QZJ9E4W2X6T8B5M7R";
static char value[181], url[512];

/* ---- Bare ---------------------------------------------------------------------------------------- */

static PGconn *connect_bare(void)
{
    PGconn *c = bare_connect();
    bare_sql(c,
        "CREATE TABLE IF NOT EXISTS bare_runs(no BIGINT PRIMARY KEY, id TEXT UNIQUE, last_n "
        "BIGINT, fence BIGINT, owner BIGINT)");
    bare_sql(c,
        "CREATE TABLE IF NOT EXISTS bare_entries(run BIGINT, n BIGINT, name TEXT, digest TEXT, "
        "value TEXT, PRIMARY KEY(run, n))");
    bare_sql(c, "INSERT INTO bare_runs VALUES(1, 'a', 0, 1, 0) ON CONFLICT DO NOTHING");
    PQclear(PQprepare(
        c, "lock", "SELECT no, fence, last_n FROM bare_runs WHERE id = 'a' FOR UPDATE", 0, NULL));
    PQclear(PQprepare(c, "entry",
        "INSERT INTO bare_entries VALUES(1, $1::bigint, 'model', '0123456789abcdef', $2)", 2,
        NULL));
    PQclear(PQprepare(c, "grow", "UPDATE bare_runs SET last_n = $1::bigint WHERE no = 1", 1, NULL));
    PQclear(PQprepare(c, "take",
        "UPDATE bare_runs SET fence = fence + 1, owner = 1 WHERE no = (SELECT no FROM bare_runs "
        "WHERE id = 'a' FOR UPDATE) RETURNING fence",
        0, NULL));
    PQclear(PQprepare(c, "give", "UPDATE bare_runs SET owner = 0 WHERE no = 1", 0, NULL));
    return c;
}

static void prepared(PGconn *c, const char *name, int n, const char *one, const char *other)
{
    const char *values[] = { one, other };
    PGresult *r = PQexecPrepared(c, name, n, values, NULL, NULL, 0);
    bare_must(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK, name);
    PQclear(r);
}

/* Microseconds for each of n. */
static double bare_entries(PGconn *c, int n)
{
    double start = bare_now();
    for (int i = 1; i <= n; i++) {
        char no[16];
        snprintf(no, sizeof(no), "%d", i);
        bare_sql(c, "BEGIN");
        prepared(c, "lock", 0, NULL, NULL);
        prepared(c, "entry", 2, no, value);
        prepared(c, "grow", 1, no, NULL);
        bare_sql(c, "COMMIT");
    }
    return (bare_now() - start) / n * 1e6;
}

static double bare_claims(PGconn *c, int n)
{
    double start = bare_now();
    for (int i = 0; i < n; i++) {
        prepared(c, "take", 0, NULL, NULL);
        prepared(c, "give", 0, NULL, NULL);
    }
    return (bare_now() - start) / n * 1e6;
}

/* ---- The store -------------------------------------------------------------------------------------- */

static uv_loop_t loop;
static struct hocket__store *store;
static struct hocket__store_claim claim;
static uint64_t last;
static int left;

struct waiter {
    struct hocket__store_wait wait;
    int turns;
};
static struct waiter waiters[WAITERS];

static void append(void)
{
    struct hocket__store_entry e = { .n = ++last,
        .name = HOCKET__STR("model"),
        .digest = HOCKET__STR("0123456789abcdef"),
        .value = { value, 180 } };
    bare_must(hocket__store_append(store, &claim, &e) == 0, "an append");
}

static void on_kept(struct hocket__store_wait *wait, int status, const struct hocket_error *err)
{
    struct waiter *w = hocket__container_of(wait, struct waiter, wait);
    bare_must(status == 0, err ? err->message : "");
    left--;
    if (--w->turns <= 0)
        return;
    append();
    hocket__store_commit(store, &claim, HOCKET__STORE_SYNCED, wait);
}

static double entries(int n, int count)
{
    double start = bare_now();
    left = n;
    for (int i = 0; i < count; i++) {
        waiters[i] = (struct waiter){ .wait.done = on_kept, .turns = n / count };
        append();
        hocket__store_commit(store, &claim, HOCKET__STORE_SYNCED, &waiters[i].wait);
    }
    while (left > 0)
        uv_run(&loop, UV_RUN_ONCE);
    return (bare_now() - start) / n * 1e6;
}

static int on_row(void *ud, const struct hocket__store_row *row)
{
    (void) ud;
    claim.fence = row->run.fence;
    return 0;
}

static void on_done(void *ud, int status, const struct hocket_error *err)
{
    bare_must(status == 0, err ? err->message : "");
    *(bool *) ud = true;
}

static double claims(int n)
{
    double start = bare_now();
    for (int i = 0; i < n; i++) {
        bool done = false;
        struct hocket__store_reply reply = { on_row, on_done, &done };
        hocket__store_release(store, &claim);
        bare_must(hocket__store_take(store, hocket__cstr(id), &reply, NULL) == 0, "taking");
        while (!done)
            uv_run(&loop, UV_RUN_ONCE);
    }
    return (bare_now() - start) / n * 1e6;
}

static void open_store(void)
{
    struct hocket_error err;
    struct hocket__store_options o = { .alloc = &hocket__malloc, .loop = &loop, .path = url };
    struct hocket__store_run run = { .target = HOCKET__STR("bench"), .cost = -1, .tokens = -1 };
    uv_loop_init(&loop);
    bare_must(hocket__store_postgres_open(&o, &store, &err) == 0, "opening the store");
    memcpy(run.id, id, sizeof(id));
    bare_must(hocket__store_put(store, &run, &claim) == 0, "putting a run");
    entries(1, 1);
}

int main(void)
{
    if (!getenv("HOCKET_TEST_POSTGRES"))
        return 77;
    snprintf(url, sizeof(url), "%s&schema=bench", getenv("HOCKET_TEST_POSTGRES"));
    memset(value, 'v', 180);
    PGconn *c = connect_bare();
    open_store();
    printf("an entry, waited for: bare %.1f us, store %.1f us\n", bare_entries(c, ROWS),
        entries(ROWS, 1));
    printf("1000 wait at once: store %.2f us each\n", entries(20 * WAITERS, WAITERS));
    printf("a run taken and given back: bare %.1f us, store %.1f us\n", bare_claims(c, CLAIMS),
        claims(CLAIMS));
    hocket__store_close(store, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    PQfinish(c);
    return 0;
}
