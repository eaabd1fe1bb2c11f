/* The end of a host, wherever the program comes to it: in every callback of a run that asks, calls tools
 * and streams, while a file changes; in a child that was forked. Every run ends, once, and nothing is left. */

#include "host/run_util.h"
#include "support/tsan.h"

#include <lauxlib.h>
#include <lualib.h>
#ifndef _WIN32
#include "support/fork.h"
#endif
#include <time.h>
#include <uv.h>

static const char script[] =
    "local hocket = require 'hocket'\n"
    "local function reply(q)\n"
    "  if q.last.role ~= 'user' then return { text = 'seen it', fragment = 3 } end\n"
    "  if q.tools.look then return { calls = { { name = 'look', arguments = { at = 'sea' } } } } "
    "end\n"
    "  return 'heard: ' .. q.last.text\n"
    "end\n"
    "local served <close> = setmetatable(hocket.sim.serve { reply = reply }, { __close = "
    "function(s) "
    "s.close() end })\n"
    "hocket.provider('own', { protocol = 'openai_chat', base = served.base })\n"
    "local one = hocket.agent { name = 'one', model = 'own/m', prompt = 'p', tools = { 'look' } }\n"
    "local answer = require('hocket.ask')('which?')\n"
    "return assert(hocket.run(one, answer)).text\n";

struct scene {
    hocket_host *h;
    char dir[TEST_TEMP_PATH], path[TEST_TEMP_PATH + 16];
    int at, callbacks; /* which of them closes the host; how many there were */
    bool closed;
    int runs, done, status;
    bool finished_last;
};

static void save(const struct scene *s, const char *text)
{
    FILE *f = fopen(s->path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool closes(struct scene *s)
{
    if (s->closed || ++s->callbacks != s->at)
        return s->closed;
    s->closed = true;
    hocket_close(s->h, NULL, NULL);
    hocket_close(s->h, NULL, NULL); /* is ignored */
    return true;
}

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct scene *s = ud;
    s->finished_last = strcmp(e->type, "workflow_finished") == 0;
    if (!closes(s) && strcmp(e->type, "question_asked") == 0)
        assert_int_equal(hocket_run_answer(h, run, "q1", "this", 0, NULL), 0);
}

static void on_done(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct scene *s = ud;
    (void) h;
    (void) run;
    s->done++;
    s->status = r->status;
    assert_true(s->finished_last);
    closes(s);
}

static void on_change(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct scene *s = ud;
    (void) h;
    (void) run;
    if (!closes(s) && strcmp(e->type, "agent_watch") == 0)
        save(s, "---\nname: main\n---\nYou are another one.\n");
}

static void on_watched(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct scene *s = ud;
    (void) h;
    (void) run;
    (void) r;
    s->done++;
    closes(s);
}

static void on_call(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    if (!closes(ud))
        assert_int_equal(hocket_tool_answer(h, c->id, 0, "a ship", 0), 0);
}

static void start(struct scene *s)
{
    static const struct hocket_tool_spec look = { .size = sizeof(look),
        .name = "look",
        .description = "Looks.",
        .parameters = "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"}}}" };
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_path,
        .options = "{\"deltas\":true,\"interactive\":true}" };
    char args[TEST_TEMP_PATH + 32];
    struct hocket_error e;
    snprintf(args, sizeof(args), "{\"path\":\"%s\"}", s->dir);
    save(s, "---\nname: main\n---\nYou are one.\n");
    assert_int_equal(hocket_serve_attach(s->h, NULL), 0);
    assert_int_equal(hocket_tool_add(s->h, &look, on_call, NULL, s, NULL), 0);
    if (hocket_call_start(s->h, "watch", args, NULL, on_change, on_watched, s, &e) < 0
        || hocket_run_start(s->h, &spec, NULL, on_event, on_done, s, &e) < 0)
        fail_msg("%s", e.message);
}

