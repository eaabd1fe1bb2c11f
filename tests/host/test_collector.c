/* Lua's collector in slices: who works when, and that the heap stays bounded. */

#include "host/run_util.h"

#include <lauxlib.h>
#include <lualib.h>

#include "host/collector.h"

#define LONG_NS 1000000000u

static lua_State *open_state(void)
{
    lua_State *L = luaL_newstate();
    assert_non_null(L);
    luaL_openlibs(L);
    return L;
}

static void eval(lua_State *L, const char *text)
{
    if (luaL_dostring(L, text) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
}

static lua_Integer number(lua_State *L, const char *name)
{
    lua_getglobal(L, name);
    lua_Integer n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return n;
}

static int kilobytes(lua_State *L)
{
    return lua_gc(L, LUA_GCCOUNT);
}

/* What dies counts itself. */
static const char mortals[] =
    "dead = 0\n"
    "local meta = { __gc = function() dead = dead + 1 end }\n"
    "function mortal() setmetatable({}, meta) end\n"
    "function waste(kb) for i = 1, kb do local s = ('x'):rep(1000) .. i end end\n";

/* Nothing is collected while the credit lasts, however much garbage there is; what needs more is
 * collected as ever. */
static void test_credit(void **state)
{
    struct hocket__collector c = { 0 };
    lua_State *L = open_state();
    (void) state;
    eval(L, mortals);
    eval(L, "collectgarbage() mortal()");
    hocket__collector_work(&c, L, LONG_NS);
    eval(L, "waste(1500)");
    assert_int_equal(number(L, "dead"), 0);
    eval(L, "waste(60000)");
    assert_int_equal(number(L, "dead"), 1);
    lua_close(L);
}

/* Frame after frame, each of which makes half a megabyte of garbage. */
static void test_bounded(void **state)
{
    struct hocket__collector c = { 0 };
    lua_State *L = open_state();
    (void) state;
    eval(L, mortals);
    eval(L, "kept = {} for i = 1, 20000 do kept[i] = { i } end collectgarbage() mortal()");
    int live = kilobytes(L), most = 0;
    for (int i = 0; i < 200; i++) {
        hocket__collector_work(&c, L, LONG_NS);
        eval(L, "waste(500)");
        most = kilobytes(L) > most ? kilobytes(L) : most;
    }
    assert_int_equal(number(L, "dead"), 1);
    assert_true(most < 3 * live + 4096);
    lua_close(L);
}

/* With hardly any time it works in many turns, and comes to the end all the same. */
static void test_turns(void **state)
{
    struct hocket__collector c = { 0 };
    lua_State *L = open_state();
    int turns = 0;
    (void) state;
    eval(L, mortals);
    eval(L, "kept = {} for i = 1, 50000 do kept[i] = { i } end collectgarbage() mortal()");
    eval(L, "collectgarbage 'stop' waste(8000) collectgarbage 'restart'");
    do {
        hocket__collector_work(&c, L, 1);
        turns++;
    } while (c.began > 0);
    assert_true(turns > 20);
    assert_int_equal(number(L, "dead"), 1);
    lua_close(L);
}

/* What is allocated while a cycle goes on is owed for. Whoever has no budget for it pays later, until
 * nothing is owed; who allocates nothing owes nothing. */
static void test_debt(void **state)
{
    struct hocket__collector c = { 0 };
    lua_State *L = open_state();
    (void) state;
    eval(L, mortals);
    eval(L, "kept = {} for i = 1, 50000 do kept[i] = { i } end collectgarbage() mortal()");
    hocket__collector_pay(&c, L, UINT64_MAX);
    assert_false(hocket__collector_owes(&c)); /* no budget has ever paced it */
    hocket__collector_work(&c, L, LONG_NS);
    assert_int_equal(number(L, "dead"), 1);
    int live = kilobytes(L), most = 0;
    for (int i = 0; i < 100; i++) {
        hocket__collector_work(&c, L, LONG_NS);
        assert_false(hocket__collector_owes(&c));
    }
    assert_int_equal(kilobytes(L), live);
    eval(L, "mortal()");
    for (int i = 0; i < 100; i++) {
        eval(L, "waste(1000)");
        hocket__collector_work(&c, L, 1);
        for (int idle = 0; hocket__collector_owes(&c); idle++) {
            assert_true(idle < 100000);
            hocket__collector_pay(&c, L, 0); /* one piece */
        }
        most = kilobytes(L) > most ? kilobytes(L) : most;
    }
    assert_int_equal(number(L, "dead"), 2);
    assert_true(most < 3 * live);
    lua_close(L);
}

/* What is owed takes from the credit: where nobody pays, Lua collects by itself. */
static void test_nobody_pays(void **state)
{
    struct hocket__collector c = { 0 };
    lua_State *L = open_state();
    int most = 0;
    (void) state;
    eval(L, mortals);
    eval(L, "kept = {} for i = 1, 50000 do kept[i] = { i } end collectgarbage()");
    int live = kilobytes(L);
    for (int i = 0; i < 300; i++) {
        eval(L, "waste(1000)");
        hocket__collector_work(&c, L, 1);
        most = kilobytes(L) > most ? kilobytes(L) : most;
    }
    assert_true(most < 4 * live + 8192);
    lua_close(L);
}

/* A script that has stopped the collector has its reasons. */
static void test_stopped(void **state)
{
    struct hocket__collector c = { 0 };
    lua_State *L = open_state();
    (void) state;
    eval(L, mortals);
    eval(L, "collectgarbage() mortal() collectgarbage 'stop' waste(20000)");
    for (int i = 0; i < 100; i++)
        hocket__collector_work(&c, L, LONG_NS);
    assert_int_equal(number(L, "dead"), 0);
    assert_int_equal(lua_gc(L, LUA_GCISRUNNING), 0);
    lua_close(L);
}

/* ---- Without budgets ---------------------------------------------------------------------- */

/* The same as a program that does nothing but wait: small turns, each of which may change how the
 * collector works. */
static void turns(struct hocket__collector *c, lua_State *L, int n, const char *each)
{
    for (int i = 0; i < n; i++) {
        hocket__collector_choose(c, L);
        eval(L, each);
    }
}

/* Asking changes it. */
static const char *mode(lua_State *L)
{
    static char word[16];
    eval(L, "word = collectgarbage 'incremental'");
    lua_getglobal(L, "word");
    snprintf(word, sizeof(word), "%s", lua_tostring(L, -1));
    lua_pop(L, 1);
    return word;
}

static lua_State *open_chosen(struct hocket__collector *c)
{
    lua_State *L = open_state();
    hocket__collector_init(c, L);
    eval(L, mortals);
    eval(L, "kept = {} function keep(kb) for i = 1, kb do kept[#kept + 1] = ('x'):rep(990) .. "
            "#kept end end");
    return L;
}

/* What begins stays, and is looked at seldom. */
static void test_growing(void **state)
{
    struct hocket__collector c;
    lua_State *L = open_chosen(&c);
    (void) state;
    turns(&c, L, 500, "keep(20)");
    assert_false(c.generational);
    assert_string_equal(mode(L), "incremental");
    lua_close(L);
}

/* What dies at once does not make the heap larger than what is alive by much. */
static void test_steady(void **state)
{
    struct hocket__collector c;
    lua_State *L = open_chosen(&c);
    int most = 0;
    (void) state;
    if (LUA_VERSION_RELEASE_NUM < 50404)
        skip();
    eval(L, "keep(700)");
    turns(&c, L, 1000, "waste(3)");
    assert_true(c.generational);
    for (int i = 0; i < 3000; i++) {
        turns(&c, L, 1, "waste(3) mortal()");
        most = kilobytes(L) > most ? kilobytes(L) : most;
    }
    assert_true(most < 1500);
    assert_true(number(L, "dead") > 2500);
    assert_string_equal(mode(L), "generational");
    lua_close(L);
}

/* Looking at everything at once takes too long when there is much. */
static void test_grown(void **state)
{
    struct hocket__collector c;
    lua_State *L = open_chosen(&c);
    (void) state;
    if (LUA_VERSION_RELEASE_NUM < 50404)
        skip();
    turns(&c, L, 2000, "waste(3)");
    assert_true(c.generational);
    turns(&c, L, 500, "keep(20)");
    assert_false(c.generational);
    assert_string_equal(mode(L), "incremental");
    eval(L, "kept = {}");
    turns(&c, L, 20000, "waste(3)");
    assert_true(c.generational);
    lua_close(L);
}

/* Whoever chose first keeps it so: a pump's budget, a script's own pace. */
static void test_taken(void **state)
{
    struct hocket__collector c;
    lua_State *L = open_chosen(&c);
    (void) state;
    hocket__collector_work(&c, L, LONG_NS);
    turns(&c, L, 10000, "waste(3)");
    assert_string_equal(mode(L), "incremental");
    lua_close(L);
    L = open_chosen(&c);
    eval(L, "collectgarbage('incremental', 200)");
    turns(&c, L, 10000, "waste(3)");
    assert_string_equal(mode(L), "incremental");
    assert_int_equal(lua_gc(L, LUA_GCSETPAUSE, 200), 200);
    lua_close(L);
}

static size_t fibers_after(hocket_host *h, int pumps, int64_t budget_us)
{
    struct hocket_host_stats stats = { .size = sizeof(stats) };
    for (int i = 0; i < pumps; i++)
        assert_true(hocket_pump(h, budget_us) >= 0);
    assert_int_equal(hocket_stats(h, &stats), 0);
    return stats.fibers;
}

/* A loop that starts thousands stops when the pump's time is over, and goes on in the next one. */
static void test_rest(void **state)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct outcome out = { 0 };
    struct hocket_error e;
    hocket_host *h = host_with(NULL, &o);
    struct hocket_run_spec spec = {
        .size = sizeof(spec),
        .target = file_with("local flow, list, n = require('hocket.flow'), {}, 0\n"
                            "for i = 1, 6000 do list[i] = i end\n"
                            "flow.map(list, function() flow.sleep(0.01) n = n + 1 end)\n"
                            "return ('%d'):format(n)"),
    };
    (void) state;
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
    assert_true(fibers_after(h, 2, 100) < 5000);
    for (int i = 0; i < 1000000 && !out.done; i++)
        hocket_pump(h, 100);
    assert_int_equal(out.status, 0);
    assert_string_equal(out.text, "6000");
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_debt),
        cmocka_unit_test(test_nobody_pays),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_grown),
        cmocka_unit_test(test_taken),
        cmocka_unit_test_teardown(test_rest, drop_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
