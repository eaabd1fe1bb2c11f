#include "net/protocol/talk.h"

#define CACHE ",\"cache_control\":{\"type\":\"ephemeral\"}"

#define TOOLS                                                                                      \
    "[{\"name\":\"add\",\"description\":\"Adds\",\"parameters\":{\"type\":\"object\","             \
    "\"properties\":{\"a\":{}}}},"                                                                 \
    "{\"name\":\"now\",\"strict\":true}]"

/* ---- Requests ---- */

static void add_work(struct talk *k)
{
    talk_add(k, "{\"role\":\"system\",\"text\":\"Be kind.\"}");
    talk_add(k, "{\"role\":\"user\",\"parts\":[{\"text\":\"What \\u00e9?\"},{\"text\":\" \\n\"},"
                "{\"image\":{\"mime\":\"image/jpeg\",\"data\":\"/9j/"
                "\"}},{\"image\":{\"url\":\"https://x/y.png\"}},"
                "{\"image\":{\"url\":\"data:image/gif;base64,R0lG\"}}]}");
    talk_add(k, "{\"role\":\"assistant\",\"text\":\"Let me see.\",\"reasoning\":\"hm\",\"calls\":["
                "{\"id\":\"t1\",\"name\":\"add\",\"arguments\":\"{\\n \\\"a\\\": 1}\"},"
                "{\"id\":\"functions.now:0\",\"name\":\"now\",\"arguments\":\"\"}]}");
    talk_add(k, "{\"role\":\"tool\",\"id\":\"t1\",\"name\":\"add\",\"text\":\"2\"}");
    talk_add(k, "{\"role\":\"tool\",\"id\":\"functions.now:0\",\"name\":\"now\",\"text\":\"\","
                "\"error\":true}");
}

static void test_body(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    add_work(&k);
    k.q.model = "claude-sonnet-4-20250514";
    k.q.system = HOCKET__STR("You are \"it\".");
    k.q.tools = HOCKET__STR(TOOLS);
    k.q.tool_choice = "required";
    k.q.no_parallel_calls = k.q.stream = true;
    k.q.temperature = 0.5;
    k.q.top_p = 0.9;
    k.q.top_k = 40;
    k.q.seed = 7;
    k.q.max_tokens = 1000;
    k.q.stop = HOCKET__STR("[\"END\"]");
    k.q.extra = HOCKET__STR("{\"metadata\":{\"user_id\":\"u\"},\"top_k\":3,\"messages\":[]}");
    assert_string_equal(talk_body(&k),
        "{\"model\":\"claude-sonnet-4-20250514\",\"max_tokens\":1000,\"temperature\":0.5,\"top_p\":"
        "0.9,"
        "\"stop_sequences\":[\"END\"],\"stream\":true,"
        "\"tools\":[{\"name\":\"add\",\"description\":\"Adds\","
        "\"input_schema\":{\"type\":\"object\",\"properties\":{\"a\":{}}}},"
        "{\"name\":\"now\",\"input_schema\":{\"type\":\"object\",\"properties\":{}},\"strict\":"
        "true" CACHE "}],"
        "\"tool_choice\":{\"type\":\"any\",\"disable_parallel_tool_use\":true},"
        "\"system\":[{\"type\":\"text\",\"text\":\"You are \\\"it\\\".\"},"
        "{\"type\":\"text\",\"text\":\"Be kind.\"" CACHE "}],"
        "\"metadata\":{\"user_id\":\"u\"},\"top_k\":3,"
        "\"messages\":[{\"content\":[{\"type\":\"text\",\"text\":\"What \\u00e9?\"},"
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
        "jpeg\",\"data\":\"/9j/\"}},"
        "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://x/y.png\"}},"
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
        "gif\",\"data\":\"R0lG\"}" CACHE "}],\"role\":\"user\"},\n"
        "{\"content\":[{\"type\":\"text\",\"text\":\"Let me see.\"},"
        "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"add\",\"input\":{  \"a\": 1}},"
        "{\"type\":\"tool_use\",\"id\":\"functions_now_0\",\"name\":\"now\",\"input\":{}}],"
        "\"role\":\"assistant\"},\n"
        "{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"2\"},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"functions_now_0\",\"is_error\":true" CACHE
        "}],\"role\":\"user\"}]}");
    talk_close(&k);
}

