/* hocket.internal.core.store: a script looks at what is in the host's store, of either kind. */
#include "host/run_util.h"

#include "bind/store/store.h"
#include "host/host.h"
#include "store/store_impl.h"
#include "support/fill.h"
#include "support/tsan.h"

#include <sys/stat.h>

#define RUN_A "01KANC3V0QZJ9E4W2X6T8B5M7A"
#define RUN_B "01KANC3V0QZJ9E4W2X6T8B5M7B"

static const char *const lines[] = {
    "run " RUN_A " parked team.lua",
    "input Three days",
    "options {\"model\":\"sim\"}",
    "waiting [{\"id\":\"q1\",\"kind\":\"question\"}]",
    "generation g1",
    "usage 1500000000 42",
    "created 1795251600000",
    "put",
    "file team.lua return 1",
    "entry 1795251600000 model first",
    "entry 1795251600005 tool second",
    "event {\"seq\":1,\"time\":\"2026-11-21T09:00:00.000Z\",\"type\":\"workflow_started\"}",
    "event {\"seq\":2,\"time\":\"2026-11-21T09:00:00.005Z\",\"type\":\"output\"}",
    "release",
    "run " RUN_B " done other",
    "put",
    "release",
};

static char dir[TEST_TEMP_PATH], path[TEST_TEMP_PATH + 16];

static hocket_host *host_of(struct test_alloc *t, bool in_file)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.store = in_file ? path : "memory";
    return host_with(t, &o);
}

static void fill_host(hocket_host *h)
{
    struct hocket_error err = { 0 };
    struct fill f = { .s = hocket__runtime_store(h->rt, &err) };
    char line[512];
    if (!f.s)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        snprintf(line, sizeof(line), "%s", lines[i]);
        fill_line(&f, line);
    }
    fill_end(&f);
}

static void run_script(hocket_host *h, const char *script, struct outcome *out)
{
    struct hocket_error err = { 0 };
    *out = (struct outcome){ 0 };
    struct hocket_run_spec spec = {
        .size = sizeof(spec), .target = file_with(script), .options = "{\"keep\":false}"
    }; /* what is looked at is there without it */
    if (hocket_run_start(h, &spec, NULL, NULL, keep_outcome, out, &err) < 0)
        fail_msg("%s", err.message);
    wait_for(h, out);
    drop_file(NULL);
}

static void run_ok(hocket_host *h, const char *script)
{
    struct outcome o;
    run_script(h, script, &o);
    if (o.status < 0)
        fail_msg("%s", o.error);
}

static void remove_store(void)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };
    char name[sizeof(path) + 8];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        unlink(name);
    }
    rmdir(dir);
}

static void in_both(void (*test)(hocket_host *h))
{
    for (int in_file = 0; in_file < 2; in_file++) {
        struct test_alloc t;
        assert_true(test_temp_dir(dir));
        snprintf(path, sizeof(path), "%s/runs.db", dir);
        hocket_host *h = host_of(&t, in_file);
        fill_host(h);
        test(h);
        hocket_close(h, NULL, NULL);
        test_alloc_check(&t);
        remove_store();
    }
}

#define HEAD                                                                                       \
    "local store = require 'hocket.internal.core.store'\n"                                         \
    "local A, B = '" RUN_A "', '" RUN_B "'\n"                                                      \
    "local function same(a, b) if a ~= b then error(tostring(a) .. ' should be ' .. tostring(b), " \
    "2) end end\n"

/* ---- Looking ------------------------------------------------------------------------------- */

