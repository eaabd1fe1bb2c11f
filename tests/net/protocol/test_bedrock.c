/* Converse: what is sent, what is read. Streams go through the scripted model's tests; their frames through
 * test_eventstream. */
#include "net/protocol/talk.h"

#include <string.h>

#define TOOLS                                                                                      \
    "[{\"name\":\"add\",\"description\":\"Adds\",\"parameters\":{\"type\":\"object\"}},{\"name\":" \
    "\"now\"}]"
#define POINT "{\"cachePoint\":{\"type\":\"default\"}}"

static void add_work(struct talk *k)
{
    talk_add(k, "{\"role\":\"system\",\"text\":\"Be kind.\"}");
    talk_add(k,
        "{\"role\":\"user\",\"parts\":[{\"text\":\"What?\"},{\"image\":{\"mime\":\"image/png\","
        "\"data\":\"iVBO\"}},{\"image\":{\"url\":\"https://x/y.png\"}},{\"file\":{\"mime\":"
        "\"application/pdf\",\"data\":\"JVBE\",\"name\":\"a b.pdf\"}}]}");
    talk_add(k,
        "{\"role\":\"assistant\",\"text\":\"Let me see.\",\"reasoning\":\"hm\",\"calls\":["
        "{\"id\":\"t.1\",\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1}\"},"
        "{\"id\":\"t2\",\"name\":\"now\",\"arguments\":\"\"}],\"replay\":{\"protocol\":\"bedrock\","
        "\"value\":[{\"reasoningContent\":{\"reasoningText\":{\"text\":\"hm\",\"signature\":\"s\"}}"
        "}]}}");
    talk_add(k, "{\"role\":\"tool\",\"id\":\"t.1\",\"name\":\"add\",\"text\":\"2\"}");
    talk_add(k, "{\"role\":\"tool\",\"id\":\"t2\",\"name\":\"now\",\"text\":\"\",\"error\":true}");
    talk_add(k, "{\"role\":\"user\",\"text\":\"So?\"}");
}

static void test_body(void **state)
{
    (void) state;
    struct talk k;
    talk_open(&k, &hocket__proto_bedrock);
    add_work(&k);
    k.q.model = "amazon.nova-pro-v1:0";
    k.q.system = HOCKET__STR("You are it.");
    k.q.tools = HOCKET__STR(TOOLS);
    k.q.tool_choice = "add";
    k.q.temperature = 0.5;
    k.q.top_p = 0.9;
    k.q.max_tokens = 1000;
    k.q.stop = HOCKET__STR("[\"END\"]");
    k.q.reasoning = "low"; /* there is no word for it */
    k.q.schema = HOCKET__STR("{\"type\":\"object\",\"properties\":{}}");
    assert_string_equal(talk_body(&k),
        "{\"inferenceConfig\":{\"maxTokens\":1000,\"temperature\":0.5,\"topP\":0.9,"
        "\"stopSequences\":[\"END\"]},"
        "\"outputConfig\":{\"textFormat\":{\"type\":\"json_schema\",\"structure\":{\"jsonSchema\":{"
        "\"schema\":"
        "\"{\\\"type\\\":\\\"object\\\",\\\"properties\\\":{},"
        "\\\"additionalProperties\\\":false}\"}}}},"
        "\"toolConfig\":{\"tools\":[{\"toolSpec\":{\"name\":\"add\",\"description\":\"Adds\","
        "\"inputSchema\":{\"json\":"
        "{\"type\":\"object\"}}}},{\"toolSpec\":{\"name\":\"now\",\"inputSchema\":{\"json\":{"
        "\"type\":\"object\","
        "\"properties\":{}}}}}],\"toolChoice\":{\"tool\":{\"name\":\"add\"}}},"
        "\"system\":[{\"text\":\"You are it.\"},{\"text\":\"Be kind.\"}],"
        "\"messages\":[{\"content\":[{\"text\":\"What?\"},{\"image\":{\"format\":\"png\","
        "\"source\":{\"bytes\":\"iVBO\"}}},"
        "{\"text\":\"[a picture, which cannot be shown "
        "here]\"},{\"document\":{\"format\":\"pdf\",\"name\":\"a-b-pdf\","
        "\"source\":{\"bytes\":\"JVBE\"}}}],\"role\":\"user\"},\n"
        "{\"content\":[{\"reasoningContent\":{\"reasoningText\":{\"text\":\"hm\",\"signature\":"
        "\"s\"}}},"
        "{\"text\":\"Let me "
        "see.\"},{\"toolUse\":{\"toolUseId\":\"t_1\",\"name\":\"add\",\"input\":{\"a\":1}}},"
        "{\"toolUse\":{\"toolUseId\":\"t2\",\"name\":\"now\",\"input\":{}}}],\"role\":"
        "\"assistant\"},\n"
        "{\"content\":[{\"toolResult\":{\"toolUseId\":\"t_1\",\"content\":[{\"text\":\"2\"}]}},"
        "{\"toolResult\":{\"toolUseId\":\"t2\",\"content\":[{\"text\":\"(nothing)\"}],\"status\":"
        "\"error\"}},"
        "{\"text\":\"So?\"}],\"role\":\"user\"}]}");
    talk_close(&k);
}

