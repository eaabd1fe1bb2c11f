/* What a database can do to its store that a file cannot: connections that end at any byte, a server that is killed and
 * started again, texts that it would not take, schemas of others; in a server of tests/support/postgres.sh. */
#include "store/fixture.h"
#include "store/postgres/postgres_impl.h"
#include "store/postgres/schema.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#define STR(s) hocket__cstr(s)

static const char *server(void)
{
    return getenv("HOCKET_TEST_POSTGRES_HOST");
}

/* ---- A way to the server that is cut ------------------------------------------------------------ */

/* Passes bytes on until so many have gone by, in both directions; then it closes both sides, and begins anew. */
static struct {
    char dir[TEST_TEMP_PATH], path[TEST_TEMP_PATH + 32];
    int listener;
    _Atomic int64_t left; /* bytes; below 0: no end */
    _Atomic bool ending;
    _Atomic size_t cuts;
    _Atomic int64_t passed;         /* bytes */
    _Atomic bool holds, is_holding; /* does not close then, but lets nothing through */
    pthread_t thread;
} proxy;

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

/* One piece from one side to the other; false when the way has ended. */
static bool pass(int from, int to)
{
    char piece[4096];
    int64_t left = proxy.left;
    while (left == 0 && proxy.holds) {
        proxy.is_holding = true;
        poll(NULL, 0, 5);
    }
    size_t most = left < 0 || left > (int64_t) sizeof(piece) ? sizeof(piece) : (size_t) left;
    ssize_t n = most > 0 ? read(from, piece, most) : 0;
    for (ssize_t at = 0, w; at < n; at += w)
        if ((w = send(to, piece + at, (size_t) (n - at), MSG_NOSIGNAL)) <= 0)
            return false;
    if (left >= 0)
        proxy.left = left - n;
    proxy.passed += n > 0 ? n : 0;
    return n > 0;
}

static void serve_one(int client)
{
    char path[TEST_TEMP_PATH];
    snprintf(path, sizeof(path), "%s/.s.PGSQL.5432", server());
    int db = unix_socket(path, false);
    struct pollfd fds[2] = { { .fd = client, .events = POLLIN }, { .fd = db, .events = POLLIN } };
    bool open = db >= 0;
    while (open && !proxy.ending) {
        poll(fds, 2, 20);
        for (int i = 0; open && i < 2; i++)
            if (fds[i].revents)
                open = pass(fds[i].fd, fds[1 - i].fd);
    }
    proxy.cuts += proxy.left == 0;
    proxy.left = -1; /* the next one lasts until somebody says otherwise */
    close(client);
    if (db >= 0)
        close(db);
}

static void *serve(void *ud)
{
    (void) ud;
    while (!proxy.ending) {
        struct pollfd fd = { .fd = proxy.listener, .events = POLLIN };
        if (poll(&fd, 1, 20) == 1)
            serve_one(accept4(proxy.listener, NULL, NULL, SOCK_CLOEXEC));
    }
    return NULL;
}

static void proxy_start(void)
{
    assert_true(test_temp_dir(proxy.dir));
    snprintf(proxy.path, sizeof(proxy.path), "%s/.s.PGSQL.5432", proxy.dir);
    proxy.listener = unix_socket(proxy.path, true);
    assert_true(proxy.listener >= 0);
    proxy.left = -1;
    proxy.ending = proxy.holds = proxy.is_holding = false;
    proxy.cuts = 0;
    assert_int_equal(pthread_create(&proxy.thread, NULL, serve, NULL), 0);
}

static void proxy_end(void)
{
    proxy.ending = true;
    pthread_join(proxy.thread, NULL);
    close(proxy.listener);
    unlink(proxy.path);
    rmdir(proxy.dir);
}

/* ---- Stores ------------------------------------------------------------------------------------------ */

static char the_schema[32];
static const char *the_host;

static int open_store(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct hocket__store_options with = *o;
    char url[512];
    snprintf(url, sizeof(url), "postgres://hocket@/test?host=%s&schema=%s", the_host, the_schema);
    with.path = url;
    return hocket__store_postgres_open(&with, out, err);
}