static void test_small_body(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    talk_add(&k, "{\"role\":\"user\",\"text\":\"Hi\"}");
    /* A single question is not kept. */
    assert_string_equal(talk_body(&k),
        "{\"model\":\"m\",\"max_tokens\":8192,\"messages\":["
        "{\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}],\"role\":\"user\"}]}");
    assert_string_equal(
        talk_url(&k, "https://api.anthropic.com"), "https://api.anthropic.com/v1/messages");
    assert_string_equal(talk_url(&k, "https://x/v1"), "https://x/v1/messages");
    talk_close(&k);
}

/* What the schema of an answer becomes; NULL: words. */
static void check_schema(const char *model, const char *schema, const char *want)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    add_work(&k);
    k.q.model = model;
    k.q.schema = hocket__cstr(schema);
    const char *body = talk_body(&k), *format = strstr(body, "\"format\":");
    const char *words = strstr(body, "valid against this JSON Schema:");
    if (!want) {
        assert_null(format);
        assert_non_null(words);
    } else {
        static const char head[] = "\"format\":{\"type\":\"json_schema\",\"schema\":";
        assert_null(words);
        assert_memory_equal(format, head, strlen(head));
        assert_memory_equal(format + strlen(head), want, strlen(want));
    }
    talk_close(&k);
}

/* Objects are closed; what the server would refuse the whole request for is said in words. */
static void test_schemas(void **state)
{
    const char *new = "claude-sonnet-4-5", *plain = "{\"type\":\"object\",\"properties\":{}}";
    const char *closed = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}";
    check_schema(new, plain, closed);
    check_schema(new, closed, closed);
    check_schema("claude-opus-4-1", plain, closed);
    check_schema(new,
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"maxLength\":9}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},"
        "\"additionalProperties\":false}");
    check_schema("claude-fable-5", plain, closed);
    check_schema("claude-opus-4", plain, NULL);
    check_schema("claude-sonnet-4-20250514", plain, NULL);
    check_schema("claude-3-7-sonnet-latest", plain, NULL);
    check_schema(new,
        "{\"$schema\":\"x\",\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{"
        "\"type\":"
        "\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\","
        "\"format\":"
        "\"date\"}},\"additionalProperties\":false}},\"b\":{\"anyOf\":[{\"type\":\"null\"},{"
        "\"enum\":"
        "[1,\"x\"],\"description\":\"d\"}]}}}",
        "{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
        "\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\","
        "\"format\":"
        "\"date\"}},\"additionalProperties\":false}},\"b\":{\"anyOf\":[{\"type\":\"null\"},{"
        "\"enum\":"
        "[1,\"x\"],\"description\":\"d\"}]}},\"additionalProperties\":false}}}");
    const char *const refused[] = { "{\"type\":\"object\"}", "{\"type\":[\"object\",\"null\"]}",
        "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":true}",
        "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":{}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"minimum\":1}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":true}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"format\":\"regex\"}}}",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"items\":[{}]}}}",
        "{\"type\":\"object\",\"properties\":[]}", "{\"allOf\":[{}]}" };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        check_schema(new, refused[i], NULL);
    struct hocket__buf deep;
    hocket__buf_init(&deep, &hocket__malloc, 0);
    for (int i = 0; i < 200; i++)
        hocket__buf_adds(&deep, "{\"items\":");
    hocket__buf_adds(&deep, "{}");
    for (int i = 0; i < 200; i++)
        hocket__buf_adds(&deep, "}");
    check_schema(new, deep.data, NULL);
    hocket__buf_deinit(&deep);
}

