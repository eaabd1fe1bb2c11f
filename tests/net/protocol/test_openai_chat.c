/* Chat completions: exact requests, and answers of servers that bend the protocol and are
 * in no recording. */
#include "net/protocol/support.h"

#include "net/protocol/protocol.h"

#define PROTO         (&hocket__proto_openai_chat)
#define CHUNK(choice) "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[" choice "]}\n\n"
#define DELTA(delta)  CHUNK("{\"index\":0,\"delta\":" delta ",\"finish_reason\":null}")
#define CALLS(list)   DELTA("{\"tool_calls\":[" list "]}")
#define FINISH(word)  CHUNK("{\"index\":0,\"delta\":{},\"finish_reason\":\"" word "\"}")
#define DONE          "data: [DONE]\n\n"

static void add(struct hocket__history *h, const char *message)
{
    struct hocket_error err;
    if (hocket__history_add(h, hocket__cstr(message), &err) < 0)
        fail_msg("%s: %s", err.message, message);
}

/* ---- Requests ---- */

static void test_plain_request(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    add(&h, "{\"role\":\"user\",\"text\":\"H\\u00e9 \\\"you\\\"\"}");
    struct hocket__llm_request q = request_of(&h);
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"H\\u00e9 "
        "\\\"you\\\"\"}]}");
    hocket__history_deinit(&h);
}

static void test_all_options(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    add(&h, "{\"role\":\"user\",\"text\":\"x\"}");
    struct hocket__proto_traits t = { .top_k = true, .system_role = "developer" };
    struct hocket__llm_request q = request_of(&h);
    q.system = HOCKET__STR("be\nbrief");
    q.stream = true;
    q.temperature = 0.5;
    q.top_p = 0.9;
    q.top_k = 40;
    q.max_tokens = 100;
    q.seed = 7;
    q.stop = HOCKET__STR("[\"END\"]");
    q.reasoning = "low";
    q.schema = HOCKET__STR("{\"type\":\"object\"}");
    q.schema_name = "plan";
    q.extra = HOCKET__STR("{\"user\":\"u\",\"temperature\":1,\"messages\":[]}");
    q.traits = &t;
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"max_tokens\":100,\"top_p\":0.9,\"top_k\":40,\"seed\":7,\"stop\":[\"END\"],"
        "\"reasoning_effort\":\"low\",\"response_format\":{\"type\":\"json_schema\","
        "\"json_schema\":{\"name\":\"plan\",\"schema\":{\"type\":\"object\"}}},"
        "\"user\":\"u\",\"temperature\":1,\"messages\":[{\"role\":\"developer\","
        "\"content\":\"be\\nbrief\"},{\"role\":\"user\",\"content\":\"x\"}]}");
    hocket__history_deinit(&h);
}

static void test_traits(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__proto_traits t = { .max_tokens_field = "max_new",
        .no_stream_usage = true,
        .no_parallel_field = true,
        .no_seed = true,
        .no_json_schema = true };
    struct hocket__llm_request q = request_of(&h);
    q.stream = true;
    q.max_tokens = 0;
    q.seed = 1;
    q.top_k = 3;
    q.no_parallel_calls = true;
    q.reasoning = "10000";
    q.schema = HOCKET__STR("{\"type\":\"object\"}");
    q.traits = &t;
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"stream\":true,\"max_new\":0,\"reasoning_effort\":\"medium\","
        "\"response_format\":{\"type\":\"json_object\"},\"messages\":[{\"role\":\"system\","
        "\"content\":\"Answer with one JSON object, and nothing else, that is valid against "
        "this JSON Schema:\\n{\\\"type\\\":\\\"object\\\"}\"}]}");
    hocket__history_deinit(&h);
}

static void test_tools(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__proto_traits strict = { .strict_tools = true };
    struct hocket__llm_request q = request_of(&h);
    q.tools = HOCKET__STR("[{\"name\":\"a\",\"description\":\"does a\",\"parameters\":{\"type\":"
                          "\"object\"}},{\"name\":\"b\",\"strict\":false}]");
    q.tool_choice = "a";
    q.no_parallel_calls = true;
    q.traits = &strict;
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a\","
        "\"description\":\"does a\",\"parameters\":{\"type\":\"object\"},\"strict\":true}},"
        "{\"type\":\"function\",\"function\":{\"name\":\"b\",\"strict\":false}}],"
        "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"a\"}},"
        "\"parallel_tool_calls\":false,\"messages\":[]}");
    q.tools = HOCKET__STR("[]"); /* some servers refuse an empty list, and a choice without tools */
    check_body(PROTO, &q, "{\"model\":\"m\",\"messages\":[]}");
    q.tools = HOCKET__STR("[{\"name\":\"b\"}]");
    q.tool_choice = "required";
    q.no_parallel_calls = false;
    q.traits = NULL;
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"b\"}}],"
        "\"tool_choice\":\"required\",\"messages\":[]}");
    hocket__history_deinit(&h);
}

