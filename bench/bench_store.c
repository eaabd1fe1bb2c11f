/* The SQLite store: one entry kept and waited for, thousands that nobody waits for, and a thousand that
 * wait at once; each beside bare SQLite, which writes the same rows into the same table. Entries have
 * 180 bytes. The files are made below TMPDIR: what its disk can do is what is measured. */
#include "store/sqlite/sqlite.h"
#include "store/sum.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define ROWS    20000
#define WAITERS 1000

static char dir[256], path[300];
static const char id[] = "01KANC3V0QZJ9E4W2X6T8B5M7R";
static char value[181];

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench_store: %s failed\n", what);
    exit(1);
}

static void remove_files(void)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };
    char name[320];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

/* ---- Bare ---------------------------------------------------------------------------------------- */

static void bare_row(sqlite3_stmt *st, int n)
{
    sqlite3_bind_int64(st, 1, ((sqlite3_int64) 1 << 32) + n);
    for (int i = 2; i <= 6; i++)
        sqlite3_bind_int64(st, i, (sqlite3_int64) n * 1000003);
    sqlite3_bind_text(st, 7, "model", 5, SQLITE_STATIC);
    sqlite3_bind_blob(st, 8, "0123456789abcdef", 16, SQLITE_STATIC);
    sqlite3_bind_text(st, 9, value, 180, SQLITE_STATIC);
    must(sqlite3_step(st) == SQLITE_DONE, "an insert");
    sqlite3_reset(st);
}

/* Microseconds for each of n rows, `batch` to a transaction. */
static double bare(int n, int batch, const char *sync)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    char sql[256];
    remove_files();
    must(sqlite3_open(path, &db) == SQLITE_OK, "opening");
    snprintf(sql, sizeof(sql),
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = %s;"
        "CREATE TABLE entries(key INTEGER PRIMARY KEY, tick, at_ms, kind, path, ord, name, digest, "
        "value)",
        sync);
    must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "making the table");
    sqlite3_prepare_v2(db, "INSERT INTO entries VALUES(?,?,?,?,?,?,?,?,?)", -1, &st, NULL);
    double start = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < n;) {
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        for (int k = 0; k < batch && i < n; k++)
            bare_row(st, ++i);
        must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK, "a commit");
    }
    double us = (seconds(CLOCK_MONOTONIC) - start) / n * 1e6;
    sqlite3_finalize(st);
    sqlite3_close(db);
    return us;
}

/* ---- The store -------------------------------------------------------------------------------------- */

struct waiter {
    struct hocket__store_wait wait;
    int left, *all_left;
    uint64_t *n;
    struct hocket__store *s;
    struct hocket__store_claim *claim;
    enum hocket__store_kept kept;
};

static void append(struct hocket__store *s, struct hocket__store_claim *claim, uint64_t n)
{
    struct hocket__store_entry e = { .n = n,
        .tick = n * 1000003,
        .at_ms = (int64_t) n * 1000003,
        .kind = 1,
        .path = n * 1000003,
        .ord = (uint32_t) n,
        .name = HOCKET__STR("model"),
        .digest = HOCKET__STR("0123456789abcdef"),
        .value = { value, 180 } };
    must(hocket__store_append(s, claim, &e) == 0, "an append");
}

/* One after the other: the next entry when the one before is kept. */
static void on_kept(struct hocket__store_wait *wait, int status, const struct hocket_error *err)
{
    struct waiter *w = hocket__container_of(wait, struct waiter, wait);
    must(status == 0, err ? err->message : "");
    --*w->all_left;
    if (--w->left <= 0)
        return;
    append(w->s, w->claim, ++*w->n);
    hocket__store_commit(w->s, w->claim, w->kept, wait);
}

static struct hocket__store *open_store(uv_loop_t *loop, struct hocket__store_claim *claim)
{
    struct hocket_error err;
    struct hocket__store *s;
    struct hocket__store_options o = { .alloc = &hocket__malloc, .loop = loop, .path = path };
    struct hocket__store_run run = { .target = HOCKET__STR("bench"), .cost = -1, .tokens = -1 };
    int all = 1;
    uint64_t n = 0;
    struct waiter w = { .wait.done = on_kept, .left = 1, .all_left = &all, .n = &n };
    remove_files();
    must(hocket__store_sqlite_open(&o, &s, &err) == 0, "opening the store");
    memcpy(run.id, id, sizeof(id));
    must(hocket__store_put(s, &run, claim) == 0, "putting a run");
    hocket__store_commit(s, claim, HOCKET__STORE_SYNCED, &w.wait);
    while (all > 0)
        uv_run(loop, UV_RUN_ONCE);
    return s;
}

