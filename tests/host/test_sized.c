/* Structures that may grow: a program that was compiled with a shorter header, one that was compiled with a
 * longer one, and one that has set no size at all. Each structure ends where its page ends, so that
 * reading or writing behind it is a crash. */
#include "host/run_util.h"

#include <stdint.h>
#include <sys/mman.h>

/* ---- What may grow has no room behind its last member, which an older program has not set ---- */

#define ENDS_WITH(type, last)                                                                      \
    _Static_assert(                                                                                \
        offsetof(struct type, last) + sizeof(((struct type *) 0)->last) == sizeof(struct type),    \
        #type " has padding at its end: a member that comes there would be read from it")
ENDS_WITH(hocket_options, n_policies);
ENDS_WITH(hocket_run_spec, deltas);
ENDS_WITH(hocket_tool_spec, flags);
ENDS_WITH(hocket_hook_spec, timeout_ms);
ENDS_WITH(hocket_host_stats, lua_bytes);

/* ---- At the end of a page ------------------------------------------------------------------ */

static size_t page(void)
{
    return (size_t) sysconf(_SC_PAGESIZE);
}

/* `size` bytes of noise, behind which nothing can be read. */
static void *edge(size_t size)
{
    char *p = mmap(NULL, 3 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p + 2 * page(), page(), PROT_NONE), 0);
    memset(p, 0xA5, 2 * page());
    return p + 2 * page() - size;
}

static void free_edge(void *p)
{
    char *second = (char *) ((uintptr_t) p / page() * page());
    munmap(second - page(), 3 * page());
}

/* ---- Options --------------------------------------------------------------------------------- */

/* As they were before most of their members. */
struct old_options {
    size_t size;
    struct hocket_allocator allocator;
    void *uv_loop, *lua_state;
};

/* As they will be. */
struct new_options {
    struct hocket_options known;
    void *store;
    int64_t more;
};

static int try_open(const void *options, struct hocket_error *e)
{
    hocket_host *h = (void *) options; /* anything but NULL */
    int rc = hocket_open(options, &h, e);
    if (rc < 0)
        assert_null(h);
    hocket_close(h, NULL, NULL);
    return rc;
}

static void test_older_program(void **state)
{
    (void) state;
    struct hocket_error e;
    struct test_alloc a;
    struct old_options *o = edge(sizeof(*o));
    hocket_options_init((void *) o, sizeof(*o));
    assert_int_equal(o->size, sizeof(*o));
    assert_null(o->lua_state);
    test_alloc_init(&a);
    o->allocator = a.a;
    assert_int_equal(try_open(o, &e), 0);
    test_alloc_check(&a); /* which was used */
    assert_true(a.calls > 0);
    free_edge(o);
}

static void test_newer_program(void **state)
{
    (void) state;
    struct hocket_error e;
    struct new_options *o = edge(sizeof(*o));
    hocket_options_init(&o->known, sizeof(*o));
    assert_int_equal(o->known.size, sizeof(*o));
    assert_null(o->store);
    assert_int_equal(o->more, 0);
    assert_int_equal(try_open(o, &e), 0);
    o->more = (int64_t) 1 << 56;
    assert_int_equal(try_open(o, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "newer hocket and sets a member of struct hocket_options"));
    assert_non_null(strstr(e.message, hocket_version()));
    free_edge(o);
}

static void test_no_size(void **state)
{
    (void) state;
    static const size_t wrong[] = { 0, 1, sizeof(size_t), sizeof(size_t) + 1, 4100, 0xA5A5A5A5,
        SIZE_MAX, SIZE_MAX / 8 * 8 };
    struct hocket_error e;
    struct hocket_options *o = edge(sizeof(*o));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        hocket_options_init(o, wrong[i]);
        assert_int_equal(o->size, wrong[i]);
        assert_int_equal(try_open(o, &e), HOCKET_EINVAL);
        assert_non_null(strstr(e.message, "sizeof(struct hocket_options)"));
    }
    hocket_options_init(NULL, sizeof(*o));
    assert_int_equal(try_open(NULL, &e), HOCKET_EINVAL);
    hocket_options_init(o, sizeof(*o));
    assert_int_equal(hocket_open(o, NULL, &e), HOCKET_EINVAL);
    o->max_runs = -1;
    assert_int_equal(try_open(o, &e), HOCKET_EINVAL);
    free_edge(o);
}

