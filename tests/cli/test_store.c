/* Where the program keeps runs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/store.h"

static const char *file(const char *store)
{
    static struct hocket_options o;
    cli_store_options(&o, store, NULL);
    return o.store ? o.store : "none";
}

static void set(const char *store, const char *state, const char *home)
{
    setenv("HOCKET_STORE", store, 1);
    setenv("XDG_STATE_HOME", state, 1);
    setenv("HOME", home, 1);
}

static void the_option_then_the_variable_then_the_home(void **s)
{
    (void) s;
    set("/v/runs.db", "/state", "/home/ann");
    assert_string_equal(file("/o/runs.db"), "/o/runs.db");
    assert_string_equal(file(NULL), "/v/runs.db");
    set("", "/state", "/home/ann");
    assert_string_equal(file(NULL), "/state/hocket/runs.db");
    set("", "", "/tmp"); /* a home that is there */
    assert_string_equal(file(NULL), "/tmp/.local/state/hocket/runs.db");
    set("", "not/absolute", "/tmp");
    assert_string_equal(file(NULL), "/tmp/.local/state/hocket/runs.db");
}

static void off_and_no_home_are_none(void **s)
{
    (void) s;
    set("", "", "/nonexistent-home");
    assert_string_equal(file(NULL), "none");
    set("", "", "relative");
    assert_string_equal(file(NULL), "none");
    set("off", "/state", "/home/ann");
    assert_string_equal(file(NULL), "none");
    assert_string_equal(file("off"), "none");
    assert_string_equal(file("memory"), "memory");
    assert_string_equal(file(""), ""); /* which the library refuses */
}

static void a_path_does_not_follow_the_current_directory(void **s)
{
    (void) s;
    set("", "", "");
    assert_true(chdir("/usr") == 0);
    assert_string_equal(file("runs.db"), "/usr/runs.db");
    assert_string_equal(file("./memory"), "/usr/./memory");
    assert_true(chdir("/") == 0);
    assert_string_equal(file("runs.db"), "//runs.db");
}

static void for_so_long_and_no_longer(void **s)
{
    (void) s;
    struct hocket_options o = { 0 };
    cli_store_options(&o, "/x/y", "full");
    assert_true(o.store_days == 30 && o.store_bytes == 1u << 30);
    assert_string_equal(o.durability, "full");
}

static void looking_makes_nothing_and_removes_nothing(void **s)
{
    (void) s;
    char dir[] = "/tmp/hocket-store-XXXXXX", path[64];
    struct hocket_options o = { 0 };
    assert_true(mkdtemp(dir) != NULL);
    snprintf(path, sizeof(path), "%s/a/runs.db", dir);
    assert_true(!cli_store_look(&o, "runs", path));
    assert_true(!cli_store_look(&o, "runs", "off"));
    assert_true(access(path, F_OK) < 0 && rmdir(dir) == 0);
    assert_true(cli_store_look(&o, "runs", "/etc/hostname"));
    assert_true(o.store_days == 0 && o.store_bytes == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_option_then_the_variable_then_the_home),
        cmocka_unit_test(off_and_no_home_are_none),
        cmocka_unit_test(a_path_does_not_follow_the_current_directory),
        cmocka_unit_test(for_so_long_and_no_longer),
        cmocka_unit_test(looking_makes_nothing_and_removes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
