#include "store/pg.h"

#include "store/postgres/postgres_impl.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#define STR(s) hocket__cstr(s)

char pg_schema[32];
const char *pg_host, *pg_user;
struct pg_proxy pg_proxy;

const char *pg_server(void)
{
    return getenv("HOCKET_TEST_POSTGRES_HOST");
}

void pg_control(const char *command)
{
    char path[TEST_TEMP_PATH];
    snprintf(path, sizeof(path), "sh %s/%s", pg_server(), command);
    assert_int_equal(system(path), 0);
}

/* ---- A way to the server that is cut ------------------------------------------------------------ */

static int unix_socket(const char *path, bool listens)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = listens ? bind(fd, (struct sockaddr *) &a, sizeof(a)) || listen(fd, 8)
                     : connect(fd, (struct sockaddr *) &a, sizeof(a));
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

/* The server has said all: so it has done it. */
static bool is_answer(const char *bytes, size_t n)
{
    static const char ready[] = { 'Z', 0, 0, 0, 5 };
    return n > sizeof(ready) && memcmp(bytes + n - sizeof(ready) - 1, ready, sizeof(ready)) == 0;
}

/* Whether an answer goes on to the store. */
static bool let_through(const char *bytes, size_t n)
{
    static const char committed[] = "COMMIT";
    if (pg_proxy.commits && !memmem(bytes, n, committed, sizeof(committed)))
        return true;
    if (!pg_proxy.commits && pg_proxy.answers != 0)
        return pg_proxy.answers < 0 || pg_proxy.answers-- > 0;
    while (pg_proxy.holds) {
        pg_proxy.is_holding = true;
        poll(NULL, 0, 5);
    }
    pg_proxy.answers = -1;
    pg_proxy.commits = false;
    pg_proxy.left = 0;
    return false;
}

/* One piece from one side to the other; false when the way has ended. */
static bool pass(int from, int to)
{
    char piece[4096];
    int64_t left = pg_proxy.left;
    while (left == 0 && pg_proxy.holds) {
        pg_proxy.is_holding = true;
        poll(NULL, 0, 5);
    }
    size_t most = left < 0 || left > (int64_t) sizeof(piece) ? sizeof(piece) : (size_t) left;
    ssize_t n = most > 0 ? read(from, piece, most) : 0;
    if (n > 0 && is_answer(piece, (size_t) n) && !let_through(piece, (size_t) n))
        return false;
    for (ssize_t at = 0, w; at < n; at += w)
        if ((w = send(to, piece + at, (size_t) (n - at), MSG_NOSIGNAL)) <= 0)
            return false;
    if (left >= 0)
        pg_proxy.left = left - n;
    pg_proxy.passed += n > 0 ? n : 0;
    return n > 0;
}