static void look(hocket_host *h)
{
    run_ok(h, HEAD
        "local list, more = assert(store.runs {})\n"
        "same(#list, 2) same(more, false) same(list[1].id, B) same(list[2].id, A)\n"
        "local a = list[2]\n"
        "same(a.target, 'team.lua') same(a.input, 'Three days') same(a.state, 'parked')\n"
        "same(a.cost, 1.5) same(a.tokens, 42) same(a.generation, 'g1') same(a.last_n, 2)\n"
        "same(a.options, '{\"model\":\"sim\"}') same(a.created_ms, 1795251600000)\n"
        "same(a.owner, nil) same(a.parent, nil) same(list[1].cost, nil) same(list[1].tokens, nil)\n"
        "local one, left = store.runs { limit = 1 }\n"
        "same(#one, 1) same(left, true)\n"
        "one, left = store.runs { limit = 1, before = one[1].id }\n"
        "same(one[1].id, A) same(left, false)\n"
        "list = store.runs { states = { 'parked', 'failed' } }\n"
        "same(#list, 1) same(list[1].id, A)\n"
        "same(#store.runs { parent = A }, 0)\n"
        "same(#store.runs(), 2)\n"
        "local stats = assert(store.stats())\n"
        "same(stats.runs, 2)\n");
    run_ok(h,
        HEAD "same(store.find(A).id, A) same(store.find(A:lower()).id, A)\n"
             "local none, err = store.find '01KANC'\n"
             "same(none, nil) same(err.code, 'invalid') assert(err.message:find(B, 1, true))\n"
             "none, err = store.find 'ZZ' same(err.code, 'not_found')\n"
             "none, err = store.find '' same(err.code, 'invalid')\n"
             "none, err = store.find(('A'):rep(400)) same(err.code, 'invalid')\n"
             "local records, more = assert(store.records(A))\n"
             "same(#records, 2) same(more, false) same(records[2].seq, 2)\n"
             "assert(records[1].json:find('workflow_started', 1, true))\n"
             "records, more = store.records(A, 1, 1) same(#records, 1) same(more, true)\n"
             "records, more = store.records(A, 2) same(#records, 1) same(records[1].seq, 2)\n"
             "local entries = assert(store.entries(A))\n"
             "same(#entries, 2) same(entries[2].n, 2) same(entries[2].name, 'tool')\n"
             "same(entries[2].value, 'second') same(entries[2].at_ms, 1795251600005)\n"
             "local files = assert(store.files 'g1')\n"
             "same(#files, 1) same(files[1].path, 'team.lua') same(files[1].text, 'return 1')\n"
             "none, err = store.records 'short' same(none, nil) same(err.code, 'invalid')\n"
             "assert(not pcall(store.runs, { states = { 'asleep' } }))\n"
             "assert(not pcall(store.runs, { status = 'done' }))\n"
             "assert(not pcall(store.records, A, 1, 0))\n"
             "assert(not pcall(store.records, A, 1, 1001))\n");
}

static void test_look(void **state)
{
    (void) state;
    in_both(look);
}

/* ---- Changing -------------------------------------------------------------------------------- */

static void change(hocket_host *h)
{
    run_ok(h,
        HEAD "same(assert(store.message(A, { id = 'm1', json = '{\"wish\":\"signal\"}' })), true)\n"
             "local again, err = store.message(A, { id = 'm1', json = '{}' })\n"
             "same(again, nil) same(err.code, 'exists')\n"
             "local list = assert(store.messages(A))\n"
             "same(#list, 1) same(list[1].id, 'm1') same(list[1].json, '{\"wish\":\"signal\"}')\n"
             "none, err = store.message('01KANC3V0QZJ9E4W2X6T8B5M7Z', { id = 'm', json = '{}' })\n"
             "same(err.code, 'not_found')\n"
             "assert(not pcall(store.message, A, { id = 'm' }))\n"
             "same(assert(store.remove(B)), true)\n"
             "local gone, why = store.remove(B) same(gone, nil) same(why.code, 'not_found')\n"
             "same(#store.runs {}, 1)\n");
    run_ok(h, HEAD
        "local id = assert(store.fork(A, 1, 1, { input = 'Two days' }))\n"
        "local fork = store.find(id)\n"
        "same(fork.parent, A) same(fork.at_n, 1) same(fork.at_seq, 1) same(fork.last_n, 1)\n"
        "same(fork.input, 'Two days') same(fork.target, 'team.lua') same(fork.state, 'running')\n"
        "same(fork.owner, nil) same(fork.waiting_for, nil) same(fork.generation, A .. ',g1')\n"
        "same(fork.cost, nil) same(fork.options, '{\"model\":\"sim\"}')\n"
        "same(#store.entries(id), 1) same(store.entries(id)[1].value, 'first')\n"
        "same(#store.records(id), 1)\n"
        "same(store.runs { parent = A }[1].id, id)\n"
        "local no, err = store.fork(A, 3, 0) same(no, nil) same(err.code, 'invalid')\n"
        "no, err = store.fork('ZZ', 0, 0) same(err.code, 'not_found')\n");
}

static void test_change(void **state)
{
    (void) state;
    in_both(change);
}

/* ---- Moving ------------------------------------------------------------------------------------- */

