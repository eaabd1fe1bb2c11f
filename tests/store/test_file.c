/* The file of the SQLite store: where it may be, what may stand in it, who may have its runs, how long. */
#include "store/fixture.h"
#include "os/posix/system.h"
#include "os/store_place.h"
#include "store/queue.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };

static int setup(void **state)
{
    struct fixture *f = malloc(sizeof(*f));
    fixture_init(f, &kind);
    *state = f;
    return 0;
}

/* ---- Helpers ---------------------------------------------------------------------------------- */

/* Opens it, and gives the status of an empty commit. */
static int try_open(struct fixture *f)
{
    fixture_open(f);
    int rc = fixture_commit(f, NULL, HOCKET__STORE_WRITTEN);
    if (rc < 0)
        assert_int_equal(f->news[HOCKET__STORE_BROKEN], 1);
    f->news[HOCKET__STORE_BROKEN] = 0;
    return rc;
}

static void make_directory(struct fixture *f)
{
    char dir[TEST_TEMP_PATH + 16];
    snprintf(dir, sizeof(dir), "%s/hocket", f->dir);
    assert_int_equal(mkdir(dir, 0700), 0);
}

static void write_file(const char *path, const char *p, size_t n)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, p, n), n);
    close(fd);
}

static char *read_file(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *p = malloc((size_t) st.st_size + 1);
    assert_int_equal(read(fd, p, (size_t) st.st_size), st.st_size);
    close(fd);
    *n = (size_t) st.st_size;
    return p;
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
    sqlite3_close(db);
}

/* A store with a run of 300 entries in it, closed: the log is in the file. */
static void make_store(struct fixture *f)
{
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 300);
    fixture_close(f);
}

/* Refused with these words, and not a byte of it is another. */
static void assert_refused(struct fixture *f, int status, const char *words)
{
    size_t n, m;
    char *before = read_file(f->path, &n);
    assert_int_equal(try_open(f), status);
    assert_non_null(strstr(f->error.message, words));
    assert_non_null(strstr(f->error.message, f->dir));
    struct hocket__store_run r = fixture_run(RUN_2);
    struct hocket__store_claim claim;
    assert_int_equal(hocket__store_put(f->s, &r, &claim), status);
    struct hocket__store_reply reply = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_find(f->s, HOCKET__STR("0"), &reply, NULL)), status);
    fixture_close(f);
    char *after = read_file(f->path, &m);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
}

static int find(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_find(f->s, hocket__cstr(id), &r, NULL));
}

static int take(struct fixture *f, const char *id, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_take(f->s, hocket__cstr(id), &r, NULL));
    memcpy(claim->id, id, sizeof(claim->id));
    claim->fence = f->count > 0 ? fixture_row(f, 0).run.fence : 0;
    return rc;
}

static size_t count_entries(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_entries(f->s, hocket__cstr(id), 1, &r, NULL)), 0);
    return f->count;
}

/* ---- Where it may be ------------------------------------------------------------------------------ */

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void it_is_the_users_alone(void **state)
{
    struct fixture *f = *state;
    char path[TEST_TEMP_PATH + 16];
    mode_t before = umask(0);
    fixture_open(f);
    fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    umask(before);
    snprintf(path, sizeof(path), "%s/hocket", f->dir);
    assert_int_equal(mode_of(path), 0700);
    assert_int_equal(mode_of(f->path), 0600);
    snprintf(path, sizeof(path), "%s-wal", f->path);
    assert_int_equal(mode_of(path), 0600);
    fixture_close(f);
    chmod(f->path, 0644);
    assert_int_equal(try_open(f), 0);
    assert_int_equal(mode_of(f->path), 0600);
}

static void a_link_is_refused(void **state)
{
    struct fixture *f = *state;
    char other[TEST_TEMP_PATH + 16];
    make_directory(f);
    snprintf(other, sizeof(other), "%s/other", f->dir);
    write_file(other, "", 0);
    assert_int_equal(symlink(other, f->path), 0);
    assert_int_equal(try_open(f), HOCKET_EDENIED);
    assert_non_null(strstr(f->error.message, "symbolic link"));
    fixture_close(f);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(link(other, f->path), 0);
    assert_int_equal(try_open(f), HOCKET_EDENIED);
    assert_non_null(strstr(f->error.message, "hard link"));
    fixture_close(f);
    unlink(f->path);
    char wal[TEST_TEMP_PATH + 16]; /* what lies beside it is part of it */
    snprintf(wal, sizeof(wal), "%s-wal", f->path);
    assert_int_equal(symlink(other, wal), 0);
    assert_int_equal(try_open(f), HOCKET_EDENIED);
    unlink(other);
}

static void where_others_write_is_refused(void **state)
{
    struct fixture *f = *state;
    char dir[TEST_TEMP_PATH + 16];
    make_directory(f);
    snprintf(dir, sizeof(dir), "%s/hocket", f->dir);
    chmod(dir, 01777);
    assert_int_equal(try_open(f), HOCKET_EDENIED);
    assert_non_null(strstr(f->error.message, "others may write"));
    fixture_close(f);
    chmod(dir, 0700);
    if (geteuid() != 0)
        return;
    write_file(f->path, "", 0);
    assert_int_equal(chown(f->path, 65534, 65534), 0);
    assert_int_equal(try_open(f), HOCKET_EDENIED);
    assert_non_null(strstr(f->error.message, "another user"));
    fixture_close(f);
    assert_int_equal(chown(dir, 65534, 65534), 0);
    assert_int_equal(try_open(f), HOCKET_EDENIED);
}

