/* A program that serves its own tools and agents to MCP clients, over a transport of its own. */

#include "host/run_util.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct client {
    struct outcome out; /* first: keep_outcome fills it */
    char said[16][2048];
    int n;
};

static void on_event(hocket_host *h, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct client *c = ud;
    (void) h;
    (void) run;
    if (strcmp(e->type, "mcp_message") != 0)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    assert_true(c->n < 16);
    snprintf(c->said[c->n++], sizeof(c->said[0]), "%s",
        hocket_json_text(hocket_json_get(event, "text"), "", NULL));
    hocket_json_free(event);
}

static void on_look(hocket_host *h, const struct hocket_tool_call *call, void *ud)
{
    (void) ud;
    assert_string_equal(call->args, "{\"at\":\"the sea\"}");
    assert_int_equal(hocket_tool_answer(h, call->id, 0, "a fish", 0), 0);
}

static void say(hocket_host *h, uint64_t id, struct client *c, const char *text, int answers)
{
    struct hocket_error e;
    int before = c->n;
    assert_int_equal(hocket_run_answer(h, id, "message", text, 0, &e), 0);
    for (int i = 0; i < 2000 && c->n < before + answers; i++)
        hocket_wait(h, 10);
    assert_int_equal(c->n, before + answers);
}

static uint64_t serve(hocket_host *h, const char *args, struct client *c)
{
    struct hocket_error e;
    uint64_t id;
    assert_int_equal(
        hocket_call_start(h, "mcp_serve", args, &id, on_event, keep_outcome, c, &e), 0);
    for (int i = 0; i < 20; i++)
        hocket_pump(h, 1000);
    return id;
}

static void test_own_transport(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    struct hocket_error e;
    struct client c = { .n = 0 };
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    struct hocket_tool_spec look = { .size = sizeof(look),
        .name = "look",
        .description = "Looks",
        .parameters = "{\"type\":\"object\",\"properties\":{\"at\":{\"type\":\"string\"}}}" };
    assert_int_equal(hocket_tool_add(h, &look, on_look, NULL, NULL, &e), 0);
    assert_int_equal(hocket_load_buffer(h, "smith.md",
                         "---\nname: smith\ndescription: A smith\n---\nYou forge.", 0, &e),
        0);
    uint64_t id = serve(
        h, "{\"tools\":[\"look\"],\"targets\":[\"buffer:smith.md\"],\"transport\":\"events\"}", &c);
    say(h, id, &c, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}",
        1);
    assert_non_null(strstr(c.said[0], "\"name\":\"look\""));
    assert_non_null(strstr(c.said[0], "\"name\":\"smith\""));
    say(h, id, &c,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"look\","
        "\"arguments\":{\"at\":\"the sea\"}," META "}}",
        1);
    assert_non_null(strstr(c.said[1], "a fish"));
    say(h, id, &c, "nonsense", 1);
    assert_non_null(strstr(c.said[2], "-32700"));
    assert_int_equal(hocket_run_answer(h, id, "other", "x", 0, &e), HOCKET_ENOTFOUND);
    assert_int_equal(hocket_run_answer(h, id, "message", "", 0, &e), 0);
    wait_for(h, &c.out);
    assert_int_equal(c.out.status, 0);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

static void test_closed_meanwhile(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    struct client c = { .n = 0 };
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    serve(h, "{\"transport\":\"events\"}", &c);
    hocket_close(h, NULL, NULL);
    assert_int_equal(c.out.status, HOCKET_ECANCELLED);
    test_alloc_check(&a);
}

static void test_wrong(void **state)
{
    (void) state;
    struct test_alloc a;
    struct hocket_options o;
    struct client c = { .n = 0 }, other = { .n = 0 };
    hocket_options_init(&o, sizeof(o));
    hocket_host *h = host_with(&a, &o);
    serve(h, "{\"tools\":[\"nobody\"],\"transport\":\"events\"}", &c);
    wait_for(h, &c.out);
    assert_int_equal(c.out.status, HOCKET_ENOTFOUND);
    serve(h, "{\"targets\":[\"buffer:nobody\"],\"transport\":\"events\"}", &other);
    wait_for(h, &other.out);
    assert_int_equal(other.out.status, HOCKET_EINVAL);
    hocket_close(h, NULL, NULL);
    test_alloc_check(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_own_transport),
        cmocka_unit_test(test_closed_meanwhile), cmocka_unit_test(test_wrong) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
