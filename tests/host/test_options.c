/* Option tables: what each kind of row makes of a field, what an absent one leaves, and what mistakes say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <math.h>

#include "bind/options.h"

struct asked {
    int port;
    size_t limit;
    int64_t least;
    double share;
    int wait_ms;
    bool loud, quiet;
    struct hocket__str text;
    const char *word;
};

static const struct hocket__opt rows[] = {
    { HOCKET__OPT_INT("port", struct asked, port, 1, 65535) },
    { HOCKET__OPT_INT("limit", struct asked, limit, 0, INT64_C(1) << 40) },
    { HOCKET__OPT_INT("least", struct asked, least, -5, 5) },
    { HOCKET__OPT_NUMBER("share", struct asked, share) },
    { HOCKET__OPT_SECONDS("wait", struct asked, wait_ms) },
    { HOCKET__OPT_BOOL("loud", struct asked, loud) },
    { HOCKET__OPT_NOT("sound", struct asked, quiet) },
    { HOCKET__OPT_TEXT("text", struct asked, text) },
    { HOCKET__OPT_WORD("word", struct asked, word) },
    { HOCKET__OPT_OWN("list") },
    { NULL },
};

static const struct asked usual = { 80, 7, -1, 0.5, 250, true, true, { "t", 1 }, "w" };

static int read_all(lua_State *L)
{
    hocket__opt_read(L, 1, rows, lua_touserdata(L, lua_upvalueindex(1)));
    return 0;
}

/* Reads what the Lua expression gives into *out; the text of the mistake, or "". The texts stay in L. */
static const char *read_into(lua_State *L, const char *expression, struct asked *out)
{
    char chunk[256];
    *out = usual;
    lua_settop(L, 0);
    snprintf(chunk, sizeof(chunk), "return %s", expression);
    lua_pushlightuserdata(L, out);
    lua_pushcclosure(L, read_all, 1);
    assert_int_equal(luaL_dostring(L, chunk), LUA_OK);
    lua_gc(L, LUA_GCSTOP);
    return lua_pcall(L, 1, 0, 0) == LUA_OK ? "" : lua_tostring(L, -1);
}

static void test_kinds(void **state)
{
    lua_State *L = luaL_newstate();
    struct asked a;
    (void) state;
    assert_string_equal(
        read_into(L,
            "{ port = 443, limit = 1 << 40, least = -5, share = 2, wait = 1.5, loud = false, "
            "sound = true, text = 'a\\0b', word = 'yes', list = {} }",
            &a),
        "");
    assert_int_equal(a.port, 443);
    assert_int_equal(a.limit, INT64_C(1) << 40);
    assert_int_equal(a.least, -5);
    assert_true(a.share == 2);
    assert_int_equal(a.wait_ms, 1500);
    assert_false(a.loud);
    assert_false(a.quiet);
    assert_int_equal(a.text.n, 3);
    assert_string_equal(a.word, "yes");
    lua_close(L);
}

static void test_absent(void **state)
{
    static const char *const nothing[] = { "{}", "nil", "{ list = 1 }" };
    lua_State *L = luaL_newstate();
    struct asked a;
    (void) state;
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(read_into(L, nothing[i], &a), "");
        assert_int_equal(a.port, 80);
        assert_int_equal(a.limit, 7);
        assert_int_equal(a.least, -1);
        assert_true(a.share == 0.5);
        assert_int_equal(a.wait_ms, 250);
        assert_true(a.loud);
        assert_true(a.quiet);
        assert_string_equal(a.text.p, "t");
        assert_string_equal(a.word, "w");
    }
    lua_close(L);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *given, *says;
    } cases[] = {
        { "{ ports = 1 }", "unknown option 'ports' (there are: port, limit, least, share, wait," },
        { "{ [1] = 1 }", "unknown option '1' (there are: port, " },
        { "{ port = 65536 }", "bad option 'port' (65536 is not between 1 and 65535)" },
        { "{ port = '1' }", "bad option 'port' (integer expected, got string)" },
        { "{ port = 1.5 }", "bad option 'port' (integer expected, got number)" },
        { "{ least = -6 }", "bad option 'least' (-6 is not between -5 and 5)" },
        { "{ share = true }", "bad option 'share' (number expected, got boolean)" },
        { "{ wait = '1' }", "bad option 'wait' (number expected, got string)" },
        { "{ loud = 1 }", "bad option 'loud' (boolean expected, got number)" },
        { "{ sound = 'no' }", "bad option 'sound' (boolean expected, got string)" },
        { "{ text = 1 }", "bad option 'text' (string expected, got number)" },
        { "{ word = {} }", "bad option 'word' (string expected, got table)" },
        { "3", "table expected, got number" },
    };
    lua_State *L = luaL_newstate();
    struct asked a;
    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_non_null(strstr(read_into(L, cases[i].given, &a), cases[i].says));
    lua_close(L);
}

static void test_seconds(void **state)
{
    (void) state;
    assert_int_equal(hocket__seconds_to_ms(0), 0);
    assert_int_equal(hocket__seconds_to_ms(-1), 0);
    assert_int_equal(hocket__seconds_to_ms(NAN), 0);
    assert_int_equal(hocket__seconds_to_ms(1e-9), 1); /* 0 stands for no limit */
    assert_int_equal(hocket__seconds_to_ms(INFINITY), INT32_MAX);
    assert_int_equal(hocket__seconds_to_ms(86400 * 20), 86400 * 20 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