static struct waiter waiters[WAITERS];

/* Microseconds for each of n commits of `count` that wait side by side. */
static double awaited(int n, int count, enum hocket__store_kept kept)
{
    uv_loop_t loop;
    struct hocket__store_claim claim;
    uv_loop_init(&loop);
    struct hocket__store *s = open_store(&loop, &claim);
    int left = n;
    uint64_t last = 0;
    double start = seconds(CLOCK_MONOTONIC);
    for (int i = 0; i < count; i++) {
        waiters[i] = (struct waiter){ .wait.done = on_kept,
            .left = n / count,
            .all_left = &left,
            .n = &last,
            .s = s,
            .claim = &claim,
            .kept = kept };
        append(s, &claim, ++last);
        hocket__store_commit(s, &claim, kept, &waiters[i].wait);
    }
    while (left > 0)
        uv_run(&loop, UV_RUN_ONCE);
    double us = (seconds(CLOCK_MONOTONIC) - start) / n * 1e6;
    hocket__store_close(s, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return us;
}

struct cost {
    double wall, all, loop; /* microseconds for each row */
};

/* Handed over, ten in a turn, and nobody waits but at the end. */
static struct cost unawaited(int n)
{
    uv_loop_t loop;
    struct hocket__store_claim claim;
    uv_loop_init(&loop);
    struct hocket__store *s = open_store(&loop, &claim);
    int left = 1;
    uint64_t last = 0;
    struct waiter w = { .wait.done = on_kept, .left = 1, .all_left = &left, .n = &last };
    double wall = seconds(CLOCK_MONOTONIC), all = seconds(CLOCK_PROCESS_CPUTIME_ID),
           mine = seconds(CLOCK_THREAD_CPUTIME_ID);
    while ((int) last < n) {
        for (int k = 0; k < 10; k++)
            append(s, &claim, ++last);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    mine = seconds(CLOCK_THREAD_CPUTIME_ID) - mine;
    hocket__store_commit(s, &claim, HOCKET__STORE_WRITTEN, &w.wait);
    while (left > 0)
        uv_run(&loop, UV_RUN_ONCE);
    struct cost c = { (seconds(CLOCK_MONOTONIC) - wall) / n * 1e6,
        (seconds(CLOCK_PROCESS_CPUTIME_ID) - all) / n * 1e6, mine / n * 1e6 };
    hocket__store_close(s, NULL, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return c;
}

/* Nanoseconds of CPU for each. */
static double sums(int n)
{
    struct hocket__store_entry e = { .kind = 1,
        .name = HOCKET__STR("model"),
        .digest = HOCKET__STR("0123456789abcdef"),
        .value = hocket__cstr(value) };
    uint64_t all = 0;
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (e.n = 1; e.n <= (uint64_t) n; e.n++)
        all += (uint64_t) hocket__store_sum_entry(&e);
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    must(all != 0, "summing");
    return cpu / n * 1e9;
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof(dir), "%.200s/hocket-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    must(mkdtemp(dir) != NULL, "making a directory");
    snprintf(path, sizeof(path), "%s/runs.db", dir);
    memset(value, 'v', 180);
    printf("written, each waited for: bare %.1f us, store %.1f us\n", bare(ROWS, 1, "NORMAL"),
        awaited(ROWS, 1, HOCKET__STORE_WRITTEN));
    printf("synced, each waited for: bare %.1f us, store %.1f us\n", bare(ROWS / 10, 1, "FULL"),
        awaited(ROWS / 10, 1, HOCKET__STORE_SYNCED));
    printf("synced, 1000 wait at once: store %.2f us each\n",
        awaited(ROWS, WAITERS, HOCKET__STORE_SYNCED));
    struct cost c = unawaited(ROWS * 10);
    printf("rows, 1000 to a transaction: bare %.2f us each; store %.2f us, %.2f us of CPU, %.3f us "
           "of it "
           "on the loop\n",
        bare(ROWS * 10, 1000, "NORMAL"), c.wall, c.all, c.loop);
    printf("the sum of an entry: %.1f ns\n", sums(ROWS * 10));
    remove_files();
    rmdir(dir);
    return 0;
}