static void test_messages(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__proto_traits t = { .reasoning_back = true, .call_id_length = 9 };
    struct hocket__llm_request q = request_of(&h);
    q.traits = &t;
    add(&h, "{\"role\":\"system\",\"text\":\"s\"}");
    add(&h, "{\"role\":\"user\",\"parts\":[{\"text\":\"what?\"},{\"image\":{\"mime\":\"image/png\","
            "\"data\":\"QUJD\"}},{\"image\":{\"url\":\"https://x/y.png\"}}]}");
    add(&h, "{\"role\":\"assistant\",\"reasoning\":\"hm\",\"calls\":[{\"id\":\"abcDEF123\","
            "\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"},{\"id\":\"call_1\",\"name\":\"g\","
            "\"arguments\":\"{}\"}]}");
    add(&h, "{\"role\":\"tool\",\"id\":\"abcDEF123\",\"name\":\"f\",\"text\":\"one\"}");
    add(&h, "{\"role\":\"tool\",\"id\":\"call_1\",\"text\":\"no\",\"error\":true}");
    add(&h, "{\"role\":\"assistant\",\"calls\":[{\"id\":\"abcDEF456\",\"name\":\"f\","
            "\"arguments\":\"{}\"}]}");
    add(&h, "{\"role\":\"tool\",\"id\":\"abcDEF456\",\"name\":\"f\",\"text\":\"\"}");
    add(&h, "{\"role\":\"assistant\",\"text\":\"done\"}");
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\","
        "\"content\":[{\"type\":\"text\",\"text\":\"what?\"},{\"type\":\"image_url\","
        "\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}},{\"type\":\"image_url\","
        "\"image_url\":{\"url\":\"https://x/y.png\"}}]},{\"role\":\"assistant\",\"content\":null,"
        "\"reasoning_content\":\"hm\",\"tool_calls\":[{\"id\":\"abcDEF123\",\"type\":\"function\","
        "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}},{\"id\":\"9gD2Dimct\","
        "\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"abcDEF123\",\"content\":\"one\"},{\"role\":\"tool\","
        "\"tool_call_id\":\"9gD2Dimct\",\"content\":\"no\"},{\"role\":\"assistant\","
        "\"content\":null,\"reasoning_content\":\"\",\"tool_calls\":[{\"id\":\"abcDEF456\","
        "\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
        "\"tool_call_id\":\"abcDEF456\",\"content\":\"\"},{\"role\":\"assistant\","
        "\"content\":\"done\"}]}");
    hocket__history_deinit(&h);
}

/* The body of a turn begins as the one before did, but for its last two bytes. */
static void test_common_prefix(void **state)
{
    struct hocket__history h;
    struct hocket__buf before, after;
    struct hocket_error err;
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__buf_init(&before, &hocket__malloc, 0);
    hocket__buf_init(&after, &hocket__malloc, 0);
    struct hocket__llm_request q = request_of(&h);
    q.system = HOCKET__STR("s");
    q.tools = HOCKET__STR("[{\"name\":\"a\"}]");
    add(&h, "{\"role\":\"user\",\"text\":\"x\"}");
    assert_int_equal(PROTO->write(&q, &before, &err), 0);
    add(&h, "{\"role\":\"assistant\",\"text\":\"y\"}");
    assert_int_equal(PROTO->write(&q, &after, &err), 0);
    assert_true(after.len > before.len);
    assert_memory_equal(before.data, after.data, before.len - 2);
    hocket__buf_deinit(&before);
    hocket__buf_deinit(&after);
    hocket__history_deinit(&h);
}

/* The beginning that is kept is the one that is written; with another model, other traits or
 * another protocol it is made anew. */
static void test_prepared(void **state)
{
#define BODY(model, role, rest)                                                                    \
    "{\"model\":\"" model "\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a\"}}],"  \
    "\"messages\":[{\"role\":\"" role "\",\"content\":\"s\"}" rest "]}"
#define USER ",{\"role\":\"user\",\"content\":\"x\"}"
    struct hocket__history h;
    struct hocket__prepared kept;
    struct hocket__proto_traits first = { 0 }, second = { .system_role = "developer" };
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__prepared_init(&kept, &hocket__malloc);
    struct hocket__llm_request q = request_of(&h);
    q.system = HOCKET__STR("s");
    q.tools = HOCKET__STR("[{\"name\":\"a\"}]");
    q.traits = &first;
    q.prepared = &kept;
    check_body(PROTO, &q, BODY("m", "system", ""));
    assert_true(hocket__prepared_is(&q, PROTO));
    check_body(PROTO, &q, BODY("m", "system", ""));
    add(&h, "{\"role\":\"user\",\"text\":\"x\"}");
    check_body(PROTO, &q, BODY("m", "system", USER));
    q.model = "other";
    assert_false(hocket__prepared_is(&q, PROTO));
    check_body(PROTO, &q, BODY("other", "system", USER));
    q.traits = &second;
    check_body(PROTO, &q, BODY("other", "developer", USER));
    check_body(PROTO, &q, BODY("other", "developer", USER));
    assert_false(hocket__prepared_is(&q, &hocket__proto_ollama));
    hocket__prepared_reset(&kept);
    assert_false(hocket__prepared_is(&q, PROTO));
    hocket__history_deinit(&h);
#undef BODY
#undef USER
}

/* What is sent when nothing is kept. */
static void check_same(const struct hocket__llm_request *q, const struct hocket__buf *body)
{
    struct hocket__history fresh;
    struct hocket__llm_request again = *q;
    struct hocket__buf b;
    struct hocket_error err;
    struct hocket__str lines = hocket__buf_str(&q->history->messages);
    hocket__buf_init(&b, &hocket__malloc, 0);
    hocket__history_init(&fresh, &hocket__malloc, 0);
    while (lines.n > 0) {
        size_t n = (size_t) ((const char *) memchr(lines.p, '\n', lines.n) - lines.p);
        assert_int_equal(hocket__history_add(&fresh, hocket__str(lines.p, n), &err), 0);
        lines = hocket__str(lines.p + n + 1, lines.n - n - 1);
    }
    again.history = &fresh;
    again.prepared = NULL;
    assert_int_equal(PROTO->write(&again, &b, &err), 0);
    assert_string_equal(body->data, b.data);
    hocket__buf_deinit(&b);
    hocket__history_deinit(&fresh);
}

static struct hocket__history_mark write_body(
    const struct hocket__llm_request *q, struct hocket__buf *b)
{
    struct hocket_error err;
    hocket__buf_init(b, &hocket__malloc, 0);
    assert_int_equal(PROTO->write(q, b, &err), 0);
    check_same(q, b);
    return hocket__history_mark(q->history);
}