static const struct store_kind kind = { "postgres", open_store, true };

/* With a new schema. */
static int setup(void **state)
{
    static int n;
    struct fixture *f = malloc(sizeof(*f));
    snprintf(the_schema, sizeof(the_schema), "f%d", n++);
    the_host = server();
    fixture_init(f, &kind);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_deinit(*state);
    free(*state);
    return 0;
}

/* Beside any store. */
static void sql(const char *script)
{
    struct hocket__pg d = { 0 };
    struct hocket_error err;
    static atomic_bool closing;
    char url[512];
    d.lib = hocket__libpq_load(&err);
    assert_non_null(d.lib);
    d.closing = &closing;
    hocket__pg_init(&d);
    snprintf(url, sizeof(url), "postgres://hocket@/test?host=%s&schema=%s", server(), the_schema);
    assert_int_equal(hocket__pg_url(url, &d.conninfo, &d.shown, d.schema, &err), 0);
    int rc = hocket__pg_connect(&d);
    if (rc == 0)
        rc = hocket__pg_script(&d, script);
    if (rc < 0)
        fail_msg("%s: %s", script, d.error.message);
    hocket__pg_deinit(&d);
}

#define CUT_ALL                                                                                    \
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"         \
    " AND application_name = 'hocket' AND backend_type = 'client backend'"

static void assert_all(struct fixture *f, const char *id, uint64_t n)
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

static int find(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_find(f->s, STR(id), &r, NULL));
}

static int take(struct fixture *f, const char *id, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_take(f->s, STR(id), &r, NULL));
    memcpy(claim->id, id, sizeof(claim->id));
    if (rc == 0)
        claim->fence = fixture_row(f, 0).run.fence;
    return rc;
}

static int put_message(struct fixture *f, const char *run, const char *id, struct hocket__str json)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_message m = { STR(id), 17, json };
    return fixture_answer(f, hocket__store_message(f->s, STR(run), &m, &r, NULL));
}

static int care(struct fixture *f, enum hocket__store_care what)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_care_of c = { .what = what, .worker = STR(""), .reader = STR("") };
    return fixture_answer(f, hocket__store_care(f->s, &c, &r, NULL));
}

/* ---- Addresses --------------------------------------------------------------------------------------- */

static void urls_are_shown_without_passwords(void **state)
{
    static const struct {
        const char *url, *conninfo, *shown, *schema;
    } good[] = {
        { "postgres://a@h/d", "postgres://a@h/d", "postgres://a@h/d", "hocket" },
        { "postgresql://h", "postgresql://h", "postgres://h", "hocket" },
        { "postgres://", "postgres://", "postgres://", "hocket" },
        { "postgres://a:geheim@h:5/d?schema=x_1", "postgres://a:geheim@h:5/d",
            "postgres://a:***@h:5/d?schema=x_1", "x_1" },
        { "postgres://a:ge:he?im@h/d", "postgres://a:ge:he?im@h/d", "postgres://a:***@h/d",
            "hocket" },
        { "postgres://a@[::1]:5/d?password=geheim&sslmode=require&schema=s&options=geheim",
            "postgres://a@[::1]:5/d?password=geheim&sslmode=require&options=geheim",
            "postgres://a@[::1]:5/d?sslmode=require&schema=s", "s" },
        { "postgres://a:geheim@h1:1,h2:2/d?sslpassword=geheim",
            "postgres://a:geheim@h1:1,h2:2/d?sslpassword=geheim", "postgres://a:***@h1:1,h2:2/d",
            "hocket" },
    };
    static const char *const bad[] = { "postgres://a:ge@heim@h/d", "postgres://a:ge/heim@h/d",
        "postgres://h/d?schema=", "postgres://h/d?schema=A", "postgres://h/d?schema=a-b",
        "postgres://h/d?schema=pg_x", "postgres://h/d?schema=1a", "geheim" };
    char schema[HOCKET__PG_SCHEMA];
    (void) state;
    struct hocket_error err;
    struct hocket__buf conninfo, shown;
    hocket__buf_init(&conninfo, &hocket__malloc, 0);
    hocket__buf_init(&shown, &hocket__malloc, 0);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        hocket__buf_reset(&conninfo);
        hocket__buf_reset(&shown);
        assert_int_equal(hocket__pg_url(good[i].url, &conninfo, &shown, schema, &err), 0);
        assert_string_equal(conninfo.data, good[i].conninfo);
        assert_string_equal(shown.data, good[i].shown);
        assert_string_equal(schema, good[i].schema);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(hocket__pg_url(bad[i], &conninfo, &shown, schema, &err), HOCKET_EINVAL);
        assert_null(strstr(err.message, "heim"));
    }
    hocket__buf_deinit(&conninfo);
    hocket__buf_deinit(&shown);
}

