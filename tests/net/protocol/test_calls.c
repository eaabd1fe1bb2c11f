/* What models and servers do to an answer's calls and texts, over all protocols: too many calls, ids
 * that name nothing, arguments that are no JSON, characters in two pieces. */
#include "net/protocol/talk.h"

#include <stdio.h>

#define MAX HOCKET__REPLY_MAX_CALLS

/* ---- More calls than are kept ---- */

struct flood {
    const struct hocket__proto *proto;
    const char *head, *first, *further, *foot; /* an answer of calls, whose number is %d */
    bool stream;
};

static const struct flood floods[] = {
    { &hocket__proto_openai_chat,
        "{\"choices\":[{\"finish_reason\":\"tool_calls\",\"message\":{\"tool_calls\":[",
        "{\"id\":\"c%d\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"n\\\":%d}\"}}", ",",
        "]}}]}", false },
    { &hocket__proto_openai_chat, "",
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\","
        "\"function\":{"
        "\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n"
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"function\":{"
        "\"arguments\":\"}\"}}]}}]}\n\n",
        "",
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: "
        "[DONE]\n\n",
        true },
    /* no index: what goes on belongs to the latest call */
    { &hocket__proto_openai_chat, "",
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"id\":\"c%d\",\"function\":{"
        "\"name\":\"f\","
        "\"arguments\":\"{\"}}]}}]}\n\n"
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"}\"}}"
        "]}}]}\n\n",
        "",
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: "
        "[DONE]\n\n",
        true },
    /* the same index for all */
    { &hocket__proto_openai_chat, "",
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c%d\","
        "\"function\":{\"name\":\"f\","
        "\"arguments\":\"{\"}}]}}]}\n\n"
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
        "\"arguments\":\"}\"}}]}}]}\n\n",
        "",
        "data: "
        "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: "
        "[DONE]\n\n",
        true },
    { &hocket__proto_openai_responses,
        "{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_"
        "content\":\"x\"},",
        "{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"f\",\"arguments\":\"{}\"}", ",",
        "]}", false },
    { &hocket__proto_openai_responses, "",
        "data: "
        "{\"type\":\"response.output_item.added\",\"output_index\":%d,\"item\":{\"type\":"
        "\"function_call\",\"call_id\":\"c%d\",\"name\":\"f\",\"arguments\":\"\"}}\n\n"
        "data: "
        "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":%d,\"delta\":\"{}\"}"
        "\n\n",
        "", "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
        true },
    { &hocket__proto_anthropic,
        "{\"stop_reason\":\"tool_use\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\","
        "\"signature\":\"s\"},",
        "{\"type\":\"tool_use\",\"id\":\"c%d\",\"name\":\"f\",\"input\":{}}", ",", "]}", false },
    { &hocket__proto_anthropic, "data: {\"type\":\"message_start\",\"message\":{}}\n\n",
        "data: "
        "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":\"c%d\",\"name\":\"f\",\"input\":{}}}\n\n"
        "data: "
        "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"{}\"}}\n\n",
        "",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: "
        "{\"type\":\"message_stop\"}\n\n",
        true },
    { &hocket__proto_gemini,
        "{\"candidates\":[{\"finishReason\":\"STOP\",\"content\":{\"parts\":[{\"text\":\"\","
        "\"thoughtSignature\":\"s\"},",
        "{\"functionCall\":{\"id\":\"c%d\",\"name\":\"f\",\"args\":{}}}", ",", "]}}]}", false },
    { &hocket__proto_ollama,
        "{\"done\":true,\"done_reason\":\"stop\",\"message\":{\"tool_calls\":[",
        "{\"id\":\"c%d\",\"function\":{\"name\":\"f\",\"arguments\":{}}}", ",", "]}}", false },
};

static void flood(const struct flood *f, int n, struct hocket__buf *b)
{
    hocket__buf_adds(b, f->head);
    for (int i = 0; i < n; i++) {
        if (i > 0)
            hocket__buf_adds(b, f->further);
        for (const char *p = f->first; *p; p++)
            if (p[0] == '%' && p[1] == 'd')
                hocket__buf_addf(b, "%d", i), p++;
            else
                hocket__buf_addc(b, *p);
    }
    hocket__buf_adds(b, f->foot);
}