/* A body that comes back is written on; what it does not fit any more is written anew. */
static void test_body_goes_on(void **state)
{
    struct hocket__history h;
    struct hocket__prepared kept;
    struct hocket__buf b, c;
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__prepared_init(&kept, &hocket__malloc);
    struct hocket__llm_request q = request_of(&h);
    q.prepared = &kept;
    for (int i = 0; i < 30; i++) {
        if (i == 10)
            q.system = HOCKET__STR("s");
        if (i == 10 || i == 20)
            hocket__prepared_reset(&kept);
        if (i == 20)
            q.model = "a longer name";
        bool goes_on = h.body.len > 0 && i != 10 && i != 20;
        const char *place = h.body.data;
        struct hocket__history_mark mark = write_body(&q, &b);
        if (goes_on)
            assert_int_equal(h.body.len, 0);
        if (i == 5) /* there was room */
            assert_ptr_equal(b.data, place);
        hocket__buf_reserve(&b, 1000);
        add(&h, "{\"role\":\"user\",\"text\":\"in between\"}");
        struct hocket__history_mark other = write_body(&q, &c); /* while b is under way */
        hocket__history_keep_body(&h, mark, &b);
        assert_int_equal(b.len, 0);
        if (i % 3 == 0)
            hocket__history_keep_body(&h, other, &c);
        hocket__buf_deinit(&c);
        add(&h, "{\"role\":\"user\",\"text\":\"next\"}");
    }
    hocket__prepared_reset(&kept);
    hocket__history_deinit(&h);
}

/* A body that was written of another wire form than there is now is of no use. */
static void test_body_is_stale(void **state)
{
    struct hocket__history h;
    struct hocket__prepared kept;
    struct hocket__proto_traits first = { 0 }, second = { .system_role = "developer" };
    struct hocket__buf b;
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__prepared_init(&kept, &hocket__malloc);
    struct hocket__llm_request q = request_of(&h);
    q.prepared = &kept;
    q.traits = &first;
    add(&h, "{\"role\":\"system\",\"text\":\"x\"}");
    struct hocket__history_mark mark = write_body(&q, &b);
    q.traits = &second;
    struct hocket_error err;
    assert_int_equal(hocket__history_render(&h, PROTO, &second, &err), 0);
    hocket__history_keep_body(&h, mark, &b);
    assert_int_equal(h.body.len + b.len, 0);
    mark = write_body(&q, &b);
    hocket__history_keep_body(&h, mark, &b);
    assert_true(h.body.len > 0);
    hocket__history_unwire(&h);
    assert_int_equal(h.body.len, 0);
    write_body(&q, &b);
    hocket__buf_deinit(&b);
    hocket__prepared_reset(&kept);
    hocket__history_deinit(&h);
}

/* Without memory for it nothing is kept, and the body is the same. */
static void test_prepared_no_memory(void **state)
{
    struct test_alloc t;
    struct hocket__history h;
    struct hocket__prepared kept;
    test_alloc_init(&t);
    t.fail_at = 2;
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__prepared_init(&kept, &t.a);
    struct hocket__llm_request q = request_of(&h);
    q.prepared = &kept;
    check_body(PROTO, &q, "{\"model\":\"m\",\"messages\":[]}");
    assert_true(t.failed);
    assert_false(hocket__prepared_is(&q, PROTO));
    hocket__history_deinit(&h);
    test_alloc_check(&t);
}

static void check_refused(struct hocket__llm_request q)
{
    struct hocket__buf b;
    struct hocket_error err = { 0 };
    hocket__buf_init(&b, &hocket__malloc, 0);
    assert_int_equal(PROTO->write(&q, &b, &err), HOCKET_EINVAL);
    assert_true(err.message[0] != 0);
    hocket__buf_deinit(&b);
}

static void test_refused_requests(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    struct hocket__llm_request q = request_of(&h), bad = q;
    bad.model = "";
    check_refused(bad);
    bad = q;
    bad.tools = HOCKET__STR("{}");
    check_refused(bad);
    bad = q;
    bad.extra = HOCKET__STR("{\"a\":}");
    check_refused(bad);
    bad = q;
    bad.stop = HOCKET__STR("\"x\"");
    check_refused(bad);
    bad = q;
    bad.schema = HOCKET__STR("[]");
    check_refused(bad);
    hocket__history_deinit(&h);
}

static void test_url(void **state)
{
    struct hocket__buf b;
    struct hocket__llm_request q = request_of(NULL);
    hocket__buf_init(&b, &hocket__malloc, 0);
    PROTO->url(&q, "https://api.openai.com/v1", &b);
    assert_string_equal(b.data, "https://api.openai.com/v1/chat/completions");
    hocket__buf_deinit(&b);
}

/* ---- Which call a delta belongs to ---- */

static void test_call_index_missing(void **state)
{
    check_answer(PROTO,
        CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\"\"}}")
            CALLS("{\"function\":{\"arguments\":\":1}\"}}")
                CALLS("{\"id\":\"b\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")
                    FINISH("tool_calls") DONE,
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{\"x\":1},\"arguments_raw\":"
        "\"{\\\"x\\\":1}\"},{\"id\":\"b\",\"name\":\"f\",\"arguments\":{},"
        "\"arguments_raw\":\"{}\"}]");
    /* neither index nor id: every name is a call, even the same one twice */
    check_answer(PROTO,
        CALLS("{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
              "{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}") FINISH("stop"),
        "[{\"id\":null,\"name\":\"f\",\"arguments\":{},\"arguments_raw\":\"{}\"},"
        "{\"id\":null,\"name\":\"f\",\"arguments\":{},\"arguments_raw\":\"{}\"}]");
}