/* All that is in it is told, nothing is put into it, and nothing is left beside it. */
static void assert_looked_at(struct fixture *f, size_t entries)
{
    struct hocket__store_message m = { HOCKET__STR("m"), 1, HOCKET__STR("{}") };
    struct hocket__store_claim claim;
    size_t n, k;
    char *before = read_file(f->path, &n);
    fixture_open(f);
    assert_int_equal(find(f, RUN_1), 0);
    assert_int_equal(count_entries(f, RUN_1), entries);
    assert_int_equal(take(f, RUN_1, &claim), HOCKET_EDENIED);
    assert_non_null(strstr(f->error.message, "may only be read"));
    assert_non_null(strstr(f->error.message, f->dir));
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_message(f->s, hocket__cstr(RUN_1), &m, &r, NULL)),
        HOCKET_EDENIED);
    claim = fixture_put(f, RUN_2);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_EDENIED);
    assert_non_null(strstr(f->news_error.message, "may only be read"));
    assert_int_equal(find(f, RUN_2), HOCKET_ENOTFOUND);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
    fixture_close(f);
    char *after = read_file(f->path, &k);
    assert_int_equal(n, k);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
}

static bool has(const struct fixture *f, const char *suffix)
{
    char path[TEST_TEMP_PATH + 16];
    snprintf(path, sizeof(path), "%s%s", f->path, suffix);
    return access(path, F_OK) == 0;
}

static void allow(const struct fixture *f, mode_t directory, mode_t file)
{
    char dir[TEST_TEMP_PATH + 16];
    snprintf(dir, sizeof(dir), "%s/hocket", f->dir);
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(chmod(f->path, file), 0);
    assert_int_equal(chmod(dir, directory), 0);
}

static void what_may_only_be_read_is_looked_at(void **state)
{
    struct fixture *f = *state;
    if (geteuid() == 0) /* may write everywhere */
        skip();
    make_store(f);
    allow(f, 0500, 0600);
    assert_looked_at(f, 300);
    allow(f, 0700, 0400);
    assert_looked_at(f, 300);
    assert_false(has(f, "-wal"));
    assert_false(has(f, "-shm"));
    allow(f, 0500, 0400);
    assert_looked_at(f, 300);
    allow(f, 0700, 0600);
    assert_int_equal(try_open(f), 0);
    assert_int_equal(find(f, RUN_1), 0);
}

/* Whoever opens it to keep a run there may do without it: he hears before it is open. */
static void what_may_only_be_read_keeps_no_runs(void **state)
{
    struct fixture *f = *state;
    if (geteuid() == 0)
        skip();
    make_store(f);
    allow(f, 0500, 0600);
    f->news[HOCKET__STORE_READY] = 0; /* of before */
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_2);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_EDENIED);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 1);
    assert_int_equal(f->news[HOCKET__STORE_READY], 0);
    assert_non_null(strstr(f->news_error.message, "may only be read"));
    fixture_close(f);
    allow(f, 0700, 0600);
}

