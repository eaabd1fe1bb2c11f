/* Responses: exact requests, and streams that are in no recording. */
#include "net/protocol/support.h"

#define PROTO                (&hocket__proto_openai_responses)
#define EVENT(type, members) "event: " type "\ndata: {\"type\":\"" type "\"," members "}\n\n"
#define BEGIN                EVENT("response.created", "\"response\":{\"id\":\"r\",\"model\":\"m\",\"output\":[]}")
#define TEXT(i, text)                                                                              \
    EVENT("response.output_text.delta", "\"output_index\":" #i ",\"delta\":\"" text "\"")
#define END(output)                                                                                \
    EVENT("response.completed",                                                                    \
        "\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[" output "]}")
#define MESSAGE(text)                                                                              \
    "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define CALL(id, args)                                                                             \
    "{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":\"" id                                  \
    "\",\"name\":\"f\",\"arguments\":\"" args "\"}"
#define DONE(i, item)  EVENT("response.output_item.done", "\"output_index\":" #i ",\"item\":" item)
#define ADDED(i, item) EVENT("response.output_item.added", "\"output_index\":" #i ",\"item\":" item)

static void add(struct hocket__history *h, const char *message)
{
    struct hocket_error err;
    if (hocket__history_add(h, hocket__cstr(message), &err) < 0)
        fail_msg("%s: %s", err.message, message);
}

/* ---- Requests ---- */

/* Models without thoughts refuse to seal any. */
static void test_include(void **state)
{
    static const char *const plain[] = { "gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo",
        "chatgpt-4o-latest", "gpt-5-chat-latest" };
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__llm_request q = request_of(&h);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        char want[200];
        q.model = plain[i];
        snprintf(want, sizeof(want), "{\"model\":\"%s\",\"store\":false,\"input\":[]}", plain[i]);
        check_body(PROTO, &q, want);
    }
    q.model = "o3";
    check_body(PROTO, &q,
        "{\"model\":\"o3\",\"store\":false,\"include\":[\"reasoning.encrypted_content\"],\"input\":"
        "[]}");
    hocket__history_deinit(&h);
}

static void test_request(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__llm_request q = request_of(&h);
    q.system = HOCKET__STR("be brief");
    q.stream = true;
    q.max_tokens = 9;
    q.temperature = 1;
    q.seed = 4;
    q.stop = HOCKET__STR("[\"x\"]");
    q.reasoning = "high";
    q.schema = HOCKET__STR("{\"type\":\"object\"}");
    q.tools =
        HOCKET__STR("[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{}},{\"name\":\"g\"}]");
    q.tool_choice = "f";
    q.no_parallel_calls = true;
    q.extra = HOCKET__STR("{\"user\":\"u\"}");
    add(&h, "{\"role\":\"user\",\"text\":\"x\"}");
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"stream\":true,\"store\":false,\"include\":[\"reasoning.encrypted_"
        "content\"],"
        "\"max_output_tokens\":9,\"temperature\":1.0,\"reasoning\":{\"effort\":\"high\","
        "\"summary\":"
        "\"auto\"},\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"answer\",\"schema\":{"
        "\"type\":\"object\"},\"strict\":false}},\"tools\":[{\"type\":\"function\",\"name\":\"f\","
        "\"description\":\"d\",\"parameters\":{},\"strict\":false},{\"type\":\"function\",\"name\":"
        "\"g\",\"parameters\":null,\"strict\":false}],\"tool_choice\":{\"type\":\"function\","
        "\"name\":"
        "\"f\"},\"parallel_tool_calls\":false,\"instructions\":\"be "
        "brief\",\"user\":\"u\",\"input\":"
        "[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]}]}");
    hocket__history_deinit(&h);
}