static void test_call_index_always_zero(void **state)
{
    check_answer(PROTO,
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}")
            CALLS("{\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{\"}}")
                CALLS("{\"index\":0,\"function\":{\"arguments\":\"}\"}}") FINISH("tool_calls"),
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{},\"arguments_raw\":\"\"},{\"id\":\"b\","
        "\"name\":\"g\",\"arguments\":{},\"arguments_raw\":\"{}\"}]");
}

static void test_call_same_index_and_id(void **state)
{
    check_answer(PROTO,
        CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")
            CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}")
                CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"g\",\"arguments\":\"{"
                      "\\\"x\\\":2}\"}}") FINISH("tool_calls"),
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{},\"arguments_raw\":\"{}\"},{\"id\":\"a\","
        "\"name\":\"g\",\"arguments\":{},\"arguments_raw\":\"{}\"},{\"id\":\"a\",\"name\":\"g\","
        "\"arguments\":{\"x\":2},\"arguments_raw\":\"{\\\"x\\\":2}\"}]");
}

/* Gateways send a finished call once more, in one piece. */
static void test_call_again(void **state)
{
#define SEAT(more) "{\"index\":0," more "\"function\":{"
#define FIRST                                                                                      \
    CALLS(SEAT("\"id\":\"k\",") "\"name\":\"f\",\"arguments\":\"{\\\"seat\\\"\"}}")                \
    CALLS(SEAT("") "\"arguments\":\": 4}\"}}")
#define ENCODED                 "\"\\\"{\\\\\\\"seat\\\\\\\": 4}\\\"\""
#define AGAIN(more, name, text) CALLS(SEAT(more) name "\"arguments\":" text "}}")
    static const char want[] =
        "\"tool_calls\":[{\"id\":\"k\",\"name\":\"f\",\"arguments\":{\"seat\": 4},"
        "\"arguments_raw\":\"{\\\"seat\\\": 4}\"}]";
    static const char *const forms[] = {
        AGAIN("\"id\":\"k\",", "\"name\":\"f\",", "\"{\\\"seat\\\": 4}\""),
        AGAIN("\"id\":\"k\",", "\"name\":\"f\",", "\"{\\\"seat\\\":4}\""),
        AGAIN("\"id\":\"k\",", "", "\"{\\\"seat\\\": 4}\""),
        AGAIN("", "\"name\":\"f\",", "\"{\\\"seat\\\": 4}\""),
        AGAIN("", "", "\"{\\\"seat\\\": 4}\""),
        AGAIN("", "", ENCODED),
        AGAIN("\"id\":\"k\",", "\"name\":\"f\",", ENCODED),
        AGAIN("\"id\":\"k\",", "\"name\":\"f\",", "{\"seat\":4}"),
        AGAIN("", "", "\"{\\\"seat\\\": 4}\"") AGAIN("", "", "\"{\\\"seat\\\": 4}\""),
    };
    char text[4096];
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        snprintf(text, sizeof(text), "%s%s%s", FIRST, forms[i], FINISH("tool_calls") DONE);
        check_answer(PROTO, text, want);
    }
    /* the other way round: first encoded, then plain */
    check_answer(PROTO,
        AGAIN("\"id\":\"k\",", "\"name\":\"f\",", ENCODED)
            AGAIN("\"id\":\"k\",", "\"name\":\"f\",", "\"{\\\"seat\\\": 4}\"") FINISH("tool_calls"),
        "[{\"id\":\"k\",\"name\":\"f\",\"arguments\":");
    /* others are calls of their own, and what goes on behind an object goes on */
    check_answer(PROTO,
        FIRST AGAIN("\"id\":\"k\",", "\"name\":\"f\",", "\"{\\\"seat\\\": 5}\"")
            FINISH("tool_calls"),
        "\"arguments\":{\"seat\": 5}");
    check_answer(PROTO,
        FIRST AGAIN("\"id\":\"l\",", "\"name\":\"f\",", "\"{\\\"seat\\\": 4}\"")
            FINISH("tool_calls"),
        "{\"id\":\"l\",\"name\":\"f\",\"arguments\":{\"seat\": 4}");
    check_answer(PROTO,
        CALLS(SEAT("\"id\":\"k\",") "\"name\":\"f\",\"arguments\":\"{\\\"a\\\":[{}\"}}")
            CALLS(SEAT("") "\"arguments\":\",{}\"}}") CALLS(SEAT("") "\"arguments\":\"]}\"}}")
                FINISH("tool_calls"),
        "\"arguments\":{\"a\":[{},{}]}");
    /* in a whole answer, where index and id are the same */
    check_answer(PROTO,
        "{\"choices\":[{\"message\":{\"tool_calls\":[{\"index\":0,\"id\":\"k\",\"function\":{"
        "\"name\":\"f\","
        "\"arguments\":\"{\\\"seat\\\": "
        "4}\"}},{\"index\":0,\"id\":\"k\",\"function\":{\"name\":\"f\","
        "\"arguments\":\"{\\\"seat\\\":4}\"}}]},\"finish_reason\":\"tool_calls\"}]}",
        want);
}

static void test_call_index_from_one(void **state)
{
    check_answer(PROTO,
        CALLS("{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}")
            CALLS("{\"index\":7,\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}")
                CALLS("{\"index\":1,\"function\":{\"arguments\":\"}\"}}") FINISH("tool_calls"),
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{},\"arguments_raw\":\"{}\"},{\"id\":\"b\","
        "\"name\":\"g\",\"arguments\":{},\"arguments_raw\":\"{}\"}]");
}

