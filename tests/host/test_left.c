/* Callbacks that do not return: by longjmp, which is what a Lua error is in most programs. (Exceptions are tried
 * in C++, tests/install/consumer/throwing.cc.) Each block of memory is given back all the same. */
#include "host/run_util.h"

#include <time.h>

#include <lauxlib.h>
#include <uv.h>

struct trouble {
    jmp_buf back;
    int left;  /* callbacks that were */
    int to_do; /* that are to be */
    int logged;
    char log[512];
    struct outcome out;
};

static void leave(struct trouble *t)
{
    if (t->left == t->to_do)
        return;
    t->left++;
    longjmp(t->back, 1);
}

static void leave_event(hocket_host *h, uint64_t run, const struct hocket_event *event, void *ud)
{
    struct trouble *t = ud;
    (void) h;
    (void) run;
    (void) event;
    t->out.events++;
    leave(t);
}

static void leave_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct trouble *t = ud;
    keep_outcome(h, run, r, &t->out);
    leave(t);
}

static void keep_log(enum hocket_log_level level, const char *text, void *ud)
{
    struct trouble *t = ud;
    if (level != HOCKET_LOG_ERROR)
        return;
    t->logged++;
    snprintf(t->log, sizeof(t->log), "%s", text);
}

static hocket_host *open_one(struct test_alloc *a, struct trouble *t)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.log_cb = keep_log;
    o.log_ud = t;
    return host_with(a, &o);
}

static int start(hocket_host *h, const char *script, hocket_event_cb on_event,
    hocket_done_cb on_done, struct trouble *t)
{
    struct hocket_error e;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(script) };
    int rc = hocket_run_start(h, &spec, NULL, on_event, on_done, t, &e);
    if (rc < 0)
        fail_msg("%s", e.message);
    return rc;
}

/* 1 when the pump was jumped out of. */
static int pump(hocket_host *h, struct trouble *t, int how)
{
    if (setjmp(t->back))
        return 1;
    if (how == 0)
        hocket_pump(h, 1000);
    else if (how == 1)
        hocket_pump(h, 0);
    else
        hocket_wait(h, 10);
    return 0;
}

static const char TALK[] = "local hocket = require 'hocket'\n"
                           "hocket.flow.sleep(0.001)\n"
                           "return 'well'";

/* Every third event and the end are left; nothing is lost, and the host says what is the matter. */
static void test_jumps(void **state)
{
    (void) state;
    for (int how = 0; how < 3; how++) {
        struct test_alloc a;
        struct trouble t = { .to_do = 1000 };
        hocket_host *h = open_one(&a, &t);
        start(h, TALK, leave_event, leave_done, &t);
        for (time_t end = time(NULL) + 20; !t.out.done && time(NULL) < end;) {
            if (!pump(h, &t, how))
                continue;
            const struct hocket_event *event;
            assert_int_equal(hocket_pump(h, 1000), HOCKET_ECALLBACK);
            assert_int_equal(hocket_wait(h, 10), HOCKET_ECALLBACK);
            assert_int_equal(hocket_event_next(h, &event), HOCKET_ECALLBACK);
            assert_int_equal(t.logged, t.left);
            assert_non_null(strstr(t.log, "left by a jump or an exception"));
            assert_int_equal(hocket_callback_left(h), 0);
            assert_int_equal(hocket_callback_left(h), HOCKET_ESTATE);
        }
        assert_true(t.out.events > 2);
        assert_int_equal(t.left, t.out.events + 1);
        assert_int_equal(hocket_pump(h, 0), 0);
        assert_int_equal(t.out.done, 1);
        assert_int_equal(t.out.status, HOCKET_OK);
        assert_string_equal(t.out.text, "well");
        drop_file(NULL);
        t.out = (struct outcome){ 0 };
        t.to_do = t.left;
        start(h, "return 'and again'", leave_event, leave_done, &t);
        wait_for(h, &t.out);
        assert_string_equal(t.out.text, "and again");
        hocket_close(h, NULL, NULL);
        test_alloc_check(&a);
        drop_file(NULL);
    }
}

