#include "store/wal.h"

#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };

enum { LONG = 1000 * 1000 }; /* milliseconds that nothing is written by itself in */

struct fixture *ahead_begin(void)
{
    struct fixture *f = malloc(sizeof(*f));
    fixture_init(f, &kind);
    f->o.linger_ms = LONG;
    return f;
}

/* The file beside the database; "": there is none. */
const char *wal_of(const struct fixture *f)
{
    static char path[TEST_TEMP_PATH + 300];
    char dir[TEST_TEMP_PATH + 16];
    snprintf(dir, sizeof(dir), "%s/hocket", f->dir);
    DIR *d = opendir(dir);
    path[0] = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "runs.db-ahead-", 14) == 0)
            snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
    if (d)
        closedir(d);
    return path;
}

void ahead_end(struct fixture *f)
{
    if (f->s)
        fixture_close(f);
    assert_string_equal(wal_of(f), "");
    fixture_deinit(f);
    free(f);
}

/* A run with n entries in the database, of a store that secures from here on. */
struct hocket__store_claim ahead_start(struct fixture *f, const char *id, uint64_t n)
{
    struct hocket__store_claim c = fixture_put(f, id);
    CHECK(fixture_commit(f, &c, HOCKET__STORE_WRITTEN) == 0);
    fixture_entries(f, &c, 1, n);
    hocket__store_secure(f->s, &c); /* the first time it cannot */
    CHECK(fixture_commit(f, &c, HOCKET__STORE_WRITTEN) == 0);
    return c;
}

size_t ahead_entries(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_entries(f->s, hocket__cstr(id), 1, &r, NULL)), 0);
    for (size_t i = 0; i < f->count; i++)
        assert_int_equal(fixture_row(f, i).entry.n, i + 1);
    return f->count;
}

int ahead_take(struct fixture *f, const char *id, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_take(f->s, hocket__cstr(id), &r, NULL));
    if (rc == 0) {
        snprintf(claim->id, sizeof(claim->id), "%s", id);
        claim->fence = fixture_row(f, 0).run.fence;
    }
    return rc;
}

/* Runs `life` in a process that is killed at its end. */
void ahead_killed(struct fixture *f, void (*life)(struct fixture *f))
{
    int how;
    pid_t pid = fork();
    if (pid == 0) {
        fixture_forked(f);
        fixture_open(f);
        life(f);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

void ahead_secure_some(struct fixture *f)
{
    struct hocket__store_claim c = ahead_start(f, RUN_1, 3);
    for (uint64_t n = 4; n <= 40; n++) {
        fixture_append(f, &c, n);
        if (n % 3 == 0)
            CHECK(hocket__store_secure(f->s, &c));
        if (n % 5 == 0)
            uv_run(&f->loop, UV_RUN_NOWAIT); /* a turn ends, and nothing is written */
    }
}

struct hocket__store_claim ahead_put_job(
    struct fixture *f, const char *id, enum hocket__store_state state)
{
    struct hocket__store_run r = fixture_run(id);
    struct hocket__store_claim c;
    r.state = state;
    r.pool = HOCKET__STR("default");
    CHECK(hocket__store_put(f->s, &r, &c) == 0);
    return c;
}

/* The id of what was taken, or "". */
const char *ahead_take_next(struct fixture *f, struct hocket__store_claim *c)
{
    struct hocket__store_reply r = fixture_reply(f);
    memset(c, 0, sizeof(*c));
    fixture_answer(f, hocket__store_take_next(f->s, HOCKET__STR("default"), 1, &r, NULL));
    if (f->status == 0 && f->count == 1) {
        memcpy(c->id, fixture_row(f, 0).run.id, sizeof(c->id));
        c->fence = fixture_row(f, 0).run.fence;
    }
    return c->id;
}

/* A worker's, that has two of them: what it says of the first is in the file alone. */
void ahead_work_on_two(struct fixture *f, enum hocket__store_state then)
{
    struct hocket__store_claim c = ahead_put_job(f, RUN_1, HOCKET__STORE_RUNNING),
                               d = ahead_put_job(f, RUN_2, HOCKET__STORE_RUNNING);
    struct hocket__store_run row = { .state = then };
    fixture_entries(f, &c, 1, 3);
    CHECK(fixture_commit(f, &c, HOCKET__STORE_WRITTEN) == 0);
    fixture_append(f, &d, 1);
    hocket__store_secure(f->s, &d);
    CHECK(fixture_commit(f, &d, HOCKET__STORE_WRITTEN) == 0);
    fixture_append(f, &c, 4);
    if (then != HOCKET__STORE_RUNNING) {
        hocket__store_update(f->s, &c, HOCKET__STORE_SET_STATE, &row);
        if (then != HOCKET__STORE_FAILED)
            hocket__store_release(f->s, &c);
    }
    fixture_append(f, &d, 2);
    CHECK(hocket__store_secure(f->s, &d));
}

void ahead_work(struct fixture *f)
{
    ahead_work_on_two(f, HOCKET__STORE_RUNNING);
}

/* `life` is that of a worker that was killed while this store, another worker's, was open. */
struct fixture *ahead_beside(void (*life)(struct fixture *f))
{
    struct fixture *f = ahead_begin(), *g = ahead_begin();
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    strcpy(g->path, f->path);
    ahead_killed(g, life);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    ahead_end(g);
    return f;
}

/* As long as the file is not seen by who opens the store next. */
void ahead_end_later(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
    ahead_end(f);
}

off_t ahead_size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

void ahead_change_file(const char *path, off_t at, const char *text, size_t n)
{
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    if (n > 0)
        assert_int_equal(pwrite(fd, text, n, at), n);
    else
        assert_int_equal(ftruncate(fd, at), 0);
    close(fd);
}