static void move(hocket_host *h)
{
    run_ok(h,
        HEAD "local bytes = assert(store.export(A))\n"
             "same(bytes:sub(1, 11), 'hocket run ')\n"
             "local name = os.tmpname()\n"
             "same(assert(store.export(A, name)), true)\n"
             "local f <close> = io.open(name, 'rb') same(f:read 'a', bytes) os.remove(name)\n"
             "local none, err = store.import(bytes) same(none, nil) same(err.code, 'exists')\n"
             "local NEW = '01KANC3V0QZJ9E4W2X6T8B5M7C'\n"
             "same(assert(store.import(bytes, NEW)), NEW)\n"
             "local new = store.find(NEW)\n"
             "same(new.input, 'Three days') same(new.state, 'parked') same(new.owner, nil)\n"
             "same(store.entries(NEW)[2].value, 'second') same(#store.records(NEW), 2)\n"
             "same(store.files(new.generation)[1].text, 'return 1')\n"
             "none, err = store.import(bytes:sub(1, -2)) same(err.code, 'parse')\n"
             "none, err = store.import 'x' same(err.code, 'parse')\n"
             "none, err = store.import('') same(err.code, 'parse')\n"
             "none, err = store.import(bytes, 'short') same(err.code, 'invalid')\n"
             "none, err = store.export(B:sub(1, 25) .. 'Z') same(err.code, 'not_found')\n"
             "none, err = store.export 'short' same(err.code, 'invalid')\n"
             "none, err = store.export(A, '/no/such/dir/file') same(err.code, 'not_found')\n"
             "none, err = store.export(A, '/dev/full') same(err.code, 'io')\n"
             "same(store.find(A).id, A)\n");
}

static void test_move(void **state)
{
    (void) state;
    in_both(move);
}

/* ---- The program's operations, for others ------------------------------------------------------- */

struct answer {
    bool done;
    int status;
    char json[8192];
};

static void keep_answer(hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct answer *a = ud;
    (void) h;
    (void) run;
    a->done = true;
    a->status = r->status;
    snprintf(a->json, sizeof(a->json), "%s", r->error ? r->error->message : r->json);
}

static int call(hocket_host *h, const char *name, const char *args, struct answer *a)
{
    struct hocket_error err;
    *a = (struct answer){ 0 };
    assert_int_equal(hocket_call_start(h, name, args, NULL, NULL, keep_answer, a, &err), 0);
    for (int i = 0; i < 2000 && !a->done; i++)
        hocket_wait(h, 10);
    assert_true(a->done);
    return a->status;
}

/* It ends so, and says that. */
static void expect(hocket_host *h, const char *name, const char *args, int status, const char *says)
{
    struct answer a;
    int got = call(h, name, args, &a);
    if (got != status || !strstr(a.json, says))
        fail_msg("%s %s: %d, %s", name, args, got, a.json);
}