static void test_call_repeated_texts(void **state)
{
    const char *one = "[{\"id\":\"0\",\"name\":\"f\",\"arguments\":{\"a\":{}},\"arguments_raw\":"
                      "\"{\\\"a\\\":{}}\"}]";
    check_answer(PROTO,
        CALLS("{\"index\":0,\"id\":\"0\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":"
              "\"}}")
            CALLS("{\"index\":0,\"id\":\"0\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}")
                CALLS(
                    "{\"index\":0,\"id\":\"0\",\"function\":{\"name\":\"f\",\"arguments\":\"}}\"}}")
                    FINISH("tool_calls"),
        one);
    /* a name that comes after the arguments, and an id that changes on the way */
    check_answer(PROTO,
        CALLS("{\"index\":0,\"id\":\"0\",\"function\":{\"arguments\":\"{\\\"a\\\":\"}}")
            CALLS("{\"index\":0,\"id\":\"1\",\"function\":{\"arguments\":\"{}}\"}}")
                CALLS("{\"index\":0,\"function\":{\"name\":\"f\"}}") FINISH("tool_calls"),
        one);
}

static void test_call_arguments(void **state)
{
    check_answer(PROTO, CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\"}}") FINISH("tool_calls"),
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{}}]");
    check_answer(PROTO,
        CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"null\"}}")
            FINISH("tool_calls"),
        "\"arguments\":{},\"arguments_raw\":\"null\"");
    check_answer(PROTO,
        CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":{\"x\":[1]}}}")
            FINISH("tool_calls"),
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{\"x\":[1]}}]");
    check_answer(PROTO,
        CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}{}\"}}")
            FINISH("tool_calls"),
        "\"arguments\":null,\"arguments_raw\":\"{}{}\",\"arguments_valid\":false");
    check_answer(PROTO,
        CALLS("{\"id\":\"a\",\"custom\":{\"name\":\"f\",\"input\":\"SELECT 1\"}}")
            FINISH("tool_calls"),
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":null,\"input\":\"SELECT 1\"}]");
    check_answer(PROTO,
        DELTA("{\"function_call\":{\"name\":\"f\",\"arguments\":\"{\"}}")
            DELTA("{\"function_call\":{\"arguments\":\"}\"}}") FINISH("function_call"),
        "[{\"id\":null,\"name\":\"f\",\"arguments\":{},\"arguments_raw\":\"{}\"}]");
}

static void test_too_many_calls(void **state)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    for (int i = 0; i < 129; i++)
        hocket__buf_adds(&b, CALLS("{\"function\":{\"name\":\"f\"}}"));
    hocket__buf_adds(&b, FINISH("tool_calls"));
    check_answer(PROTO, b.data, "\"finish_reason\":\"tool_calls\"");
    hocket__buf_deinit(&b);
}

/* Both kinds of a call beside each other, one of them without anything in it. */
static void test_empty_custom(void **state)
{
    static const char *const empty[] = { "null", "{}", "{\"name\":\"\",\"input\":\"\"}", "\"\"" };
    char text[400];
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        snprintf(text, sizeof(text),
            CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"},"
                  "\"custom\":%s}") FINISH("tool_calls"),
            empty[i]);
        check_answer(PROTO, text, "\"name\":\"f\",\"arguments\":{\"x\":1}");
    }
    check_answer(PROTO,
        CALLS("{\"id\":\"a\",\"custom\":{\"name\":\"f\",\"input\":\"SEL\"},\"function\":{\"name\":"
              "\"\",\"arguments\":\"\"}}") CALLS("{\"index\":-1,\"custom\":{\"input\":\"ECT\"}}")
            FINISH("tool_calls"),
        "\"name\":\"f\",\"arguments\":null,\"input\":\"SELECT\"");
}

static void test_delta_beside_message(void **state)
{
    check_answer(PROTO,
        "{\"choices\":[{\"index\":0,\"delta\":{},\"message\":{\"content\":\"text\"},\"finish_"
        "reason\":\"stop\"}]}",
        "\"text\":\"text\"");
    check_answer(PROTO,
        "{\"choices\":[{\"delta\":{\"content\":\"text\"},\"message\":{\"content\":\"text\"},"
        "\"finish_reason\":\"stop\"}]}",
        "\"text\":\"text\"");
    check_answer(PROTO,
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"text\"},\"message\":{\"content\":null}"
        ",\"finish_reason\":\"stop\"}]}",
        "\"text\":\"text\"");
    check_answer(PROTO,
        CHUNK("{\"index\":0,\"delta\":{},\"message\":{\"content\":\"te\"},\"finish_reason\":null}")
            CHUNK("{\"index\":0,\"delta\":{},\"message\":{\"content\":\"text\"},\"finish_reason\":"
                  "\"stop\"}") DONE,
        "\"text\":\"text\"");
    check_answer(PROTO,
        CHUNK("{\"index\":0,\"delta\":{\"content\":\"te\"},\"message\":{\"content\":\"te\"},"
              "\"finish_reason\":null}")
            CHUNK("{\"index\":0,\"delta\":{\"content\":\"xt\"},\"message\":{\"content\":\"text\"},"
                  "\"finish_reason\":\"stop\"}") DONE,
        "\"text\":\"text\"");
}

/* ---- Ends ---- */

#define CALL_F                                                                                     \
    CALLS("{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}")

