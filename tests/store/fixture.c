#include "store/fixture.h"

#include "store/columns.h"

#include <stdlib.h>

static int64_t wall_ms(void *ud)
{
    struct fixture *f = ud;
    return f->now;
}

static void on_news(
    void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err)
{
    struct fixture *f = ud;
    f->news[news]++;
    if (id)
        memcpy(f->news_id, id, sizeof(f->news_id));
    if (err)
        f->news_error = *err;
}

void fixture_init(struct fixture *f, const struct store_kind *kind)
{
    *f = (struct fixture){ .kind = kind };
    test_alloc_init(&f->t);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    assert_true(test_temp_dir(f->dir));
    snprintf(f->path, sizeof(f->path), "%.200s/hocket/runs.db", f->dir);
    f->o = (struct hocket__store_options){ .alloc = &f->t.a,
        .loop = &f->loop,
        .path = f->path,
        .linger_ms = -1,
        .on_news = on_news,
        .ud = f };
    hocket__buf_init(&f->rows, &hocket__malloc, 0);
}

int fixture_try(struct fixture *f, struct hocket_error *err)
{
    if (f->now)
        f->o.wall_ms = wall_ms;
    return f->kind->open(&f->o, &f->s, err);
}

void fixture_open(struct fixture *f)
{
    struct hocket_error err = { 0 };
    int rc = fixture_try(f, &err);
    if (rc < 0)
        fail_msg("%s: %s", f->kind->name, err.message);
}

static void on_closed(void *ud)
{
    struct fixture *f = ud;
    f->s = NULL;
}

int fixture_new(void **state, const struct store_kind *kind, int64_t now)
{
    struct fixture *f = malloc(sizeof(*f));
    assert_non_null(f);
    fixture_init(f, kind);
    f->now = now;
    fixture_open(f);
    *state = f;
    return 0;
}

int fixture_end(void **state)
{
    fixture_deinit(*state);
    free(*state);
    return 0;
}

void fixture_assert_str(struct hocket__str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.p, expected, s.n);
}

void fixture_close(struct fixture *f)
{
    hocket__store_close(f->s, on_closed, f);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_null(f->s);
}

/* The files that stores make, and nothing else. */
static void remove_files(struct fixture *f)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    char path[TEST_TEMP_PATH + 16];
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", f->path, suffixes[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/hocket", f->dir);
    rmdir(path);
    rmdir(f->dir);
}

void fixture_deinit(struct fixture *f)
{
    if (f->s)
        fixture_close(f);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    hocket__buf_deinit(&f->rows);
    test_alloc_check(&f->t);
    remove_files(f);
}

void fixture_forked(struct fixture *f)
{
    assert_int_equal(uv_loop_init(&f->loop), 0);
}

/* Nothing that is waited for may leave the loop without something to wait on. */
void fixture_until(struct fixture *f, const bool *flag)
{
    while (!*flag)
        if (uv_run(&f->loop, UV_RUN_ONCE) == 0 && !*flag)
            fail_msg("the loop ended before the answer came");
}

struct commit {
    struct hocket__store_wait wait;
    struct fixture *f;
    bool done;
    int status;
};

static void on_kept(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct commit *c = hocket__container_of(w, struct commit, wait);
    c->done = true;
    c->status = status;
    if (err)
        c->f->error = *err;
    assert_int_equal(status, err ? err->status : 0);
}

int fixture_commit(
    struct fixture *f, const struct hocket__store_claim *claim, enum hocket__store_kept kept)
{
    struct commit c = { .wait.done = on_kept, .wait.no_pause = f->impatient, .f = f };
    hocket__store_commit(f->s, claim, kept, &c.wait);
    assert_false(c.done);
    fixture_until(f, &c.done);
    return c.status;
}

static int on_row(void *ud, const struct hocket__store_row *row)
{
    struct fixture *f = ud;
    assert_false(f->done);
    hocket__store_pack(&f->rows, row);
    f->count++;
    return f->count == f->stop_after ? HOCKET_ECANCELLED : 0;
}

static void on_done(void *ud, int status, const struct hocket_error *err)
{
    struct fixture *f = ud;
    assert_false(f->done);
    f->done = true;
    f->status = status;
    if (err)
        f->error = *err;
    assert_int_equal(status, err ? err->status : 0);
}

struct hocket__store_reply fixture_reply(struct fixture *f)
{
    f->done = false;
    f->count = 0;
    hocket__buf_reset(&f->rows);
    return (struct hocket__store_reply){ on_row, on_done, f };
}

int fixture_answer(struct fixture *f, int rc)
{
    if (rc < 0)
        return rc;
    assert_false(f->done);
    fixture_until(f, &f->done);
    return f->status;
}

struct hocket__store_row fixture_row(const struct fixture *f, size_t i)
{
    struct hocket__str in = hocket__buf_str(&f->rows);
    struct hocket__store_row row;
    assert_true(i < f->count);
    for (size_t k = 0; k <= i; k++)
        assert_int_equal(hocket__store_unpack(&in, &row), 1);
    return row;
}

struct hocket__store_run fixture_run(const char *id)
{
    struct hocket__store_run r = { .target = HOCKET__STR("travel.lua"),
        .input = HOCKET__STR("Lisbon, three days"),
        .options = HOCKET__STR("{}"),
        .version = HOCKET__STR("0.1.0"),
        .generation = HOCKET__STR(""),
        .waiting_for = HOCKET__STR(""),
        .cost = -1,
        .tokens = -1,
        .created_ms = 1700000000000 };
    memcpy(r.id, id, sizeof(r.id));
    memset(r.seed, 0xA5, sizeof(r.seed));
    return r;
}

struct hocket__store_entry fixture_entry(uint64_t n, const char *value)
{
    return (struct hocket__store_entry){ .n = n,
        .tick = n * 3,
        .at_ms = 1700000000000 + (int64_t) n,
        .kind = (uint8_t) (n % 7),
        .path = 0x8000000000000000u | n,
        .ord = (uint32_t) n,
        .name = HOCKET__STR("model"),
        .digest = HOCKET__STR("0123456789abcdef"),
        .value = hocket__cstr(value) };
}

struct hocket__store_claim fixture_put(struct fixture *f, const char *id)
{
    struct hocket__store_run r = fixture_run(id);
    struct hocket__store_claim claim;
    assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
    return claim;
}

void fixture_append(struct fixture *f, const struct hocket__store_claim *claim, uint64_t n)
{
    char value[64];
    snprintf(
        value, sizeof(value), "{\"text\":\"what came as number %llu\"}", (unsigned long long) n);
    struct hocket__store_entry e = fixture_entry(n, value);
    assert_int_equal(hocket__store_append(f->s, claim, &e), 0);
}

void fixture_entries(
    struct fixture *f, const struct hocket__store_claim *claim, uint64_t from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        fixture_append(f, claim, from + i);
}

void fixture_drop_columns(char *out, size_t size, int version)
{
    static const struct {
        const char *name;
        int since;
    } columns[] = {
#define COLUMN(how, column, member, WHOSE, KIND, since, SET, declaration) { #column, since },
        HOCKET__RUN_COLUMNS(COLUMN, )
#undef COLUMN
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (columns[i].since >= version)
            n += (size_t) snprintf(
                out + n, size - n, "ALTER TABLE runs DROP COLUMN %s;", columns[i].name);
    assert_true(n > 0 && n < size);
}