/* What libpq says of a URL may repeat a part of it. */
static void wrong_urls_are_not_repeated(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = { "postgres://a:geheim%zz@h/d", "postgres://h/d?geheim=1",
        "postgres://h:geheim/d" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct hocket_error err = { 0 };
        struct hocket__store_options o = f->o;
        o.path = bad[i];
        assert_int_equal(hocket__store_postgres_open(&o, &f->s, &err), HOCKET_EINVAL);
        assert_null(strstr(err.message, "geheim"));
    }
}

/* ---- Texts ---------------------------------------------------------------------------------------------- */

static void any_bytes_survive(void **state)
{
    static const char *const texts[] = { "\xff\xfe",
        "\001"
        "plain",
        "\xc3", "\xed\xa0\x80", "'; DROP TABLE runs; --", "\\x00", "\xf4\x8f\xbf\xbf" };
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char id[8], with_nul[32] = "";
        size_t n = strlen(texts[i]);
        memcpy(with_nul + 2, texts[i], n); /* two NULs before it */
        struct hocket__str s = hocket__str(with_nul + (i % 2 ? 0 : 2), n + (i % 2 ? 2 : 0));
        struct hocket__store_entry e = fixture_entry(i + 1, "");
        struct hocket__store_record r = { i + 1, s };
        struct hocket__store_file file = { STR("g"), hocket__str(s.p, s.n), STR("h"), s };
        struct hocket__store_run change = { .waiting_for = s };
        e.name = e.value = s;
        snprintf(id, sizeof(id), "m%zu", i);
        assert_int_equal(hocket__store_append(f->s, &claim, &e), 0);
        assert_int_equal(hocket__store_record(f->s, &claim, &r), 0);
        assert_int_equal(hocket__store_file(f->s, &file), 0);
        assert_int_equal(
            hocket__store_update(f->s, &claim, HOCKET__STORE_SET_WAITING_FOR, &change), 0);
        assert_int_equal(put_message(f, RUN_1, id, s), 0);
        assert_int_equal(find(f, RUN_1), 0);
        assert_true(hocket__str_eq(fixture_row(f, 0).run.waiting_for, s));
        struct hocket__store_reply reply = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_entries(f->s, STR(RUN_1), i + 1, &reply, NULL)), 0);
        assert_true(hocket__str_eq(fixture_row(f, 0).entry.value, s));
        assert_true(hocket__str_eq(fixture_row(f, 0).entry.name, s));
        reply = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_records(f->s, STR(RUN_1), i + 1, &reply, NULL)), 0);
        assert_true(hocket__str_eq(fixture_row(f, 0).record.json, s));
        reply = fixture_reply(f);
        assert_int_equal(fixture_answer(f, hocket__store_files(f->s, STR("g"), &reply, NULL)), 0);
        assert_int_equal(f->count, i + 1);
    }
}