/* What a process that was killed has written stands in the -wal, and is read with its -shm, or not at all. */
static void what_stands_in_a_wal_is_looked_at(void **state)
{
    struct fixture *f = *state;
    char shm[TEST_TEMP_PATH + 16];
    if (geteuid() == 0)
        skip();
    make_store(f);
    pid_t pid = fork();
    if (pid == 0) {
        sqlite3 *db;
        if (sqlite3_open(f->path, &db) == SQLITE_OK
            && sqlite3_exec(db, "DELETE FROM entries WHERE n > 200", NULL, NULL, NULL) == SQLITE_OK)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_true(has(f, "-wal") && has(f, "-shm"));
    allow(f, 0500, 0600);
    assert_looked_at(f, 200);
    allow(f, 0500, 0400);
    assert_looked_at(f, 200);
    allow(f, 0700, 0400);
    assert_looked_at(f, 200);
    snprintf(shm, sizeof(shm), "%s-shm", f->path);
    assert_int_equal(unlink(shm), 0);
    for (int i = 0; i < 2; i++) {
        allow(f, i ? 0500 : 0700, 0400);
        assert_refused(f, HOCKET_EDENIED, "stands in its -wal");
        assert_false(has(f, "-shm"));
    }
    allow(f, 0700, 0600);
    fixture_open(f);
    assert_int_equal(count_entries(f, RUN_1), 200);
}

/* A version of before is brought up to date when it is opened, which this one cannot be. */
static void what_may_only_be_read_is_of_this_version(void **state)
{
    struct fixture *f = *state;
    if (geteuid() == 0)
        skip();
    make_store(f);
    sql(f->path, "PRAGMA user_version = 1");
    allow(f, 0700, 0400);
    assert_refused(f, HOCKET_EDENIED, "an older hocket made it");
    allow(f, 0700, 0600);
    write_file(f->path, "", 0);
    allow(f, 0700, 0400);
    assert_refused(f, HOCKET_EDENIED, "there is nothing in it");
    allow(f, 0700, 0600);
}

static void what_is_no_file_is_refused(void **state)
{
    struct fixture *f = *state;
    const char *path = f->o.path;
    char below[TEST_TEMP_PATH + 16];
    make_directory(f);
    snprintf(below, sizeof(below), "%.200s/hocket", f->dir);
    f->o.path = below;
    assert_int_equal(try_open(f), HOCKET_EINVAL);
    fixture_close(f);
    write_file(path, "", 0);
    snprintf(below, sizeof(below), "%.200s/x.db", path);
    f->o.path = below;
    assert_true(try_open(f) < 0);
    assert_non_null(strstr(f->error.message, "is no directory"));
    fixture_close(f);
    f->o.path = "/proc/hocket/runs.db";
    assert_true(try_open(f) < 0);
    assert_non_null(strstr(f->error.message, "/proc/hocket"));
    fixture_close(f);
    f->o.path = path;
}

/* A folder stands in its place, and then no more: the second run that needs the store finds it; what the first one said is not in it. */
static void what_stood_in_the_way_may_go(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim first, second;
    struct hocket__store_run one = fixture_run(RUN_1), other = fixture_run(RUN_2);
    make_directory(f);
    assert_int_equal(mkdir(f->path, 0700), 0);
    f->now = 1000000;
    fixture_open(f);
    assert_int_equal(hocket__store_put(f->s, &one, &first), 0);
    assert_true(fixture_commit(f, &first, HOCKET__STORE_WRITTEN) < 0);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 1);
    assert_int_equal(rmdir(f->path), 0);
    assert_int_equal(hocket__store_put(f->s, &other, &second), 0);
    assert_int_equal(fixture_commit(f, &second, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(f->news[HOCKET__STORE_READY], 1);
    assert_int_equal(find(f, RUN_2), 0);
    assert_int_equal(find(f, RUN_1), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__store_release(f->s, &second), 0);
}

/* And where it stays everything ends with it again, told anew. */
static void reports_an_obstacle_again(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run run = fixture_run(RUN_1);
    struct hocket__store_claim claim;
    make_directory(f);
    assert_int_equal(mkdir(f->path, 0700), 0);
    f->now = 1000000;
    fixture_open(f);
    for (size_t i = 1; i <= 3; i++) {
        struct hocket__store_reply r = fixture_reply(f);
        assert_true(fixture_answer(f, hocket__store_find(f->s, HOCKET__STR("0"), &r, NULL)) < 0);
        assert_int_equal(f->news[HOCKET__STORE_BROKEN], i);
    }
    f->now += 1000; /* it took a second to say so: it is not asked at each call */
    assert_int_equal(hocket__store_put(f->s, &run, &claim), 0);
    f->now += 1000;
    assert_true(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN) < 0);
    assert_int_equal(rmdir(f->path), 0);
    assert_true(hocket__store_put(f->s, &run, &claim) < 0);
    f->now += 3000;
    assert_int_equal(hocket__store_put(f->s, &run, &claim), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
}

static void networks_are_known(void **state)
{
    (void) state;
    assert_true(hocket__system_is_network_type(0x6969));
    assert_true(hocket__system_is_network_type(0xFFFFFFFFFF534D42));
    assert_true(hocket__system_is_network_type(0x01021997));
    assert_false(hocket__system_is_network_type(0xEF53));     /* ext4 */
    assert_false(hocket__system_is_network_type(0x01021994)); /* tmpfs */
}

/* ---- What may stand in it -------------------------------------------------------------------------- */

static void another_kind_of_file_is_refused(void **state)
{
    struct fixture *f = *state;
    char text[5000];
    make_directory(f);
    memset(text, 'x', sizeof(text));
    write_file(f->path, text, sizeof(text));
    assert_refused(f, HOCKET_EPARSE, "no database");
    unlink(f->path);
    sql(f->path, "PRAGMA journal_mode = WAL; CREATE TABLE bookmarks(url TEXT);"
                 "INSERT INTO bookmarks VALUES('https://hocket.example')");
    assert_refused(f, HOCKET_EEXIST, "another program's");
}

static void a_newer_one_is_refused(void **state)
{
    struct fixture *f = *state;
    make_store(f);
    sql(f->path, "PRAGMA user_version = 99");
    assert_refused(f, HOCKET_EUNSUPPORTED, "newer hocket (version 99");
}

static void a_cut_one_is_refused(void **state)
{
    struct fixture *f = *state;
    make_store(f);
    size_t n;
    char *bytes = read_file(f->path, &n);
    assert_true(n > 40960);
    assert_int_equal(truncate(f->path, (off_t) (n / 2)), 0);
    assert_refused(f, HOCKET_EPARSE, "damaged");
    write_file(f->path, bytes, 100); /* and one of which the beginning alone is left */
    assert_refused(f, HOCKET_EPARSE, "FILE");
    free(bytes);
}

/* Wherever it is hit it is refused, or what was hit is nothing that anything stands on. */
static void a_damaged_one_is_refused(void **state)
{
    struct fixture *f = *state;
    make_store(f);
    size_t n, refused = 0;
    char *bytes = read_file(f->path, &n);
    for (size_t page = 0; page < n / 4096; page++) {
        char *damaged = malloc(n);
        memcpy(damaged, bytes, n);
        memset(damaged + page * 4096 + (page == 0 ? 100 : 0), 0xAA, page == 0 ? 400 : 512);
        write_file(f->path, damaged, n);
        free(damaged);
        int rc = try_open(f);
        if (rc < 0) {
            assert_true(rc == HOCKET_EPARSE || rc == HOCKET_EIO || rc == HOCKET_EEXIST);
            refused++;
        }
        fixture_close(f);
    }
    assert_true(refused + 2 >= n / 4096);
    free(bytes);
}

/* As the one before there were workers made it, in what the way to version 2 changes. */
static void make_version_1(struct fixture *f)
{
    make_store(f);
    sql(f->path, "DROP INDEX runs_due; DROP INDEX runs_asleep; DROP INDEX runs_caller;"
                 "DROP INDEX IF EXISTS messages_open;"
                 "DROP TABLE items; DROP TABLE limits; DROP TABLE leases; PRAGMA user_version = 1;"
                 "ALTER TABLE entries DROP COLUMN sum; ALTER TABLE records DROP COLUMN sum;"
                 "ALTER TABLE messages DROP COLUMN sum");
    char text[2048];
    fixture_drop_columns(text, sizeof(text), 2);
    sql(f->path, text);
}

/* And the one before the first release, in what the way to version 1 changes. */
static void make_version_0(struct fixture *f)
{
    make_version_1(f);
    sql(f->path, "DROP TABLE messages;"
                 "CREATE TABLE inbox(run INTEGER, id TEXT, value TEXT);"
                 "INSERT INTO inbox SELECT no, 'q1', '{\"answer\":true}' FROM runs;"
                 "PRAGMA user_version = 0");
    sql(f->path, "ALTER TABLE runs DROP COLUMN at_seq; ALTER TABLE runs DROP COLUMN simulated");
}

static void an_older_one_is_migrated(void **state)
{
    struct fixture *f = *state;
    make_version_0(f);
    assert_int_equal(try_open(f), 0);
    assert_int_equal(find(f, RUN_1), 0);
    assert_false(fixture_row(f, 0).run.simulated);
    assert_int_equal(count_entries(f, RUN_1), 300);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_messages(f->s, HOCKET__STR(RUN_1), &r, NULL)), 0);
    assert_int_equal(f->count, 1);
    assert_true(hocket__str_is(fixture_row(f, 0).message.json, "{\"answer\":true}"));
    struct hocket__store_claim claim;
    assert_int_equal(take(f, RUN_1, &claim), 0);
    fixture_append(f, &claim, 301);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_SYNCED), 0);
    fixture_close(f);
    assert_int_equal(try_open(f), 0);
    assert_int_equal(count_entries(f, RUN_1), 301);
}

