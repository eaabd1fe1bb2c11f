/* How answers end, over all protocols: what is not known to be a good end is a failure, in a stream
 * as in a whole body. */
#include "net/protocol/finish.h"

#include "net/protocol/talk.h"

#define CHAT(choice) "{\"id\":\"c\",\"model\":\"m\",\"choices\":[" choice "]}"
#define DELTA        CHAT("{\"index\":0,\"delta\":{\"content\":\"half\"},\"finish_reason\":null}")
#define ENDS(word)   CHAT("{\"index\":0,\"delta\":{},\"finish_reason\":" word "}")
#define WHOLE(word)                                                                                \
    CHAT("{\"index\":0,\"message\":{\"content\":\"half\"},\"finish_reason\":" word "}")
#define GEMINI(more) "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"half\"}]}" more "}]}"
#define CLAUDE       "\"type\":\"message\",\"id\":\"a\",\"content\":"
#define CLAUDE_START "{\"type\":\"message_start\",\"message\":{" CLAUDE "[]}}"
#define CLAUDE_BLOCK                                                                               \
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":" \
    "\"half\"}}"
#define CLAUDE_END(w)  "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":" w "}}"
#define CLAUDE_STOP    "{\"type\":\"message_stop\"}"
#define CLAUDE_BODY(w) "{" CLAUDE "[{\"type\":\"text\",\"text\":\"half\"}],\"stop_reason\":" w "}"
#define OLLAMA(more)                                                                               \
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"half\"}" more "}"
#define ITEMS                                                                                      \
    "\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"half\"}]" \
    "}]"
#define RESPONSE(more)    "{\"id\":\"r\",\"object\":\"response\"" more "," ITEMS "}"
#define EVENT(name, more) "{\"type\":\"response." name "\",\"response\":" RESPONSE(more) "}"

/* What a call would make of the answer that was read. */
static int outcome(struct talk *k, int read, bool silent)
{
    if (hocket__reply_failed(&k->reply, &k->err) < 0)
        return k->err.status;
    return read < 0 ? read : hocket__reply_ended(&k->reply, silent, &k->err);
}

struct ending {
    const struct hocket__proto *proto;
    const char *events[5]; /* of a stream; or one body … */
    bool body;             /* … and this */
    int status;
    bool retryable;
    const char *says; /* part of the message */
};

static void check(const struct ending *e)
{
    struct talk k;
    talk_open(&k, e->proto);
    int read = e->body ? talk_read(&k, e->events[0], false) : talk_stream(&k, e->events);
    int status = outcome(&k, read, false);
    const char *last = e->events[0];
    for (int i = 0; e->events[i]; i++)
        last = e->events[i];
    if (status != e->status)
        fail_msg("%s: %s: status %d", e->proto->name, last, status);
    if (status < 0 && k.err.retryable != e->retryable)
        fail_msg("%s: %s: retryable %d", e->proto->name, last, k.err.retryable);
    if (e->says && !strstr(k.err.message, e->says))
        fail_msg("%s: %s: %s", e->proto->name, last, k.err.message);
    talk_close(&k);
}

#define CHECK(list)                                                                                \
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)                                    \
    check(&list[i])

#define P (&hocket__proto_openai_chat)