static void test_input(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__proto_traits t = { .system_role = "developer" };
    struct hocket__llm_request q = request_of(&h);
    q.traits = &t;
    q.extra = HOCKET__STR("{\"store\":true,\"include\":[]}");
    add(&h, "{\"role\":\"system\",\"text\":\"s\"}");
    add(&h, "{\"role\":\"user\",\"parts\":[{\"text\":\"a\"},{\"image\":{\"url\":\"https://x\"}}]}");
    add(&h, "{\"role\":\"assistant\",\"text\":\"t\",\"reasoning\":\"not "
            "sent\",\"calls\":[{\"id\":\"c\","
            "\"name\":\"f\",\"arguments\":\"{}\"}]}");
    add(&h, "{\"role\":\"tool\",\"id\":\"c\",\"text\":\"42\"}");
    add(&h, "{\"role\":\"assistant\",\"text\":\"t\",\"replay\":{\"protocol\":\"openai_responses\","
            "\"value\":[{\"type\":\"reasoning\",\"encrypted_content\":\"e\"},{\"type\":\"message\"}"
            "]}}");
    add(&h, "{\"role\":\"assistant\",\"text\":\"u\",\"replay\":{\"protocol\":\"anthropic\","
            "\"value\":[]}}");
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"store\":true,\"include\":[],\"input\":[{\"role\":\"developer\","
        "\"content\":"
        "[{\"type\":\"input_text\",\"text\":\"s\"}]},{\"role\":\"user\",\"content\":[{\"type\":"
        "\"input_text\",\"text\":\"a\"},{\"type\":\"input_image\",\"image_url\":\"https://x\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"t\"}]},{"
        "\"type\":"
        "\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":"
        "\"function_call_output\",\"call_id\":\"c\",\"output\":\"42\"},{\"type\":\"reasoning\","
        "\"encrypted_content\":\"e\"},{\"type\":\"message\"},{\"role\":\"assistant\",\"content\":[{"
        "\"type\":\"output_text\",\"text\":\"u\"}]}]}");
    hocket__history_deinit(&h);
}

/* A mark for the provider's cache makes the system prompt a message; a server without schemas reads them there. */
static void test_cache_mark(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__llm_request q = request_of(&h);
    q.cache_mark = true;
    q.system = HOCKET__STR("be brief");
    add(&h, "{\"role\":\"user\",\"text\":\"x\"}");
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"store\":false,\"include\":[\"reasoning.encrypted_content\"],\"input\":["
        "{"
        "\"type\":\"message\",\"role\":\"developer\",\"content\":[{\"type\":\"input_text\","
        "\"text\":"
        "\"be brief\",\"prompt_cache_breakpoint\":{\"mode\":\"explicit\"}}]},{\"role\":\"user\","
        "\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]}]}");
    q.system = HOCKET__STR("");
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"store\":false,\"include\":[\"reasoning.encrypted_content\"],\"input\":["
        "{"
        "\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]}]}");
    hocket__history_deinit(&h);
}

/* ---- Streams ---- */

static void test_text(void **state)
{
    check_answer(PROTO, BEGIN TEXT(0, "a") TEXT(0, "b") END(MESSAGE("ab")), "{\"text\":\"ab\"");
    /* the end leaves the output out */
    check_answer(
        PROTO, BEGIN TEXT(0, "a") TEXT(0, "b") DONE(0, MESSAGE("ab")) END(""), "{\"text\":\"ab\"");
    check_answer(
        PROTO, BEGIN TEXT(0, "a") EVENT("response.completed", "\"x\":1"), "{\"text\":\"a\"");
    /* no deltas */
    check_answer(PROTO, BEGIN DONE(0, MESSAGE("ab")) END(""), "{\"text\":\"ab\"");
    check_answer(PROTO, BEGIN END(MESSAGE("ab")), "{\"text\":\"ab\"");
    /* interleaved items: the end has the right order */
    check_answer(PROTO,
        BEGIN TEXT(1, "c") TEXT(0, "a") TEXT(1, "d") END(MESSAGE("a") "," MESSAGE("cd")),
        "{\"text\":\"acd\"");
    check_answer(PROTO,
        BEGIN TEXT(0, "a") EVENT("response.new_thing", "\"delta\":\"zzz\"")
            END("") "data: [DONE]\n\n",
        "{\"text\":\"a\"");
    /* the type may stand in the event's name alone */
    check_answer(PROTO, "event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\n" END(""),
        "{\"text\":\"a\"");
}

#define SEEN(type, n, i, text, hidden)                                                             \
    EVENT(type, "\"sequence_number\":" #n ",\"output_index\":" #i ",\"delta\":\"" text             \
                "\",\"obfuscation\":\"" hidden "\"")
#define SAID(n, i, text, hidden)    SEEN("response.output_text.delta", n, i, text, hidden)
#define THOUGHT(n, i, text, hidden) SEEN("response.reasoning_text.delta", n, i, text, hidden)
#define ARGUED(n, i, text, hidden)                                                                 \
    SEEN("response.function_call_arguments.delta", n, i, text, hidden)
#define REFUSED(n, i, text, hidden) SEEN("response.refusal.delta", n, i, text, hidden)