/* Two stores let the same long text go and put it, again and again. */
static void long_texts_are_shared_and_go_with_the_last(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    fixture_init(&other, &kind);
    fixture_open(f);
    fixture_open(&other);
    char *big = malloc(20001);
    memset(big, 'x', 20000);
    big[20000] = 0;
    for (int i = 0; i < 20; i++) {
        struct fixture *one = i % 2 ? f : &other;
        const char *id = i % 2 ? RUN_1 : RUN_2;
        struct hocket__store_claim claim = fixture_put(one, id);
        struct hocket__store_entry e = fixture_entry(1, big);
        assert_int_equal(hocket__store_append(one->s, &claim, &e), 0);
        hocket__store_release(one->s, &claim);
        assert_all(one, id, 1);
        struct hocket__store_reply r = fixture_reply(one);
        assert_int_equal(fixture_answer(one, hocket__store_remove(one->s, STR(id), &r, NULL)), 0);
    }
    free(big);
    assert_int_equal(care(f, HOCKET__STORE_VACUUM), 0);
    sql("DO $$ BEGIN ASSERT (SELECT count(*) FROM texts) = 0, 'texts are left';"
        " ASSERT (SELECT count(*) FROM runs) = 0, 'runs are left'; END $$");
    fixture_close(&other);
    fixture_deinit(&other);
}

/* ---- Connections ------------------------------------------------------------------------------------------- */

/* How many bytes a commit of three entries takes on a connection that knows its statements. */
static int64_t commit_three(struct fixture *f, const struct hocket__store_claim *claim, uint64_t *n)
{
    int64_t before = proxy.passed;
    fixture_entries(f, claim, *n + 1, 3);
    *n += 3;
    assert_int_equal(fixture_commit(f, claim, HOCKET__STORE_WRITTEN), 0);
    return proxy.passed - before;
}

/* Anywhere in what it takes, or within the last answer, when all is there and nobody knows. */
static int64_t cut_in(int64_t size, int i)
{
    return i % 3 ? random() % size : size - 1 - random() % 30;
}

/* Cut at each of many bytes: whatever was on its way then is there once, and in order. */
static void what_is_cut_off_is_there_once(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    srandom(7);
    proxy_start();
    the_host = proxy.dir;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    uint64_t n = 0;
    int rounds = getenv("HOCKET_TORTURE") ? 2000 : 40;
    for (int i = 0; i < rounds; i++) {
        char id[16];
        int64_t size = commit_three(f, &claim, &n);
        proxy.left = cut_in(size, i);
        commit_three(f, &claim, &n);
        snprintf(id, sizeof(id), "m%d", i);
        proxy.left = random() % 900;
        assert_int_equal(put_message(f, RUN_1, id, STR("{}")), 0);
        if (i % 10 == 0) {
            hocket__store_release(f->s, &claim);
            proxy.left = random() % 2500;
            assert_int_equal(take(f, RUN_1, &claim), 0);
        }
    }
    proxy.left = -1;
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
    assert_true(proxy.cuts > (size_t) rounds / 2);
    assert_all(f, RUN_1, n);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_messages(f->s, STR(RUN_1), &r, NULL)), 0);
    assert_int_equal(f->count, rounds);
    fixture_close(f);
    proxy_end();
    the_host = server();
    fixture_init(&direct, &kind);
    fixture_open(&direct);
    assert_int_equal(care(&direct, HOCKET__STORE_CHECK), 0);
    for (size_t i = 0; i < direct.count; i++)
        assert_true(hocket__str_is(fixture_row(&direct, i).message.id, "warning"));
    fixture_deinit(&direct);
}

static void submit(struct fixture *f, int i)
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

static bool take_next(struct fixture *f, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_take_next(f->s, STR("default"), &r, NULL)), 0);
    if (f->count == 0)
        return false;
    struct hocket__store_run run = fixture_row(f, 0).run;
    memcpy(claim->id, run.id, sizeof(run.id));
    claim->fence = run.fence;
    return true;
}

