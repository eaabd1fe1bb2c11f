#include "net/protocol/talk.h"

#include <stdio.h>

#define TOOLS                                                                                      \
    "[{\"name\":\"add\",\"description\":\"Adds\",\"parameters\":{\"type\":\"object\"}},{\"name\":" \
    "\"now\",\"strict\":true}]"
#define SKIP "\"thoughtSignature\":\"skip_thought_signature_validator\""

/* ---- Requests ---- */

static void add_work(struct talk *k)
{
    talk_add(k, "{\"role\":\"system\",\"text\":\"Be kind.\"}");
    talk_add(k, "{\"role\":\"user\",\"parts\":[{\"text\":\"What \\u00e9?\"},{\"text\":\"\"},"
                "{\"image\":{\"mime\":\"image/jpeg\",\"data\":\"/9j/"
                "\"}},{\"image\":{\"url\":\"https://x/y.png\"}}]}");
    talk_add(k, "{\"role\":\"assistant\",\"text\":\"Let me see.\",\"reasoning\":\"hm\",\"calls\":["
                "{\"id\":\"t1\",\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1}\"},"
                "{\"id\":\"t2\",\"name\":\"now\",\"arguments\":\"\"}]}");
    talk_add(k, "{\"role\":\"tool\",\"id\":\"t1\",\"name\":\"add\",\"text\":\"2\"}");
    talk_add(
        k, "{\"role\":\"tool\",\"id\":\"t2\",\"name\":\"now\",\"text\":\"bad\",\"error\":true}");
    talk_add(k, "{\"role\":\"user\",\"text\":\"So?\"}");
}

static void test_body(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    add_work(&k);
    k.q.model = "gemini-2.5-flash";
    k.q.system = HOCKET__STR("You are \"it\".");
    k.q.tools = HOCKET__STR(TOOLS);
    k.q.tool_choice = "add";
    k.q.temperature = 0.5;
    k.q.top_p = 0.9;
    k.q.top_k = 40;
    k.q.seed = 7;
    k.q.max_tokens = 1000;
    k.q.stop = HOCKET__STR("[\"END\"]");
    k.q.reasoning = "low";
    k.q.extra = HOCKET__STR("{\"safetySettings\":[],\"generationConfig\":{\"seed\":1,"
                            "\"candidateCount\":1},\"contents\":1}");
    assert_string_equal(talk_body(&k),
        "{\"systemInstruction\":{\"parts\":[{\"text\":\"You are \\\"it\\\".\"},{\"text\":\"Be "
        "kind.\"}]},"
        "\"tools\":[{\"functionDeclarations\":[{\"name\":\"add\",\"description\":\"Adds\","
        "\"parametersJsonSchema\":{\"type\":\"object\"}},{\"name\":\"now\"}]}],"
        "\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\",\"allowedFunctionNames\":["
        "\"add\"]}},"
        "\"generationConfig\":{\"temperature\":0.5,\"topP\":0.9,\"topK\":40,\"maxOutputTokens\":"
        "1000,"
        "\"stopSequences\":[\"END\"],\"seed\":1,"
        "\"thinkingConfig\":{\"includeThoughts\":true,\"thinkingBudget\":4096},"
        "\"candidateCount\":1},"
        "\"safetySettings\":[],"
        "\"contents\":[{\"parts\":[{\"text\":\"What "
        "\\u00e9?\"},{\"inlineData\":{\"mimeType\":\"image/jpeg\",\"data\":\"/9j/\"}},"
        "{\"fileData\":{\"fileUri\":\"https://x/y.png\"}}],\"role\":\"user\"},\n"
        "{\"parts\":[{\"text\":\"Let me see.\"},"
        "{\"functionCall\":{\"id\":\"t1\",\"name\":\"add\",\"args\":{\"a\":1}}," SKIP "},"
        "{\"functionCall\":{\"id\":\"t2\",\"name\":\"now\",\"args\":{}}}],\"role\":\"model\"},\n"
        "{\"parts\":[{\"functionResponse\":{\"id\":\"t1\",\"name\":\"add\",\"response\":{"
        "\"output\":\"2\"}}},"
        "{\"functionResponse\":{\"id\":\"t2\",\"name\":\"now\",\"response\":{\"error\":\"bad\"}}}],"
        "\"role\":\"user\"},\n"
        "{\"parts\":[{\"text\":\"So?\"}],\"role\":\"user\"}]}");
    talk_close(&k);
}

