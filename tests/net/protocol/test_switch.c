/* A conversation that begins with one protocol and goes on with another: texts, calls
 * and results stay, what only the first one understands goes, and ids still pair. */
#include "net/protocol/talk.h"

#include <stdio.h>

static const struct beginning {
    const char *proto;
    const char *events[12];
    const char *replay; /* what the first protocol wants back, and no other may see */
    const char *ids[2]; /* of the two calls, in the neutral messages */
} beginnings[] = {
    { "openai_chat",
        { "{\"choices\":[{\"delta\":{\"content\":\"Let me \\\"see\\\"\",\"tool_calls\":["
          "{\"index\":0,\"id\":\"call.A:1\",\"function\":{\"name\":\"add\",\"arguments\":\"{"
          "\\\"a\\\":17}\"}},"
          "{\"index\":1,\"id\":\"call.B:2\",\"function\":{\"name\":\"now\",\"arguments\":\"\"}}]}}]"
          "}",
            "{\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}", "[DONE]" },
        NULL, { "call.A:1", "call.B:2" } },
    { "openai_responses",
        { "{\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\","
          "\"output\":["
          "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"SECRET\"}"
          ","
          "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
          "\"text\":\"Let me \\\"see\\\"\"}]},"
          "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"add\","
          "\"arguments\":\"{\\\"a\\\":17}\"},"
          "{\"type\":\"function_call\",\"id\":\"fc_2\",\"call_id\":\"c2\",\"name\":\"now\","
          "\"arguments\":\"{}\"}]}}" },
        "SECRET", { "c1", "c2" } },
    { "anthropic",
        { "{\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}",
            "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
            "\"thinking\",\"thinking\":\"hm\",\"signature\":\"SECRET\"}}",
            "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\","
            "\"text\":\"Let me \\\"see\\\"\"}}",
            "{\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_"
            "use\",\"id\":\"t1\",\"name\":\"add\",\"input\":{}}}",
            "{\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_"
            "delta\",\"partial_json\":\"{\\\"a\\\":17}\"}}",
            "{\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_"
            "use\",\"id\":\"t2\",\"name\":\"now\",\"input\":{}}}",
            "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}",
            "{\"type\":\"message_stop\"}" },
        "SECRET", { "t1", "t2" } },
    { "gemini",
        { "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Let me \\\"see\\\"\"}]}}]}",
            "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"add\","
            "\"args\":{\"a\":17}},\"thoughtSignature\":\"SECRET\"},"
            "{\"functionCall\":{\"name\":\"now\"}}]},\"finishReason\":\"STOP\"}]}" },
        "SECRET", { "call_1", "call_2" } },
    { "ollama",
        { "{\"message\":{\"content\":\"Let me "
          "\\\"see\\\"\",\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":{\"a\":17}}}"
          ","
          "{\"function\":{\"name\":\"now\",\"arguments\":{}}}]}}",
            "{\"done\":true,\"done_reason\":\"stop\"}" },
        NULL, { "call_1", "call_2" } },
};
#define N (sizeof(beginnings) / sizeof(beginnings[0]))

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void begin(struct talk *k, const struct beginning *b)
{
    talk_open(k, hocket__proto_find(b->proto));
    talk_add(k, "{\"role\":\"user\",\"text\":\"Go\"}");
    assert_int_equal(talk_stream(k, b->events), 0);
    assert_int_equal(k->reply.n_calls, 2);
    talk_keep(k);
    hocket__history_add_result(
        &k->history, hocket__cstr(b->ids[0]), HOCKET__STR("add"), HOCKET__STR("r<1>"), false);
    hocket__history_add_result(
        &k->history, hocket__cstr(b->ids[1]), HOCKET__STR("now"), HOCKET__STR("r<2>"), true);
    talk_add(k, "{\"role\":\"user\",\"text\":\"And then?\"}");
}

/* How often each id stands: with its call and with its result, or nowhere. */
static void check_ids(
    const char *body, const struct beginning *b, bool same, bool is_gemini, bool is_anthropic)
{
    char id[64];
    for (int i = 0; i < 2; i++) {
        snprintf(id, sizeof(id), "\"%s\"", b->ids[i]);
        for (char *p = id + 1; is_anthropic && p[1]; p++)
            if (*p == '.' || *p == ':')
                *p = '_';
        assert_int_equal(count(body, id), is_gemini && same ? 0 : 2);
    }
}

static void check_body(const char *body, const struct beginning *b, const char *to)
{
    static const char *const all[] = { "Go", "Let me \\\"see\\\"", "\"add\"", "\"now\"", "r<1>",
        "r<2>", "And then?" };
    bool same = strcmp(b->proto, to) == 0;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        assert_has(body, all[i]);
    if (!strstr(body, "{\"a\":17}") && !strstr(body, "\"{\\\"a\\\":17}\""))
        fail_msg("%s to %s: %s", b->proto, to, body);
    if (b->replay && same)
        assert_has(body, b->replay);
    else if (b->replay)
        assert_lacks(body, b->replay);
    check_ids(body, b, same, strcmp(to, "gemini") == 0, strcmp(to, "anthropic") == 0);
    /* Results that are one turn there stand together. */
    if (strcmp(to, "anthropic") == 0)
        assert_int_equal(count(body, "\"role\":\"user\""), 2);
    if (strcmp(to, "gemini") == 0)
        assert_int_equal(count(body, "\"role\":\"user\""), 3);
}

static void test_switch(void **state)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            struct talk k;
            begin(&k, &beginnings[i]);
            talk_wire(&k); /* the first protocol's form is there already */
            k.proto = hocket__proto_find(beginnings[j].proto);
            check_body(talk_body(&k), &beginnings[i], beginnings[j].proto);
            talk_close(&k);
        }
}

/* There and back again is as if nothing had been. */
static void test_back(void **state)
{
    for (size_t i = 0; i < N; i++) {
        struct talk k;
        char before[4096];
        begin(&k, &beginnings[i]);
        strcpy(before, talk_body(&k));
        k.proto = hocket__proto_find(beginnings[(i + 1) % N].proto);
        talk_body(&k);
        k.proto = hocket__proto_find(beginnings[i].proto);
        assert_string_equal(talk_body(&k), before);
        talk_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