/* ---- What is given to a host ----------------------------------------------------------------- */

static hocket_host *open_one(void)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    return host_with(NULL, &o);
}

struct old_run_spec {
    size_t size;
    const char *target;
};

static void test_run_spec(void **state)
{
    (void) state;
    struct hocket_error e;
    struct outcome out = { .done = 0 };
    hocket_host *h = open_one();
    uint64_t id = 7;
    struct hocket_run_spec none = { .target = "x.lua" };
    assert_int_equal(hocket_run_start(h, &none, &id, NULL, keep_outcome, &out, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "sizeof(struct hocket_run_spec)"));
    assert_int_equal(id, 0);
    struct old_run_spec *old = edge(sizeof(*old));
    *old = (struct old_run_spec){ sizeof(*old), file_with("return 'as ever'") };
    assert_int_equal(hocket_run_start(h, (void *) old, &id, NULL, keep_outcome, &out, &e), 0);
    assert_int_not_equal(id, 0);
    wait_for(h, &out);
    assert_string_equal(out.text, "as ever");
    free_edge(old);
    hocket_close(h, NULL, NULL);
}

struct old_tool_spec {
    size_t size;
    const char *name, *description;
};

static void on_look(hocket_host *h, const struct hocket_tool_call *call, void *ud)
{
    (void) ud;
    hocket_tool_answer(h, call->id, 0, "the sea", 0);
}

static void test_tool_spec(void **state)
{
    (void) state;
    struct hocket_error e;
    hocket_host *h = open_one();
    struct hocket_tool_spec none = { .name = "look", .description = "Looks." };
    assert_int_equal(hocket_tool_add(h, &none, on_look, NULL, NULL, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "sizeof(struct hocket_tool_spec)"));
    none.size = sizeof(none);
    none.flags = 1u << 30; /* of a newer hocket */
    assert_int_equal(hocket_tool_add(h, &none, on_look, NULL, NULL, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "a flag that this library"));
    struct old_tool_spec *old = edge(sizeof(*old));
    *old = (struct old_tool_spec){ sizeof(*old), "look", "Looks." };
    assert_int_equal(hocket_tool_add(h, (void *) old, on_look, NULL, NULL, &e), 0);
    assert_int_equal(hocket_tool_add(h, (void *) old, on_look, NULL, NULL, &e), HOCKET_EEXIST);
    free_edge(old);
    hocket_close(h, NULL, NULL);
}

struct old_hook_spec {
    size_t size;
    const char *name, *points;
};

struct new_hook_spec {
    struct hocket_hook_spec known;
    const char *more;
};

static void test_hook_spec(void **state)
{
    (void) state;
    struct hocket_error e;
    hocket_host *h = open_one();
    struct hocket_hook_spec none = { .name = "guard", .points = "before_tool" };
    assert_int_equal(hocket_hook_add(h, &none, on_look, NULL, NULL, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "sizeof(struct hocket_hook_spec)"));
    struct old_hook_spec *old = edge(sizeof(*old));
    *old = (struct old_hook_spec){ sizeof(*old), "guard", "before_tool" };
    assert_int_equal(hocket_hook_add(h, (void *) old, on_look, NULL, NULL, &e), 0);
    assert_int_equal(hocket_hook_add(h, (void *) old, on_look, NULL, NULL, &e), HOCKET_EEXIST);
    assert_int_equal(hocket_hook_remove(h, "guard", &e), 0);
    struct new_hook_spec *new = edge(sizeof(*new));
    *new = (struct new_hook_spec){ .known = { sizeof(*new), "guard", "before_tool", NULL, 0 } };
    assert_int_equal(hocket_hook_add(h, &new->known, on_look, NULL, NULL, &e), 0);
    assert_int_equal(hocket_hook_remove(h, "guard", &e), 0);
    new->more = "x";
    assert_int_equal(hocket_hook_add(h, &new->known, on_look, NULL, NULL, &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.message, "newer hocket and sets a member of struct hocket_hook_spec"));
    free_edge(old);
    free_edge(new);
    hocket_close(h, NULL, NULL);
}

/* ---- What a host fills -------------------------------------------------------------------------- */