/* Its runs, in whatever state, are nobody's jobs, and may become some. */
static void one_without_workers_is_migrated(void **state)
{
    static const enum hocket__store_state states[] = { HOCKET__STORE_RUNNING, HOCKET__STORE_WAITING,
        HOCKET__STORE_PARKED, HOCKET__STORE_DONE, HOCKET__STORE_FAILED, HOCKET__STORE_CANCELLED };
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    char script[512], id[HOCKET__STORE_ID + 1];
    make_version_1(f);
    for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        snprintf(script, sizeof(script),
            "CREATE TEMP TABLE t AS SELECT * FROM runs WHERE id = '" RUN_1 "'; UPDATE t SET"
            " no = 100 + %u, id = '01KANC3V0QZJ9E4W2X6T%06u', state = '%s', owner_pid = 0;"
            "INSERT INTO runs SELECT * FROM t",
            i, i, hocket__store_state_word(states[i]));
        sql(f->path, script);
    }
    assert_int_equal(try_open(f), 0);
    for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", i % 1000000u);
        assert_int_equal(find(f, id), 0);
        assert_int_equal(fixture_row(f, 0).run.state, states[i]);
        assert_int_equal(fixture_row(f, 0).run.pool.n, 0);
    }
    assert_int_equal(count_entries(f, RUN_1), 300);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, HOCKET__STR("default"), 1, &r, NULL)), 0);
    assert_int_equal(f->count, 0);
    assert_int_equal(take(f, RUN_1, &claim), 0);
    struct hocket__store_run job = { .state = HOCKET__STORE_QUEUED,
        .pool = HOCKET__STR("default") };
    hocket__store_update(f->s, &claim, HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_QUEUE, &job);
    hocket__store_release(f->s, &claim);
    r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, HOCKET__STR("default"), 1, &r, NULL)), 0);
    assert_int_equal(f->count, 1);
}