/* Events that differ from the one before by their text, their number and what hides its length. */
static void test_twins(void **state)
{
    check_answer(PROTO,
        BEGIN SAID(9, 0, "a", "xy") SAID(10, 0, "b", "") SAID(11, 0, "\\n\\\"", "\\\"z")
            SAID(12, 0, "", "q") THOUGHT(13, 1, "r", "x") THOUGHT(14, 1, "s", "y")
                SAID(15, 0, "c", "x") SAID(16, 2, "d", "x") SAID(17, 2, "e", "xx") END(""),
        "{\"text\":\"ab\\n\\\"cde\",\"reasoning_text\":\"rs\"");
    check_answer(PROTO, /* the arguments of two calls, the first begun by them */
        BEGIN ADDED(0, CALL("x", "")) ARGUED(1, 0, "{\\\"a\\\":", "p") ARGUED(2, 0, "1}", "pq")
            ADDED(1, CALL("y", "")) ARGUED(3, 1, "{", "p") ARGUED(4, 1, "}", "") END(""),
        "\"arguments\":{\"a\":1}");
    check_answer(PROTO,
        BEGIN SAID(1, 0, "a", "") REFUSED(2, 0, "n", "") REFUSED(3, 0, "o", "") END(""),
        "\"text\":\"a\"");
    /* a name of the event alone says what it is; one in it counts more */
    check_answer(PROTO,
        BEGIN
        "event: response.output_text.delta\ndata: {\"output_index\":0,\"delta\":\"a\"}\n\n"
        "event: response.reasoning_text.delta\ndata: {\"output_index\":0,\"delta\":\"b\"}\n\n"
        "event: response.output_text.delta\ndata: {\"output_index\":0,\"delta\":\"c\"}\n\n" END(""),
        "{\"text\":\"ac\",\"reasoning_text\":\"b\"");
    /* a second response in the stream begins anew */
    check_answer(PROTO,
        BEGIN SAID(1, 0, "a", "x") SAID(2, 0, "b", "y") END("") BEGIN SAID(3, 0, "c", "x")
            SAID(4, 0, "d", "y") END(""),
        "{\"text\":\"cd\"");
    check_fails(PROTO, BEGIN SAID(1, 0, "a", "x") SAID(02, 0, "b", "y") END(""), HOCKET_EPROTOCOL);
    check_fails(PROTO, BEGIN SAID(1, 0, "a", "x") SAID(, 0, "b", "y") END(""), HOCKET_EPROTOCOL);
    check_fails(PROTO, BEGIN SAID(1, 0, "a", "x") SAID(2, 0, "b", "\\") END(""), HOCKET_ETRUNCATED);
}