/* An answer that was a run is no run lost: this store asks again, and has it. */
static void what_is_taken_and_cut_off_is_had(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    struct hocket__store_claim claim;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    srandom(11);
    fixture_init(&direct, &kind);
    fixture_open(&direct);
    for (int i = 0; i <= rounds; i++)
        submit(&direct, i);
    assert_int_equal(fixture_commit(&direct, NULL, HOCKET__STORE_WRITTEN), 0);
    proxy_start();
    the_host = proxy.dir;
    fixture_open(f);
    assert_true(take_next(f, &claim)); /* its statements are known */
    int64_t size = proxy.passed;
    assert_true(take_next(f, &claim));
    size = proxy.passed - size;
    for (int i = 2; i <= rounds; i++) {
        proxy.left = cut_in(size, i);
        assert_true(take_next(f, &claim));
        fixture_append(f, &claim, 1);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    }
    assert_false(take_next(f, &claim));
    assert_true(proxy.cuts > (size_t) rounds / 4);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    proxy.left = -1;
    fixture_close(f);
    proxy_end();
    the_host = server();
    fixture_deinit(&direct);
}

/* The version goes up by one each time, and each time there is a run more. */
static void an_item_that_is_cut_off_is_put_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    int64_t version = 0, size = 0;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    srandom(13);
    proxy_start();
    the_host = proxy.dir;
    fixture_open(f);
    for (int i = 0; i < rounds; i++) {
        char json[16];
        snprintf(json, sizeof(json), "%06d", i);
        struct hocket__store_run run = fixture_run("01KANC3V0QZJ9E4W2X6T000000");
        snprintf(run.id, sizeof(run.id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) i % 1000000u);
        run.state = HOCKET__STORE_QUEUED;
        run.pool = STR("default");
        struct hocket__store_item item = { .kind = STR("k"), .id = STR("i"), .json = STR(json) };
        struct hocket__store_reply r = fixture_reply(f);
        int64_t before = proxy.passed, last = version;
        proxy.left = i > 2 ? cut_in(size, i) : -1;
        assert_int_equal(
            fixture_answer(f, hocket__store_item_put(f->s, &item, version, &run, &r, NULL)), 0);
        version = fixture_row(f, 0).item.version;
        assert_true(last == 0 || version == last + 1);
        size = i > 2 ? size : proxy.passed - before;
    }
    proxy.left = -1;
    for (int i = 0; i < rounds; i++)
        assert_true(take_next(f, &claim));
    assert_false(take_next(f, &claim));
    assert_true(proxy.cuts > (size_t) rounds / 4);
    fixture_close(f);
    proxy_end();
    the_host = server();
}

/* Anything but a notification is seen by what was written: so one is sent that comes with nothing. */
static void a_hint_is_heard_and_given(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    char script[64];
    fixture_init(&other, &kind);
    fixture_open(f);
    fixture_open(&other);
    hocket__store_watch(f->s, true);
    for (int i = 0; i < 3; i++) { /* the first look says that all is new, and listens */
        f->news[HOCKET__STORE_CHANGED] = 0;
        snprintf(script, sizeof(script), "NOTIFY %s", the_schema);
        while (f->news[HOCKET__STORE_CHANGED] == 0) {
            sql(script);
            assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
        }
    }
    f->news[HOCKET__STORE_CHANGED] = 0;
    submit(f, 1); /* it is told of what itself has queued */
    while (f->news[HOCKET__STORE_CHANGED] == 0)
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    hocket__store_watch(f->s, false);
    sql(script); /* nobody watches: it is heard, and the thread sleeps on */
    fixture_deinit(&other);
}

static void a_session_that_was_ended_is_made_anew(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    for (uint64_t n = 1; n <= 10; n++) {
        fixture_append(f, &claim, n);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
        sql(CUT_ALL);
        assert_int_equal(find(f, RUN_1), 0);
    }
    assert_all(f, RUN_1, 10);
}

static void run(const char *command)
{
    char path[TEST_TEMP_PATH];
    snprintf(path, sizeof(path), "sh %s/%s", server(), command);
    assert_int_equal(system(path), 0);
}

static bool is_told(const struct fixture *f, enum hocket__store_news news)
{
    return f->news[news] > 0;
}

