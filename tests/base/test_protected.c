#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/protected.h"

static enum hocket__protected name(const char *parent, const char *own)
{
    return hocket__protected_name(hocket__cstr(parent), hocket__cstr(own));
}

static void test_names(void **state)
{
    assert_int_equal(name("", ".git"), HOCKET__REPOSITORY);
    assert_int_equal(name("x", ".GIT"), HOCKET__REPOSITORY);
    assert_int_equal(name("", ".vscode"), HOCKET__PROTECTED);
    assert_int_equal(name("", ".Rprofile"), HOCKET__PROTECTED);
    assert_int_equal(name(".config", "fish"), HOCKET__PROTECTED);
    assert_int_equal(name("config", "fish"), HOCKET__UNPROTECTED);
    assert_int_equal(name("", ""), HOCKET__UNPROTECTED);
    assert_int_equal(name("", "."), HOCKET__UNPROTECTED);
    assert_int_equal(name("", ".gitignore"), HOCKET__UNPROTECTED);
    assert_int_equal(name("", "git"), HOCKET__UNPROTECTED);
}

static bool path(const char *text)
{
    return hocket__protected_path(hocket__cstr(text));
}

static void test_paths(void **state)
{
    assert_true(path(".git") && path("a//.git/b") && path("/x/.ssh") && path("HEAD")
                && path("a/.config/git/config") && path("a/HEAD"));
    assert_false(path("") || path("/") || path("a/b") || path("HEAD/a") || path("a.git/b")
                 || path("AHEAD") || path(".config"));
}

/* A part is what stands between slashes, whatever bytes follow in memory. */
static void test_lengths(void **state)
{
    assert_false(hocket__protected_path(hocket__str(".github", 3)));
    assert_true(hocket__protected_path(hocket__str(".github", 4)));
    assert_true(hocket__protected_is_fetched(HOCKET__STR("node_modules")));
    assert_false(hocket__protected_is_fetched(HOCKET__STR("node_module")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