static void operate(hocket_host *h)
{
    char file[sizeof(path) + 8], args[sizeof(file) + 64];
    expect(h, "runs", "{}", 0, RUN_B);
    expect(h, "runs", "{\"state\":\"parked\",\"limit\":1}", 0, "\"more\":false");
    expect(h, "runs", "{\"limit\":1}", 0, "\"more\":true");
    expect(h, "runs", "{\"limit\":-1}", HOCKET_EINVAL, "the limit");
    expect(h, "runs", "{\"state\":[\"sleepy\"]}", HOCKET_EINVAL, "no state 'sleepy'");
    expect(h, "show", "{\"id\":\"" RUN_A "\"}", 0, "\"records\":2");
    expect(h, "show", "{\"id\":\"" RUN_A "\",\"at\":3}", HOCKET_EINVAL, "no record 3");
    expect(h, "show", "{\"id\":7}", HOCKET_EINVAL, "needs 'id'");
    expect(h, "show", "{}", HOCKET_EINVAL, "needs 'id'");
    expect(h, "answer", "{\"id\":\"" RUN_A "\"}", 0, "\"q1\"");
    expect(h, "answer", "{\"id\":\"" RUN_A "\",\"question\":\"q1\",\"text\":\"\"}", HOCKET_EINVAL,
        "an answer has");
    expect(h, "answer", "{\"id\":\"" RUN_A "\",\"question\":\"q1\",\"text\":\"x\"}", 0, "parked");
    expect(h, "answer", "{\"id\":\"" RUN_A "\",\"question\":\"q1\",\"text\":\"y\"}", HOCKET_EEXIST,
        "answered already");
    expect(h, "signal", "{\"id\":\"" RUN_A "\",\"name\":\"go\",\"value\":[1]}", 0, "go");
    expect(h, "signal", "{\"id\":\"" RUN_A "\",\"name\":\"\"}", HOCKET_EINVAL,
        "name is a text of 1 to 128 bytes");
    expect(h, "fork", "{\"id\":\"" RUN_A "\"}", 0, "\"at_n\":2");
    expect(h, "fork", "{\"id\":\"" RUN_A "\",\"latest\":true,\"input\":\"Two days\"}", 0,
        "\"at_n\":0");
    expect(h, "fork", "{\"id\":\"" RUN_A "\",\"input\":\"Two days\"}", HOCKET_EINVAL, "");
    snprintf(file, sizeof(file), "%s.run", path);
    snprintf(args, sizeof(args), "{\"id\":\"" RUN_A "\",\"file\":\"%s\"}", file);
    expect(h, "export", args, 0, RUN_A);
    snprintf(args, sizeof(args), "{\"file\":\"%s\"}", file);
    expect(h, "import", args, HOCKET_EEXIST, "--new");
    snprintf(args, sizeof(args), "{\"file\":\"%s\",\"new\":true}", file);
    expect(h, "import", args, 0, "\"id\"");
    unlink(file);
    expect(h, "export", "{\"id\":\"" RUN_A "\"}", HOCKET_EINVAL, "a file");
    expect(h, "remove", "{\"ids\":[\"" RUN_B "\",\"ZZ\"]}", HOCKET_ENOTFOUND, "no run ZZ");
    expect(h, "remove", "{\"ids\":[\"" RUN_B "\"]}", 0, RUN_B);
    expect(h, "show", "{\"id\":\"" RUN_B "\"}", HOCKET_ENOTFOUND, "no run");
}

static void test_operate(void **state)
{
    (void) state;
    in_both(operate);
}

/* ---- Going on ------------------------------------------------------------------------------- */

/* One that was at work when it was found, and has ended when it is taken, stays as it ended. */
static void test_resume_ended(void **state)
{
    (void) state;
    struct test_alloc t, other;
    struct hocket_error err = { 0 };
    struct outcome o = { 0 }, end;
    uint64_t id;
    assert_true(test_temp_dir(dir));
    snprintf(path, sizeof(path), "%s/runs.db", dir);
    hocket_host *h = host_of(&t, true);
    run_ok(h, HEAD "store.submit { id = A, target = 'x.lua', pool = 'p' }\n"
                   "assert(store.finish(A, assert(store.take(A)).fence, 'running'))\n");
    hocket_host *g = host_of(&other, true);
    assert_int_equal(hocket_run_resume(g, RUN_A, "{}", &id, NULL, keep_outcome, &o, &err), 0);
    hocket_wait(g, 0);
    usleep(100000); /* it is found, and most likely not taken: else this test says nothing */
    run_script(h, HEAD "assert(store.finish(A, assert(store.take(A)).fence, 'cancelled'))\n", &end);
    wait_for(g, &o);
    hocket_close(g, NULL, NULL);
    if (end.status == 0) {
        assert_int_equal(o.status, HOCKET_ESTATE);
        assert_non_null(strstr(o.error, "has ended: it is cancelled"));
        run_ok(h, HEAD "same(store.find(A).state, 'cancelled') same(store.find(A).owner, nil)\n");
    }
    hocket_close(h, NULL, NULL);
    test_alloc_check(&other);
    test_alloc_check(&t);
    remove_store();
}

/* ---- Ends ---------------------------------------------------------------------------------------- */

/* Who asked and is cancelled hears nothing, whatever it was. */
static void cancel(hocket_host *h)
{
    run_ok(h,
        HEAD "local fiber = require 'hocket.internal.core.fiber'\n"
             "local bytes = store.export(A)\n"
             "local asks = {\n"
             "  function() store.runs {} end, function() store.find(A) end,\n"
             "  function() store.export(A) end, function() store.export(A, '/dev/null') end,\n"
             "  function() store.import(bytes, '01KANC3V0QZJ9E4W2X6T8B5M7D') end,\n"
             "  function() store.fork(A, 1, 1) end, function() store.remove(B) end,\n"
             "  function() store.message(A, { id = 'm9', json = '{}' }) end,\n"
             "}\n"
             "for _, ask in ipairs(asks) do\n"
             "  local on = false\n"
             "  local f = fiber.spawn(function() ask() on = true end)\n"
             "  require('hocket.flow').sleep(0)\n"
             "  local before = on\n"
             "  f:cancel() same(f:join(5), true) same(on, before)\n"
             "end\n"
             "collectgarbage()\n"
             "same(store.find(A).id, A)\n");
}

