/* A process ends in the middle of a tool that changes a file: the file says whether it came to that. What was done is not done
 * again, what was not is, and the run comes to what it would have come to; where somebody else has changed the file the model
 * is told that nobody knows. */
#include "host/kept/lives.h"

#include <sys/stat.h>

#include "support/temp.h"

static char dir[TEST_TEMP_PATH];

/* What is in the folder; NULL: there is no such file. */
struct folder {
    const char *a, *b, *c;
};

#define MARK "\xEF\xBB\xBF"

/* The folder before each call, and at the end. */
static const struct folder states[] = {
    { "one two\r\nthree\r\n", NULL, NULL }, { "one 2\r\n3\r\n", NULL, NULL }, /* edit_file */
    { "one 2\r\n3\r\n", MARK "new", NULL }, /* write_file, of one that was not there */
    { "whole", MARK "new", NULL },          /* of one that was read */
    { "whole", MARK "newer", NULL },        /* of one with a mark */
    { "whole", NULL, MARK "newer" },        /* move_file */
    { "", NULL, MARK "newer" },             /* edit_file, which takes out all */
};
enum { CALLS = sizeof(states) / sizeof(states[0]) - 1 };

static const char main_lua[] =
    "local hocket = require 'hocket'\n"
    "local tools = { 'read_file', 'edit_file', 'write_file', 'move_file' }\n"
    "local writer = hocket.agent { name = 'writer', prompt = 'You write.', tools = tools }\n"
    "return assert(hocket.run(writer, 'Go on.')).text\n";

static const char sim_lua[] =
    "local calls = {\n"
    "  { 'read_file', { path = 'a' } },\n"
    "  { 'edit_file', { path = 'a', old_text = 'two\\nthree', new_text = '2\\n3' } },\n"
    "  { 'write_file', { path = 'b', content = '\\xEF\\xBB\\xBFnew' } },\n"
    "  { 'write_file', { path = 'a', content = 'whole' } },\n"
    "  { 'read_file', { path = 'b' } },\n"
    "  { 'write_file', { path = 'b', content = 'newer' } },\n"
    "  { 'move_file', { from = 'b', to = 'c' } },\n"
    "  { 'edit_file', { path = 'a', old_text = 'whole', new_text = '' } },\n"
    "}\n"
    "return function(q)\n"
    "  local said = {}\n"
    "  for _, m in ipairs(q.messages) do if m.role == 'tool' then said[#said + 1] = m.text end "
    "end\n"
    "  local call = calls[#said + 1]\n"
    "  if not call then return { text = table.concat(said, '|') } end\n"
    "  return { calls = { { name = call[1], arguments = call[2] } } }\n"
    "end\n";

static void put(const char *name, const char *text)
{
    char path[TEST_TEMP_PATH + 32];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
    if (!text)
        return;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_all(const struct folder *all)
{
    put("a", all->a);
    put("b", all->b);
    put("c", all->c);
}

static void check(const char *name, const char *text)
{
    char path[TEST_TEMP_PATH + 32], now[256] = "";
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    assert_int_equal(f != NULL, text != NULL);
    if (!f)
        return;
    now[fread(now, 1, sizeof(now) - 1, f)] = 0;
    fclose(f);
    assert_string_equal(now, text);
}

static void check_all(const struct folder *all)
{
    check("a", all->a);
    check("b", all->b);
    check("c", all->c);
}

static bool changes(const struct hocket__log_entry *e)
{
    return e->kind == HOCKET__LOG_BEGIN && hocket__str_is(e->name, "tool")
           && !memmem(e->digest.p, e->digest.n, "read_file", 9);
}

/* Up to the begin of the call that changes something for the nth time, from 1. */
static void cut_in(const struct kept_log *log, int nth, struct kept_log *to)
{
    size_t i = 0;
    for (int n = 0; n < nth; i++) {
        struct hocket__log_entry e = entry_at(log, i);
        n += changes(&e);
    }
    log_copy(log, i, to);
}

static struct workflow work;
static struct kept_log whole;
static struct life first;

static void go_on(int nth, const struct folder *found, struct life *l)
{
    struct kept_log log;
    cut_in(&whole, nth, &log);
    put_all(found);
    live(&work, &log, l);
    if (l->status != 0)
        fail_msg("call %d: %s", nth, l->error);
    log_free(&log);
}

static void test_done_or_not(void **state)
{
    (void) state;
    for (int nth = 1; nth <= CALLS; nth++)
        for (int done = 0; done < 2; done++) {
            struct life l;
            go_on(nth, &states[nth - 1 + done], &l);
            same("the answer", done ? "done" : "not done", (size_t) nth, first.text.data,
                l.text.data, 0);
            check_all(&states[CALLS]);
            life_free(&l);
        }
}

/* Nothing is written over what somebody else has left. */
static void test_changed_by_others(void **state)
{
    static const int of_known[] = { 1, 3, 4, 6 }; /* calls that change what was read */
    (void) state;
    for (size_t i = 0; i < sizeof(of_known) / sizeof(of_known[0]); i++) {
        int nth = of_known[i];
        struct folder found = states[nth - 1];
        struct life l;
        if (nth == 4)
            found.b = "others";
        else
            found.a = "others";
        go_on(nth, &found, &l);
        assert_non_null(strstr(l.text.data, "it is not known whether this was done"));
        check("a", nth == 4 ? "" : "others");
        life_free(&l);
    }
}

/* One that was not there when it was to be made is somebody else's. */
static void test_made_by_others(void **state)
{
    struct folder found = states[1];
    struct life l;
    (void) state;
    found.b = "others";
    go_on(2, &found, &l);
    assert_non_null(strstr(l.text.data, "this task has not read it"));
    check("a", "");
    life_free(&l);
}

int main(void)
{
    static char options[TEST_TEMP_PATH + 64];
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_done_or_not),
        cmocka_unit_test(test_changed_by_others), cmocka_unit_test(test_made_by_others) };
    if (!test_temp_dir(dir))
        return 1;
    snprintf(options, sizeof(options), "{\"workdir\":\"%s\",\"approve\":[\"allow\"]}", dir);
    work = (struct workflow){ .name = "changes", dir, dir, options };
    put("main.lua", main_lua);
    put("sim.lua", sim_lua);
    put_all(&states[0]);
    log_init(&whole);
    live(&work, &whole, &first);
    if (first.status != 0) {
        fprintf(stderr, "%s\n", first.error);
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    life_free(&first);
    log_free(&whole);
    put_all(&(struct folder){ NULL, NULL, NULL });
    put("main.lua", NULL);
    put("sim.lua", NULL);
    rmdir(dir);
    return failed;
}