struct new_stats {
    struct hocket_host_stats known;
    uint64_t more;
};

static void test_stats(void **state)
{
    (void) state;
    hocket_host *h = open_one();
    struct old_run_spec *old = edge(sizeof(*old)); /* size and one number */
    struct new_stats *new = edge(sizeof(*new));
    old->size = sizeof(*old);
    assert_int_equal(hocket_stats(h, (void *) old), 0);
    assert_int_equal(old->size, sizeof(*old));
    assert_null(old->target); /* no runs */
    new->known.size = sizeof(*new);
    assert_int_equal(hocket_stats(h, &new->known), 0);
    assert_int_equal(new->known.size, sizeof(new->known));
    assert_true(new->known.lua_bytes > 0);
    assert_int_equal(new->more, 0);
    new->known.size = 0;
    assert_int_equal(hocket_stats(h, &new->known), HOCKET_EINVAL);
    free_edge(old);
    free_edge(new);
    hocket_close(h, NULL, NULL);
}

/* ---- No host ------------------------------------------------------------------------------------ */

/* What a program does that has not looked at the answer of hocket_open. */
static void test_no_host(void **state)
{
    (void) state;
    struct hocket_error e = { 0 };
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = "x.lua" };
    struct hocket_tool_spec tool = { .size = sizeof(tool), .name = "x", .description = "x" };
    struct hocket_host_stats stats = { .size = sizeof(stats) };
    const struct hocket_event *event = (void *) &e;
    uint64_t id = 7;
    assert_int_equal(hocket_run_start(NULL, &spec, &id, NULL, NULL, NULL, &e), HOCKET_EINVAL);
    assert_int_equal(id, 0);
    id = 7;
    assert_int_equal(
        hocket_call_start(NULL, "check", "{}", &id, NULL, NULL, NULL, &e), HOCKET_EINVAL);
    assert_int_equal(id, 0);
    assert_int_equal(hocket_pump(NULL, 0), HOCKET_EINVAL);
    assert_int_equal(hocket_wait(NULL, -1), HOCKET_EINVAL);
    hocket_wakeup(NULL);
    assert_int_equal(hocket_break(NULL), HOCKET_EINVAL);
    assert_int_equal(hocket_has_time(NULL), HOCKET_EINVAL);
    assert_true(hocket_backend_fd(NULL) < 0);
    assert_int_equal(hocket_backend_timeout(NULL), -1);
    assert_int_equal(hocket_stats(NULL, &stats), HOCKET_EINVAL);
    assert_int_equal(hocket_event_next(NULL, &event), HOCKET_EINVAL);
    assert_int_equal(hocket_load_buffer(NULL, "x.lua", "", 0, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_load_dir(NULL, "x", ".", &e), HOCKET_EINVAL);
    assert_int_equal(hocket_run_cancel(NULL, 1), HOCKET_EINVAL);
    assert_int_equal(hocket_run_stop(NULL, 1), HOCKET_EINVAL);
    assert_int_equal(hocket_run_answer(NULL, 1, "q1", "x", 1, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_run_interrupt(NULL, 1, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_run_change(NULL, 1, "{}", &e), HOCKET_EINVAL);
    assert_int_equal(hocket_tool_add(NULL, &tool, on_look, NULL, NULL, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_tool_remove(NULL, "x", &e), HOCKET_EINVAL);
    assert_int_equal(hocket_tool_answer(NULL, 1, 0, "x", 1), HOCKET_EINVAL);
    assert_int_equal(hocket_serve_attach(NULL, &e), HOCKET_EINVAL);
    hocket_close(NULL, NULL, NULL);
}

/* The event that is not there is NULL. */
static void test_no_event(void **state)
{
    (void) state;
    hocket_host *h = open_one();
    const struct hocket_event *event = (void *) &h;
    assert_int_equal(hocket_event_next(h, &event), 0);
    assert_null(event);
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_program),
        cmocka_unit_test(test_newer_program),
        cmocka_unit_test(test_no_size),
        cmocka_unit_test_teardown(test_run_spec, drop_file),
        cmocka_unit_test(test_tool_spec),
        cmocka_unit_test(test_hook_spec),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_no_host),
        cmocka_unit_test(test_no_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