static void until_news(struct fixture *f, enum hocket__store_news news)
{
    while (!is_told(f, news))
        uv_run(&f->loop, UV_RUN_ONCE);
}

/* What is handed over while it is away is there when it is back, and it is said once. */
static void a_server_may_be_away(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    run("stop QUIT");
    fixture_append(f, &claim, 2);
    struct hocket__store_reply r = fixture_reply(f); /* keeps the loop alive */
    assert_int_equal(hocket__store_find(f->s, STR(RUN_1), &r, NULL), 0);
    until_news(f, HOCKET__STORE_PAUSED);
    assert_non_null(strstr(f->news_error.message, "postgres://hocket@/test"));
    fixture_append(f, &claim, 3);
    run("start");
    fixture_until(f, &f->done);
    assert_int_equal(f->status, 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_SYNCED), 0);
    assert_all(f, RUN_1, 3);
    assert_int_equal(f->news[HOCKET__STORE_PAUSED], 1);
    assert_int_equal(f->news[HOCKET__STORE_GOING], 1);
}

/* A server that crashed may give the number of a transaction that it has lost to the next one, whose end is not ours. */
static void a_number_that_is_given_again_is_not_ours(void **state)
{
    struct fixture *f = *state;
    uint64_t n = 0;
    sql("ALTER SYSTEM SET wal_writer_delay = '10s'"); /* so that it is lost */
    sql("SELECT pg_reload_conf()");
    proxy_start();
    the_host = proxy.dir;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    commit_three(f, &claim, &n);
    proxy.holds = true;
    proxy.left = commit_three(f, &claim, &n) * 6 / 10; /* not up to the COMMIT */
    fixture_entries(f, &claim, n + 1, 3);
    struct hocket__store_reply r = fixture_reply(f); /* they are written before it is asked */
    assert_int_equal(hocket__store_find(f->s, STR(RUN_1), &r, NULL), 0);
    while (!proxy.is_holding)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    run("stop QUIT");
    run("start");
    for (int i = 0; i < 5; i++)
        sql("UPDATE meta SET value = value");
    proxy.holds = false;
    fixture_until(f, &f->done);
    assert_all(f, RUN_1, n + 3);
    n += 3;
    commit_three(f, &claim, &n);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    assert_all(f, RUN_1, n);
    fixture_close(f);
    proxy_end();
    sql("ALTER SYSTEM RESET wal_writer_delay");
}

/* Closing does not wait for a server that is away. */
static void closing_does_not_wait_for_the_server(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    run("stop QUIT");
    fixture_append(f, &claim, 1);
    fixture_close(f);
    run("start");
}

/* ---- Claims ----------------------------------------------------------------------------------------------- */

/* One that was stopped past its lease writes nothing more. */
static void a_lost_claim_writes_nothing(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    struct hocket__store_claim claim, theirs;
    fixture_init(&other, &kind);
    f->now = 1000000;
    other.now = 1000000 + 60001;
    fixture_open(f);
    fixture_open(&other);
    claim = fixture_put(f, RUN_1);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(take(&other, RUN_1, &theirs), 0);
    assert_true(theirs.fence > claim.fence);
    fixture_append(f, &claim, 2);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    fixture_append(&other, &theirs, 2);
    assert_int_equal(fixture_commit(&other, &theirs, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(take(f, RUN_1, &claim), HOCKET_ESTATE);
    assert_all(&other, RUN_1, 2);
    fixture_deinit(&other);
}

/* ---- Schemas ------------------------------------------------------------------------------------------------- */

static void opening_fails(struct fixture *f, int status, const char *words)
{
    f->news[HOCKET__STORE_BROKEN] = 0;
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), status);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 1);
    if (!strstr(f->news_error.message, words))
        fail_msg("%s", f->news_error.message);
    fixture_close(f);
}