/* Those that there is room for are whole, and nothing of the others is in them. */
static void test_surplus(void **state)
{
    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++)
        for (int n = MAX; n <= 3 * MAX; n += MAX) {
            struct talk k;
            struct hocket__buf b;
            talk_open(&k, floods[i].proto);
            hocket__buf_init(&b, &hocket__malloc, 0);
            flood(&floods[i], n, &b);
            if (talk_read(&k, b.data, floods[i].stream) < 0)
                fail_msg("%zu: %s", i, k.err.message);
            assert_int_equal(k.reply.n_calls, MAX);
            assert_int_equal(k.reply.surplus, n > MAX);
            for (int c = 0; c < MAX; c++) {
                char id[16];
                snprintf(id, sizeof(id), "c%d", c);
                assert_text(k.reply.calls[c].id, id);
                struct hocket__str args = hocket__call_arguments(&k.reply.calls[c]);
                assert_true(args.p[0] == '{' && args.p[args.n - 1] == '}' && args.n < 10);
            }
            assert_int_equal(k.reply.finish, HOCKET__FINISH_CALLS);
            if (n > MAX)
                assert_int_equal(k.reply.replay.len, 0);
            hocket__buf_deinit(&b);
            talk_close(&k);
        }
}

/* ---- Names ---- */

static void name(const char *const ids[], const char *history, const char *const want[])
{
    struct hocket__reply r;
    uint64_t next = 1;
    hocket__reply_init(&r, &hocket__malloc, 0);
    for (size_t i = 0; ids[i]; i++)
        hocket__buf_adds(&hocket__reply_add_call(&r)->id, ids[i]);
    assert_int_equal(hocket__reply_name_calls(&r, hocket__cstr(history), &next), 0);
    for (size_t i = 0; want[i]; i++)
        assert_text(r.calls[i].id, want[i]);
    hocket__reply_deinit(&r);
}
#define NAME(history, ids, ...)                                                                    \
    name((const char *const[]) ids, history, (const char *const[]){ __VA_ARGS__, NULL })
#define IDS(...)                                                                                   \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static void test_names(void **state)
{
    NAME("", IDS("a", "b"), "a", "b");
    NAME("", IDS("", "b", ""), "call_1", "b", "call_2");
    NAME("", IDS("call_1", "call_1"), "call_1", "call_2");
    NAME("", IDS("call_1", "call_1", "call_2"), "call_1", "call_3", "call_2");
    NAME("", IDS("", "call_1", "call_2"), "call_3", "call_1", "call_2");
    NAME("{\"calls\":[{\"id\":\"call_1\"}]}\n", IDS(""), "call_2");
    NAME("{\"calls\":[{\"id\":\"call_1\"}]}\n", IDS("call_1"), "call_2");
    NAME("{\"calls\":[{\"id\":\"0\"}]}\n", IDS("0", "1"), "call_1", "1");
    NAME("{\"text\":\"say \\\"0\\\"\"}\n", IDS("0"), "0");
    NAME("{\"calls\":[{\"id\":\"random-and-long\"}]}\n", IDS("random-and-long"), "random-and-long");
    NAME("", IDS("a\"b", "a\"b"), "a\"b", "call_1");
}

/* What goes back unchanged has the id that the server gave. */
static void test_names_with_replay(void **state)
{
    struct hocket__reply r;
    uint64_t next = 1;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__buf_adds(&hocket__reply_add_call(&r)->id, "0");
    hocket__buf_adds(&r.replay, "{}");
    assert_int_equal(hocket__reply_name_calls(&r, HOCKET__STR("\"0\""), &next), 0);
    assert_text(r.calls[0].id, "0");
    assert_text(r.replay, "{}");
    hocket__reply_deinit(&r);
}

/* ---- Arguments that were no strict JSON ---- */

struct history_form {
    const struct hocket__proto *proto;
    const char *before; /* the arguments in the wire form */
    bool quoted;        /* they stand there as a string */
};

static const struct history_form forms[] = {
    { &hocket__proto_openai_chat, "\"arguments\":", true },
    { &hocket__proto_openai_responses, "\"arguments\":", true },
    { &hocket__proto_anthropic, "\"input\":", false },
    { &hocket__proto_bedrock, "\"input\":", false },
    { &hocket__proto_gemini, "\"args\":", false },
    { &hocket__proto_ollama, "\"arguments\":", false },
};