static void test_chat(void **state)
{
    static const struct ending list[] = {
        { P, { DELTA, ENDS("\"stop\""), "[DONE]" }, .status = 0 },
        { P, { DELTA, ENDS("\"STOP\""), "[DONE]" }, .status = 0 },
        { P, { DELTA, ENDS("\"eos\"") }, .status = 0 },
        { P, { DELTA, ENDS("\"length\""), "[DONE]" }, .status = 0 },
        { P, { DELTA, ENDS("\"stop\""), ENDS("\"stop\""), "[DONE]" }, .status = 0 },
        { P, { DELTA, "[DONE]" }, false, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { DELTA, ENDS("\"\""), "[DONE]" }, false, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { DELTA, ENDS("\"error\""), "[DONE]" }, false, HOCKET_EPROVIDER, true, "(error)" },
        { P, { DELTA, ENDS("\"error\""), ENDS("\"stop\""), "[DONE]" }, false, HOCKET_EPROVIDER,
            true, "(error)" },
        { P, { DELTA, ENDS("\"stop\""), ENDS("\"abort\""), "[DONE]" }, false, HOCKET_EPROVIDER,
            true, "(abort)" },
        { P, { DELTA, ENDS("\"network_error\"") }, false, HOCKET_EPROVIDER, true,
            "(network_error)" },
        { P, { DELTA, ENDS("\"insufficient_system_resource\"") }, false, HOCKET_EPROVIDER, true,
            "resource" },
        { P, { DELTA, ENDS("\"stop\\u0000\"") }, false, HOCKET_EPROVIDER, true, "broke" },
        { P,
            { DELTA,
                CHAT("{\"index\":0,\"delta\":{},\"finish_reason\":\"error\",\"error\":{\"code\":"
                     "502,\"message\":\"upstream\"}}"),
                "[DONE]" },
            false, HOCKET_EPROVIDER, true, "upstream" },
        { P,
            { DELTA, CHAT("{\"error\":{\"code\":400,\"message\":\"bad\"},\"delta\":{},\"finish_"
                          "reason\":\"stop\",\"index\":0}") },
            false, HOCKET_EPROVIDER, false, "bad" },
        { P, { DELTA, "{\"object\":\"error\",\"message\":\"no room\",\"code\":500}", "[DONE]" },
            false, HOCKET_EPROVIDER, true, "no room" },
        { P, { DELTA, ENDS("\"stop\""), "{\"object\":\"error\",\"message\":\"no room\"}" }, false,
            HOCKET_EPROVIDER, false, "no room" },
        { P, { DELTA, ENDS("\"stop\""), "{\"type\":\"error\",\"detail\":\"gone\"}" }, false,
            HOCKET_EPROVIDER, false, "gone" },
        { P, { DELTA, ENDS("\"stop\""), "{\"detail\":[{\"msg\":\"extra\"}]}" }, false,
            HOCKET_EPROVIDER, false, "extra" },
        { P, { DELTA, ENDS("\"stop\""), "{\"message\":\"Internal server error\"}" }, false,
            HOCKET_EPROVIDER, false, "Internal server error" },
        { P, { DELTA, ENDS("\"stop\""), "{\"message\":\"\",\"detail\":null,\"error\":null}" },
            .status = 0 },
        { P, { WHOLE("\"stop\"") }, .body = true },
        { P, { WHOLE("\"error\"") }, true, HOCKET_EPROVIDER, true, "(error)" },
        { P, { WHOLE("null") }, true, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { WHOLE("\"\"") }, true, HOCKET_ETRUNCATED, true, "nothing says" },
        { P,
            { CHAT("{\"index\":0,\"message\":{\"content\":\"half\"},\"finish_reason\":\"stop\","
                   "\"error\":{\"code\":503,\"message\":\"m\"}}") },
            true, HOCKET_EPROVIDER, true, "m" },
        { P, { "{\"object\":\"error\",\"message\":\"no room\",\"code\":400}" }, true,
            HOCKET_EPROVIDER, false, "no room" },
        { P, { "{\"detail\":\"Not Found\"}" }, true, HOCKET_EPROVIDER, false, "Not Found" },
        { P, { "{\"x\":1}" }, true, HOCKET_EPROTOCOL, false, "no choices" },
    };
    CHECK(list);
}

/* Calls are run where an end is known to be good alone. */
static void test_calls(void **state)
{
#define CALLED(word)                                                                               \
    CHAT("{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{"        \
         "\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":" word "}")
    static const struct ending list[] = {
        { P, { CALLED("\"tool_calls\""), "[DONE]" }, .status = 0 },
        { P, { CALLED("\"stop\""), "[DONE]" }, .status = 0 },
        { P, { DELTA, ENDS("\"tool_calls\""), "[DONE]" }, false, HOCKET_EPROVIDER, true,
            "without an answer (tool_calls)" },
        { P, { ENDS("\"function_call\"") }, false, HOCKET_EPROVIDER, true, "(function_call)" },
        { P, { WHOLE("\"tool_calls\"") }, true, HOCKET_EPROVIDER, true, "(tool_calls)" },
        { P, { CALLED("null"), "[DONE]" }, false, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { CALLED("\"error\""), "[DONE]" }, false, HOCKET_EPROVIDER, true, "broke" },
    };
    CHECK(list);
}

#undef P
#define P (&hocket__proto_openai_responses)

