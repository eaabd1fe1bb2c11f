/* Runs claimed and finished by workers, beside bare SQL on the same server (tests/support/postgres.sh starts it): 1, 2 and 4
 * processes take runs of one pool, say that they are done and give them back, until none is left: as `hocket work` does it,
 * which has room for eight (its --runs), asks for the next ones while the end of others is written, and for twice as many
 * when it has got all that it asked for; and for comparison one by one, where each waits for the other's thread twice. Bare
 * is one libpq connection for each that says two prepared statements, in the same tables with the same indexes: an UPDATE of
 * the first that nobody has locked, RETURNING it, and an UPDATE that ends it. */
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "bare.h"

enum { ROUNDS = 5, MOST = 4, SLOTS = 8 };

static char url[512];
static int runs = 300;

/* ---- Bare ---------------------------------------------------------------------------------------- */

static PGconn *connect_bare(void)
{
    PGconn *c = bare_connect();
    bare_sql(c, "SET search_path = bench_queue; SET client_min_messages = warning");
    return c;
}

static void fill(PGconn *c)
{
    char text[512];
    bare_sql(c, "TRUNCATE runs CASCADE");
    snprintf(text, sizeof(text),
        "INSERT INTO runs(id, target, input, options, version, seed, state, created_ms, updated_ms,"
        " pool, fence) SELECT '01KANC3V0QZJ9E4W2X6T' || lpad(i::text, 6, '0'), 'travel.lua',"
        " repeat('x', 500), '{}', '0.1.0', '\\x00112233445566778899aabbccddeeff', 'queued', 1, 1,"
        " 'default', 1 FROM generate_series(1, %d) i",
        runs);
    bare_sql(c, text);
    bare_sql(c, "ANALYZE runs");
}

#define AT "(CASE WHEN owner_pid <> 0 THEN lease_ms ELSE due_ms END)"
#define OPEN                                                                                       \
    "removed = 0 AND pool IS NOT NULL AND (state IN ('queued', 'running')"                         \
    " OR (state IN ('waiting', 'parked') AND (owner_pid <> 0 OR due_ms > 0)))"

static PGconn *bare;

static void open_bare(void)
{
    bare = connect_bare();
    PQclear(PQprepare(bare, "take",
        "UPDATE runs SET fence = fence + 1, state = 'running', owner_pid = 1, lease_ms = $1::bigint"
        " WHERE no = (SELECT no FROM runs WHERE pool = 'default' AND " OPEN " AND " AT
        " <= 1000 ORDER BY " AT ", id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING *",
        1, NULL));
    PQclear(PQprepare(bare, "end",
        "UPDATE runs SET state = 'done', owner_pid = 0, cost = 5, tokens = 7, updated_ms = 2"
        " WHERE id = $1",
        1, NULL));
}

static int work_bare(void)
{
    int n = 0;
    for (;; n++) {
        const char *lease = "9000000000000", *id;
        PGresult *r = PQexecPrepared(bare, "take", 1, &lease, NULL, NULL, 0);
        bare_must(PQresultStatus(r) == PGRES_TUPLES_OK, PQerrorMessage(bare));
        if (PQntuples(r) == 0) {
            PQclear(r);
            break;
        }
        id = PQgetvalue(r, 0, PQfnumber(r, "id"));
        PGresult *end = PQexecPrepared(bare, "end", 1, &id, NULL, NULL, 0);
        bare_must(PQresultStatus(end) == PGRES_COMMAND_OK, PQerrorMessage(bare));
        PQclear(end);
        PQclear(r);
    }
    return n;
}

static void close_bare(void)
{
    PQfinish(bare);
}

/* ---- The store -------------------------------------------------------------------------------------- */

struct slot {
    struct hocket__store_wait wait;
    bool busy;
};

struct worker {
    uv_loop_t loop;
    struct hocket__store *store;
    struct slot slots[SLOTS];
    int max, at_work, done;
    int asks, asked, got;
    bool asking, over;
};

static void take(struct worker *w);

static int on_row(void *ud, const struct hocket__store_row *row)
{
    struct worker *w = ud;
    struct slot *slot = w->slots;
    struct hocket__store_claim claim = { .fence = row->run.fence };
    memcpy(claim.id, row->run.id, sizeof(claim.id));
    while (slot->busy)
        slot++;
    struct hocket__store_run end = { .state = HOCKET__STORE_DONE, .cost = 5, .tokens = 7 };
    hocket__store_update(w->store, &claim, HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_USAGE, &end);
    hocket__store_release(w->store, &claim);
    hocket__store_commit(w->store, &claim, HOCKET__STORE_WRITTEN, &slot->wait);
    slot->busy = true;
    w->at_work++;
    w->got++;
    return 0;
}

static void on_taken(void *ud, int status, const struct hocket_error *err)
{
    struct worker *w = ud;
    bare_must(status == 0, err ? err->message : "");
    w->asking = false;
    w->over = w->got == 0;
    w->asks = w->got == w->asked ? 2 * w->asked : 1;
    take(w);
}

static void take(struct worker *w)
{
    struct hocket__store_reply reply = { on_row, on_taken, w };
    if (w->asking || w->over || w->at_work == w->max)
        return;
    w->asked = w->asks < w->max - w->at_work ? w->asks : w->max - w->at_work;
    w->got = 0;
    w->asking = true;
    int rc =
        hocket__store_take_next(w->store, HOCKET__STR("default"), (size_t) w->asked, &reply, NULL);
    bare_must(rc == 0, "taking");
}

