#include "net/protocol/talk.h"

#define TOOLS                                                                                      \
    "[{\"name\":\"add\",\"description\":\"Adds\",\"parameters\":{\"type\":\"object\"}},{\"name\":" \
    "\"now\"}]"

static void add_work(struct talk *k)
{
    talk_add(k, "{\"role\":\"system\",\"text\":\"Be kind.\"}");
    talk_add(k, "{\"role\":\"user\",\"parts\":[{\"text\":\"What \\u00e9?\"},{\"text\":\"\"},"
                "{\"image\":{\"mime\":\"image/jpeg\",\"data\":\"/9j/"
                "\"}},{\"image\":{\"url\":\"https://x/y.png\"}},"
                "{\"image\":{\"url\":\"data:image/gif;base64,R0lG\"}}]}");
    talk_add(k, "{\"role\":\"assistant\",\"text\":\"Let me see.\",\"reasoning\":\"hm\",\"calls\":["
                "{\"id\":\"t1\",\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1}\"},"
                "{\"id\":\"t2\",\"name\":\"now\",\"arguments\":\"\"}]}");
    talk_add(k, "{\"role\":\"tool\",\"id\":\"t1\",\"name\":\"add\",\"text\":\"2\"}");
    talk_add(k, "{\"role\":\"tool\",\"id\":\"t2\",\"text\":\"\"}");
    talk_add(k, "{\"role\":\"assistant\",\"text\":\"2\",\"reasoning\":\"so\"}");
}

static void test_body(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_ollama);
    add_work(&k);
    k.q.model = "qwen3";
    k.q.system = HOCKET__STR("You are \"it\".");
    k.q.tools = HOCKET__STR(TOOLS);
    k.q.stream = true;
    k.q.temperature = 0.5;
    k.q.top_p = 0.9;
    k.q.top_k = 40;
    k.q.seed = 7;
    k.q.max_tokens = 1000;
    k.q.stop = HOCKET__STR("[\"END\"]");
    k.q.schema = HOCKET__STR("{\"type\":\"object\"}");
    k.q.reasoning = "low";
    k.q.extra = HOCKET__STR("{\"keep_alive\":\"5m\",\"options\":{\"num_ctx\":8192,\"seed\":1}}");
    assert_string_equal(talk_body(&k),
        "{\"model\":\"qwen3\",\"stream\":true,\"think\":true,\"format\":{\"type\":\"object\"},"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"add\",\"description\":\"Adds\","
        "\"parameters\":{\"type\":\"object\"}}},"
        "{\"type\":\"function\",\"function\":{\"name\":\"now\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{}}}}],"
        "\"options\":{\"temperature\":0.5,\"top_p\":0.9,\"top_k\":40,\"seed\":1,\"num_predict\":"
        "1000,\"stop\":"
        "[\"END\"],"
        "\"num_ctx\":8192},\"keep_alive\":\"5m\","
        "\"messages\":[{\"role\":\"system\",\"content\":\"You are \\\"it\\\".\"},"
        "{\"role\":\"system\",\"content\":\"Be kind.\"},"
        "{\"role\":\"user\",\"content\":\"What \\u00e9?\\n[image: "
        "https://x/y.png]\",\"images\":[\"/9j/\",\"R0lG\"]},"
        "{\"role\":\"assistant\",\"content\":\"Let me see.\",\"thinking\":\"hm\",\"tool_calls\":["
        "{\"id\":\"t1\",\"function\":{\"name\":\"add\",\"arguments\":{\"a\":1}}},"
        "{\"id\":\"t2\",\"function\":{\"name\":\"now\",\"arguments\":{}}}]},"
        "{\"role\":\"tool\",\"content\":\"2\",\"tool_name\":\"add\",\"tool_call_id\":\"t1\"},"
        "{\"role\":\"tool\",\"content\":\"\",\"tool_call_id\":\"t2\"},"
        "{\"role\":\"assistant\",\"content\":\"2\"}]}");
    talk_close(&k);
}

static void test_choices(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_ollama);
    assert_string_equal(talk_body(&k), "{\"model\":\"m\",\"stream\":false,\"messages\":[]}");
    k.q.tools = HOCKET__STR(TOOLS);
    k.q.tool_choice = "none";
    assert_lacks(talk_body(&k), "tools");
    k.q.tool_choice = "now";
    assert_has(talk_body(&k), "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"now\"");
    k.q.tool_choice = "other";
    assert_lacks(talk_body(&k), "tools");
    k.q.tool_choice = "required";
    assert_has(talk_body(&k), "\"name\":\"add\"");
    k.q.reasoning = "none";
    assert_has(talk_body(&k), "\"think\":false");
    k.q.model = "gpt-oss:20b";
    k.q.reasoning = "minimal";
    assert_has(talk_body(&k), "\"think\":\"low\"");
    assert_string_equal(talk_url(&k, "http://h:11434"), "http://h:11434/api/chat");
    assert_string_equal(talk_url(&k, "http://h/api"), "http://h/api/chat");
    static const struct hocket__proto_traits traits = { .no_json_schema = true };
    k.q.traits = &traits;
    k.q.schema = HOCKET__STR("{}");
    assert_has(talk_body(&k), "{\"role\":\"system\",\"content\":\"Answer with one JSON object");
    assert_has(talk_body(&k), "\"format\":\"json\"");
    talk_close(&k);
}