static void test_small_body(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    assert_string_equal(talk_body(&k), "{\"contents\":[]}");
    k.q.tools = HOCKET__STR("[]");
    k.q.tool_choice = "required";
    assert_string_equal(talk_body(&k), "{\"contents\":[]}");
    k.q.tools = HOCKET__STR("[{\"name\":\"f\"}]");
    assert_has(talk_body(&k), "{\"functionCallingConfig\":{\"mode\":\"ANY\"}}");
    k.q.extra = HOCKET__STR("{\"contents\":[],\"toolConfig\":null}");
    assert_has(talk_body(&k), "]}],\"contents\":[]}");
    static const struct hocket__proto_traits traits = { .no_json_schema = true };
    k.q.traits = &traits;
    k.q.schema = HOCKET__STR("{}");
    assert_has(talk_body(&k), "{\"parts\":[{\"text\":\"Answer with one JSON object");
    assert_lacks(talk_body(&k), "responseJsonSchema");
    /* tools and JSON together are refused by models before 3 */
    k.q.traits = NULL;
    k.q.model = "gemini-2.5-flash";
    assert_has(talk_body(&k), "{\"parts\":[{\"text\":\"Answer with one JSON object");
    assert_lacks(talk_body(&k), "response");
    k.q.model = "gemini-3-pro";
    assert_has(talk_body(&k), "\"responseJsonSchema\":{}");
    assert_lacks(talk_body(&k), "Answer with one JSON object");
    k.q.model = "gemini-2.5-flash";
    k.q.tools = HOCKET__STR("[]");
    assert_has(talk_body(&k), "\"responseMimeType\":\"application/json\"");
    talk_close(&k);
}

static void test_urls(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    k.q.model = "gemini-3";
    assert_string_equal(
        talk_url(&k, "https://g"), "https://g/v1beta/models/gemini-3:generateContent");
    k.q.stream = true;
    assert_string_equal(
        talk_url(&k, "https://g/v1"), "https://g/v1/models/gemini-3:streamGenerateContent?alt=sse");
    assert_string_equal(
        talk_url(&k, "https://l-a.com/v1beta1/projects/p/locations/l/publishers/google"),
        "https://l-a.com/v1beta1/projects/p/locations/l/publishers/google/models/"
        "gemini-3:streamGenerateContent?alt=sse");
    k.q.model = "tunedModels/a?b";
    assert_string_equal(talk_url(&k, "https://g"),
        "https://g/v1beta/tunedModels/a%3Fb:streamGenerateContent?alt=sse");
    talk_close(&k);
}

static void test_thinking(void **state)
{
    static const struct {
        const char *model, *reasoning, *expected;
    } cases[] = {
        { "gemini-2.5-flash", "none", "{\"includeThoughts\":false,\"thinkingBudget\":0}" },
        { "gemini-2.5-flash", "high", "{\"includeThoughts\":true,\"thinkingBudget\":24576}" },
        { "gemini-2.5-flash", "777", "{\"includeThoughts\":true,\"thinkingBudget\":777}" },
        { "gemini-2.5-pro", "none", "{\"includeThoughts\":false,\"thinkingBudget\":128}" },
        { "gemini-2.5-pro", "777", "{\"includeThoughts\":true,\"thinkingBudget\":777}" },
        { "gemini-3-flash-preview", "777", "{\"includeThoughts\":true,\"thinkingBudget\":777}" },
        { "gemini-3-flash-preview", "medium",
            "{\"includeThoughts\":true,\"thinkingLevel\":\"medium\"}" },
        { "gemini-3-flash-preview", "none",
            "{\"includeThoughts\":false,\"thinkingLevel\":\"minimal\"}" },
        { "gemini-3-pro-preview", "minimal",
            "{\"includeThoughts\":true,\"thinkingLevel\":\"low\"}" },
    };
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        k.q.model = cases[i].model;
        k.q.reasoning = cases[i].reasoning;
        assert_has(talk_body(&k), cases[i].expected);
    }
    talk_close(&k);
}

/* ---- Answers and their way back ---- */

#define PARTS(p) "{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[" p "]}}]}"
#define LAST                                                                                       \
    "{\"usageMetadata\":{\"promptTokenCount\":3},\"candidates\":[{\"finishReason\":\"STOP\"}]}"