/* The end of a run is left: it is told once, and freed. */
static void test_jump_at_the_end(void **state)
{
    (void) state;
    struct test_alloc a;
    struct trouble t = { .to_do = 1 };
    hocket_host *h = open_one(&a, &t);
    start(h, TALK, NULL, leave_done, &t);
    while (!pump(h, &t, 0)) {
    }
    assert_int_equal(hocket_callback_left(h), 0);
    assert_int_equal(hocket_pump(h, 0), 0);
    assert_int_equal(t.out.done, 1);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* A close that was asked for before the jump is done by the next pump; one that a callback leaves
 * goes on with the next close. */
static void close_and_leave(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    hocket_close(h, NULL, NULL);
    leave_done(h, run, r, ud);
}

static void test_jump_and_close(void **state)
{
    (void) state;
    struct test_alloc a;
    struct trouble t = { .to_do = 1 };
    hocket_host *h = open_one(&a, &t);
    start(h, TALK, NULL, close_and_leave, &t);
    while (!pump(h, &t, 0)) {
    }
    assert_int_equal(hocket_callback_left(h), 0);
    assert_int_equal(hocket_pump(h, 1000), 0);
    test_alloc_check(&a);
}

static void test_jump_out_of_close(void **state)
{
    (void) state;
    struct test_alloc a;
    struct trouble t = { .to_do = 2 };
    hocket_host *h = open_one(&a, &t);
    start(h, "require('hocket').flow.sleep(1000)", NULL, leave_done, &t);
    struct hocket_run_spec again = { .size = sizeof(again), .target = file_path };
    assert_int_equal(hocket_run_start(h, &again, NULL, NULL, leave_done, &t, NULL), 0);
    hocket_pump(h, 0);
    volatile int closes = 0;
    if (setjmp(t.back)) {
        assert_int_equal(hocket_callback_left(h), 0);
    }
    closes++;
    hocket_close(h, NULL, NULL);
    assert_int_equal(closes, 3);
    assert_int_equal(t.out.done, 2);
    assert_int_equal(t.out.status, HOCKET_ECANCELLED);
    test_alloc_check(&a);
}

/* ---- Tools ---------------------------------------------------------------------------------- */

static uint64_t open_call;

static void leave_call(hocket_host *h, const struct hocket_tool_call *call, void *ud)
{
    (void) h;
    open_call = call->id;
    leave(ud);
}

static void test_jump_out_of_a_tool(void **state)
{
    (void) state;
    struct test_alloc a;
    struct trouble t = { .to_do = 1 };
    struct hocket_error e;
    hocket_host *h = open_one(&a, &t);
    struct hocket_tool_spec look = {
        .size = sizeof(look), .name = "look", .description = "Looks."
    };
    assert_int_equal(hocket_tool_add(h, &look, leave_call, NULL, &t, &e), 0);
    start(h,
        "local hocket = require 'hocket'\n"
        "local served = hocket.sim.serve({ reply = function(q)\n"
        "  if q.last.role == 'user' then return { calls = { { name = 'look', arguments = {} } } } "
        "end\n"
        "  return 'saw ' .. q.last.text end })\n"
        "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"
        "local a = hocket.agent { name = 'a', prompt = 'x', model = 'own/m', tools = { 'look' } }\n"
        "return hocket.run(a, 'Look.').text",
        NULL, leave_done, &t);
    for (int i = 0; i < 2000 && !pump(h, &t, 2); i++) {
    }
    assert_int_equal(t.left, 1);
    assert_int_equal(hocket_callback_left(h), 0);
    assert_int_equal(hocket_tool_answer(h, open_call, 0, "the sea", 0), 0);
    wait_for(h, &t.out);
    assert_string_equal(t.out.text, "saw the sea");
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* ---- Where it may not be ----------------------------------------------------------------------- */

static const char *leave_getenv(const char *name, void *ud)
{
    (void) name;
    leave(ud);
    return NULL;
}

/* What it has stays until the process ends, and is no leak that anybody has to hear of. */
static hocket_host *lost, *lost_too;

/* In the middle of our work: everything is refused with words, and nothing is touched any more. */
static void test_jump_out_of_getenv(void **state)
{
    (void) state;
    struct trouble t = { .to_do = 1 };
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.log_cb = keep_log;
    o.getenv_cb = leave_getenv;
    o.log_ud = o.getenv_ud = &t;
    hocket_host *h = lost = host_with(NULL, &o);
    start(h,
        "local hocket = require 'hocket'\n"
        "return hocket.run(hocket.agent { name = 'a', prompt = 'x' }, 'x').text",
        NULL, leave_done, &t);
    for (int i = 0; i < 2000 && !pump(h, &t, 2); i++) {
    }
    assert_int_equal(t.left, 1);
    assert_int_equal(hocket_pump(h, 0), HOCKET_ECALLBACK);
    assert_int_equal(hocket_load_buffer(h, "x.lua", "return 1", 0, &e), HOCKET_ECALLBACK);
    assert_non_null(strstr(e.message, "getenv_cb"));
    assert_int_equal(hocket_callback_left(h), HOCKET_ESTATE);
    assert_non_null(strstr(t.log, "the host is lost"));
    assert_int_equal(hocket_run_stop(h, 1), HOCKET_ECALLBACK);
    assert_int_equal(hocket_load_buffer(h, "x.lua", "return 1", 0, &e), HOCKET_ECALLBACK);
    assert_non_null(strstr(e.message, "the host is lost"));
    hocket_close(h, NULL, NULL);
    hocket_close(h, NULL, NULL);
}

/* Out of the program's own loop, which libuv does not survive: the host says that it is lost, and touches
 * nothing of it any more. */
static void test_jump_out_of_a_loop(void **state)
{
    (void) state;
    static uv_loop_t loop; /* stays, as the host does */
    static struct trouble t = { .to_do = 1 };
    struct hocket_options o;
    uv_loop_init(&loop);
    hocket_options_init(&o, sizeof(o));
    o.uv_loop = &loop;
    o.log_cb = keep_log;
    o.log_ud = &t;
    hocket_host *h = lost_too = host_with(NULL, &o);
    start(h, TALK, leave_event, NULL, &t);
    if (setjmp(t.back) == 0)
        uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(t.left, 1);
    assert_int_equal(hocket_pump(h, 0), HOCKET_ECALLBACK);
    assert_int_equal(hocket_callback_left(h), HOCKET_ESTATE);
    assert_non_null(strstr(t.log, "the host is lost"));
    assert_int_equal(hocket_pump(h, 0), HOCKET_ECALLBACK);
    hocket_close(h, NULL, NULL);
}

/* ---- By an error of the program's own Lua ------------------------------------------------------------ */

static void raise_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    (void) h;
    (void) run;
    luaL_error(ud, "heard: %s", r->text);
}

static int l_pump(lua_State *L)
{
    lua_pushinteger(L, hocket_wait(lua_touserdata(L, 1), 10));
    return 1;
}

/* The engine's script pumps, and a callback raises in the engine's Lua: its pcall has the error. */
static void test_lua_error(void **state)
{
    (void) state;
    struct test_alloc a;
    struct trouble t = { .to_do = 0 };
    hocket_host *h = open_one(&a, &t);
    lua_State *L = luaL_newstate();
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = file_with(TALK) };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, raise_done, L, NULL), 0);
    int status = LUA_OK;
    for (time_t end = time(NULL) + 20; status == LUA_OK && time(NULL) < end;) {
        lua_settop(L, 0);
        lua_pushcfunction(L, l_pump);
        lua_pushlightuserdata(L, h);
        status = lua_pcall(L, 1, 1, 0);
    }
    assert_non_null(strstr(lua_tostring(L, -1), "heard: well"));
    assert_int_equal(hocket_callback_left(h), 0);
    assert_int_equal(hocket_wait(h, 0), 0);
    lua_close(L);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* What may not be called in there answers with words as well, and does no harm. */