static bool is_marked(int client)
{
    char bytes[16384];
    ssize_t n = recv(client, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
    return n > 0 && memmem(bytes, (size_t) n, pg_proxy.mark, strlen(pg_proxy.mark));
}

/* Up to a Sync: a transaction as a whole. */
static void delay(int client, int db)
{
    static const char sync[] = { 'S', 0, 0, 0, 4 };
    char *at = pg_proxy.late_bytes;
    size_t n = 0;
    while (n < sizeof(sync) || memcmp(at + n - sizeof(sync), sync, sizeof(sync)) != 0) {
        ssize_t more = read(client, at + n, sizeof(pg_proxy.late_bytes) - n);
        assert_true(more > 0);
        n += (size_t) more;
    }
    pg_proxy.late_len = n;
    pg_proxy.late_db = db;
    pg_proxy.delays = false;
    pg_proxy.cuts++;
    close(client);
    if (pg_proxy.late)
        pg_proxy_late();
}

/* Up to the server's ReadyForQuery; an error's answer begins with an E. */
bool pg_proxy_late(void)
{
    char answer[16384];
    size_t n = 0;
    bool fails = false;
    int fd = pg_proxy.late_db;
    assert_int_equal(write(fd, pg_proxy.late_bytes, pg_proxy.late_len), pg_proxy.late_len);
    while (!is_answer(answer, n)) {
        ssize_t more = read(fd, answer + n, sizeof(answer) - n);
        assert_true(more > 0);
        n += (size_t) more;
    }
    for (size_t at = 0, len; at + 5 <= n; at += 1 + len) {
        const unsigned char *p = (const unsigned char *) answer + at;
        len = (size_t) p[1] << 24 | (size_t) p[2] << 16 | (size_t) p[3] << 8 | p[4];
        fails |= p[0] == 'E';
    }
    close(fd);
    pg_proxy.late_db = -1;
    return !fails;
}

static void serve_one(int client)
{
    char path[TEST_TEMP_PATH];
    snprintf(path, sizeof(path), "%s/.s.PGSQL.5432", pg_server());
    int db = unix_socket(path, false);
    struct pollfd fds[2] = { { .fd = client, .events = POLLIN }, { .fd = db, .events = POLLIN } };
    bool open = db >= 0;
    while (open && !pg_proxy.ending) {
        poll(fds, 2, 20);
        if (pg_proxy.delays && fds[0].revents && is_marked(client)) {
            delay(client, db);
            return;
        }
        for (int i = 0; open && i < 2; i++)
            if (fds[i].revents)
                open = pass(fds[i].fd, fds[1 - i].fd);
    }
    pg_proxy.cuts += pg_proxy.left == 0;
    pg_proxy.left = -1; /* the next one lasts until somebody says otherwise */
    close(client);
    if (db >= 0)
        close(db);
}

static void *serve(void *ud)
{
    (void) ud;
    while (!pg_proxy.ending) {
        struct pollfd fd = { .fd = pg_proxy.listener, .events = POLLIN };
        if (poll(&fd, 1, 20) == 1)
            serve_one(accept4(pg_proxy.listener, NULL, NULL, SOCK_CLOEXEC));
    }
    return NULL;
}

static bool proxied;

void pg_proxy_start(void)
{
    assert_true(test_temp_dir(pg_proxy.dir));
    snprintf(pg_proxy.path, sizeof(pg_proxy.path), "%s/.s.PGSQL.5432", pg_proxy.dir);
    pg_proxy.listener = unix_socket(pg_proxy.path, true);
    assert_true(pg_proxy.listener >= 0);
    pg_proxy.left = -1;
    pg_proxy.ending = pg_proxy.holds = pg_proxy.is_holding = pg_proxy.commits = false;
    pg_proxy.delays = pg_proxy.late = false;
    pg_proxy.answers = -1;
    pg_proxy.late_db = -1;
    pg_proxy.cuts = 0;
    assert_int_equal(pthread_create(&pg_proxy.thread, NULL, serve, NULL), 0);
    pg_host = pg_proxy.dir;
    proxied = true;
}

void pg_proxy_end(void)
{
    proxied = false;
    pg_host = pg_server();
    pg_proxy.ending = true;
    pthread_join(pg_proxy.thread, NULL);
    close(pg_proxy.listener);
    unlink(pg_proxy.path);
    rmdir(pg_proxy.dir);
}

/* ---- Stores ------------------------------------------------------------------------------------------ */

static int open_store(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct hocket__store_options with = *o;
    char url[512];
    snprintf(
        url, sizeof(url), "postgres://%s@/test?host=%s&schema=%s", pg_user, pg_host, pg_schema);
    with.path = url;
    return hocket__store_postgres_open(&with, out, err);
}

const struct store_kind pg_kind = { "postgres", open_store, true };

/* With a new schema. */
int pg_setup(void **state)
{
    static int n;
    struct fixture *f = malloc(sizeof(*f));
    snprintf(pg_schema, sizeof(pg_schema), "f%d", n++);
    pg_host = pg_server();
    pg_user = "hocket";
    fixture_init(f, &pg_kind);
    *state = f;
    return 0;
}

int pg_teardown(void **state)
{
    fixture_deinit(*state);
    if (proxied) /* the test has failed */
        pg_proxy_end();
    free(*state);
    return 0;
}

static void connect_beside(struct hocket__pg *d)
{
    struct hocket_error err;
    static atomic_bool closing;
    char url[512];
    *d = (struct hocket__pg){ 0 };
    d->lib = hocket__libpq_load(&err);
    assert_non_null(d->lib);
    d->closing = &closing;
    hocket__pg_init(d);
    snprintf(url, sizeof(url), "postgres://hocket@/test?host=%s&schema=%s", pg_server(), pg_schema);
    assert_int_equal(hocket__pg_url(url, &d->conninfo, &d->shown, d->schema, &err), 0);
    if (hocket__pg_connect(d) < 0)
        fail_msg("%s", d->error.message);
}

struct hocket__pg *pg_begin(const char *script)
{
    struct hocket__pg *d = malloc(sizeof(*d));
    connect_beside(d);
    if (hocket__pg_script(d, script) < 0)
        fail_msg("%s: %s", script, d->error.message);
    return d;
}

void pg_end(struct hocket__pg *d)
{
    hocket__pg_deinit(d);
    free(d);
}

void pg_sql(const char *script)
{
    pg_end(pg_begin(script));
}

int pg_count(const char *query)
{
    struct hocket__pg d;
    connect_beside(&d);
    hocket__pg_new(&d);
    if (hocket__pg_query(&d, 0, query) < 0)
        fail_msg("%s: %s", query, d.error.message);
    int n = hocket__pg_rows(&d);
    hocket__pg_deinit(&d);
    return n;
}

void pg_assert_entries(struct fixture *f, const char *id, uint64_t n)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_entries(f->s, STR(id), 1, &r, NULL)), 0);
    assert_int_equal(f->count, n);
    struct hocket__str in = hocket__buf_str(&f->rows);
    struct hocket__store_row row;
    for (uint64_t i = 1; i <= n; i++) {
        assert_int_equal(hocket__store_unpack(&in, &row), 1);
        assert_int_equal(row.entry.n, i);
    }
}

int pg_find(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_find(f->s, STR(id), &r, NULL));
}

int pg_take(struct fixture *f, const char *id, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_take(f->s, STR(id), &r, NULL));
    memcpy(claim->id, id, sizeof(claim->id));
    if (rc == 0)
        claim->fence = fixture_row(f, 0).run.fence;
    return rc;
}

int pg_message(struct fixture *f, const char *run, const char *id, struct hocket__str json)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_message m = { STR(id), 17, json };
    return fixture_answer(f, hocket__store_message(f->s, STR(run), &m, &r, NULL));
}

int pg_care(struct fixture *f, enum hocket__store_maintenance_kind what)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_maintenance c = { .what = what, .worker = STR(""), .reader = STR("") };
    return fixture_answer(f, hocket__store_maintain(f->s, &c, &r, NULL));
}

void pg_submit(struct fixture *f, int i)
{
    char id[HOCKET__STORE_ID + 1];
    snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) i % 1000000u);
    struct hocket__store_run r = fixture_run(id);
    struct hocket__store_claim claim;
    r.state = HOCKET__STORE_QUEUED;
    r.pool = STR("default");
    assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
}

bool pg_take_next(struct fixture *f, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, STR("default"), 1, &r, NULL)), 0);
    if (f->count == 0)
        return false;
    struct hocket__store_run run = fixture_row(f, 0).run;
    memcpy(claim->id, run.id, sizeof(run.id));
    claim->fence = run.fence;
    return true;
}