static void test_stream(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_ollama);
    const char *const events[] = {
        "{\"model\":\"q\",\"message\":{\"thinking\":\"hm\",\"content\":\"\"},\"done\":false}",
        "{\"message\":{\"content\":\"a\\u00e9\"}}", "",
        "{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{\"x\":1},\"name\":\"f\"}},"
        "{\"id\":\"i\",\"function\":{\"index\":1,\"name\":\"g\",\"arguments\":\"{\\\"y\\\":2}\"}},"
        "3]}}",
        "{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":4,\"prompt_eval_count\":3}", NULL
    };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.text, "a\xC3\xA9");
    assert_text(k.reply.reasoning, "hm");
    assert_int_equal(k.reply.n_calls, 2);
    assert_text(k.reply.calls[1].arguments, "{\"y\":2}");
    assert_text(k.deltas, "{\"x\":1}{\"y\":2}");
    assert_text(k.reply.usage_raw, "{\"prompt_eval_count\":3,\"eval_count\":4}");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_CALLS);
    talk_keep(&k);
    assert_string_equal(talk_wire(&k),
        "{\"role\":\"assistant\",\"content\":\"a\xC3\xA9\",\"thinking\":\"hm\",\"tool_calls\":["
        "{\"id\":\"call_1\",\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1}}},"
        "{\"id\":\"i\",\"function\":{\"name\":\"g\",\"arguments\":{\"y\":2}}}]}");
    talk_close(&k);
}

static void test_errors(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_ollama);
    const char *const failed[] = { "{\"message\":{\"content\":\"a\"}}",
        "{\"error\":\"model runner has stopped\"}", NULL };
    assert_int_equal(talk_stream(&k, failed), 0);
    assert_string_equal(k.reply.error.where, "stream");
    assert_text(k.reply.error.message, "model runner has stopped");
    assert_text(k.reply.text, "a");
    const char *const none[] = { "{\"message\":{\"content\":\"a\"},\"error\":\"\"}",
        "{\"done\":true,\"error\":false}", NULL };
    assert_int_equal(talk_stream(&k, none), 0);
    assert_null(k.reply.error.where);
    assert_text(k.reply.text, "a");
    const char *const cut[] = { "{\"message\":{\"content\":\"a\"}}", NULL };
    assert_int_equal(talk_stream(&k, cut), HOCKET_ETRUNCATED);
    const char *const broken[] = { "{\"message\":{\"content\":\"a\"}} x", "{\"done\":true}", NULL };
    assert_int_equal(talk_stream(&k, broken), HOCKET_EPROTOCOL);
    assert_int_equal(talk_read(&k, "{\"done\":tr", true), HOCKET_ETRUNCATED);
    talk_close(&k);
}

/* A whole body; and lines although no stream was asked for. */
static void test_body_read(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_ollama);
    assert_int_equal(talk_read(&k,
                         "{\n \"message\": {\"content\": \"a\"},\n \"done\": true, "
                         "\"done_reason\":\"length\"}\n",
                         false),
        0);
    assert_text(k.reply.text, "a");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_LENGTH);
    assert_int_equal(
        talk_read(&k,
            "{\"message\":{\"content\":\"a\"}}\n{\"message\":{\"content\":\"b\"},\"done\":true}",
            false),
        0);
    assert_text(k.reply.text, "ab");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_NONE);
    assert_int_equal(talk_read(&k, "{\"error\":\"no such model\"}", false), 0);
    assert_string_equal(k.reply.error.where, "body_200");
    assert_int_equal(talk_read(&k, "{\"message\":{\"content\":\"a\"}", false), HOCKET_ETRUNCATED);
    talk_close(&k);
}

/* Some versions number calls, from 0 in each answer or each line. */
static void test_index(void **state)
{
    static const char answer[] =
        "{\"done\":true,\"done_reason\":\"stop\",\"message\":{\"tool_calls\":["
        "{\"function\":{\"index\":0,\"name\":\"a\",\"arguments\":{}}},"
        "{\"function\":{\"name\":\"b\",\"index\":7,\"arguments\":{}}},"
        "{\"function\":{\"name\":\"c\",\"arguments\":{}}},"
        "{\"function\":{\"index\":-3,\"name\":\"d\"}},"
        "{\"function\":{\"index\":\"x\",\"name\":\"e\"}}]}}";
    static const int64_t want[] = { 0, 7, -1, -1, -1 };
    struct talk k;
    talk_open(&k, &hocket__proto_ollama);
    assert_int_equal(talk_read(&k, answer, false), 0);
    assert_int_equal(k.reply.n_calls, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(k.reply.calls[i].index, want[i]);
    talk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_body_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