/* A server that knows no schemas is told in words; and ids have the length it wants. */
static void test_traits(void **state)
{
    static const struct hocket__proto_traits traits = { .no_json_schema = true,
        .call_id_length = 9,
        .max_tokens_field = "max_new",
        .strict_tools = true };
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    k.q.traits = &traits;
    k.q.schema = HOCKET__STR("{\"type\":\"object\"}");
    k.q.tools = HOCKET__STR("[{\"name\":\"f\",\"strict\":false},{\"name\":\"g\"}]");
    add_work(&k);
    const char *body = talk_body(&k);
    assert_lacks(body, "output_config");
    assert_has(body,
        "Schema:\\n{\\\"type\\\":\\\"object\\\"}\"},{\"type\":\"text\",\"text\":\"Be kind.\"");
    assert_has(body, "\"max_new\":8192");
    assert_has(body, "{\"name\":\"f\",\"input_schema\":{\"type\":\"object\",\"properties\":{}}},");
    assert_has(body, "\"strict\":true,");
    const char *id = strstr(body, "tool_use_id\":\"") + strlen("tool_use_id\":\"");
    assert_int_equal(strcspn(id, "\""), 9);
    talk_close(&k);
}

static void test_choice(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    k.q.tool_choice = "add";
    assert_lacks(talk_body(&k), "tool_choice"); /* refused without tools */
    k.q.tools = HOCKET__STR("[]");
    assert_lacks(talk_body(&k), "tool");
    k.q.tools = HOCKET__STR(TOOLS);
    assert_has(talk_body(&k), "\"tool_choice\":{\"type\":\"tool\",\"name\":\"add\"}");
    k.q.tool_choice = "none";
    k.q.no_parallel_calls = true;
    assert_has(talk_body(&k), "\"tool_choice\":{\"type\":\"none\"}");
    k.q.tool_choice = NULL;
    assert_has(
        talk_body(&k), "\"tool_choice\":{\"type\":\"auto\",\"disable_parallel_tool_use\":true}");
    talk_close(&k);
}

static void test_thinking(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    k.q.temperature = 1.5;
    assert_has(talk_body(&k), "\"temperature\":1.0,"); /* no more is allowed */
    k.q.reasoning = "5000";
    k.q.model = "claude-haiku-4-5";
    k.q.max_tokens = 100;
    assert_has(talk_body(&k),
        "\"max_tokens\":5100,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":5000}");
    k.q.reasoning = "minimal";
    assert_has(talk_body(&k), "\"budget_tokens\":1024");
    k.q.model = "claude-opus-4-7";
    k.q.reasoning = "5000";
    assert_has(talk_body(&k), "\"max_tokens\":100,\"thinking\":{\"type\":\"adaptive\"},\"output_"
                              "config\":{\"effort\":\"medium\"}");
    k.q.reasoning = "none";
    assert_has(talk_body(&k), "\"temperature\":1.0,\"thinking\":{\"type\":\"disabled\"}");
    talk_close(&k);
}

/* ---- Turns ---- */

static void test_turns(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    add_work(&k);
    char before[4096], after[4096];
    strcpy(before, talk_wire(&k));
    talk_add(&k, "{\"role\":\"user\",\"text\":\"   \"}"); /* says nothing */
    assert_string_equal(talk_wire(&k), before);
    talk_add(&k, "{\"role\":\"user\",\"text\":\"And?\"}");
    talk_add(&k, "{\"role\":\"system\",\"text\":\"Hurry.\"}");
    strcpy(after, talk_wire(&k));
    size_t tail = strlen("],\"role\":\"user\"}");
    assert_memory_equal(after, before, strlen(before) - tail);
    assert_string_equal(after + strlen(before) - tail,
        ",{\"type\":\"text\",\"text\":\"And?\"},{\"type\":\"text\","
        "\"text\":\"<system>Hurry.</system>\"}],\"role\":\"user\"}");
    talk_add(&k, "{\"role\":\"assistant\",\"text\":\"Yes.\"}");
    assert_memory_equal(talk_wire(&k), after, strlen(after));
    talk_close(&k);
}