static struct worker worker;

static void on_kept(struct hocket__store_wait *wait, int status, const struct hocket_error *err)
{
    bare_must(status == 0, err ? err->message : "");
    hocket__container_of(wait, struct slot, wait)->busy = false;
    worker.at_work--;
    worker.done++;
    take(&worker);
}

static void on_news(
    void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err)
{
    (void) ud, (void) id;
    bare_must(
        news != HOCKET__STORE_BROKEN && news != HOCKET__STORE_PAUSED, err ? err->message : "");
}

static void on_open(struct hocket__store_wait *wait, int status, const struct hocket_error *err)
{
    (void) wait;
    bare_must(status == 0, err ? err->message : "");
}

static void open_store(int max)
{
    struct worker *w = &worker;
    struct hocket_error err;
    struct hocket__store_wait open = { .done = on_open };
    *w = (struct worker){ .max = max, .asks = 1 };
    for (int i = 0; i < SLOTS; i++)
        w->slots[i].wait.done = on_kept;
    uv_loop_init(&w->loop);
    struct hocket__store_options o = {
        .alloc = &hocket__malloc, .loop = &w->loop, .path = url, .on_news = on_news
    };
    bare_must(hocket__store_postgres_open(&o, &w->store, &err) == 0, "opening the store");
    hocket__store_commit(w->store, NULL, HOCKET__STORE_WRITTEN, &open);
    uv_run(&w->loop, UV_RUN_DEFAULT);
}

static void open_eight(void)
{
    open_store(SLOTS);
}

static void open_one(void)
{
    open_store(1);
}

static int work_store(void)
{
    take(&worker);
    uv_run(&worker.loop, UV_RUN_DEFAULT);
    return worker.done;
}

static void close_store(void)
{
    hocket__store_close(worker.store, NULL, NULL);
    uv_run(&worker.loop, UV_RUN_DEFAULT);
    uv_loop_close(&worker.loop);
}

/* ---- Clients ------------------------------------------------------------------------------------------- */

struct way {
    void (*open)(void);
    int (*work)(void);
    void (*close)(void);
};
static const struct way ways[] = { { open_bare, work_bare, close_bare },
    { open_eight, work_store, close_store }, { open_one, work_store, close_store } };
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static int client(const struct way *way, int ready, int go)
{
    char byte = 0;
    way->open();
    bare_must(write(ready, &byte, 1) == 1, "being ready");
    bare_must(read(go, &byte, 1) == 0, "the start");
    int n = way->work();
    bare_must(write(ready, &n, sizeof(n)) == sizeof(n), "the end");
    way->close();
    return 0;
}

/* Runs a second. Each begins when all have their connection. */
static double measure(int clients, const struct way *way)
{
    int go[2], told[2], done = 0;
    char byte;
    bare_must(pipe(go) == 0 && pipe(told) == 0, "a pipe");
    for (int i = 0; i < clients; i++)
        if (fork() == 0) {
            close(go[1]);
            _exit(client(way, told[1], go[0]));
        }
    close(go[0]);
    for (int i = 0; i < clients; i++)
        bare_must(read(told[0], &byte, 1) == 1, "a client");
    double start = bare_now();
    close(go[1]);
    for (int i = 0, n; i < clients; i++, done += n)
        bare_must(read(told[0], &n, sizeof(n)) == sizeof(n), "a client");
    double seconds = bare_now() - start;
    while (wait(NULL) > 0)
        ;
    close(told[0]);
    close(told[1]);
    bare_must(done == runs, "each run once");
    return done / seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

/* By turns, since a machine is not as quick all the time: the middle one of each. */
static void bench(PGconn *c, int clients)
{
    double rate[WAYS][ROUNDS], ratio[WAYS][ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        for (int way = 0; way < WAYS; way++) {
            fill(c);
            rate[way][i] = measure(clients, &ways[way]);
            ratio[way][i] = rate[way][i] / rate[0][i];
        }
    for (int way = 0; way < WAYS; way++) {
        qsort(rate[way], ROUNDS, sizeof(double), compare);
        qsort(ratio[way], ROUNDS, sizeof(double), compare);
    }
    printf("queue: workers %d bare %.0f store %.0f ratio %.2f; one by one %.0f ratio %.2f\n",
        clients, rate[0][ROUNDS / 2], rate[1][ROUNDS / 2], ratio[1][ROUNDS / 2],
        rate[2][ROUNDS / 2], ratio[2][ROUNDS / 2]);
    fflush(stdout);
}

/* bench_queue [RUNS] */
int main(int argc, char **argv)
{
    if (!getenv("HOCKET_TEST_POSTGRES"))
        return 77;
    runs = argc > 1 ? atoi(argv[1]) : runs;
    snprintf(url, sizeof(url), "%s&schema=bench_queue", getenv("HOCKET_TEST_POSTGRES"));
    open_one(); /* makes the tables */
    close_store();
    PGconn *c = connect_bare();
    for (int clients = 1; clients <= MOST; clients *= 2)
        bench(c, clients);
    PQfinish(c);
    return 0;
}
