/* Memory may run out, wherever it does: whoever was promised an end gets it, and the code is
 * HOCKET_ENOMEM; nothing crashes or leaks, and the host does what it is asked next. */

#include "host/life.h"
#include "support/emulated.h"

#include <lauxlib.h>
#include <lualib.h>

static struct hocket_options options_of(const struct life *l, lua_State *L)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.thread = l->thread;
    o.lua_state = L;
    o.getenv_cb = life_variable;
    o.launcher = "/proc/self/exe";
    return o;
}

/* ---- Each allocation --------------------------------------------------------------------------- */

/* Where something failed it was memory, and is called so. */
static void check_status(const struct test_alloc *t, int status, const char *message)
{
    if (status != 0 && (!t->failed || status != HOCKET_ENOMEM))
        life_wrong("%s %s: %s",
            t->failed ? "memory was out, and it says" : "nothing has failed, but",
            hocket_status_word(status), message);
}

static void live(const struct life *l, struct test_alloc *t, size_t fail_at)
{
    struct hocket_error e = { 0 };
    hocket_host *h = NULL;
    lua_State *L = l->foreign ? lua_newstate(t->a.realloc_cb, t->a.ud) : NULL;
    if (L)
        luaL_openlibs(L);
    struct hocket_options o = options_of(l, L);
    o.allocator = t->a;
    t->fail_at = fail_at ? t->calls + fail_at : 0;
    int rc = life_first(l, &o, &h, &e);
    check_status(t, rc, e.message);
    t->fail_at = 0;
    if (h)
        life_second(h, l);
    hocket_close(h, NULL, NULL);
    if (L)
        lua_close(L);
    if (t->blocks > 0)
        life_wrong("%zu blocks are left", t->blocks);
}

/* How many allocations a life makes that nothing disturbs. */
static size_t count(const struct life *l)
{
    int ends[2];
    size_t calls = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = life_fork();
    if (child == 0) {
        struct test_alloc t;
        test_alloc_init(&t);
        live(l, &t, 0);
        _exit(write(ends[1], &t.calls, sizeof(t.calls)) != sizeof(t.calls));
    }
    close(ends[1]);
    assert_true(life_went_well(child));
    assert_int_equal(read(ends[0], &calls, sizeof(calls)), sizeof(calls));
    close(ends[0]);
    return calls;
}

/* Whether a life goes well in which the n-th allocation fails, and `more` after it. */
static bool goes_well(const struct life *l, size_t n, size_t more)
{
    pid_t child = life_fork();
    if (child == 0) {
        struct test_alloc t;
        test_alloc_init(&t);
        t.fail_more = more;
        live(l, &t, n);
        _exit(0);
    }
    if (life_went_well(child))
        return true;
    fprintf(stderr, "  %s: allocation %zu and %zu more\n", l->name, n, more);
    return false;
}

/* HOCKET_LONG=1: every one where they are few, else every tenth; fewer where a life takes its time. */
static size_t step(const struct life *l, size_t n)
{
    size_t probes = l->reload ? 5 : 12;
    if (getenv("HOCKET_LONG"))
        probes = n < 2000 ? n : n / (l->reload ? 100 : 10);
    return n / probes ? n / probes : 1;
}

static void test_allocations(void **state)
{
    static const size_t more[] = { 0, 1, 2, 7, SIZE_MAX };
    enum { WAYS = sizeof(more) / sizeof(more[0]) };
    size_t bad = 0, tried = 0;
    (void) state;
    for (size_t i = 0; i < LIVES; i++) {
        const struct life *l = &lives[i];
        if (test_left_out(l->name))
            continue;
        life_write_scripts(l->script);
        size_t n = count(l), s = step(l, n);
        for (size_t way = 0; way < WAYS; way++)
            for (size_t at = 1 + way * s / WAYS; at < n; at += s, tried++)
                bad += !goes_well(l, at, more[way]);
        print_message("%s: %zu allocations\n", l->name, n);
        life_drop_scripts();
    }
    print_message("%zu of %zu lives went wrong\n", bad, tried);
    assert_int_equal(bad, 0);
}

/* ---- max_memory ----------------------------------------------------------------------------------- */

/* Many agents at once, each with a text of its own. */
static const char load[] = LIFE_SCRIPT
    "local list = {} for i = 1, 60 do list[i] = i end\n"
    "hocket.flow.map(list, function(i) assert(hocket.run(helper, ('x'):rep(20000) .. i)) end)\n";

static const struct life within = { "within a limit", load, "{\"deltas\":true}", .thread = false };

/* What one short run needs, and half as much again. */
#define ENOUGH ((size_t) 3 << 20)

static int run_within(hocket_host *h, int i)
{
    struct hocket_error e;
    struct life_run r;
    int rc = life_begin(h, &within, life_paths[i], within.options, &r, &e);
    if (rc == 0) {
        life_finish(h, &within, &r);
        rc = r.status;
        snprintf(e.message, sizeof(e.message), "%.400s", r.error);
    }
    if (rc < 0 && rc != HOCKET_ENOMEM)
        life_wrong("memory was out, and it says %s: %s", hocket_status_word(rc), e.message);
    return rc;
}

static void live_within(size_t limit)
{
    struct hocket_options o = options_of(&within, NULL);
    hocket_host *h = NULL;
    o.max_memory = limit;
    int rc = hocket_open(&o, &h, NULL);
    if (rc < 0 && rc != HOCKET_ENOMEM)
        life_wrong("the host does not open: %s", hocket_status_word(rc));
    if (rc == 0) {
        run_within(h, 0);
        if (run_within(h, 1) < 0 && limit > ENOUGH)
            life_wrong("a short run fails after the load");
    }
    hocket_close(h, NULL, NULL);
}

static void test_max_memory(void **state)
{
    int bad = 0, tried = 0;
    (void) state;
    life_write_scripts(load);
    for (size_t limit = 100000; limit < (size_t) 8 << 20; tried++) {
        pid_t child = life_fork();
        if (child == 0) {
            live_within(limit);
            _exit(0);
        }
        if (!life_went_well(child)) {
            fprintf(stderr, "  with %zu bytes\n", limit);
            bad++;
        }
        limit += getenv("HOCKET_LONG") ? limit / 50 : limit / 6;
    }
    life_drop_scripts();
    print_message("%d of %d limits\n", bad, tried);
    assert_int_equal(bad, 0);
}

/* What a report says, in this process, for a debugger: test_host_exhaustion LIFE ALLOCATION MORE */
static int live_again(char **args)
{
    struct test_alloc t;
    test_alloc_init(&t);
    t.fail_more = strtoull(args[2], NULL, 10);
    for (size_t i = 0; i < LIVES; i++)
        if (strcmp(lives[i].name, args[0]) == 0) {
            life_start_models(NULL);
            life_write_scripts(lives[i].script);
            live(&lives[i], &t, strtoull(args[1], NULL, 10));
            life_drop_scripts();
            return life_stop_models(NULL);
        }
    return 1;
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    if (argc == 4)
        return live_again(argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_max_memory),
    };
    return cmocka_run_group_tests(tests, life_start_models, life_stop_models);
}