static void schemas_of_others_are_refused(void **state)
{
    struct fixture *f = *state;
    char script[256];
    snprintf(script, sizeof(script),
        "CREATE SCHEMA %s; CREATE TABLE %s.meta(name TEXT, value TEXT);", the_schema, the_schema);
    sql(script);
    opening_fails(f, HOCKET_EEXIST, "another program's");
    sql("DROP TABLE meta; CREATE TABLE runs(id TEXT)");
    opening_fails(f, HOCKET_EEXIST, "another program's");
    sql("DROP TABLE runs");
    fixture_open(f);
    fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    sql("UPDATE meta SET value = '99' WHERE name = 'version'");
    opening_fails(f, HOCKET_EUNSUPPORTED, "newer hocket (version 99 of the store");
    sql("UPDATE meta SET value = '2' WHERE name = 'version'");
}

/* As the one before there were workers made them. */
static void tables_without_workers_are_migrated(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 3);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    sql("DROP INDEX runs_due; DROP INDEX runs_caller; DROP TABLE items; DROP TABLE limits;"
        "DROP TABLE leases; ALTER TABLE runs DROP COLUMN pool, DROP COLUMN due_ms,"
        " DROP COLUMN caller, DROP COLUMN project, DROP COLUMN attempts, DROP COLUMN taken_n,"
        " DROP COLUMN news; UPDATE meta SET value = '1' WHERE name = 'version'");
    fixture_open(f);
    struct hocket__store_run job = { .state = HOCKET__STORE_QUEUED,
        .pool = HOCKET__STR("default") };
    assert_int_equal(take(f, RUN_1, &claim), 0);
    hocket__store_update(f->s, &claim, HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_QUEUE, &job);
    hocket__store_release(f->s, &claim);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, HOCKET__STR("default"), &r, NULL)), 0);
    assert_int_equal(f->count, 1);
    assert_int_equal(fixture_row(f, 0).run.last_n, 3);
}

enum { AT_ONCE = 6 };

/* Several that find no tables make them once. */
static void tables_are_made_once(void **state)
{
    struct fixture *all[AT_ONCE];
    (void) state;
    for (int i = 0; i < AT_ONCE; i++) {
        all[i] = malloc(sizeof(*all[i]));
        fixture_init(all[i], &kind);
        fixture_open(all[i]);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        assert_int_equal(fixture_commit(all[i], NULL, HOCKET__STORE_WRITTEN), 0);
        assert_int_equal(all[i]->news[HOCKET__STORE_BROKEN], 0);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        fixture_deinit(all[i]);
        free(all[i]);
    }
}

static void checking_finds_what_is_missing(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 5);
    assert_int_equal(care(f, HOCKET__STORE_CHECK), 0);
    size_t warnings = f->count;
    sql("DELETE FROM entries WHERE n = 3");
    assert_int_equal(care(f, HOCKET__STORE_CHECK), 0);
    assert_int_equal(f->count, warnings + 1);
    assert_true(hocket__str_is(fixture_row(f, 0).message.id, "problem"));
    sql("UPDATE entries SET n = 3 WHERE n = 5");
    assert_int_equal(care(f, HOCKET__STORE_CHECK), 0);
    assert_int_equal(f->count, warnings + 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_shown_without_passwords),
        TEST(wrong_urls_are_not_repeated),
        TEST(any_bytes_survive),
        TEST(long_texts_are_shared_and_go_with_the_last),
        TEST(what_is_cut_off_is_there_once),
        TEST(what_is_taken_and_cut_off_is_had),
        TEST(an_item_that_is_cut_off_is_put_once),
        TEST(a_hint_is_heard_and_given),
        TEST(a_session_that_was_ended_is_made_anew),
        TEST(a_server_may_be_away),
        TEST(a_number_that_is_given_again_is_not_ours),
        TEST(closing_does_not_wait_for_the_server),
        TEST(a_lost_claim_writes_nothing),
        TEST(schemas_of_others_are_refused),
        TEST(tables_without_workers_are_migrated),
        TEST(tables_are_made_once),
        TEST(checking_finds_what_is_missing),
    };
    return server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