static const struct {
    const char *wrote, *object, *string; /* each as it stands in JSON */
} written[] = {
    { "{\\\"a\\\": 1}", "{\"a\": 1}", "\"{\\\"a\\\": 1}\"" },
    { "{'seat': 4,}", "{\"seat\":4}", "\"{\\\"seat\\\":4}\"" },
    { "```json\\n{\\\"a\\\":1}\\n```", "{\"a\":1}", "\"{\\\"a\\\":1}\"" },
    { "\\\"{\\\\\\\"a\\\\\\\":1}\\\"", "{\"a\":1}", "\"{\\\"a\\\":1}\"" },
    { "{\\\"a\\\": \\\"b", "{\"invalid_json\":\"{\\\"a\\\": \\\"b\"}",
        "\"{\\\"invalid_json\\\":\\\"{\\\\\\\"a\\\\\\\": \\\\\\\"b\\\"}\"" },
    { "[1]", "{\"invalid_json\":\"[1]\"}", "\"{\\\"invalid_json\\\":\\\"[1]\\\"}\"" },
    { "5", "{\"invalid_json\":\"5\"}", "\"{\\\"invalid_json\\\":\\\"5\\\"}\"" },
    { " ", "{}", "\"{}\"" },
    { "null", "{}", "\"{}\"" },
};

static void check_form(const struct history_form *form, size_t i)
{
    char message[256], want[256];
    struct talk k;
    talk_open(&k, form->proto);
    talk_add(&k, "{\"role\":\"user\",\"text\":\"go\"}");
    snprintf(message, sizeof(message),
        "{\"role\":\"assistant\",\"calls\":[{\"id\":\"a\",\"name\":\"f\",\"arguments\":\"%s\"}]}",
        written[i].wrote);
    talk_add(&k, message);
    snprintf(want, sizeof(want), "%s%s", form->before,
        form->quoted ? written[i].string : written[i].object);
    assert_has(talk_wire(&k), want);
    talk_close(&k);
}

/* Servers parse the arguments in a history, and refuse what is no JSON object for good. */
static void test_arguments_go_back_as_read(void **state)
{
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
        for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
            check_form(&forms[f], i);
}

/* So it is where the server wants the whole answer back as it came, for what it has thought. */
static void test_arguments_of_replays(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_openai_responses);
    assert_int_equal(talk_read(&k,
                         "{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\",\"id\":"
                         "\"r\",\"encrypted_"
                         "content\":\"x\"},{\"type\":\"function_call\",\"id\":\"i\",\"call_id\":"
                         "\"c\",\"name\":\"f\","
                         "\"arguments\":\"{'seat': 4}\"}]}",
                         false),
        0);
    talk_keep(&k);
    assert_has(talk_wire(&k),
        "{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"x\"},{\"type\":\"function_"
        "call\",\"id\":"
        "\"i\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{\\\"seat\\\":4}\"}");
    talk_close(&k);
    static const char *const events[] = { "{\"type\":\"message_start\",\"message\":{}}",
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\","
        "\"thinking\":\"t\","
        "\"signature\":\"s\"}}",
        "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":\"c\","
        "\"name\":\"f\",\"input\":{}}}",
        "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"{'seat': 4}\"}}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}",
        "{\"type\":\"message_stop\"}", NULL };
    talk_open(&k, &hocket__proto_anthropic);
    assert_int_equal(talk_stream(&k, events), 0);
    talk_keep(&k);
    assert_has(talk_wire(&k), "\"name\":\"f\",\"input\":{\"seat\":4}}");
    talk_close(&k);
}

/* ---- Characters in two pieces ---- */

#define CHAT(delta) "{\"choices\":[{\"index\":0,\"delta\":" delta "}]}"
#define TEXT(s)     CHAT("{\"content\":\"" s "\"}")
#define CHAT_END                                                                                   \
    "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}", "[DONE]", NULL
#define BLOCK(s)                                                                                   \
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"   \
    "\"" s "\"}}"
#define OUTPUT(s)     "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"" s "\"}"
#define PART(s, more) "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"" s "\"}]}" more "}]}"
#define LINE(s, more) "{\"message\":{\"content\":\"" s "\"}" more "}"
#define GRIN          "\xF0\x9F\x98\x80"
#define NONE          "\xEF\xBF\xBD"