/* Text that looks like the end of a turn, in a call's arguments, is not taken for one. */
static void test_forged_tail(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    talk_add(&k, "{\"role\":\"user\",\"text\":\"x\"}");
    talk_add(&k, "{\"role\":\"assistant\",\"calls\":[{\"id\":\"t\",\"name\":\"f\",\"arguments\":"
                 "\"{\\\"content\\\":[{}],\\\"role\\\":\\\"user\\\"}\"}]}");
    k.q.tools = HOCKET__STR(TOOLS);
    assert_has(talk_body(&k), "\"input\":{\"content\":[{}],\"role\":\"user\"}");
    talk_add(&k, "{\"role\":\"assistant\",\"calls\":[{\"id\":\"u\",\"name\":\"f\",\"arguments\":"
                 "\"{\\\"content\\\":[\\n{}],\\\"role\\\":\\\"user\\\"}\\n\"}]}");
    assert_has(talk_body(&k), "\"input\":{\"content\":[ {}],\"role\":\"user\"} }");
    talk_close(&k);
}

static void test_bad_arguments(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    talk_add(&k, "{\"role\":\"assistant\",\"calls\":[{\"id\":\"a\",\"name\":\"f\",\"arguments\":\"{"
                 "\\\"x\\\":\"},"
                 "{\"id\":\"b\",\"name\":\"f\",\"arguments\":\"[1]\"},{\"id\":\"c\",\"name\":\"f\","
                 "\"arguments\":\" \"},"
                 "{\"id\":\"d\",\"name\":\"f\",\"arguments\":\"null\"}]}");
    const char *wire = talk_wire(&k);
    assert_has(wire, "\"id\":\"a\",\"name\":\"f\",\"input\":{\"invalid_json\":\"{\\\"x\\\":\"}}");
    assert_has(wire, "\"id\":\"b\",\"name\":\"f\",\"input\":{\"invalid_json\":\"[1]\"}}");
    assert_has(wire, "\"id\":\"c\",\"name\":\"f\",\"input\":{}}");
    assert_has(wire, "\"id\":\"d\",\"name\":\"f\",\"input\":{}}");
    talk_close(&k);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* The marks wander, but without them the body of a turn begins with that of the one before. */
static void test_cache_marks(void **state)
{
    struct talk k;
    char before[8192] = "", now[8192];
    talk_open(&k, &hocket__proto_anthropic);
    k.q.system = HOCKET__STR("s");
    k.q.tools = HOCKET__STR(TOOLS);
    for (int i = 0; i < 5; i++) {
        talk_add(&k, "{\"role\":\"user\",\"text\":\"q\"}");
        const char *body = talk_body(&k);
        assert_int_equal(count(body, CACHE), i == 0 ? 3 : 4);
        size_t n = 0;
        for (const char *p = body; *p; p++) {
            if (strncmp(p, CACHE, strlen(CACHE)) == 0)
                p += strlen(CACHE);
            now[n++] = *p;
        }
        now[n - 2] = 0; /* ]} */
        assert_memory_equal(now, before, strlen(before));
        strcpy(before, now);
        talk_add(&k, "{\"role\":\"assistant\",\"text\":\"a\"}");
    }
    k.q.extra = HOCKET__STR("{\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}");
    assert_int_equal(count(talk_body(&k), "cache_control"), 1);
    talk_close(&k);
}

/* ---- Answers and their way back ---- */

#define START                                                                                      \
    "{\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"model\":\"c\",\"usage\":{\"input_"   \
    "tokens\":5,\"output_tokens\":1,\"x\":null}}}"
#define DELTA(i, d) "{\"type\":\"content_block_delta\",\"index\":" #i ",\"delta\":" d "}"
#define BLOCK(i, b) "{\"content_block\":" b ",\"index\":" #i ",\"type\":\"content_block_start\"}"
#define END(i)      "{\"type\":\"content_block_stop\",\"index\":" #i "}"
#define FINISH(why)                                                                                \
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" why                                \
    "\"},\"usage\":{\"output_tokens\":9,\"input_tokens\":null,\"y\":null}}"
#define STOP "{\"type\":\"message_stop\"}"

static void test_replay(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    const char *const events[] = { START,
        BLOCK(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
        DELTA(0, "{\"thinking\":\"a\\u00e9\\n\",\"type\":\"thinking_delta\"}"),
        DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"b\"}"),
        DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"Eq\\/+=\"}"), END(0),
        "{\"type\": \"ping\"}", BLOCK(1, "{\"type\":\"redacted_thinking\",\"data\":\"xyz==\"}"),
        END(1), BLOCK(2, "{\"type\":\"text\",\"text\":\"\"}"),
        DELTA(2, "{\"type\":\"text_delta\",\"text\":\"\\n\\n\"}"), END(2),
        BLOCK(3, "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{},\"caller\":{"
                 "\"type\":\"direct\"}}"),
        DELTA(3, "{\"type\":\"input_json_delta\",\"partial_json\":\"\"}"),
        DELTA(3, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\"\"}"),
        DELTA(3, "{\"type\":\"input_json_delta\",\"partial_json\":\": 1}\"}"), END(3),
        FINISH("tool_use"), STOP, NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.reasoning, "a\xC3\xA9\nb");
    assert_text(k.deltas, "{\"a\": 1}");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_CALLS);
    assert_text(k.reply.usage_raw, "{\"input_tokens\":5,\"output_tokens\":9,\"x\":null}");
    assert_int_equal(k.reply.usage.output, 9);
    talk_keep(&k);
    talk_add(&k, "{\"role\":\"tool\",\"id\":\"t1\",\"name\":\"f\",\"text\":\"r\"}");
    assert_string_equal(talk_wire(&k), "{\"content\":[{\"type\":\"thinking\",\"thinking\":"
                                       "\"a\\u00e9\\nb\",\"signature\":\"Eq\\/+=\"},"
                                       "{\"type\":\"redacted_thinking\",\"data\":\"xyz==\"},"
                                       "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\","
                                       "\"caller\":{\"type\":\"direct\"},\"input\":{\"a\": 1}}],"
                                       "\"role\":\"assistant\"},\n"
                                       "{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
                                       "\"t1\",\"content\":\"r\"}],\"role\":\"user\"}");
    talk_close(&k);
}