static void test_finish(void **state)
{
    check_answer(PROTO, CALL_F FINISH("stop"),
        "\"finish_reason\":\"tool_calls\",\"finish_reason_raw\":\"stop\"");
    check_answer(PROTO, CALL_F FINISH("length"), "\"finish_reason\":\"length\"");
    check_answer(PROTO, CALL_F FINISH("content_filter"), "\"finish_reason\":\"content_filter\"");
    check_answer(PROTO, CALL_F DONE, "\"finish_reason\":\"tool_calls\",\"finish_reason_raw\":null");
    check_answer(PROTO, CALL_F FINISH("tool_calls") FINISH("tool_calls") DONE,
        "\"finish_reason\":\"tool_calls\"");
    check_answer(PROTO, DELTA("{\"content\":\"x\",\"tool_calls\":[]}") FINISH("tool_calls") DONE,
        "\"finish_reason\":\"stop\",\"finish_reason_raw\":\"tool_calls\"");
    check_answer(PROTO, DELTA("{\"content\":\"x\"}") DONE,
        "\"finish_reason\":null,\"finish_reason_raw\":null");
    /* an empty one, with every chunk or with a body, is none */
    check_answer(PROTO, DELTA("{\"content\":\"x\"}") FINISH("") DONE,
        "\"finish_reason\":\"stop\",\"finish_reason_raw\":\"\"");
    check_answer(PROTO, FINISH("") DELTA("{\"content\":\"x\"}") FINISH("length") FINISH("") DONE,
        "\"finish_reason\":\"length\",\"finish_reason_raw\":\"length\"");
    check_answer(PROTO, "{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"\"}]}",
        "\"finish_reason\":\"stop\",\"finish_reason_raw\":\"\"");
    check_answer(PROTO, DELTA("{\"content\":\"x\"}") FINISH("eos"), "\"finish_reason\":\"stop\"");
    check_answer(
        PROTO, DELTA("{\"content\":\"x\"}") FINISH("error"), "\"finish_reason\":\"error\"");
}

static void test_truncated(void **state)
{
    check_fails(PROTO, "", HOCKET_ETRUNCATED);
    check_fails(PROTO, DELTA("{\"content\":\"x\"}"), HOCKET_ETRUNCATED);
    check_fails(PROTO, CALL_F, HOCKET_ETRUNCATED);
    check_fails(PROTO, CALL_F FINISH(""), HOCKET_ETRUNCATED);
    check_fails(PROTO, DONE, HOCKET_ETRUNCATED);
    check_fails(PROTO, DELTA("{\"content\":\"x\"}") FINISH("stop") "data: {\"choices\":[",
        HOCKET_ETRUNCATED);
    check_fails(PROTO, "{\"choices\":[{\"message\":{\"content\":\"x", HOCKET_ETRUNCATED);
    check_fails(PROTO, "data: {\"choices\":nonsense}\n\n" DONE, HOCKET_EPROTOCOL);
    check_fails(PROTO, "<html>hello</html>", HOCKET_EPROTOCOL);
    check_fails(PROTO, "{\"hello\":1}", HOCKET_EPROTOCOL);
    /* the last line without its line end, and without the blank one */
    check_answer(PROTO, DELTA("{\"content\":\"x\"}") "data: [DONE]", "\"text\":\"x\"");
}

/* ---- Chunks ---- */

static void test_member_order(void **state)
{
    check_answer(PROTO,
        "data: {\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{\"content\":\"x\"},"
        "\"index\":0},{\"delta\":{\"content\":\"other\"},\"index\":1}],\"model\":\"m\"}\n\n",
        "{\"text\":\"x\"");
    check_answer(PROTO,
        CALLS("{\"function\":{\"arguments\":\"{}\",\"name\":\"f\"},\"id\":\"a\",\"index\":3}")
            FINISH("stop"),
        "[{\"id\":\"a\",\"name\":\"f\",");
    check_answer(PROTO,
        "data: {\"\\u0063hoices\":[{\"delta\":{\"content\":\"\\ud83d\\ude00\"}}]}\n\n" DONE,
        "{\"text\":\"\xF0\x9F\x98\x80\"");
}

static void test_odd_chunks(void **state)
{
    /* Azure: no choices first, a choice without a delta, empty id and model */
    check_answer(PROTO,
        "data: {\"id\":\"\",\"model\":\"\",\"choices\":[],\"prompt_filter_results\":[]}\n\n"
        "data: {\"id\":\"\",\"choices\":[{\"index\":0,\"finish_reason\":null,"
        "\"content_filter_offsets\":{}}]}\n\n" DELTA("{\"content\":\"x\"}") DONE,
        "\"response_id\":\"c\",\"model\":\"m\"");
    check_answer(PROTO,
        DELTA("{\"role\":\"assistant\",\"content\":null}") DELTA("null")
            DELTA("{\"content\":\"x\",\"obfuscation\":\"zzz\"}") FINISH("stop"),
        "{\"text\":\"x\"");
    check_answer(PROTO,
        "data: : OPENROUTER PROCESSING\n\ndata:\n\n: x\n\ndata:\n" DELTA("{\"content\":\"x\"}")
            DONE,
        "{\"text\":\"x\"");
    check_answer(PROTO,
        "\n         \n{\"choices\":[{\"message\":{\"content\":\"x\"},"
        "\"finish_reason\":\"stop\"}]}",
        "{\"text\":\"x\"");
    check_answer(PROTO,
        CHUNK("{\"index\":0,\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}"),
        "{\"text\":\"x\"");
}

