/* Targets from memory, and keys that no script sees. */

#include "host/run_util.h"

#include <sys/stat.h>

static const char cook[] = "---\nname: cook\ndescription: Cooks\nmodel: sim\n---\nYou cook.\n";
static const char host_md[] =
    "---\nname: landlord\ndescription: Leads\nagents: [cook]\nmodel: sim\n---\nYou lead.\n";

static void run(hocket_host *h, const char *target, struct outcome *out)
{
    struct hocket_error e = { 0 };
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = target, .input = "Hello" };
    *out = (struct outcome){ 0 };
    assert_int_equal(hocket_run_start(h, &spec, NULL, NULL, keep_outcome, out, &e), 0);
    wait_for(h, out);
}

static void test_buffers(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_error e;
    struct outcome out;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    run(h, "buffer:cook.md", &out);
    assert_int_not_equal(out.status, 0);
    assert_int_equal(hocket_load_buffer(h, "cook.md", cook, 0, &e), 0);
    run(h, "buffer:cook.md", &out);
    assert_string_equal(out.error, "");
    assert_int_equal(hocket_load_buffer(h, "quest.lua", "return 'heard ' .. ... junk", 22, &e), 0);
    run(h, "buffer:quest.lua", &out);
    assert_string_equal(out.text, "heard Hello");
    assert_int_equal(hocket_load_buffer(h, "inn/cook.md", cook, 0, &e), 0);
    assert_int_equal(hocket_load_buffer(h, "inn/landlord.md", host_md, 0, &e), 0);
    run(h, "buffer:inn", &out);
    assert_string_equal(out.error, "");
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

/* What is wrong is told with its line, and what was there stays. */
static void test_bad_buffers(void **state)
{
    (void) state;
    struct hocket_error e;
    struct outcome out;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    assert_int_equal(hocket_load_buffer(h, "a.lua", "return 'good'", 0, &e), 0);
    assert_int_equal(hocket_load_buffer(h, "a.lua", "return (\n\n", 0, &e), HOCKET_EAGENT);
    assert_non_null(strstr(e.message, "buffer:a.lua:"));
    run(h, "buffer:a.lua", &out);
    assert_string_equal(out.text, "good");
    assert_int_equal(
        hocket_load_buffer(h, "b.md", "---\nname: b\ndescription: B\ncolour: red\n---\nx\n", 0, &e),
        HOCKET_EAGENT);
    assert_non_null(strstr(e.message, "buffer:b.md:4"));
    assert_int_equal(hocket_load_buffer(h, "../a.lua", "return 1", 0, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_load_buffer(h, "", "return 1", 0, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_load_buffer(h, "/a.lua", "return 1", 0, &e), HOCKET_EINVAL);
    assert_int_equal(hocket_load_buffer(h, "a.lua", NULL, 0, &e), HOCKET_EINVAL);
    hocket_close(h, NULL, NULL);
}

static void put(const char *dir, const char *name, const char *text)
{
    char path[TEST_TEMP_PATH + 64];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A directory is read once: what becomes of the files does not matter. */
static void test_directory(void **state)
{
    (void) state;
    struct hocket_error e;
    struct outcome out;
    char dir[TEST_TEMP_PATH], command[TEST_TEMP_PATH + 8];
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(NULL, &o);
    assert_true(test_temp_dir(dir));
    assert_int_equal(hocket_load_dir(h, "inn", dir, &e), HOCKET_EAGENT);
    put(dir, "cook.md", cook);
    put(dir, "landlord.md", host_md);
    assert_int_equal(hocket_load_dir(h, "inn", dir, &e), 0);
    put(dir, "cook.md", "---\nname: cook\nnonsense: 1\n---\n");
    assert_int_equal(hocket_load_dir(h, "inn", dir, &e), HOCKET_EAGENT);
    assert_non_null(strstr(e.message, "cook.md:3"));
    run(h, "buffer:inn", &out);
    assert_string_equal(out.error, "");
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
    run(h, "buffer:inn", &out);
    assert_string_equal(out.error, "");
    assert_int_equal(hocket_load_dir(h, "inn", dir, &e), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_load_dir(h, "inn", "", &e), HOCKET_EINVAL);
    char name[5000]; /* patterns of Lua take the square of its length */
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    assert_int_equal(hocket_load_buffer(h, name, "return 1", 0, &e), HOCKET_EINVAL);
    hocket_close(h, NULL, NULL);
}

static const char *secret(const char *name, void *ud)
{
    ++*(int *) ud;
    return strcmp(name, "OWN_API_KEY") == 0 ? "sk-very-secret" : NULL;
}

/* The key is in the request's header, and nowhere that a script can look. */
static void test_secret(void **state)
{
    (void) state;
    int asked = 0;
    struct outcome out;
    struct hocket_error e;
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.secret_cb = secret;
    o.secret_ud = &asked;
    hocket_host *h = host_with(NULL, &o);
    static const char script[] =
        "local hocket, system = require 'hocket', require 'hocket.internal.core.system'\n"
        "assert(system.getenv 'OWN_API_KEY' == nil)\n"
        "assert(not tostring(system.secret 'OWN_API_KEY'):find('very', 1, true))\n"
        "assert(system.secret 'ANOTHER_KEY' == nil)\n"
        "local server = require('hocket.internal.core.server').new {}\n"
        "local seen\n"
        "hocket.flow.spawn(function()\n"
        "  local q = server:accept()\n"
        "  if q.method == 'GET' then server:respond(q.id, 404, {}, '') q = server:accept() end -- "
        "which "
        "server it is\n"
        "  seen = q.headers.authorization\n"
        "  server:respond(q.id, 401, {}, 'bad key sk-very-secret')\n"
        "end)\n"
        "hocket.provider('own', { protocol = 'openai_chat', base = 'http://127.0.0.1:' .. "
        "server:port(), key_env = 'OWN_API_KEY' })\n"
        "local _, err = hocket.run(hocket.agent { name = 'a', model = 'own/m', prompt = 'p', "
        "retries = 0 }, 'x')\n"
        "assert(not err.message:find('very', 1, true), err.message)\n"
        "return seen";
    assert_int_equal(hocket_load_buffer(h, "s.lua", script, 0, &e), 0);
    run(h, "buffer:s.lua", &out);
    assert_string_equal(out.error, "");
    assert_string_equal(out.text, "Bearer sk-very-secret");
    assert_true(asked > 0);
    hocket_close(h, NULL, NULL);
}

/* The walk over a tree that bindings need. */
static void test_json_walk(void **state)
{
    (void) state;
    static const char text[] = "{\"a\":[1,\"x\",null,true],\"b\":{}}";
    hocket_json *root = hocket_json_parse(text, strlen(text), NULL);
    size_t len = 0;
    const hocket_json *a = hocket_json_first(root), *one = hocket_json_first(a);
    static const enum hocket_json_type kinds[] = { HOCKET_JSON_NUMBER, HOCKET_JSON_STRING,
        HOCKET_JSON_NULL, HOCKET_JSON_BOOL };
    assert_string_equal(hocket_json_name(a, &len), "a");
    assert_int_equal(len, 1);
    assert_int_equal(hocket_json_kind(a), HOCKET_JSON_ARRAY);
    for (int i = 0; i < 4; i++, one = hocket_json_next(one))
        assert_int_equal(hocket_json_kind(one), kinds[i]);
    assert_null(one);
    assert_int_equal(hocket_json_kind(hocket_json_next(a)), HOCKET_JSON_OBJECT);
    assert_null(hocket_json_first(hocket_json_next(a)));
    assert_null(hocket_json_next(hocket_json_next(a)));
    assert_int_equal(hocket_json_kind(NULL), HOCKET_JSON_NULL);
    assert_string_equal(hocket_json_name(NULL, NULL), "");
    hocket_json_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_bad_buffers),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_secret),
        cmocka_unit_test(test_json_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