static void test_calls(void **state)
{
    const char *want = "[{\"id\":\"c\",\"name\":\"f\",\"arguments\":{\"a\":1},\"arguments_raw\":"
                       "\"{\\\"a\\\":1}\"}],\"finish_reason\":\"tool_calls\"";
#define ARGS(i, text)                                                                              \
    EVENT("response.function_call_arguments.delta",                                                \
        "\"output_index\":" #i ",\"delta\":\"" text "\"")
#define FULL CALL("c", "{\\\"a\\\":1}")
    check_answer(PROTO,
        ADDED(3, CALL("c", "")) ARGS(3, "{\\\"a\\\"") ARGS(3, ":1}") DONE(3, FULL) END(FULL), want);
    check_answer(PROTO, ADDED(3, CALL("c", "")) ARGS(3, "{\\\"a\\\"") ARGS(3, ":1}") END(""), want);
    check_answer(PROTO, DONE(3, FULL) END(""), want);
    check_answer(PROTO, END(FULL), want);
    check_answer(PROTO, ARGS(3, "{\\\"a\\\":1}") DONE(3, FULL) END(""), want);
    /* finished twice */
    check_answer(PROTO, DONE(3, FULL) DONE(3, FULL) END(""), want);
    /* two at once, finished in the other order */
    check_answer(PROTO,
        ADDED(0, CALL("a", "")) ADDED(1, CALL("b", "")) ARGS(1, "{}") ARGS(0, "{}")
            DONE(1, CALL("b", "{}")) DONE(0, CALL("a", "{}")) END(""),
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{},\"arguments_raw\":\"{}\"},{\"id\":"
        "\"b\",");
}

static void test_refusal(void **state)
{
    check_answer(
        PROTO, EVENT("response.refusal.delta", "\"delta\":\"no\"") END(""), "\"refusal\":\"no\"");
    check_answer(PROTO,
        END("{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]}"),
        "\"refusal\":\"no\"");
}

static void test_ends(void **state)
{
#define INCOMPLETE(reason)                                                                         \
    EVENT("response.incomplete",                                                                   \
        "\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"" reason     \
        "\"}}")
    check_answer(PROTO, TEXT(0, "a") INCOMPLETE("max_output_tokens"),
        "\"finish_reason\":\"length\",\"finish_reason_raw\":\"incomplete:max_output_tokens\"");
    check_answer(
        PROTO, TEXT(0, "a") INCOMPLETE("content_filter"), "\"finish_reason\":\"content_filter\"");
    check_fails(PROTO, BEGIN TEXT(0, "a"), HOCKET_ETRUNCATED);
    check_fails(PROTO, BEGIN TEXT(0, "a") "data: [DONE]\n\n", HOCKET_ETRUNCATED);
    check_fails(PROTO, BEGIN DONE(0, FULL), HOCKET_ETRUNCATED);
    check_fails(PROTO, "{\"status\":\"in_progress\",\"output\":[]}", HOCKET_EPROTOCOL);
    check_fails(PROTO, "{\"id\":\"x\"}", HOCKET_EPROTOCOL);
    check_fails(PROTO, "{\"status\":\"completed\",\"output\":[", HOCKET_ETRUNCATED);
}

static void test_errors(void **state)
{
    const char *stream =
        "\"error\":{\"where\":\"stream\",\"status\":null,\"type\":null,\"code\":\"c\","
        "\"message\":\"m\"}";
    check_answer(PROTO, EVENT("error", "\"code\":\"c\",\"message\":\"m\",\"param\":null"), stream);
    check_answer(PROTO, EVENT("error", "\"error\":{\"code\":\"c\",\"message\":\"m\"}"), stream);
    check_answer(PROTO, "data: {\"error\":{\"code\":\"c\",\"message\":\"m\"}}\n\n", stream);
    check_answer(PROTO,
        TEXT(0, "a") EVENT("response.failed", "\"response\":{\"status\":\"failed\",\"error\":{"
                                              "\"code\":\"c\",\"message\":\"m\"}}"),
        "\"error\":{\"where\":\"response\",\"status\":null,\"type\":null,\"code\":\"c\"");
    check_answer(PROTO, EVENT("response.failed", "\"response\":{}"), "\"finish_reason\":\"error\"");
    check_answer(PROTO, "{\"error\":{\"code\":\"c\",\"message\":\"m\"}}", "\"where\":\"body_200\"");
    check_answer(PROTO,
        EVENT("response.completed", "\"response\":{\"status\":\"completed\",\"error\":false}"),
        "\"finish_reason\":\"stop\",\"finish_reason_raw\":\"completed\"");
}

/* ---- What goes back ---- */

static void test_replay(void **state)
{
#define REASONING                                                                                  \
    "{\"type\":\"reasoning\",\"id\":\"rs\",\"summary\":[],\"encrypted_content\":\"e\"}"
    char *m = message_of(PROTO, DONE(0, REASONING) DONE(1, CALL("c", "{}")) END(""));
    assert_string_equal(m,
        "{\"role\":\"assistant\",\"calls\":[{\"id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}],"
        "\"replay\":{\"protocol\":\"openai_responses\",\"value\":[" REASONING
        "," CALL("c", "{}") "]}}");
    free(m);
    m = message_of(PROTO, END(MESSAGE("x")));
    assert_string_equal(m, "{\"role\":\"assistant\",\"text\":\"x\"}");
    free(m);
}

static void run_failing(struct test_alloc *t, void *ud)
{
    const char *answer = BEGIN TEXT(0, "a") DONE(0, REASONING) ADDED(1, CALL("c", "")) ARGS(1, "{}")
        DONE(1, CALL("c", "{}")) DONE(2, "{\"type\":\"shell_call\"}") END("");
    struct hocket__reply reply;
    struct hocket__decoder *d = NULL;
    struct hocket_error err = { 0 };
    hocket__reply_init(&reply, &t->a, 0);
    int status = hocket__decoder_new(&t->a, PROTO, 0, &reply, NULL, NULL, &d);
    for (const char *p = answer; status == 0 && *p; p++)
        status = hocket__decoder_feed(d, p, 1, &err);
    if (status == 0)
        status = hocket__decoder_end(d, &err);
    assert_int_equal(status, t->failed ? HOCKET_ENOMEM : 0);
    assert_int_equal(reply.complete, !t->failed);
    hocket__decoder_free(d);
    hocket__reply_deinit(&reply);
}

static void test_no_memory(void **state)
{
    assert_true(test_alloc_each(run_failing, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_include),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_cache_mark),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