/* Deltas that are the one before with another text in it go where that went, to what is sent back as well. */
static void test_twins(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    const char *const events[] = { START,
        BLOCK(0, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
        DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"a\"}"),
        DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"\\u00e9\"}"),
        DELTA(0, "{\"type\":\"thinking_delta\",\"thinking\":\"\\n\"}"),
        DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"Eq\"}"),
        DELTA(0, "{\"type\":\"signature_delta\",\"signature\":\"==\"}"), END(0),
        BLOCK(1, "{\"type\":\"text\",\"text\":\"\"}"),
        DELTA(1, "{\"type\":\"text_delta\",\"text\":\"x\"}"),
        DELTA(1, "{\"type\":\"text_delta\",\"text\":\"\\/y\"}"), "{\"type\": \"ping\"}",
        DELTA(1, "{\"type\":\"text_delta\",\"text\":\"z\"}"),
        DELTA(1, "{\"type\":\"citations_delta\",\"citation\":{\"text\":\"1\"}}"),
        DELTA(1, "{\"type\":\"citations_delta\",\"citation\":{\"text\":\"2\"}}"), END(1),
        BLOCK(2, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}"),
        DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}"),
        DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"a\\\"\"}"),
        DELTA(2, "{\"type\":\"input_json_delta\",\"partial_json\":\":1}\"}"), END(2),
        FINISH("tool_use"), STOP, NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.reasoning, "a\xC3\xA9\n");
    assert_text(k.reply.text, "x/yz");
    assert_text(k.reply.calls[0].arguments, "{\"a\":1}");
    assert_text(k.reply.replay,
        "[{\"type\":\"thinking\",\"thinking\":\"a\\u00e9\\n\",\"signature\":\"Eq==\"},"
        "{\"type\":\"text\",\"text\":\"x\\/yz\",\"citations\":[{\"text\":\"1\"},{\"text\":\"2\"}]},"
        "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"a\":1}}]");
    talk_close(&k);
}