/* Ids stand where the wire had some, and nowhere else, whatever they look like. */
static void test_replay(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    const char *const events[] = { PARTS("{\"thought\":true,\"text\":\"I think\"}"),
        PARTS("{\"text\":\"One \"}"), PARTS("{\"text\":\"\\u00e9\"}"),
        PARTS("{\"functionCall\":{\"args\":{\"x\": "
              "1},\"name\":\"f\"},\"thoughtSignature\":\"Sig\\/"
              "1==\"},{\"functionCall\":{\"name\":\"f\",\"args\":{}}}"),
        PARTS("{\"text\":\"two\"}"), PARTS("{\"text\":\", yes\",\"thought\":true}"),
        PARTS("{\"text\":\" three\"}"), PARTS("{\"text\":\"\",\"thoughtSignature\":\"S2\"}"), LAST,
        NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.text, "One \xC3\xA9two three");
    assert_text(k.reply.reasoning, "I think, yes");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_CALLS);
    assert_text(k.deltas, "{\"x\": 1}{}");
    talk_keep(&k);
    talk_add(&k, "{\"role\":\"tool\",\"id\":\"call_1\",\"name\":\"f\",\"text\":\"r\"}");
    talk_add(&k, "{\"role\":\"tool\",\"id\":\"call_2\",\"name\":\"f\",\"text\":\"s\"}");
    assert_string_equal(talk_wire(&k),
        "{\"parts\":[{\"text\":\"One \xC3\xA9\"},"
        "{\"functionCall\":{\"args\":{\"x\": "
        "1},\"name\":\"f\"},\"thoughtSignature\":\"Sig\\/1==\"},"
        "{\"functionCall\":{\"name\":\"f\",\"args\":{}}},{\"text\":\"two three\"},"
        "{\"text\":\"\",\"thoughtSignature\":\"S2\"}],\"role\":\"model\"},\n"
        "{\"parts\":[{\"functionResponse\":{\"name\":\"f\",\"response\":{\"output\":\"r\"}}},"
        "{\"functionResponse\":{\"name\":\"f\",\"response\":{\"output\":\"s\"}}}],\"role\":"
        "\"user\"}");

    const char *const named[] = {
        PARTS("{\"functionCall\":{\"id\":\"call_9\",\"name\":\"g\",\"args\":{}}}"), LAST, NULL
    };
    assert_int_equal(talk_stream(&k, named), 0);
    talk_keep(&k);
    talk_add(&k, "{\"role\":\"tool\",\"id\":\"call_9\",\"name\":\"g\",\"text\":\"r\"}");
    assert_has(talk_wire(&k), "{\"functionResponse\":{\"id\":\"call_9\",\"name\":\"g\",");
    talk_close(&k);
}