static void test_cancel(void **state)
{
    (void) state;
    in_both(cancel);
}

/* Its end is never too much, and its result may be: then nobody has the run, as it was, and another one may end it. */
static void end_by_half(hocket_host *h)
{
    struct hocket_error err = { 0 };
    struct hocket__store *s = hocket__runtime_store(h->rt, &err);
    s->o.max_pending = 1;
    run_ok(h,
        HEAD "local fiber = require 'hocket.internal.core.fiber'\n"
             "local a, b, said = assert(store.take(A)).fence, assert(store.take(B)), {}\n"
             "local function finish(id, fence)\n"
             "  return fiber.spawn(function() said[id] = { store.finish(id, fence, 'done', '{}') } "
             "end)\n"
             "end\n"
             "local one, two = finish(A, a), finish(B, b.fence)\n"
             "same(one:join(5), true) same(two:join(5), true)\n"
             "same(said[A][1], A) same(store.find(A).state, 'done')\n"
             "same(said[B][1], nil) same(said[B][2].code, 'limit')\n"
             "local row = assert(store.find(B)) same(row.owner, nil) same(row.state, b.state)\n"
             "same(store.finish(B, assert(store.take(B)).fence, 'done'), B)\n"
             "same(store.find(B).state, 'done')");
}

static void test_end_by_half(void **state)
{
    (void) state;
    in_both(end_by_half);
}

static void test_close_under_way(void **state)
{
    (void) state;
    for (int in_file = 0; in_file < 2; in_file++) {
        struct test_alloc t;
        struct hocket_error err = { 0 };
        struct outcome o = { 0 };
        assert_true(test_temp_dir(dir));
        snprintf(path, sizeof(path), "%s/runs.db", dir);
        hocket_host *h = host_of(&t, in_file);
        fill_host(h);
        struct hocket_run_spec spec = { .size = sizeof(spec),
            .target = file_with(HEAD "while true do store.runs {} store.export(A) end"),
            .options = "{\"keep\":false}" };
        assert_true(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, &o, &err) == 0);
        for (int i = 0; i < 5; i++)
            hocket_wait(h, 10);
        hocket_close(h, NULL, NULL);
        test_alloc_check(&t);
        drop_file(NULL);
        remove_store();
    }
}

static void test_no_store(void **state)
{
    (void) state;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    run_ok(h, HEAD "local none, err = store.runs {} same(none, nil) same(err.code, 'unsupported')\n"
                   "none, err = store.export(A) same(err.code, 'unsupported')\n");
    hocket_close(h, NULL, NULL);
}

/* What is no store is not written to, and said so to each who asks. */
static void test_broken(void **state)
{
    (void) state;
    assert_true(test_temp_dir(dir));
    snprintf(path, sizeof(path), "%s/runs.db", dir);
    FILE *f = fopen(path, "w"); /* it begins as one */
    fwrite("SQLite format 3", 1, 16, f);
    fputs("this is a text of somebody's, and it is longer than the head of a database has to be,\n"
          "which is 100 bytes: https://www.sqlite.org/fileformat.html\n",
        f);
    fclose(f);
    hocket_host *h = host_of(NULL, true);
    run_ok(h,
        HEAD "for i = 1, 3 do\n"
             "  local none, err = store.runs {}\n"
             "  same(none, nil) assert(err.message:find('no database', 1, true), err.message)\n"
             "end\n");
    hocket_close(h, NULL, NULL);
    remove_store();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_look, drop_file),
        cmocka_unit_test_teardown(test_change, drop_file),
        cmocka_unit_test_teardown(test_move, drop_file),
        cmocka_unit_test(test_operate),
        cmocka_unit_test_teardown(test_resume_ended, drop_file),
        cmocka_unit_test_teardown(test_cancel, drop_file),
        cmocka_unit_test_teardown(test_end_by_half, drop_file),
        cmocka_unit_test_teardown(test_close_under_way, drop_file),
        cmocka_unit_test_teardown(test_no_store, drop_file),
        cmocka_unit_test_teardown(test_broken, drop_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