struct asking {
    hocket_host *h;
    int pump, start;
    char words[512];
};

static const char *ask_back(const char *name, void *ud)
{
    struct asking *a = ud;
    struct hocket_error e = { 0 };
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = "x.lua" };
    (void) name;
    if (!a->h)
        return NULL;
    a->pump = hocket_pump(a->h, 0);
    a->start = hocket_run_start(a->h, &spec, NULL, NULL, NULL, NULL, &e);
    snprintf(a->words, sizeof(a->words), "%s", e.message);
    return NULL;
}

static void test_calls_from_getenv(void **state)
{
    (void) state;
    struct test_alloc a;
    struct asking asking = { .pump = 0 };
    struct trouble t = { .to_do = 0 };
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = ask_back;
    o.getenv_ud = &asking;
    asking.h = host_with(&a, &o);
    start(asking.h,
        "local hocket = require 'hocket'\n"
        "return tostring(hocket.run(hocket.agent { name = 'a', prompt = 'x' }, 'x'))",
        NULL, leave_done, &t);
    wait_for(asking.h, &t.out);
    assert_int_equal(asking.pump, HOCKET_ECALLBACK);
    assert_int_equal(asking.start, HOCKET_ECALLBACK);
    assert_non_null(strstr(asking.words, "they return"));
    hocket_close(asking.h, NULL, NULL);
    test_alloc_check(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jumps),
        cmocka_unit_test_teardown(test_jump_at_the_end, drop_file),
        cmocka_unit_test_teardown(test_jump_and_close, drop_file),
        cmocka_unit_test_teardown(test_jump_out_of_close, drop_file),
        cmocka_unit_test_teardown(test_jump_out_of_a_tool, drop_file),
        cmocka_unit_test_teardown(test_jump_out_of_getenv, drop_file),
        cmocka_unit_test_teardown(test_jump_out_of_a_loop, drop_file),
        cmocka_unit_test_teardown(test_lua_error, drop_file),
        cmocka_unit_test_teardown(test_calls_from_getenv, drop_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