/* Claude: thinking, and places where the provider's cache begins. */
static void test_claude(void **state)
{
    (void) state;
    struct talk k;
    talk_open(&k, &hocket__proto_bedrock);
    add_work(&k);
    k.q.model = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
    k.q.tools = HOCKET__STR(TOOLS);
    k.q.reasoning = "low";
    k.q.max_tokens = 1000;
    k.q.temperature = 0.5;
    const char *body = talk_body(&k);
    assert_has(body, "\"inferenceConfig\":{\"maxTokens\":5096}");
    assert_has(body, "\"additionalModelRequestFields\":{\"thinking\":{\"type\":\"enabled\","
                     "\"budget_tokens\":4096}}");
    assert_has(body, "\"properties\":{}}}}}," POINT "]}");
    assert_has(body, "{\"text\":\"Be kind.\"}," POINT "]");
    assert_has(body, "{\"text\":\"So?\"}," POINT "],\"role\":\"user\"}]}");
    assert_has(body, "{\"bytes\":\"JVBE\"}}}," POINT "],\"role\":\"user\"},\n");
    k.q.extra = HOCKET__STR("{\"cachePoint\":null}");
    assert_lacks(talk_body(&k), "cachePoint");
    k.q.model = "global.anthropic.claude-opus-5-v1:0";
    assert_has(talk_body(&k),
        "{\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"low\"}}");
    k.q.tool_choice = "required";
    assert_lacks(talk_body(&k), "thinking");
    assert_has(talk_body(&k), "\"toolChoice\":{\"any\":{}}");
    k.q.tool_choice = "none";
    assert_has(talk_body(&k), "\"toolConfig\":{\"tools\":[");
    assert_lacks(talk_body(&k), "toolChoice");
    k.q.tools = HOCKET__STR("[]");
    assert_has(talk_body(&k), "\"toolConfig\":{\"tools\":[{\"toolSpec\":{\"name\":\"none\"");
    talk_close(&k);
    talk_open(&k, &hocket__proto_bedrock);
    talk_add(&k, "{\"role\":\"user\",\"text\":\"{\\\"toolUse\\\":{\\\"toolUseId\\\":1}}\"}");
    assert_lacks(talk_body(&k), "toolConfig");
    talk_close(&k);
}

static void test_url(void **state)
{
    (void) state;
    struct talk k;
    talk_open(&k, &hocket__proto_bedrock);
    k.q.model = "arn:aws:bedrock:us-east-1:1:inference-profile/x.y";
    assert_string_equal(talk_url(&k, "https://h"),
        "https://h/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx.y/converse");
    k.q.stream = true;
    k.q.model = "m-v1:0";
    assert_string_equal(talk_url(&k, "https://h"), "https://h/model/m-v1%3A0/converse-stream");
    talk_close(&k);
}

static void test_whole(void **state)
{
    (void) state;
    struct talk k;
    talk_open(&k, &hocket__proto_bedrock);
    assert_int_equal(
        talk_read(&k,
            "{\"output\":{\"message\":{\"role\":\"assistant\",\"content\":[{\"reasoningContent\":"
            "{\"reasoningText\":{\"text\":\"h\\\"m\",\"signature\":\"s1\"}}},{\"reasoningContent\":"
            "{"
            "\"redactedContent\":\"cmVk\"}},{\"text\":\"Hi "
            "\"},{\"other\":{\"a\":[1]}},{\"text\":\"you\"},"
            "{\"toolUse\":{\"toolUseId\":\"t1\",\"name\":\"add\",\"input\":{\"a\":1}}}]}},"
            "\"stopReason\":\"tool_use\",\"usage\":{\"inputTokens\":5,\"outputTokens\":7,"
            "\"cacheReadInputTokens\":2,\"cacheWriteInputTokens\":3},\"metrics\":{\"latencyMs\":1}"
            "}",
            false),
        0);
    assert_text(k.reply.text, "Hi you");
    assert_text(k.reply.reasoning, "h\"m");
    assert_int_equal(k.reply.n_calls, 1);
    assert_text(k.reply.calls[0].arguments, "{\"a\":1}");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_CALLS);
    assert_int_equal(k.reply.usage.input, 5);
    assert_int_equal(k.reply.usage.cached, 2);
    assert_int_equal(k.reply.usage.cache_write, 3);
    assert_text(k.reply.replay,
        "[{\"reasoningContent\":{\"reasoningText\":{\"text\":\"h\\\"m\",\"signature\":\"s1\"}}},"
        "{\"reasoningContent\":{\"redactedContent\":\"cmVk\"}}]");
    talk_close(&k);
}

static void test_no_answers(void **state)
{
    static const char *const bodies[] = { "{}", "{\"output\":{}}", "{\"output\":{\"message\":1}}",
        "[]", "{\"output\":" };
    (void) state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct talk k;
        talk_open(&k, &hocket__proto_bedrock);
        int rc = talk_read(&k, bodies[i], false);
        assert_true(rc == HOCKET_EPROTOCOL || rc == HOCKET_ETRUNCATED);
        talk_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_claude),
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_no_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