static void test_responses(void **state)
{
    static const struct ending list[] = {
        { P, { EVENT("completed", ",\"status\":\"completed\"") }, .status = 0 },
        { P, { EVENT("completed", "") }, .status = 0 },
        { P, { EVENT("completed", ",\"status\":\"in_progress\"") }, .status = 0 },
        { P, { EVENT("completed", ",\"status\":\"queued\"") }, false, HOCKET_EPROVIDER, true,
            "without an answer (queued)" },
        { P, { RESPONSE(",\"status\":\"queued\"") }, true, HOCKET_EPROVIDER, true, "(queued)" },
        { P, { EVENT("completed", ",\"status\":\"cancelled\"") }, false, HOCKET_EPROVIDER, true,
            "(cancelled)" },
        { P, { EVENT("completed", ",\"status\":\"expired\"") }, false, HOCKET_EPROVIDER, true,
            "(expired)" },
        { P, { EVENT("incomplete", ",\"status\":\"completed\"") }, .status = 0 },
        { P, { EVENT("incomplete", ",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}") },
            .status = 0 },
        { P, { EVENT("incomplete", ",\"incomplete_details\":{\"reason\":\"server_shutdown\"}") },
            false, HOCKET_EPROVIDER, true, "server_shutdown" },
        { P, { EVENT("failed", ",\"status\":\"completed\"") }, false, HOCKET_EPROVIDER, false, "" },
        { P, { EVENT("failed", ",\"error\":{\"code\":\"server_error\",\"message\":\"m\"}") }, false,
            HOCKET_EPROVIDER, true, "m" },
        { P, { "{\"type\":\"response.output_text.delta\",\"delta\":\"half\"}", "[DONE]" }, false,
            HOCKET_ETRUNCATED, true, "last event" },
        { P, { "{\"object\":\"error\",\"message\":\"no room\",\"code\":500}" }, false,
            HOCKET_EPROVIDER, true, "no room" },
        { P,
            { "{\"type\":\"server_error\",\"error\":{\"message\":\"m\",\"type\":\"server_error\"}"
              "}" },
            false, HOCKET_EPROVIDER, true, "m" },
        { P, { "{\"detail\":\"gone\"}", EVENT("completed", "") }, false, HOCKET_EPROVIDER, false,
            "gone" },
        { P, { "{\"type\":\"response.news\",\"message\":\"hear, hear\"}", EVENT("completed", "") },
            .status = 0 },
        { P, { RESPONSE(",\"status\":\"completed\"") }, .body = true },
        { P, { RESPONSE("") }, true, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { RESPONSE(",\"status\":\"cancelled\"") }, true, HOCKET_EPROVIDER, true,
            "(cancelled)" },
        { P, { RESPONSE(",\"status\":\"failed\"") }, true, HOCKET_EPROVIDER, false, "" },
        { P,
            { RESPONSE(
                ",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"completed\"}") },
            true, HOCKET_EPROVIDER, true, "incomplete" },
        { P, { "{\"detail\":\"Not Found\"}" }, true, HOCKET_EPROVIDER, false, "Not Found" },
    };
    CHECK(list);
}

/* When to come again stands in words alone, inside of a stream. */
static void test_responses_wait(void **state)
{
    static const char *const streams[][2] = {
        { "{\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Please try again in "
          "3s.\"}",
            NULL },
        { EVENT("failed", ",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Please retry "
                          "after 3 seconds.\"}"),
            NULL },
    };
    for (size_t i = 0; i < 2; i++) {
        struct talk k;
        talk_open(&k, P);
        assert_int_equal(outcome(&k, talk_stream(&k, streams[i]), false), HOCKET_EPROVIDER);
        assert_true(k.err.retryable && hocket__reply_limited(&k.reply));
        assert_int_equal(k.err.retry_after_ms, 3000);
        talk_close(&k);
    }
}

#undef P
#define P (&hocket__proto_anthropic)