static void test_no_replay(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    const char *const events[] = { PARTS("{\"thought\":true,\"text\":\"t\"}"),
        PARTS("{\"text\":\"a\"}"), LAST, NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_int_equal(k.reply.replay.len, 0);
    const char *const server[] = { PARTS("{\"text\":\"a\"}"),
        PARTS("{\"executableCode\":{\"code\":\"1\"}},{\"videoMetadata\":{\"x\":1},\"inlineData\":{"
              "\"data\":\"\"}}"),
        LAST, NULL };
    assert_int_equal(talk_stream(&k, server), 0);
    assert_text(k.reply.server_items, "[\"executableCode\",\"inlineData\"]");
    assert_text(k.reply.replay, "[{\"text\":\"a\"},{\"executableCode\":{\"code\":\"1\"}},"
                                "{\"videoMetadata\":{\"x\":1},\"inlineData\":{\"data\":\"\"}}]");
    talk_close(&k);
}

/* ---- Arguments in pieces ---- */

#define CALL(c)   PARTS("{\"functionCall\":{" c "}}")
#define PIECES(p) CALL("\"willContinue\":true,\"partialArgs\":[" p "]")

static int read_pieces(struct talk *k, const char *pieces)
{
    const char *const events[] = {
        PARTS(
            "{\"thoughtSignature\":\"S\",\"functionCall\":{\"willContinue\":true,\"name\":\"f\"}}"),
        pieces, CALL(""), LAST, NULL
    };
    return talk_stream(k, events);
}

static void test_pieces(void **state)
{
    static const struct {
        const char *pieces, *arguments;
    } cases[] = {
        { PIECES(""), "" },
        { PIECES(
              "{\"jsonPath\":\"$.a\",\"stringValue\":\"x\\n\",\"willContinue\":true},{"
              "\"jsonPath\":\"$.a\",\"stringValue\":\"\\\"y\"},"
              "{\"jsonPath\":\"$.b\",\"numberValue\":-1.5e3},{\"jsonPath\":\"$.c\",\"boolValue\":"
              "false},{\"nullValue\":null,\"jsonPath\":\"$.d\"}"),
            "{\"a\":\"x\\n\\\"y\",\"b\":-1.5e3,\"c\":false,\"d\":null}" },
        { PIECES(
              "{\"jsonPath\":\"$.l[0].a.b\",\"numberValue\":1},{\"jsonPath\":\"$.l[0].a.c\","
              "\"numberValue\":2},"
              "{\"jsonPath\":\"$.l[0].d[0][0]\",\"stringValue\":\"\"},{\"jsonPath\":\"$.l[0].d[0]"
              "[1]\",\"numberValue\":3},"
              "{\"jsonPath\":\"$.l[1].a\",\"numberValue\":4},{\"jsonPath\":\"$.m\","
              "\"numberValue\":5}"),
            "{\"l\":[{\"a\":{\"b\":1,\"c\":2},\"d\":[[\"\",3]]},{\"a\":4}],\"m\":5}" },
        { PIECES(
              "{\"jsonPath\":\"$['odd \\\" "
              "k.e[y']\",\"numberValue\":1},{\"jsonPath\":\"$[\\\"b\\\"].c\",\"numberValue\":2}"),
            "{\"odd \\\" k.e[y\":1,\"b\":{\"c\":2}}" },
    };
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char replay[512];
        assert_int_equal(read_pieces(&k, cases[i].pieces), 0);
        assert_text(k.reply.calls[0].arguments, cases[i].arguments);
        assert_text(k.deltas, cases[i].arguments);
        snprintf(replay, sizeof(replay),
            "[{\"thoughtSignature\":\"S\",\"functionCall\":{\"name\":\"f\",\"args\":%s}}]",
            *cases[i].arguments ? cases[i].arguments : "{}");
        assert_text(k.reply.replay, replay);
    }
    talk_close(&k);
}

/* The part that ends a call may be missing. */
static void test_open_pieces(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    const char *const events[] = { CALL("\"name\":\"f\",\"willContinue\":true"),
        PIECES("{\"jsonPath\":\"$.a[0]\",\"stringValue\":\"x\",\"willContinue\":true}"),
        CALL("\"name\":\"g\",\"willContinue\":true"),
        PIECES("{\"jsonPath\":\"$.b\",\"stringValue\":\"y\",\"willContinue\":true}"), LAST, NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.calls[0].arguments, "{\"a\":[\"x\"]}");
    assert_text(k.reply.calls[1].arguments, "{\"b\":\"y\"}");
    assert_text(k.reply.replay, "[{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\":[\"x\"]}}},"
                                "{\"functionCall\":{\"name\":\"g\",\"args\":{\"b\":\"y\"}}}]");
    talk_close(&k);
}

static void test_bad_pieces(void **state)
{
    static const char *const cases[] = {
        PIECES("{\"jsonPath\":\"$[0]\",\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$\",\"numberValue\":1}"),
        PIECES(
            "{\"jsonPath\":\"$.a\",\"numberValue\":1},{\"jsonPath\":\"$.a.b\",\"numberValue\":1}"),
        PIECES(
            "{\"jsonPath\":\"$.a.b\",\"numberValue\":1},{\"jsonPath\":\"$.a\",\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$.a[1]\",\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$.a[0]\",\"numberValue\":1},{\"jsonPath\":\"$.a[2]\","
               "\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$.a[0]\",\"numberValue\":1},{\"jsonPath\":\"$.a.b\","
               "\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$.a[\",\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$.a[x]\",\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$..a\",\"numberValue\":1}"),
        PIECES("{\"jsonPath\":\"$.a\",\"numberValue\":{}}"),
        PIECES("{\"jsonPath\":\"$.a\"}"),
    };
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(read_pieces(&k, cases[i]), HOCKET_EPROTOCOL);
    talk_close(&k);
}