/* Text first, so that the list of blocks begins in the middle; then all kinds. */
static void test_replay_late(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    const char *const events[] = { START, BLOCK(0, "{\"type\":\"text\",\"text\":\"I \"}"),
        DELTA(0, "{\"type\":\"text_delta\",\"text\":\"look.\"}"), END(0),
        BLOCK(1, "{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web\",\"input\":{}}"),
        DELTA(1, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"q\\\":\"}"),
        DELTA(1, "{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"x\\\"}\"}"), END(1),
        BLOCK(2, "{\"type\":\"web_result\",\"tool_use_id\":\"s\",\"content\":[{\"e\":\"1\"}]}"),
        END(2), BLOCK(3, "{\"type\":\"text\",\"text\":\"\",\"citations\":[]}"),
        DELTA(3, "{\"type\":\"citations_delta\",\"citation\":{\"c\":1}}"),
        DELTA(3, "{\"type\":\"text_delta\",\"text\":\"It is\"}"),
        DELTA(3, "{\"type\":\"citations_delta\",\"citation\":{\"c\":2}}"), END(3),
        BLOCK(4, "{\"type\":\"compaction\",\"content\":null}"),
        DELTA(
            4, "{\"type\":\"compaction_delta\",\"content\":\"sum\\\"\"}"), /* its end is missing */
        FINISH("pause_turn"), STOP, NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.text, "I look.It is");
    assert_text(k.reply.server_items, "[\"server_tool_use\",\"web_result\",\"compaction\"]");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_STOP);
    assert_text(k.reply.replay,
        "[{\"type\":\"text\",\"text\":\"I look.\"},"
        "{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web\",\"input\":{\"q\":\"x\"}},"
        "{\"type\":\"web_result\",\"tool_use_id\":\"s\",\"content\":[{\"e\":\"1\"}]},"
        "{\"type\":\"text\",\"text\":\"It is\",\"citations\":[{\"c\":1},{\"c\":2}]},"
        "{\"type\":\"compaction\",\"content\":\"sum\\\"\"}]");
    talk_close(&k);
}

/* What is no block leaves no trace; a block without a type, and a list with nothing but a space. */
static void test_replay_odd(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    const char *const events[] = { START, BLOCK(0, "{\"input\":{}}"),
        "{\"type\":\"content_block_start\",\"index\":1}",
        BLOCK(2, "{\"type\":\"text\",\"text\":\"a\",\"citations\":[ ]}"),
        DELTA(2, "{\"citation\":{\"c\":1}}"), END(2), FINISH("end_turn"), STOP, NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.replay,
        "[{\"input\":{}},{\"type\":\"text\",\"text\":\"a\",\"citations\":[{\"c\":1}]}]");
    talk_close(&k);
}

