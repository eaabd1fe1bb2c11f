/* Members of a person's own in a body: merged, the conversation's list kept out. */
#include "net/protocol/talk.h"

#include <string.h>

static const struct {
    const char *provider, *extra, *body;
} cases[] = {
    { "", "{\"a\":1}", "{\"model\":\"m\",\"a\":1,\"messages\":[]}" },
    { "", "{\"model\":\"other\"}", "{\"model\":\"other\",\"messages\":[]}" },
    { "", "{\"model\":null}", "{\"messages\":[]}" },
    { "", "{\"messages\":[1],\"input\":2,\"contents\":3}", "{\"model\":\"m\",\"messages\":[]}" },
    { "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":3}}",
        "{\"model\":\"m\",\"a\":{\"b\":3,\"c\":2},\"messages\":[]}" },
    { "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"c\":null}}",
        "{\"model\":\"m\",\"a\":{\"b\":1},\"messages\":[]}" },
    { "{\"a\":{\"b\":1}}", "{\"a\":7}", "{\"model\":\"m\",\"a\":7,\"messages\":[]}" },
    { "{\"a\":7}", "{\"a\":{\"b\":null,\"c\":{}}}",
        "{\"model\":\"m\",\"a\":{\"c\":{}},\"messages\":[]}" },
    { "{\"a\":[1,2]}", "{\"a\":[3]}", "{\"model\":\"m\",\"a\":[3],\"messages\":[]}" },
    { "{\"a\\u0062\":{\"x\":1}}", "{\"ab\":{\"y\":2}}",
        "{\"model\":\"m\",\"a\\u0062\":{\"x\":1,\"y\":2},\"messages\":[]}" },
    { "{}", "{\"a\":\"{\"}", "{\"model\":\"m\",\"a\":\"{\",\"messages\":[]}" },
};

static void test_cases(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct talk k;
        talk_open(&k, &hocket__proto_openai_chat);
        struct hocket__proto_traits traits = { .body = hocket__cstr(cases[i].provider) };
        k.q.traits = &traits;
        k.q.extra = hocket__cstr(cases[i].extra);
        assert_string_equal(talk_body(&k), cases[i].body);
        talk_close(&k);
    }
}

/* Objects deeper than what is merged stand as they were given. */
static void test_deep(void **state)
{
    (void) state;
    struct talk k;
    char deep[1024] = "";
    for (int i = 0; i < 100; i++)
        strcat(deep, "{\"a\":");
    strcat(deep, "null");
    for (int i = 0; i < 100; i++)
        strcat(deep, "}");
    talk_open(&k, &hocket__proto_openai_chat);
    k.q.extra = hocket__cstr(deep);
    assert_has(talk_body(&k), "{\"a\":null}");
    k.q.extra = HOCKET__STR("{\"a\":}");
    struct hocket__buf out;
    hocket__buf_init(&out, &k.t.a, 0);
    assert_int_equal(k.proto->write(&k.q, &out, &k.err), HOCKET_EINVAL);
    hocket__buf_deinit(&out);
    talk_close(&k);
}

/* Objects of ours get further members, in each protocol. */
static void test_protocols(void **state)
{
    (void) state;
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    k.q.max_tokens = 9;
    k.q.extra = HOCKET__STR(
        "{\"generationConfig\":{\"responseModalities\":[\"IMAGE\"],\"maxOutputTokens\":null}}");
    assert_string_equal(talk_body(&k),
        "{\"generationConfig\":{\"responseModalities\":[\"IMAGE\"]},\"contents\":[]}");
    talk_close(&k);
    talk_open(&k, &hocket__proto_ollama);
    k.q.seed = 3;
    k.q.extra = HOCKET__STR("{\"options\":{\"num_ctx\":8}}");
    assert_has(talk_body(&k), "\"options\":{\"seed\":3,\"num_ctx\":8},\"messages\":[");
    talk_close(&k);
    talk_open(&k, &hocket__proto_openai_responses);
    k.q.reasoning = "low";
    k.q.extra = HOCKET__STR("{\"reasoning\":{\"summary\":\"concise\"}}");
    assert_has(talk_body(&k), "\"reasoning\":{\"effort\":\"low\",\"summary\":\"concise\"}");
    talk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_protocols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