/* Half-way it stops: the file stays of the old version, and whole. */
static void a_migration_is_whole_or_not_at_all(void **state)
{
    struct fixture *f = *state;
    make_version_0(f);
    sql(f->path, "CREATE TABLE messages(x)"); /* in its way */
    assert_true(try_open(f) < 0);
    fixture_close(f);
    sql(f->path, "DROP TABLE messages; SELECT count(*) FROM inbox");
    assert_int_equal(try_open(f), 0);
    assert_int_equal(count_entries(f, RUN_1), 300);
}

static int on_plan(void *ud, int n, char **values, char **names)
{
    (void) names;
    bool *found = ud;
    *found |= strstr(values[n - 1], "INDEX messages_open") != NULL;
    return 0;
}

/* Those that were taken are passed by, whoever looks for the others. */
static void assert_what_was_taken_is_not_read(struct fixture *f)
{
    static const char *const queries[] = {
        "EXPLAIN QUERY PLAN SELECT no FROM runs WHERE no = 1 AND " HOCKET__QUEUE_SPOKEN,
        "EXPLAIN QUERY PLAN SELECT no, json FROM messages WHERE run = ? AND json IS NOT NULL AND "
        "no > ?"
        " ORDER BY no",
    };
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        bool found = false;
        assert_int_equal(sqlite3_exec(db, queries[i], on_plan, &found, NULL), SQLITE_OK);
        assert_true(found);
    }
    sqlite3_close(db);
}

static void messages_that_were_taken_cost_nothing(void **state)
{
    struct fixture *f = *state;
    make_store(f);
    assert_what_was_taken_is_not_read(f);
    /* As hocket made it at first; programs of that time may have it open. */
    sql(f->path, "DROP INDEX IF EXISTS messages_open");
    assert_int_equal(try_open(f), 0);
    assert_what_was_taken_is_not_read(f);
}

static void what_is_migrated_has_all_indexes(void **state)
{
    struct fixture *f = *state;
    make_version_1(f);
    assert_int_equal(try_open(f), 0);
    assert_what_was_taken_is_not_read(f);
}

/* ---- How long it takes ------------------------------------------------------------------------------- */

/* Nanoseconds of the shortest of some. */
static uint64_t time_to_list(struct fixture *f, const struct hocket__store_filter *filter, size_t n)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        struct hocket__store_reply r = fixture_reply(f);
        uint64_t begun = uv_hrtime(), took;
        assert_int_equal(fixture_answer(f, hocket__store_runs(f->s, filter, &r, NULL)), 0);
        took = uv_hrtime() - begun;
        best = took < best ? took : best;
        assert_int_equal(f->count, n);
    }
    return best;
}

/* Whoever cancels a thousand lists those of each. */
static void those_of_a_caller_are_found_at_once(void **state)
{
    struct fixture *f = *state;
    make_store(f);
    sql(f->path,
        "CREATE TEMP TABLE t AS SELECT * FROM runs; UPDATE t SET owner_pid = 0;"
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)"
        " INSERT INTO runs(no, id, target, input, options, version, seed, state, created_ms,"
        " updated_ms, caller) SELECT 100 + i, printf('01KANC3V0QZJ9E4W2Y%08d', i), target,"
        " input, options, version, seed, state, created_ms, updated_ms,"
        " iif(i % 10000 = 1, id, NULL) FROM t, n");
    assert_int_equal(try_open(f), 0);
    struct hocket__store_filter of_caller = { .caller = HOCKET__STR(RUN_1) },
                                of_nobody = { .project = HOCKET__STR("none") };
    uint64_t all = time_to_list(f, &of_nobody, 0);
    assert_true(4 * time_to_list(f, &of_caller, 3) < all);
    assert_true(memcmp(fixture_row(f, 0).run.id, fixture_row(f, 1).run.id, HOCKET__STORE_ID) > 0);
}

/* ---- Who may have its runs --------------------------------------------------------------------------- */

static void second_of(struct fixture *f, struct fixture *second)
{
    fixture_init(second, &kind);
    rmdir(second->dir);
    memcpy(second->path, f->path, sizeof(f->path));
    second->now = (int64_t) f->now;
    fixture_open(second);
}

static void two_stores_share_a_file(void **state)
{
    struct fixture *f = *state, g;
    struct hocket__store_claim mine, theirs;
    fixture_open(f);
    mine = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &mine, HOCKET__STORE_WRITTEN), 0);
    second_of(f, &g);
    assert_int_equal(take(&g, RUN_1, &theirs), HOCKET_ESTATE);
    theirs = fixture_put(&g, RUN_2);
    for (uint64_t n = 1; n <= 50; n++) {
        fixture_append(f, &mine, n);
        fixture_append(&g, &theirs, n);
        assert_int_equal(fixture_commit(f, &mine, HOCKET__STORE_WRITTEN), 0);
        assert_int_equal(fixture_commit(&g, &theirs, HOCKET__STORE_WRITTEN), 0);
    }
    assert_int_equal(count_entries(f, RUN_2), 50);
    assert_int_equal(count_entries(&g, RUN_1), 50);
    hocket__store_release(f->s, &mine);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(take(&g, RUN_1, &theirs), 0);
    fixture_deinit(&g);
}