/* Nothing is kept of what text and calls say; a text behind a call is not said by them. */
static void test_replay_order(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    assert_int_equal(talk_read(&k,
                         "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
                         "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"x\":1}}],"
                         "\"stop_reason\":\"tool_use\"}",
                         false),
        0);
    assert_int_equal(k.reply.replay.len, 0);
    assert_int_equal(
        talk_read(&k,
            "{\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"x\":1}},"
            "{\"type\":\"text\",\"text\":\"a\"}],\"stop_reason\":\"tool_use\"}",
            false),
        0);
    assert_text(k.reply.replay,
        "[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"x\":1}},"
        "{\"type\":\"text\",\"text\":\"a\"}]");
    /* A call without an id gets ours, which its block would not have. */
    assert_int_equal(
        talk_read(&k,
            "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},"
            "{\"type\":\"tool_use\",\"name\":\"f\",\"input\":{}}],\"stop_reason\":\"tool_use\"}",
            false),
        0);
    assert_int_equal(k.reply.replay.len, 0);
    talk_close(&k);
}

/* ---- Odd streams ---- */

static void test_start_input(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    const char *const whole[] = { START,
        BLOCK(1, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"a\":1}}"), END(1),
        FINISH("end_turn"), STOP, NULL };
    assert_int_equal(talk_stream(&k, whole), 0);
    assert_text(k.reply.calls[0].arguments, "{\"a\":1}");
    assert_text(k.deltas, "{\"a\":1}");
    assert_int_equal(k.reply.finish, HOCKET__FINISH_CALLS);
    const char *const replaced[] = { START,
        BLOCK(1, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"a\":1}}"),
        DELTA(1, "{\"partial_json\":\"{\\\"b\\\":2}\"}"), END(1), FINISH("max_tokens"), STOP,
        NULL };
    assert_int_equal(talk_stream(&k, replaced), 0);
    assert_text(k.reply.calls[0].arguments, "{\"b\":2}");
    assert_true(k.reply.calls[0].has_raw);
    assert_int_equal(k.reply.finish, HOCKET__FINISH_LENGTH);
    talk_close(&k);
}

static void test_second_start(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    const char *const events[] = { START,
        BLOCK(0, "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}"),
        DELTA(0, "{\"partial_json\":\"{}\"}"), END(0),
        "{\"type\":\"message_start\",\"message\":{\"id\":\"m2\",\"model\":\"d\",\"usage\":{\"input_"
        "tokens\":6}}}",
        BLOCK(0, "{\"type\":\"tool_use\",\"id\":\"u\",\"name\":\"g\",\"input\":{}}"),
        DELTA(0, "{\"partial_json\":\"{\\\"b\\\":2}\"}"), END(0), FINISH("tool_use"), STOP, NULL };
    assert_int_equal(talk_stream(&k, events), 0);
    assert_text(k.reply.id, "m1");
    assert_int_equal(k.reply.n_calls, 2);
    assert_text(k.reply.calls[1].arguments, "{\"b\":2}");
    assert_int_equal(k.reply.usage.input, 6);
    talk_close(&k);
}

static void test_errors(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    const char *const overloaded[] = { START, BLOCK(0, "{\"type\":\"text\",\"text\":\"par\"}"),
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        NULL };
    assert_int_equal(talk_stream(&k, overloaded), 0);
    assert_string_equal(k.reply.error.where, "stream");
    assert_text(k.reply.error.type, "overloaded_error");
    assert_text(k.reply.text, "par");
    assert_true(hocket__reply_failed(&k.reply, &k.err) < 0 && k.err.retryable);
    assert_false(k.reply.complete);

    const char *const none[] = { START, "{\"type\":\"message_stop\",\"error\":{}}", NULL };
    assert_int_equal(talk_stream(&k, none), 0);
    assert_null(k.reply.error.where);

    const char *const cut[] = { START, BLOCK(0, "{\"type\":\"text\",\"text\":\"par\"}"),
        FINISH("end_turn"), NULL };
    assert_int_equal(talk_stream(&k, cut), HOCKET_ETRUNCATED);
    const char *const broken[] = { START, "{\"type\":\"content_block_delta\",,}", STOP, NULL };
    assert_int_equal(talk_stream(&k, broken), HOCKET_EPROTOCOL);
    const char *const empty[] = { "{\"type\":\"message_start\"}", STOP, NULL };
    assert_int_equal(talk_stream(&k, empty), HOCKET_EPROTOCOL);

    assert_int_equal(
        talk_read(
            &k, "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}", true),
        0);
    assert_string_equal(k.reply.error.where, "body_200");
    assert_int_equal(talk_read(&k, "{\"ok\":true}", true), HOCKET_EPROTOCOL);
    assert_int_equal(talk_read(&k, "{\"content\":[{\"type\":\"te", true), HOCKET_ETRUNCATED);
    talk_close(&k);
}

