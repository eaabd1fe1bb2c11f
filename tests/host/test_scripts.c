/* Scripts that are compiled in: bytecode goes to the Lua that made it and to no other. */

#include "host/run_util.h"

#include "bind/assets.h"

static const char *compiled(const char *name, const char *lua)
{
    const struct hocket__asset *script = hocket__asset_find(&hocket__pack_library, name);
    assert_non_null(script);
    const struct hocket__asset *a = hocket__asset_compiled(script, lua);
    return a ? a->name : NULL;
}

static void test_form(void **state)
{
    (void) state;
    assert_string_equal(
        compiled("hocket/session.lua", hocket__pack_bytecode.lua), "hocket/session.luac");
    assert_null(compiled("hocket/session.lua", "$LuaVersion: Lua 5.4.99 $"));
    assert_null(compiled("hocket/session.lua", ""));
    assert_null(compiled("hocket/session.lua", NULL));
}

/* Each file is found, and bytecode is of a script that is there. */
static void test_all(void **state)
{
    (void) state;
    const struct hocket__asset *all = hocket__pack_library.files;
    size_t n = 0;
    for (const struct hocket__asset *a = all; a->name; a++) {
        assert_ptr_equal(hocket__asset_find(&hocket__pack_library, a->name), a);
        n += hocket__asset_compiled(a, hocket__pack_bytecode.lua) != NULL;
    }
    for (const struct hocket__asset *a = hocket__pack_bytecode.files; a->name; a++)
        n--;
    assert_int_equal(n, 0);
    assert_null(compiled("hocket/text.lua", hocket__pack_bytecode.lua));
    assert_null(hocket__asset_find(&hocket__pack_library, "hocket/sim/init.lua"));
    assert_non_null(hocket__asset_find(&hocket__pack_serve, "hocket/sim/init.lua"));
}

static struct outcome call(hocket_host *h, const char *operation)
{
    struct outcome o = { 0 };
    struct hocket_error e;
    assert_int_equal(hocket_call_start(h, operation, "{}", NULL, NULL, keep_outcome, &o, &e), 0);
    wait_for(h, &o);
    return o;
}

/* A host without libhocket-serve says what is missing, and does the rest. */
static void test_without_serve(void **state)
{
    (void) state;
    struct hocket_options o;
    struct hocket_error e;
    hocket_host *h;
    hocket_options_init(&o, sizeof(o));
    assert_int_equal(hocket_open(&o, &h, &e), 0);
    struct outcome doctor = call(h, "doctor");
    assert_int_equal(doctor.status, HOCKET_EUNSUPPORTED);
    assert_string_equal(
        doctor.error, "operation 'doctor': it needs libhocket-serve (hocket_serve_attach)");
    assert_int_equal(call(h, "keys").status, 0);

    const char agent[] = "---\nname: poet\nmodel: sim/echo\n---\nYou write.\n";
    assert_int_equal(hocket_load_buffer(h, "poet.md", agent, 0, &e), 0);
    struct outcome run = { 0 };
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = "buffer:poet.md", .input = "snow"
    };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &run, &e), 0);
    wait_for(h, &run);
    assert_int_equal(run.status, HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(run.error, "it needs libhocket-serve (hocket_serve_attach)"));
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_form), cmocka_unit_test(test_all),
        cmocka_unit_test(test_without_serve) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