/* Chunks that are like the one before but for their text, and those that only seem so. */
static void test_twins(void **state)
{
    check_answer(PROTO,
        DELTA("{\"content\":\"a\"}") DELTA("{\"content\":\"b\"}") DELTA("{\"content\":\"\"}")
            DELTA("{\"content\":\"\\\"\\n\\u00e9\xC3\xA9\"}") DELTA("{\"content\":\"\xFFz\"}")
                DELTA("{\"reasoning\":\"r\"}") DELTA("{\"reasoning\":\"s\"}")
                    DELTA("{\"content\":\"c\",\"refusal\":null}") FINISH("stop") DONE,
        "{\"text\":\"ab\\\"\\n\xC3\xA9\xC3\xA9\xEF\xBF\xBDzc\"");
    check_answer(PROTO,
        DELTA("{\"reasoning\":\"r\"}") DELTA("{\"reasoning\":\"s\"}") DELTA("{\"content\":\"r\"}")
            DELTA("{\"reasoning\":\"t\"}") FINISH("stop") DONE,
        "\"reasoning_text\":\"rst\"");
    /* the same chunks behind another type, behind the end, and for another call */
    check_answer(PROTO,
        "event: a\n" DELTA("{\"content\":\"a\"}") "event: a\n" DELTA("{\"content\":\"b\"}")
            DELTA("{\"content\":\"c\"}") FINISH("stop") DONE DELTA("{\"content\":\"d\"}"),
        "{\"text\":\"abc\"");
    check_answer(PROTO,
        CALLS("{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}")
            CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\":\"}}")
                CALLS("{\"index\":0,\"function\":{\"arguments\":\"1}\"}}") CALLS(
                    "{\"index\":1,\"id\":\"y\",\"function\":{\"name\":\"g\",\"arguments\":\"\"}}")
                    CALLS("{\"index\":1,\"function\":{\"arguments\":\"{\"}}")
                        CALLS("{\"index\":1,\"function\":{\"arguments\":\"}\"}}")
                            FINISH("tool_calls") DONE,
        "\"arguments\":{\"a\":1}");
}

#define HIDDEN(text, hidden)                                                                       \
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text                 \
    "\"}}],\"obfuscation\":" hidden "}\n\n"
#define HIDDEN_FIRST(text, hidden)                                                                 \
    "data: {\"obfuscation\":\"" hidden "\",\"choices\":[{\"delta\":{\"content\":\"" text           \
    "\"}}]}\n\n"

/* What hides how long the text is differs in each of them, and is as strictly read as all else. */
static void test_obfuscation(void **state)
{
    check_answer(PROTO,
        HIDDEN("a", "\"x\"") HIDDEN("b", "\"long\\n\\u00e9\"") HIDDEN("c", "\"\"") HIDDEN("d", "7")
            HIDDEN("e", "8") HIDDEN("f", "null") HIDDEN("g", "[\"x\"]") HIDDEN("h", "\"y\"") DONE,
        "{\"text\":\"abcdefgh\"");
    check_answer(PROTO,
        HIDDEN_FIRST("a", "x") HIDDEN_FIRST("b", "yz") HIDDEN_FIRST("c", "") HIDDEN_FIRST("d", "")
            FINISH("stop") DONE,
        "{\"text\":\"abcd\"");
    check_answer(PROTO, /* not what it looks like: a text in its place, and one without it */
        HIDDEN("a", "\"x\"") HIDDEN("b", "\"y\",\"x_groq\":{\"usage\":{\"prompt_tokens\":4}}")
            HIDDEN("c", "\"z\",\"choices\":[{\"delta\":{\"content\":\"d\"}}]")
                DELTA("{\"content\":\"e\"}") DONE,
        "{\"text\":\"abcde\"");
    check_fails(
        PROTO, HIDDEN("a", "\"x\"") HIDDEN("b", "\"\\q and so on\"") DONE, HOCKET_EPROTOCOL);
    check_fails(PROTO, HIDDEN("a", "\"x\"") HIDDEN("b", "\"\t\"") DONE, HOCKET_EPROTOCOL);
    check_fails(PROTO, HIDDEN("a", "7") HIDDEN("b", "07") DONE, HOCKET_EPROTOCOL);
    check_fails(PROTO, HIDDEN("a", "7") HIDDEN("b", "") DONE, HOCKET_EPROTOCOL);
}

/* Chunks that begin like the first one go on behind its head; what matters is read in each. */
static void test_heads(void **state)
{
#define USED(n, rest)                                                                              \
    "data: {\"id\":\"c\",\"usage\":{\"prompt_tokens\":" n "},\"choices\":[" rest "]}\n\n"
    check_answer(PROTO,
        DELTA("{\"content\":\"a\"}") USED("7", "") USED("8", "") FINISH("stop") DONE,
        "\"usage\":{\"input\":8,");
    check_answer(PROTO,
        "data: {\"choices\":[],\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
        "data: {\"choices\":[],\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n"
        "data: {\"choices\":[{\"delta\":{\"content\":\"c\"}}],\"id\":\"c\"}\n\n" DONE,
        "{\"text\":\"abc\"");
#undef USED
    check_fails(
        PROTO, DELTA("{\"role\":\"assistant\"}") CHUNK("{\"index\":0 0}"), HOCKET_EPROTOCOL);
    check_fails(PROTO,
        DELTA(
            "{\"role\":\"assistant\"}") "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":\n\n" DONE,
        HOCKET_ETRUNCATED);
}

static void test_reasoning(void **state)
{
    check_answer(PROTO, DELTA("{\"reasoning\":\"r\",\"reasoning_content\":\"r\"}") DONE,
        "\"reasoning_text\":\"r\"");
    check_answer(PROTO,
        DELTA("{\"reasoning\":\"r\",\"reasoning_details\":[{\"type\":"
              "\"reasoning.text\",\"text\":\"r\",\"index\":0}]}") DONE,
        "\"reasoning_text\":\"r\"");
    check_answer(PROTO,
        DELTA("{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":"
              "\"a\"}]},{\"type\":\"text\",\"text\":\"b\"}]}") DONE,
        "{\"text\":\"b\",\"reasoning_text\":\"a\"");
}