/* ---- Out of memory ---- */

static void no_memory(struct test_alloc *t, void *ud)
{
    static const char answer[] =
        "{\"id\":\"i\",\"model\":\"c\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
        "{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},"
        "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{\"a\":1}}],\"usage\":{"
        "\"input_tokens\":1}}";
    struct hocket__history h;
    struct hocket__reply reply;
    struct hocket__decoder *d = NULL;
    struct hocket__buf b;
    struct hocket_error err;
    hocket__history_init(&h, &t->a, 0);
    hocket__reply_init(&reply, &t->a, 1 << 20);
    hocket__buf_init(&b, &t->a, 0);
    int status = hocket__decoder_new(&t->a, &hocket__proto_anthropic, 0, &reply, NULL, NULL, &d);
    if (status == 0)
        status = hocket__decoder_feed(d, answer, sizeof(answer) - 1, &err);
    if (status == 0)
        status = hocket__decoder_end(d, &err);
    if (status == 0)
        status = hocket__reply_place(
            &reply, "anthropic", &h.next_call, &b, &(struct hocket__reply_places){ 0 });
    if (status == 0)
        status = hocket__history_add(&h, hocket__buf_str(&b), &err);
    for (int i = 0; status == 0 && i < 2; i++)
        status = hocket__history_add_result(
            &h, HOCKET__STR("t"), HOCKET__STR("f"), HOCKET__STR("r"), false);
    struct hocket__llm_request q = { .model = "m", .history = &h };
    hocket__buf_reset(&b);
    if (status == 0)
        status = hocket__proto_anthropic.write(&q, &b, &err);
    if (!t->failed)
        assert_int_equal(status, 0);
    if (status == 0)
        assert_has(b.data,
            "[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"r\"},{\"type\":");
    hocket__decoder_free(d);
    hocket__reply_deinit(&reply);
    hocket__history_deinit(&h);
    hocket__buf_deinit(&b);
}

static void test_no_memory(void **state)
{
    assert_true(test_alloc_each(no_memory, NULL) > 5);
}

/* A turn that could not be gone on with is as it was, and can be tried again. */
static void test_turn_undone(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_anthropic);
    talk_add(&k, "{\"role\":\"user\",\"text\":\"one\"}");
    char before[256];
    strcpy(before, talk_wire(&k));
    hocket__buf_shrink(&k.history.wire);
    talk_add(&k, "{\"role\":\"user\",\"text\":\"two two two two two two two two two\"}");
    k.t.fail_at = k.t.calls + 1;
    k.t.fail_rest = true;
    assert_int_equal(
        hocket__history_render(&k.history, k.proto, k.q.traits, &k.err), HOCKET_ENOMEM);
    assert_string_equal(k.history.wire.data, before);
    k.t.fail_at = 0;
    k.t.fail_rest = false;
    assert_has(talk_wire(&k), "\"one\"},{\"type\":\"text\",\"text\":\"two two");
    talk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_body),
        cmocka_unit_test(test_small_body),
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_traits),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_thinking),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_forged_tail),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_cache_marks),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_replay_late),
        cmocka_unit_test(test_replay_odd),
        cmocka_unit_test(test_replay_order),
        cmocka_unit_test(test_start_input),
        cmocka_unit_test(test_second_start),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_turn_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
