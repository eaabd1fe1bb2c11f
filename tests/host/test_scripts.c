/* Scripts that are compiled in: bytecode goes to the Lua that made it and to no other. */

#include "host/run_util.h"

#include "bind/assets.h"

static const char *form_of(const char *name, const char *lua)
{
    const struct hocket__asset *a = hocket__asset_find(name);
    assert_non_null(a);
    return hocket__asset_for(a, lua)->name;
}

static void test_form(void **state)
{
    (void) state;
    assert_string_equal(form_of("hocket/session.lua", hocket__asset_lua), "hocket/session.luac");
    assert_string_equal(
        form_of("hocket/session.lua", "$LuaVersion: Lua 5.4.99 $"), "hocket/session.lua");
    assert_string_equal(form_of("hocket/session.lua", ""), "hocket/session.lua");
    assert_string_equal(form_of("hocket/session.lua", NULL), "hocket/session.lua");
}

/* Neither a script without bytecode nor the last row of all finds that of its neighbour. */
static void test_neighbours(void **state)
{
    (void) state;
    for (const struct hocket__asset *a = hocket__assets; a->name; a++) {
        const struct hocket__asset *form = hocket__asset_for(a, hocket__asset_lua);
        size_t n = strlen(a->name);
        assert_true(form == a
                    || (strncmp(form->name, a->name, n) == 0 && strcmp(form->name + n, "c") == 0));
    }
    assert_string_equal(
        form_of("hocket/internal/sim/wire.lua", hocket__asset_lua), "hocket/internal/sim/wire.lua");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_form),
        cmocka_unit_test(test_neighbours) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