static void check_text(
    const struct hocket__proto *proto, const char *const *events, const char *want)
{
    struct talk k;
    talk_open(&k, proto);
    if (talk_stream(&k, events) < 0)
        fail_msg("%s", k.err.message);
    assert_text(k.reply.text, want);
    talk_close(&k);
}
#define SPLIT(proto, want, ...)                                                                    \
    check_text(&hocket__proto_##proto, (const char *const[]){ __VA_ARGS__ }, want)

static void test_split(void **state)
{
    SPLIT(openai_chat, "a" GRIN "b", TEXT("a\\ud83d"), TEXT("\\ude00b"), CHAT_END);
    SPLIT(
        openai_chat, GRIN GRIN, TEXT("\\ud83d"), TEXT("\\ude00\\uD83D"), TEXT("\\uDE00"), CHAT_END);
    SPLIT(openai_chat, GRIN, TEXT("\\ud83d"), TEXT(""), TEXT("\\ude00"), CHAT_END);
    SPLIT(openai_chat, NONE "a", TEXT("\\ud83d"), TEXT("a"), CHAT_END);
    SPLIT(openai_chat, NONE "\n", TEXT("\\ud83d"), TEXT("\\n"), CHAT_END);
    SPLIT(openai_chat, NONE GRIN, TEXT("\\ud83d"), TEXT("\\ud83d"), TEXT("\\ude00"), CHAT_END);
    SPLIT(openai_chat, NONE, TEXT("\\ud83d"), CHAT_END);
    SPLIT(openai_chat, NONE "x", TEXT("\\ude00x"), CHAT_END);
    SPLIT(openai_chat, "\\ud83d" NONE, TEXT("\\\\ud83d"), TEXT("\\ude00"), CHAT_END);
    SPLIT(openai_chat, "\\" GRIN, TEXT("\\\\\\ud83d"), TEXT("\\ude00"), CHAT_END);
    /* what is thought meanwhile belongs elsewhere */
    SPLIT(openai_chat, GRIN, TEXT("\\ud83d"), CHAT("{\"reasoning\":\"hm\"}"), TEXT("\\ude00"),
        CHAT_END);
    SPLIT(openai_chat, NONE "b", TEXT("\\ud83d"), CHAT("{\"reasoning\":\"\\ud83d\"}"), TEXT("b"),
        CHAT_END);
    SPLIT(anthropic, GRIN, "{\"type\":\"message_start\",\"message\":{}}", BLOCK("\\ud83d"),
        BLOCK("\\ude00"), "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}",
        "{\"type\":\"message_stop\"}", NULL);
    SPLIT(openai_responses, GRIN, OUTPUT("\\ud83d"), OUTPUT("\\ude00"),
        "{\"type\":\"response.completed\"}", NULL);
    /* the end says it all again */
    SPLIT(openai_responses, "whole!", OUTPUT("who\\ud83d"),
        "{\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"message\","
        "\"content\":[{\"type\":"
        "\"output_text\",\"text\":\"whole!\"}]}]}}",
        NULL);
    SPLIT(gemini, GRIN, PART("\\ud83d", ""), PART("\\ude00", ",\"finishReason\":\"STOP\""), NULL);
    SPLIT(ollama, GRIN, LINE("\\ud83d", ""),
        LINE("\\ude00", ",\"done\":true,\"done_reason\":\"stop\""), NULL);
}

static void test_split_elsewhere(void **state)
{
#define ARGS(s) CHAT("{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"" s "\"}}]}")
    static const char *const events[] = { CHAT("{\"refusal\":\"\\ud83d\"}"),
        CHAT("{\"refusal\":\"\\ude00\"}"), CHAT("{\"reasoning\":\"\\ud83d\"}"),
        CHAT("{\"reasoning\":\"\\ude00\"}"),
        CHAT("{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\","
             "\"arguments\":\"{\\\"a\\\":\\\"\"}}]}"),
        ARGS("\\ud83d"), ARGS("\\ude00\\\"}"), CHAT_END };
    struct talk k;
    talk_open(&k, &hocket__proto_openai_chat);
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.refusal, GRIN);
    assert_text(k.reply.reasoning, GRIN);
    assert_text(k.reply.calls[0].arguments, "{\"a\":\"" GRIN "\"}");
    assert_text(k.deltas, "{\"a\":\"" GRIN "\"}");
    talk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_surplus),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_names_with_replay),
        cmocka_unit_test(test_arguments_go_back_as_read),
        cmocka_unit_test(test_arguments_of_replays),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