/* Until it is closed; when no callback did so, a moment after the change was told. */
static void go_on(struct scene *s, uv_loop_t *loop)
{
    time_t until = time(NULL) + 20;
    for (int quiet = 0; !s->closed && quiet < 60 && time(NULL) < until;) {
        int before = s->callbacks;
        if (loop)
            uv_run(loop, UV_RUN_NOWAIT);
        else
            hocket_wait(s->h, 5);
        if (loop)
            nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
        quiet = s->callbacks == before ? quiet + 1 : 0;
    }
    if (!s->closed)
        hocket_close(s->h, NULL, NULL);
    if (loop)
        uv_run(loop, UV_RUN_DEFAULT);
}

enum { OWN, FOREIGN_LOOP, FOREIGN_STATE, THREAD, WAYS };

/* How many callbacks there were. */
static int close_at(int at, int way, const char *dir)
{
    struct scene s = { .at = at };
    struct test_alloc t;
    struct hocket_options o;
    uv_loop_t loop;
    lua_State *L = way == FOREIGN_STATE ? luaL_newstate() : NULL;
    hocket_options_init(&o, sizeof(o));
    test_alloc_init(&t);
    snprintf(s.dir, sizeof(s.dir), "%s", dir);
    snprintf(s.path, sizeof(s.path), "%s/main.md", dir);
    uv_loop_init(&loop);
    if (L)
        luaL_openlibs(L);
    o.allocator = t.a;
    o.uv_loop = way == FOREIGN_LOOP ? &loop : NULL;
    o.lua_state = L;
    o.thread = way == THREAD;
    assert_int_equal(hocket_open(&o, &s.h, NULL), 0);
    start(&s);
    go_on(&s, o.uv_loop);
    if (s.done != 2)
        fail_msg("closed in callback %d, way %d: %d ends", at, way, s.done);
    if (L)
        lua_close(L);
    assert_int_equal(uv_loop_close(&loop), 0);
    test_alloc_check(&t);
    return s.callbacks;
}

static void test_in_every_callback(void **state)
{
    char dir[TEST_TEMP_PATH], path[TEST_TEMP_PATH + 16];
    (void) state;
    assert_true(test_temp_dir(dir));
    snprintf(path, sizeof(path), "%s/main.md", dir);
    file_with(script);
    for (int way = 0; way < WAYS; way++) {
        int n = close_at(0, way, dir);
        assert_true(n > 12);
        for (int at = 1; at <= n; at += getenv("HOCKET_LONG") || way == OWN ? 1 : 3)
            close_at(at, way, dir);
    }
    unlink(path);
    rmdir(dir);
}

#ifndef _WIN32
/* ---- Forked ------------------------------------------------------------------------------------ */

/* A child that closes its copy of a host takes nothing from the parent's, whose run goes on. */
static void test_forked(void **state)
{
    (void) state;
    test_fork_noticed_or_skip();
    struct outcome out = { 0 };
    struct hocket_options o;
    struct hocket_error e;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    struct hocket_run_spec spec = { .size = sizeof(spec),
        .target = file_with("local hocket = require 'hocket'\n"
                            "local served = hocket.sim.serve { reply = function() return { text = "
                            "'well', latency = 0.3 } end }\n"
                            "hocket.provider('own', { protocol = 'openai_chat', base = "
                            "served.base })\n"
                            "local a = hocket.agent { name = 'a', model = 'own/m', prompt = 'p' }\n"
                            "return assert(hocket.run(a, 'in')).text") };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &out, &e), 0);
    for (int i = 0; i < 20; i++)
        hocket_wait(h, 5);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        hocket_close(h, NULL, NULL);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    wait_for(h, &out);
    if (out.status != 0)
        fail_msg("%s", out.error);
    assert_string_equal(out.text, "well");
    hocket_close(h, NULL, NULL);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_in_every_callback, drop_file),
#ifndef _WIN32
        cmocka_unit_test_teardown(test_forked, drop_file),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