static void test_anthropic(void **state)
{
    static const struct ending list[] = {
        { P, { CLAUDE_START, CLAUDE_BLOCK, CLAUDE_END("\"end_turn\""), CLAUDE_STOP }, .status = 0 },
        { P, { CLAUDE_START, CLAUDE_BLOCK, CLAUDE_END("\"pause_turn\""), CLAUDE_STOP },
            .status = 0 },
        { P, { CLAUDE_START, CLAUDE_BLOCK, CLAUDE_END("\"refusal\""), CLAUDE_STOP }, .status = 0 },
        { P, { CLAUDE_START, CLAUDE_BLOCK, CLAUDE_END("null"), CLAUDE_STOP }, false,
            HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { CLAUDE_START, CLAUDE_BLOCK, CLAUDE_STOP }, false, HOCKET_ETRUNCATED, true,
            "nothing says" },
        { P, { CLAUDE_START, CLAUDE_BLOCK, CLAUDE_END("\"error\""), CLAUDE_STOP }, false,
            HOCKET_EPROVIDER, true, "(error)" },
        { P, { CLAUDE_START, CLAUDE_BLOCK, CLAUDE_END("\"end_turn\"") }, false, HOCKET_ETRUNCATED,
            true, "message_stop" },
        { P,
            { CLAUDE_START, CLAUDE_END("\"end_turn\""),
                "{\"object\":\"error\",\"message\":\"no room\",\"code\":500}", CLAUDE_STOP },
            false, HOCKET_EPROVIDER, true, "no room" },
        { P, { CLAUDE_START, CLAUDE_END("\"end_turn\""), "{\"detail\":\"gone\"}", CLAUDE_STOP },
            false, HOCKET_EPROVIDER, false, "gone" },
        { P,
            { CLAUDE_START, "{\"type\":\"news\",\"message\":\"m\"}", CLAUDE_END("\"end_turn\""),
                CLAUDE_STOP },
            .status = 0 },
        { P, { CLAUDE_BODY("\"end_turn\"") }, .body = true },
        { P, { CLAUDE_BODY("null") }, true, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { CLAUDE_BODY("\"malformed\"") }, true, HOCKET_EPROVIDER, true, "(malformed)" },
        { P, { "{\"detail\":\"Not Found\"}" }, true, HOCKET_EPROVIDER, false, "Not Found" },
    };
    CHECK(list);
}

#undef P
#define P            (&hocket__proto_gemini)
#define REASON(word) ",\"finishReason\":\"" word "\""

static void test_gemini(void **state)
{
    static const struct ending list[] = {
        { P, { GEMINI(), GEMINI(REASON("STOP")) }, .status = 0 },
        { P, { GEMINI(REASON("FINISH_REASON_UNSPECIFIED")), GEMINI(REASON("STOP")) }, .status = 0 },
        { P, { GEMINI(REASON("STOP")), GEMINI(REASON("STOP")) }, .status = 0 },
        { P, { GEMINI(), GEMINI(REASON("SAFETY")) }, .status = 0 },
        { P, { "{\"promptFeedback\":{\"blockReason\":\"JAILBREAK\"}}" }, .status = 0 },
        { P, { GEMINI(REASON("STOP")), GEMINI(REASON("OTHER")) }, false, HOCKET_EPROVIDER, true,
            "(OTHER)" },
        { P, { GEMINI(REASON("OTHER")), GEMINI(REASON("STOP")) }, false, HOCKET_EPROVIDER, true,
            "(OTHER)" },
        { P, { GEMINI(REASON("UNEXPECTED_TOOL_CALL")) }, false, HOCKET_EMODEL, true,
            "UNEXPECTED_TOOL_CALL" },
        { P, { GEMINI(REASON("MALFORMED_FUNCTION_CALL")) }, false, HOCKET_EMODEL, true,
            "MALFORMED" },
        { P, { GEMINI(REASON("TOO_MANY_TOOL_CALLS")) }, false, HOCKET_EPROVIDER, true, "TOO_MANY" },
        { P, { GEMINI(REASON("MISSING_THOUGHT_SIGNATURE")) }, false, HOCKET_EPROVIDER, false,
            "SIGNATURE" },
        { P, { GEMINI(REASON("NEWS")) }, false, HOCKET_EPROVIDER, true, "(NEWS)" },
        { P, { GEMINI(REASON("FINISH_REASON_UNSPECIFIED")) }, false, HOCKET_ETRUNCATED, true,
            "nothing says" },
        { P, { GEMINI() }, false, HOCKET_ETRUNCATED, true, "finishReason" },
        { P, { GEMINI(REASON("STOP")), "{\"detail\":\"gone\"}" }, false, HOCKET_EPROVIDER, false,
            "gone" },
        { P, { GEMINI(REASON("STOP")) }, .body = true },
        { P, { GEMINI(REASON("OTHER")) }, true, HOCKET_EPROVIDER, true, "(OTHER)" },
        { P, { GEMINI() }, true, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { "[" GEMINI() "," GEMINI(REASON("OTHER")) "]" }, true, HOCKET_EPROVIDER, true,
            "(OTHER)" },
        { P, { "{\"detail\":\"Not Found\"}" }, true, HOCKET_EPROVIDER, false, "Not Found" },
    };
    CHECK(list);
}