static void test_deep_pieces(void **state)
{
    struct talk k;
    char pieces[1024] = "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{"
                        "\"partialArgs\":[{\"jsonPath\":\"$";
    talk_open(&k, &hocket__proto_gemini);
    for (int i = 0; i < 65; i++)
        strcat(pieces, ".a");
    strcat(pieces, "\",\"numberValue\":1}]}}]}}]}");
    assert_int_equal(read_pieces(&k, pieces), HOCKET_EPROTOCOL);
    talk_close(&k);
}

/* ---- Odd answers ---- */

static void test_ends(void **state)
{
    static const struct {
        const char *reason;
        enum hocket__finish finish;
    } cases[] = { { "STOP", HOCKET__FINISH_STOP }, { "MAX_TOKENS", HOCKET__FINISH_LENGTH },
        { "MODEL_ARMOR", HOCKET__FINISH_FILTER },
        { "MALFORMED_FUNCTION_CALL", HOCKET__FINISH_ERROR }, { "NEWS", HOCKET__FINISH_ERROR } };
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[128];
        snprintf(
            text, sizeof(text), "{\"candidates\":[{\"finishReason\":\"%s\"}]}", cases[i].reason);
        assert_int_equal(talk_read(&k, text, false), 0);
        assert_int_equal(k.reply.finish, cases[i].finish);
    }
    const char *const blocked[] = { "{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}", NULL };
    assert_int_equal(talk_stream(&k, blocked), 0);
    assert_text(k.reply.finish_raw, "blocked:SAFETY");
    const char *const cut[] = { PARTS("{\"text\":\"a\"}"), NULL };
    assert_int_equal(talk_stream(&k, cut), HOCKET_ETRUNCATED);
    assert_false(k.reply.complete);
    const char *const second[] = {
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"other\"}]},\"index\":1}]}", LAST,
        NULL
    };
    assert_int_equal(talk_stream(&k, second), 0);
    assert_text(k.reply.text, "");
    assert_int_equal(talk_read(&k, "{\"x\":1}", true), HOCKET_EPROTOCOL);
    assert_int_equal(talk_read(&k, "{\"candidates\":[{\"content\":{}", true), HOCKET_ETRUNCATED);
    talk_close(&k);
}

static void test_list(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    assert_int_equal(talk_read(&k, "[" PARTS("{\"text\":\"a\"}") "\n,\r\n" LAST "]\n", true), 0);
    assert_text(k.reply.text, "a");
    assert_int_equal(k.reply.usage.input, 3);
    assert_int_equal(
        talk_read(&k, "[" PARTS("{\"text\":\"a\"}") "\n,\r\n" LAST, true), HOCKET_ETRUNCATED);
    assert_text(k.reply.text, "a");
    assert_int_equal(
        talk_read(&k,
            "[" PARTS("{\"text\":\"a\"}") ",{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\"}}]",
            true),
        0);
    assert_string_equal(k.reply.error.where, "stream");
    assert_text(k.reply.error.type, "UNAVAILABLE");
    assert_int_equal(talk_read(&k, "[{\"error\":{\"code\":503,\"message\":\"m\"}}]", true), 0);
    assert_string_equal(k.reply.error.where, "body_200");
    assert_text(k.reply.error.message, "m");
    talk_close(&k);
}

static void test_bare_error(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_gemini);
    assert_int_equal(
        talk_read(&k,
            "data: " PARTS(
                "{\"text\":\"a\"}") "\r\n\r\n"
                                    "{\r\n  \"error\": {\r\n    \"code\": 503,\r\n    \"message\": "
                                    "\"busy\",\r\n    \"status\": \"UNAVAILABLE\"\r\n  }\r\n}\r\n",
            true),
        0);
    assert_string_equal(k.reply.error.where, "stream");
    assert_text(k.reply.error.message, "busy");
    assert_text(k.reply.text, "a");
    assert_true(hocket__reply_failed(&k.reply, &k.err) < 0 && k.err.retryable);
    assert_int_equal(
        talk_read(&k, "data: " PARTS("{\"text\":\"a\"}") "\r\n\r\n{\r\n  \"error\": {\r\n", true),
        HOCKET_ETRUNCATED);
    assert_int_equal(
        talk_read(&k, "{\"error\":{},\"candidates\":[{\"finishReason\":\"STOP\"}]}", true), 0);
    assert_null(k.reply.error.where);
    talk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_small_body),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_thinking),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_no_replay),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_open_pieces),
        cmocka_unit_test(test_bad_pieces),
        cmocka_unit_test(test_deep_pieces),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_bare_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