static void test_usage(void **state)
{
#define USAGE(n) "\"usage\":{\"prompt_tokens\":" #n ",\"completion_tokens\":2}"
    check_answer(PROTO, DELTA("{\"content\":\"x\"}") "data: {\"choices\":[]," USAGE(5) "}\n\n" DONE,
        "\"usage\":{\"input\":5,\"output\":2,\"cached\":null,\"reasoning\":null}");
    check_answer(PROTO,
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]," USAGE(
            1) "}\n\n"
               "data: {\"choices\":[{\"delta\":{\"content\":\"y\"}}]," USAGE(9) "}\n\n" DONE,
        "\"usage\":{\"input\":9,");
    check_answer(PROTO, DELTA("{}") "data: {\"x_groq\":{" USAGE(4) "}}\n\n" DONE, "{\"input\":4,");
    check_answer(PROTO,
        DELTA(
            "{}") "data: {\"usage\":{\"prompt_tokens\":3,\"prompt_cache_hit_tokens\":2}}\n\n" DONE,
        "\"usage\":{\"input\":3,\"output\":null,\"cached\":2,");
}

/* ---- Errors ---- */

static void test_stream_errors(void **state)
{
    const char *want = "\"finish_reason\":\"error\",\"finish_reason_raw\":null";
    const char *error = "\"error\":{\"where\":\"stream\",\"status\":null,\"type\":\"t\",\"code\":";
    check_answer(PROTO,
        DELTA("{\"content\":\"x\"}") "data: {\"error\":{\"message\":\"m\",\"type\":\"t\","
                                     "\"code\":502}}\n\n",
        want);
    check_answer(
        PROTO, "data: {\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":502}}\n\n" DONE, error);
    check_answer(
        PROTO, "event: error\ndata: {\"error\":{\"message\":\"m\",\"type\":\"t\"}}\n\n", error);
    check_answer(PROTO, "error: {\"error\":{\"message\":\"m\",\"type\":\"t\"}}\n\n", error);
    check_answer(PROTO, "error: {\"error\":{\"message\":\"m\",\"type\":\"t\"}}", error);
    check_answer(PROTO,
        "data: {\"error\":{\"message\":\"m\",\"type\":\"t\"},\"choices\":[{\"index\":0,"
        "\"delta\":{\"content\":\"x\"},\"finish_reason\":\"error\"}]}\n\n",
        error);
    check_answer(PROTO, "{\"error\":{\"message\":\"filtered\",\"code\":\"content_filter\"}}",
        "\"error\":{\"where\":\"body_200\",\"status\":null,\"type\":null,\"code\":"
        "\"content_filter\",\"message\":\"filtered\"}");
    check_answer(PROTO,
        DELTA("{\"content\":\"x\"}") "data: {\"choices\":[],\"error\":null}\n\n"
                                     "data: {\"choices\":[],\"error\":false}\n\n"
                                     "data: {\"choices\":[],\"error\":\"\"}\n\n" DONE,
        "\"finish_reason\":null");
}

/* ---- What goes back ---- */

static void test_replay(void **state)
{
    const char *answer = DELTA(
        "{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"a\\n\","
        "\"format\":\"f\",\"index\":0}]}")
        DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"b\",\"index\":0}]}")
            DELTA("{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"signature\":\"s\","
                  "\"index\":0},"
                  "{\"type\":\"reasoning.encrypted\",\"data\":\"d\",\"id\":\"i\",\"index\":1}]}")
                CALLS("{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"},"
                      "\"extra_content\":{\"google\":{\"thought_signature\":\"g\"}}},"
                      "{\"id\":\"a\",\"function\":{\"name\":\"h\"}}") FINISH("stop");
    char *m = message_of(PROTO, answer);
    assert_string_equal(m,
        "{\"role\":\"assistant\",\"calls\":[{\"id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"},"
        "{\"id\":\"call_1\",\"name\":\"h\",\"arguments\":\"{}\"}],\"replay\":{\"protocol\":"
        "\"openai_chat\",\"value\":{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":"
        "\"a\\nb\",\"signature\":\"s\",\"format\":\"f\",\"index\":0},{\"type\":"
        "\"reasoning.encrypted\",\"data\":\"d\",\"id\":\"i\",\"index\":1}],\"calls\":[{\"google\":"
        "{\"thought_signature\":\"g\"}},null]}}}");
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    add(&h, m);
    struct hocket__llm_request q = request_of(&h);
    check_body(PROTO, &q,
        "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":null,"
        "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"a\\nb\",\"signature\":"
        "\"s\","
        "\"format\":\"f\",\"index\":0},{\"type\":\"reasoning.encrypted\",\"data\":\"d\",\"id\":"
        "\"i\","
        "\"index\":1}],\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":"
        "\"f\",\"arguments\":\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"g\"}}},"
        "{\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"h\",\"arguments\":\"{}"
        "\"}}]"
        "}]}");
    hocket__history_deinit(&h);
    free(m);
}

static void run_failing(struct test_alloc *t, void *ud)
{
    const char *answer = DELTA("{\"content\":\"x\",\"reasoning_details\":[{\"type\":\"a\",\"text\":"
                               "\"b\"}]}") CALL_F FINISH("stop") DONE;
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
        cmocka_unit_test(test_plain_request),
        cmocka_unit_test(test_all_options),
        cmocka_unit_test(test_traits),
        cmocka_unit_test(test_tools),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_common_prefix),
        cmocka_unit_test(test_prepared),
        cmocka_unit_test(test_prepared_no_memory),
        cmocka_unit_test(test_body_goes_on),
        cmocka_unit_test(test_body_is_stale),
        cmocka_unit_test(test_refused_requests),
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_call_index_missing),
        cmocka_unit_test(test_call_index_always_zero),
        cmocka_unit_test(test_call_same_index_and_id),
        cmocka_unit_test(test_call_again),
        cmocka_unit_test(test_call_index_from_one),
        cmocka_unit_test(test_call_repeated_texts),
        cmocka_unit_test(test_call_arguments),
        cmocka_unit_test(test_too_many_calls),
        cmocka_unit_test(test_empty_custom),
        cmocka_unit_test(test_delta_beside_message),
        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_member_order),
        cmocka_unit_test(test_odd_chunks),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_obfuscation),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_reasoning),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_stream_errors),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