#undef P
#define P          (&hocket__proto_ollama)
#define DONE(word) ",\"done\":true" word

static void test_ollama(void **state)
{
    static const struct ending list[] = {
        { P, { OLLAMA(), OLLAMA(DONE(",\"done_reason\":\"stop\"")) }, .status = 0 },
        { P, { OLLAMA(), OLLAMA(DONE(",\"done_reason\":\"length\"")) }, .status = 0 },
        { P, { OLLAMA(), OLLAMA(DONE()) }, false, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { OLLAMA(), OLLAMA(DONE(",\"done_reason\":\"load\"")) }, false, HOCKET_EPROVIDER, true,
            "(load)" },
        { P, { OLLAMA(",\"done_reason\":\"stop\"") }, false, HOCKET_ETRUNCATED, true,
            "without done" },
        { P,
            { OLLAMA(), "{\"object\":\"error\",\"message\":\"no room\",\"code\":500}",
                OLLAMA(DONE(",\"done_reason\":\"stop\"")) },
            false, HOCKET_EPROVIDER, true, "no room" },
        { P, { OLLAMA(DONE(",\"done_reason\":\"stop\"")) }, .body = true },
        { P, { OLLAMA(DONE()) }, true, HOCKET_ETRUNCATED, true, "nothing says" },
        { P, { OLLAMA(DONE(",\"done_reason\":\"broken\"")) }, true, HOCKET_EPROVIDER, true,
            "(broken)" },
        { P, { "{\"detail\":\"Not Found\"}" }, true, HOCKET_EPROVIDER, false, "Not Found" },
    };
    CHECK(list);
}

/* Some never say it: then a whole answer is enough, and one that broke is none all the same. */
static void test_silent(void **state)
{
    struct talk k;
    talk_open(&k, &hocket__proto_openai_chat);
    const char *const whole[] = { DELTA, "[DONE]", NULL }, *const cut[] = { DELTA, NULL },
                      *const broken[] = { DELTA, ENDS("\"error\""), "[DONE]", NULL };
    assert_int_equal(outcome(&k, talk_stream(&k, whole), true), 0);
    assert_int_equal(outcome(&k, talk_stream(&k, cut), true), HOCKET_ETRUNCATED);
    assert_int_equal(outcome(&k, talk_stream(&k, broken), true), HOCKET_EPROVIDER);
    talk_close(&k);
}

static void test_words(void **state)
{
    assert_int_equal(hocket__finish_of(HOCKET__STR("Tool_Calls")), HOCKET__FINISH_CALLS);
    assert_int_equal(hocket__finish_of(HOCKET__STR("")), HOCKET__FINISH_NONE);
    assert_int_equal(hocket__finish_of(HOCKET__STR("sto")), HOCKET__FINISH_ERROR);
    assert_int_equal(hocket__finish_of(HOCKET__STR("stopp")), HOCKET__FINISH_ERROR);
    assert_int_equal(hocket__finish_of(HOCKET__STR("stop\0\0length")), HOCKET__FINISH_ERROR);
}

/* A word of any length, cut between two characters, in a message. */
static void test_long_word(void **state)
{
    struct talk k;
    struct hocket__buf b;
    talk_open(&k, &hocket__proto_gemini);
    hocket__buf_init(&b, &hocket__malloc, 0);
    hocket__buf_adds(&b, "{\"candidates\":[{\"finishReason\":\"x");
    for (int i = 0; i < 5000; i++)
        hocket__buf_adds(&b, "\xC3\xA9");
    hocket__buf_adds(&b, "\"}]}");
    assert_int_equal(outcome(&k, talk_read(&k, b.data, false), false), HOCKET_EPROVIDER);
    assert_has(k.err.message, "\xC3\xA9)");
    assert_true(strlen(k.err.message) < 200);
    hocket__buf_deinit(&b);
    talk_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chat),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_responses_wait),
        cmocka_unit_test(test_anthropic),
        cmocka_unit_test(test_gemini),
        cmocka_unit_test(test_ollama),
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_long_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