static void who_slept_past_a_lease_writes_nothing(void **state)
{
    struct fixture *f = *state, g;
    struct hocket__store_claim mine, theirs;
    f->now = 1700000000000;
    fixture_open(f);
    mine = fixture_put(f, RUN_1);
    fixture_append(f, &mine, 1);
    assert_int_equal(fixture_commit(f, &mine, HOCKET__STORE_WRITTEN), 0);
    second_of(f, &g);
    g.now += 59 * 1000;
    assert_int_equal(take(&g, RUN_1, &theirs), HOCKET_ESTATE);
    g.now += 2 * 1000;
    assert_int_equal(take(&g, RUN_1, &theirs), 0);
    assert_int_equal(theirs.fence, mine.fence + 1);
    fixture_append(&g, &theirs, 2);
    assert_int_equal(fixture_commit(&g, &theirs, HOCKET__STORE_WRITTEN), 0);
    fixture_append(f, &mine, 2);
    struct hocket__store_claim other = fixture_put(f, RUN_2);
    fixture_append(f, &other, 1);
    assert_int_equal(fixture_commit(f, &mine, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_int_equal(fixture_commit(f, &other, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
    assert_int_equal(hocket__store_release(f->s, &mine), 0); /* lets go of nothing of theirs */
    assert_int_equal(count_entries(f, RUN_1), 2);
    fixture_close(f);
    assert_int_equal(find(&g, RUN_1), 0);
    assert_true(fixture_row(&g, 0).run.owner.pid != 0);
    fixture_deinit(&g);
}

/* Stopped right behind its claim, it hears of both at once: that the run is its own, and that it was lost. */
static void reports_a_claim_before_its_loss(void **state)
{
    struct fixture *f = *state, g;
    struct hocket__store_claim mine, theirs;
    f->now = 1700000000000;
    f->o.lease_ms = 30; /* renewed every 10 ms, by the real clock */
    fixture_open(f);
    second_of(f, &g);
    mine = fixture_put(&g, RUN_1);
    assert_int_equal(hocket__store_release(g.s, &mine), 0);
    assert_int_equal(fixture_commit(&g, NULL, HOCKET__STORE_WRITTEN), 0);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_take(f->s, HOCKET__STR(RUN_1), &r, NULL), 0);
    uv_run(&f->loop, UV_RUN_NOWAIT); /* it is asked; from here on this loop sleeps */
    do
        assert_int_equal(find(&g, RUN_1), 0);
    while (fixture_row(&g, 0).run.owner.pid == 0);
    g.now += 1000;
    assert_int_equal(take(&g, RUN_1, &theirs), 0);
    uv_sleep(300);
    fixture_until(f, &f->done);
    assert_int_equal(f->status, 0);
    mine.fence = fixture_row(f, 0).run.fence;
    assert_int_equal(theirs.fence, mine.fence + 1);
    fixture_append(f, &mine, 1);
    assert_int_equal(fixture_commit(f, &mine, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
    fixture_deinit(&g);
}

/* A process that has a run, until it is killed. */
static pid_t start_owner(struct fixture *f)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        fixture_forked(f);
        fixture_open(f);
        struct hocket__store_claim claim = fixture_put(f, RUN_1);
        fixture_entries(f, &claim, 1, 5);
        if (fixture_commit(f, &claim, HOCKET__STORE_WRITTEN) == 0 && write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void a_dead_owners_run_is_taken_at_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    char words[64];
    pid_t pid = start_owner(f);
    fixture_open(f);
    assert_int_equal(take(f, RUN_1, &claim), HOCKET_ESTATE);
    assert_int_equal(fixture_row(f, 0).run.owner.pid, pid);
    snprintf(words, sizeof(words), "process %d on ", (int) pid);
    assert_non_null(strstr(f->error.message, words));
    kill(pid, SIGKILL);
    siginfo_t ended; /* a zombie is as dead */
    assert_int_equal(waitid(P_PID, (id_t) pid, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(take(f, RUN_1, &claim), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(claim.fence, 2);
    assert_int_equal(count_entries(f, RUN_1), 5);
}

/* Its lease was made by a clock that has been put back since. */
static void a_dead_owners_job_is_taken_whatever_its_lease_says(void **state)
{
    struct fixture *f = *state;
    pid_t pid = start_owner(f);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    sql(f->path,
        "UPDATE runs SET pool = 'default', sum_set = NULL, lease_ms = lease_ms + 7 * 86400000");
    fixture_open(f);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, HOCKET__STR("default"), 1, &r, NULL)), 0);
    assert_int_equal(f->count, 1);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_1);
}

/* All of them find no file, and one makes it. */
static void many_begin_a_file_together(void **state)
{
    static const char *const ids[] = { RUN_1, RUN_2, RUN_3, "01KAPC3V0QZJ9E4W2X6T8B5M71" };
    struct fixture *f = *state;
    pid_t pids[4];
    for (int i = 0; i < 4; i++)
        if ((pids[i] = fork()) == 0) {
            fixture_forked(f);
            fixture_open(f);
            struct hocket__store_claim claim = fixture_put(f, ids[i]);
            int rc = 0;
            for (uint64_t n = 1; rc == 0 && n <= 100; n++) {
                fixture_append(f, &claim, n);
                rc = fixture_commit(f, &claim, (enum hocket__store_kept)(n % 2));
            }
            if (rc < 0)
                fprintf(stderr, "process %d: %s\n", i, f->error.message);
            fixture_close(f);
            _exit(rc == 0 ? 0 : 1);
        }
    for (int i = 0, status; i < 4; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    fixture_open(f);
    for (int i = 0; i < 4; i++)
        assert_int_equal(count_entries(f, ids[i]), 100);
}

static bool has_changed(struct fixture *f)
{
    return f->news[HOCKET__STORE_CHANGED] > 0;
}

static void reports_writes_of_others(void **state)
{
    struct fixture *f = *state, g;
    fixture_open(f);
    fixture_put(f, RUN_1);
    hocket__store_watch(f->s, true);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    f->news[HOCKET__STORE_CHANGED] = 0;
    second_of(f, &g);
    struct hocket__store_message m = { HOCKET__STR("q1"), 1, HOCKET__STR("{}") };
    struct hocket__store_reply r = fixture_reply(&g);
    assert_int_equal(
        fixture_answer(&g, hocket__store_message(g.s, HOCKET__STR(RUN_1), &m, &r, NULL)), 0);
    for (int i = 0; i < 100 && !has_changed(f); i++) {
        usleep(20000);
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    }
    assert_true(has_changed(f));
    hocket__store_watch(f->s, false);
    fixture_deinit(&g);
}

/* ---- How long, and how much ----------------------------------------------------------------------------- */

static void put_left(struct fixture *f, const char *id, enum hocket__store_state state,
    size_t bytes, const char *waiting_for)
{
    struct hocket__store_claim claim = fixture_put(f, id);
    struct hocket__store_run r = { .state = state, .waiting_for = hocket__cstr(waiting_for) };
    char *value = calloc(1, bytes + 1);
    memset(value, 'v', bytes);
    memcpy(value, id, HOCKET__STORE_ID);
    for (uint64_t n = 1; n <= 10; n++) {
        value[0] = (char) ('a' + n);
        struct hocket__store_entry e = fixture_entry(n, value);
        assert_int_equal(hocket__store_append(f->s, &claim, &e), 0);
    }
    free(value);
    unsigned set = HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
    assert_int_equal(hocket__store_update(f->s, &claim, set, &r), 0);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
}

static void put_ended(
    struct fixture *f, const char *id, enum hocket__store_state state, size_t bytes)
{
    put_left(f, id, state, bytes, "");
}

static struct hocket__store_stats stats_of(struct fixture *f)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_stats(f->s, &r, NULL)), 0);
    return fixture_row(f, 0).stats;
}

static void wait_for_runs(struct fixture *f, uint64_t runs)
{
    for (int i = 0; i < 200 && stats_of(f).runs > runs; i++)
        usleep(25000);
    assert_int_equal(stats_of(f).runs, runs);
}

#define DAY INT64_C(86400000)

#define LEFT  "01KAQC3V0QZJ9E4W2X6T8B5M71"
#define HEARS "01KAQC3V0QZJ9E4W2X6T8B5M72"
#define RISES "01KAQC3V0QZJ9E4W2X6T8B5M73"

static void what_is_old_goes(void **state)
{
    struct fixture *f = *state;
    f->now = 1700000000000;
    f->o.max_age_ms = 30 * DAY;
    fixture_open(f);
    put_ended(f, RUN_1, HOCKET__STORE_DONE, 100);
    put_ended(f, RUN_2, HOCKET__STORE_PARKED, 100);
    put_left(f, LEFT, HOCKET__STORE_WAITING, 100, "[{\"kind\":\"input\",\"id\":\"i2\"}]");
    put_left(f, HEARS, HOCKET__STORE_WAITING, 100,
        "[{\"kind\":\"input\",\"id\":\"i2\"},{\"kind\":\"signal\",\"id\":\"s1\"}]");
    put_left(f, RISES, HOCKET__STORE_WAITING, 100,
        "[{\"kind\":\"input\",\"id\":\"i2\"},{\"kind\":\"time\",\"until_ms\":1800000000000}]");
    fixture_close(f);
    f->now += 29 * DAY;
    fixture_open(f);
    put_ended(f, RUN_3, HOCKET__STORE_FAILED, 100);
    usleep(700000);
    assert_int_equal(stats_of(f).runs, 6);
    fixture_close(f);
    f->now += 2 * DAY;
    fixture_open(f);
    wait_for_runs(f, 4);
    assert_int_equal(find(f, LEFT), HOCKET_ENOTFOUND);
    assert_int_equal(find(f, HEARS), 0);
    assert_int_equal(find(f, RISES), 0);
    assert_int_equal(find(f, RUN_1), HOCKET_ENOTFOUND);
    assert_int_equal(find(f, RUN_2), 0);
    assert_int_equal(find(f, RUN_3), 0);
}

static void what_is_too_much_goes_oldest_first(void **state)
{
    struct fixture *f = *state;
    f->now = 1700000000000;
    fixture_open(f);
    put_ended(f, RUN_3, HOCKET__STORE_DONE, 60000);
    f->now += 1000;
    put_ended(f, RUN_1, HOCKET__STORE_WAITING, 60000);
    f->now += 1000;
    put_ended(f, RUN_2, HOCKET__STORE_DONE, 60000);
    assert_true(stats_of(f).bytes > 1800000);
    fixture_close(f);
    f->o.max_bytes = 1500000;
    fixture_open(f);
    wait_for_runs(f, 2);
    assert_int_equal(find(f, RUN_3), HOCKET_ENOTFOUND);
    assert_int_equal(find(f, RUN_2), 0);
    for (int i = 0; i < 200 && stats_of(f).bytes > 1500000; i++)
        usleep(25000);
    assert_true(stats_of(f).bytes <= 1500000);
    fixture_close(f);
    struct stat st;
    assert_int_equal(stat(f->path, &st), 0);
    assert_true(st.st_size < 1600000); /* given back to the disk */
}

/* A run that was cut off may be gone on with, today as well: room is made of it last, and not within a day. */
static void what_was_cut_off_goes_last(void **state)
{
    struct fixture *f = *state;
    f->now = 1700000000000;
    fixture_open(f);
    put_ended(f, RUN_1, HOCKET__STORE_RUNNING, 60000);
    f->now += 1000;
    put_ended(f, RUN_2, HOCKET__STORE_RUNNING, 60000);
    f->now += 1000;
    put_left(f, LEFT, HOCKET__STORE_WAITING, 60000, "[{\"kind\":\"input\",\"id\":\"i2\"}]");
    f->now += 1000;
    put_ended(f, RUN_3, HOCKET__STORE_DONE, 60000);
    fixture_close(f);
    f->o.max_bytes = 700000;
    fixture_open(f);
    wait_for_runs(f, 2);
    assert_int_equal(find(f, RUN_1), 0);
    assert_int_equal(find(f, RUN_2), 0);
    fixture_close(f);
    f->now += 2 * DAY;
    fixture_open(f);
    wait_for_runs(f, 1);
    assert_int_equal(find(f, RUN_1), HOCKET_ENOTFOUND);
}

/* Its process may have slept: whoever is first awake is not to throw away what the other works at. */
static void whose_lease_is_over_is_not_rubbish(void **state)
{
    struct fixture *f = *state, g;
    f->now = 1700000000000;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    second_of(f, &g);
    fixture_close(&g);
    g.now = f->now + INT64_C(3600000); /* an hour later by the other's clock */
    g.o.max_bytes = 1;
    fixture_open(&g);
    usleep(800000);
    assert_int_equal(stats_of(&g).runs, 1);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    fixture_deinit(&g);
}

static void a_long_text_is_kept_once(void **state)
{
    struct fixture *f = *state;
    char *value = calloc(1, 200001);
    memset(value, 'v', 200000);
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    for (uint64_t n = 1; n <= 20; n++) {
        struct hocket__store_entry e = fixture_entry(n, value);
        assert_int_equal(hocket__store_append(f->s, &claim, &e), 0);
    }
    assert_true(stats_of(f).bytes < 400000);
    assert_int_equal(count_entries(f, RUN_1), 20);
    assert_int_equal(fixture_row(f, 19).entry.value.n, 200000);
    hocket__store_release(f->s, &claim);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_remove(f->s, HOCKET__STR(RUN_1), &r, NULL)), 0);
    for (int i = 0; i < 200 && stats_of(f).bytes > 150000; i++)
        usleep(25000);
    assert_true(stats_of(f).bytes <= 150000); /* with its last reader it is gone */
    free(value);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(it_is_the_users_alone),
        TEST(a_link_is_refused),
        TEST(where_others_write_is_refused),
        TEST(what_may_only_be_read_is_looked_at),
        TEST(what_may_only_be_read_keeps_no_runs),
        TEST(what_stands_in_a_wal_is_looked_at),
        TEST(what_may_only_be_read_is_of_this_version),
        TEST(what_is_no_file_is_refused),
        TEST(what_stood_in_the_way_may_go),
        TEST(reports_an_obstacle_again),
        TEST(networks_are_known),
        TEST(another_kind_of_file_is_refused),
        TEST(a_newer_one_is_refused),
        TEST(a_cut_one_is_refused),
        TEST(a_damaged_one_is_refused),
        TEST(an_older_one_is_migrated),
        TEST(one_without_workers_is_migrated),
        TEST(a_migration_is_whole_or_not_at_all),
        TEST(messages_that_were_taken_cost_nothing),
        TEST(what_is_migrated_has_all_indexes),
        TEST(those_of_a_caller_are_found_at_once),
        TEST(two_stores_share_a_file),
        TEST(who_slept_past_a_lease_writes_nothing),
        TEST(reports_a_claim_before_its_loss),
        TEST(a_dead_owners_run_is_taken_at_once),
        TEST(a_dead_owners_job_is_taken_whatever_its_lease_says),
        TEST(many_begin_a_file_together),
        TEST(reports_writes_of_others),
        TEST(what_is_old_goes),
        TEST(what_is_too_much_goes_oldest_first),
        TEST(what_was_cut_off_goes_last),
        TEST(whose_lease_is_over_is_not_rubbish),
        TEST(a_long_text_is_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
