/* The gate (core/gate.h) in front of every kind of effect, wherever the log of a run is cut: what changes the world starts when
 * the store has said that its intent is there, and not before; what only reads when it has said anything at all. */
#include "host/kept/lives.h"

#include <sys/stat.h>

#include "support/temp.h"

static char folder[TEST_TEMP_PATH], done[TEST_TEMP_PATH + 8];

static struct asked {
    uint64_t fiber, intent;
    bool world;
    off_t was; /* what was done to the world by then */
} asked[64];
static size_t n_asked, n_released;
static bool never; /* the store says nothing any more */

static off_t size_of_world(void)
{
    struct stat st;
    return stat(done, &st) == 0 ? st.st_size : 0;
}

static int hold(void *ud, uint64_t fiber, uint64_t intent, bool world)
{
    (void) ud;
    assert_true(n_asked < sizeof(asked) / sizeof(*asked));
    asked[n_asked++] = (struct asked){ fiber, intent, world, size_of_world() };
    return 1;
}

/* What was asked some turns ago is stored; nothing has started meanwhile. */
static void release(hocket_host *h, struct life *l)
{
    (void) h;
    if (never || n_released == n_asked)
        return;
    const struct asked *a = &asked[n_released++];
    if (size_of_world() != a->was)
        fail_msg("the effect of entry %llu has started", (unsigned long long) a->intent);
    hocket__kept_release(l->kept, a->fiber, a->intent, NULL);
}

static bool has(const struct hocket__log_entry *e, const char *line)
{
    return memmem(e->digest.p, e->digest.n, line, strlen(line)) != NULL;
}

/* By what the script is known to do: its first request only asks. */
static bool is_world(const struct kept_log *log, size_t at)
{
    struct hocket__log_entry e = entry_at(log, at);
    if (hocket__str_is(e.name, "model") || has(&e, "tool=look") || has(&e, "call=read_line"))
        return false;
    if (!hocket__str_is(e.name, "http"))
        return true;
    for (size_t i = 0; i < at; i++) {
        struct hocket__log_entry before = entry_at(log, i);
        if (before.kind == HOCKET__LOG_BEGIN && hocket__str_is(before.name, "http"))
            return true;
    }
    return false;
}

static bool was_asked(uint64_t intent, bool world)
{
    for (size_t i = 0; i < n_asked; i++)
        if (asked[i].intent == intent && asked[i].world == world)
            return true;
    return false;
}

static size_t begin_of(const struct kept_log *log, size_t end)
{
    struct hocket__log_entry e = entry_at(log, end);
    for (size_t i = end; i-- > 0;) {
        struct hocket__log_entry begin = entry_at(log, i);
        if (begin.kind == HOCKET__LOG_BEGIN && begin.path == e.path && begin.ord == e.ord)
            return i;
    }
    fail_msg("entry %zu ends what has not begun", end + 1);
    return 0;
}

/* Where it could not wait for the gate nothing has begun. */
static void check_own(void)
{
    char text[4096];
    FILE *f = fopen(done, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    assert_null(strstr(text, "own"));
}

/* Every effect that ended in this life, behind its first n entries, was at the gate. */
static void check(const struct kept_log *log, size_t n)
{
    bool claimed = false;
    for (size_t i = n; i < log->n; i++) {
        if (entry_at(log, i).kind != HOCKET__LOG_END)
            continue;
        size_t begin = begin_of(log, i);
        bool world = is_world(log, begin);
        if ((world || !claimed) && !was_asked(begin + 1, world))
            fail_msg("%zu entries: entry %zu started without the gate", n, begin + 1);
        claimed = true;
    }
}

static const struct workflow all_kinds = {
    .name = "gate", HERE "/scripts/gate.lua", folder, "{}", .turn = release
};

static void go_on(const struct workflow *w, struct kept_log *log, struct life *l)
{
    n_asked = n_released = 0;
    log->hold = hold;
    live(w, log, l);
}

static void test_every_kind(void **state)
{
    struct kept_log log, cut;
    struct life l;
    (void) state;
    if (test_left_out(all_kinds.name))
        skip();
    log_init(&log);
    go_on(&all_kinds, &log, &l);
    assert_string_equal(l.error, "");
    assert_string_equal(l.text.data, "through");
    check(&log, 0);
    size_t worlds = 0;
    for (size_t i = 0; i < n_asked; i++)
        worlds += asked[i].world;
    assert_int_equal(worlds, 13);
    life_free(&l);
    for (size_t n = 1; n < log.n; n++) {
        log_copy(&log, n, &cut);
        go_on(&all_kinds, &cut, &l);
        assert_string_equal(l.text.data, "through");
        check(&cut, n);
        check_own();
        life_free(&l);
        log_free(&cut);
    }
    log_free(&log);
}

/* Who is cancelled while the store says nothing goes on at once, and its effect does not start; the same again in a replay. */
static const struct workflow late = {
    .name = "late", HERE "/scripts/gate_late.lua", done, "{}", .turn = release
};

static void test_cancelled(void **state)
{
    struct kept_log log;
    struct life l;
    (void) state;
    unlink(done);
    log_init(&log);
    never = true;
    go_on(&late, &log, &l);
    never = false;
    assert_string_equal(l.text.data, "timeout: nil");
    assert_int_equal(n_asked, 1);
    assert_int_equal(size_of_world(), 0);
    life_free(&l);
    size_t n = log.n;
    go_on(&late, &log, &l);
    assert_string_equal(l.text.data, "timeout: nil");
    assert_int_equal(log.n, n);
    assert_int_equal(n_asked, 0);
    life_free(&l);
    log_free(&log);
}

static int begin(void **state)
{
    (void) state;
    if (!test_temp_dir(folder))
        return -1;
    snprintf(done, sizeof(done), "%s/done", folder);
    return 0;
}

static int end(void **state)
{
    char path[TEST_TEMP_PATH + 16];
    (void) state;
    unlink(done);
    snprintf(path, sizeof(path), "%s/made/file", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/made", folder);
    rmdir(path);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_cancelled),
    };
    hocket_launcher_main(argc, argv);
    return cmocka_run_group_tests(tests, begin, end);
}
