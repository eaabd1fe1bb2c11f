/* Folders within folders, as deep as a root removes them, on a stack of one megabyte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "os/root.h"

#define DEPTH 190

struct work {
    struct hocket__root *root;
    char name[64], path[64 + 2 * DEPTH + 2];
    int written, removed, found;
};

static void make_and_remove(void *ud)
{
    struct work *w = ud;
    struct hocket__root_info info;
    struct hocket_error err;
    size_t n = strlen(w->name);
    memcpy(w->path, w->name, n);
    for (size_t i = 0; i < DEPTH; i++)
        memcpy(w->path + n + 2 * i, "/a", 2);
    memcpy(w->path + n + (size_t) 2 * DEPTH, "/f", 3);
    w->written = hocket__root_write(w->root, w->path, hocket__str("x", 1), NULL, &err);
    w->removed = hocket__root_remove(w->root, w->name, &err);
    w->found = hocket__root_info(w->root, w->name, &info, &err);
}

static void test_folders_within_folders_are_removed(void **state)
{
    uv_thread_options_t small = { .flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = 1u << 20 };
    struct hocket_error err;
    struct work w = { 0 };
    char dir[1024];
    size_t size = sizeof(dir);
    uv_thread_t thread;
    (void) state;
    assert_int_equal(uv_os_tmpdir(dir, &size), 0);
    snprintf(w.name, sizeof(w.name), "hocket-test-deep-%d", (int) uv_os_getpid());
    assert_int_equal(hocket__root_open(dir, &w.root, &err), 0);
    assert_int_equal(uv_thread_create_ex(&thread, &small, make_and_remove, &w), 0);
    uv_thread_join(&thread);
    hocket__root_unref(w.root);
    assert_int_equal(w.written, 0);
    assert_int_equal(w.removed, 0);
    assert_int_equal(w.found, HOCKET_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders_within_folders_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
