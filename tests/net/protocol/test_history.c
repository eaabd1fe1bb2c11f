/* The conversation: what is refused, and that both of its forms only ever grow. */
#include "net/protocol/protocol_impl.h"

#include "base/label.h"

#include "net/protocol/support.h"

static int add(struct hocket__history *h, const char *message)
{
    struct hocket_error err = { 0 };
    size_t before = h->messages.len, count = h->count;
    int status = hocket__history_add(h, hocket__cstr(message), &err);
    assert_int_equal(status, err.status);
    if (status < 0) {
        assert_true(err.message[0] != 0);
        assert_int_equal(h->messages.len, before);
        assert_int_equal(h->count, count);
    }
    return status;
}

/* Parts and calls, as users give them. */
static void test_inside(void **state)
{
    static const char *const good[] = { "{\"role\":\"user\",\"parts\":[]}",
        "{\"role\":\"user\",\"parts\":[{\"text\":\"a\"},{\"image\":{\"url\":\"https://x\"}}]}",
        "{\"role\":\"user\",\"parts\":[{\"image\":{\"mime\":\"image/png\",\"data\":\"QQ==\"}}]}",
        "{\"role\":\"user\",\"parts\":null}",
        "{\"role\":\"assistant\",\"calls\":[{\"id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}]}" };
    static const struct {
        const char *parts, *says;
    } bad[] = { { "[{\"video\":{\"data\":\"x\"}}]", "a part is of no kind that is known" },
        { "[{\"audio\":{\"data\":\"x\"}}]", "needs data and mime" },
        { "[{\"file\":{\"mime\":\"x\",\"data\":\"eA==\",\"url\":\"x\"}}]", "unknown member" },
        { "[{\"file\":[]}]", "is no object" },
        { "[{\"type\":\"text\",\"text\":\"a\"}]", "a part is of no kind that is known" },
        { "[{\"text\":\"a\"},\"b\"]", "a part is no object" },
        { "[{\"text\":1}]", "text is no string" }, { "[{}]", "neither text nor image" },
        { "[{\"image\":\"https://x\"}]", "an image is no object" },
        { "[{\"image\":{\"href\":\"x\"}}]", "unknown member" },
        { "[{\"image\":{\"mime\":\"image/png\"}}]", "neither url nor data" },
        { "[{\"image\":{\"url\":1}}]", "unknown member" } };
    struct hocket__history h;
    struct hocket_error err;
    char text[300];
    hocket__history_init(&h, &hocket__malloc, 0);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (hocket__history_add(&h, hocket__cstr(good[i]), &err) < 0)
            fail_msg("%s: %s", good[i], err.message);
    size_t before = h.messages.len;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "{\"role\":\"user\",\"parts\":%s}", bad[i].parts);
        assert_int_equal(hocket__history_add(&h, hocket__cstr(text), &err), HOCKET_EINVAL);
        if (!strstr(err.message, bad[i].says))
            fail_msg("%s: %s", text, err.message);
    }
    static const char *const calls[] = { "[{\"id\":\"a\",\"name\":\"f\"}]",
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":{}}]",
        "[{\"id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\",\"x\":\"y\"}]", "[1]" };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        snprintf(text, sizeof(text), "{\"role\":\"assistant\",\"calls\":%s}", calls[i]);
        assert_int_equal(hocket__history_add(&h, hocket__cstr(text), &err), HOCKET_EINVAL);
        assert_non_null(strstr(err.message, "a call "));
    }
    assert_int_equal(h.messages.len, before);
    hocket__history_deinit(&h);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"role\":\"user\"",
        "{\"role\":\"user\",\"text\":\"x\"} x",
        "{\"role\":\"robot\",\"text\":\"x\"}",
        "{\"role\":\"user\",\"text\":1}",
        "{\"role\":\"user\",\"content\":\"x\"}",
        "{\"role\":\"user\",\"parts\":{}}",
        "{\"role\":\"assistant\",\"calls\":\"x\"}",
        "{\"role\":\"assistant\",\"replay\":[]}",
        "{\"role\":\"assistant\",\"replay\":{\"a\":1}}",
        "{\"role\":\"tool\",\"text\":\"x\"}",
        "{\"role\":\"user\",\"text\":\"x\",\"labels\":\"web\"}",
        "{\"role\":\"user\",\"text\":\"x\",\"labels\":[\"moon\"]}",
        "{\"role\":\"user\",\"text\":\"x\",\"labels\":[[\"web\"]]}",
    };
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (add(&h, bad[i]) != HOCKET_EINVAL)
            fail_msg("accepted: %s", bad[i]);
    hocket__history_deinit(&h);
}

static void test_lines(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    assert_int_equal(add(&h, "{\n  \"role\": \"user\",\r\n\"text\":\"a\\nb\"\n}"), 0);
    assert_int_equal(hocket__history_add_text(&h, "assistant", HOCKET__STR("c\nd")), 0);
    assert_int_equal(hocket__history_add_text(&h, "tool", HOCKET__STR("x")), HOCKET_EINVAL);
    assert_int_equal(hocket__history_add_quoted(&h, "user", HOCKET__STR("\"e\\n\"")), 0);
    assert_int_equal(hocket__history_add_quoted(&h, "tool", HOCKET__STR("\"x\"")), HOCKET_EINVAL);
    assert_int_equal(
        hocket__history_add_result(&h, HOCKET__STR("1"), HOCKET__STR("f"), HOCKET__STR("r"), true),
        0);
    assert_int_equal(
        hocket__history_add_result(&h, HOCKET__STR("2"), HOCKET__STR(""), HOCKET__STR("s"), false),
        0);
    assert_int_equal(h.count, 5);
    assert_string_equal(h.messages.data,
        "{   \"role\": \"user\",  \"text\":\"a\\nb\" }\n"
        "{\"role\":\"assistant\",\"text\":\"c\\nd\"}\n"
        "{\"role\":\"user\",\"text\":\"e\\n\"}\n"
        "{\"role\":\"tool\",\"id\":\"1\",\"name\":\"f\",\"text\":\"r\",\"error\":true}\n"
        "{\"role\":\"tool\",\"id\":\"2\",\"text\":\"s\"}\n");
    hocket__history_deinit(&h);
}

/* A protocol that counts how often it is asked, and fails on demand. */
static int asked;

static int count_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err)
{
    asked++;
    hocket__jw_int(wire, asked);
    return hocket__piece_is(&m->text, "fail") ? hocket__error(err, HOCKET_EINVAL, "asked to") : 0;
}

static const struct hocket__proto counting = { .name = "counting", .message = count_message };
static const struct hocket__proto other = { .name = "other", .message = count_message };

static void check_wire(struct hocket__history *h, const struct hocket__proto *proto,
    const struct hocket__proto_traits *t, const char *want)
{
    struct hocket_error err;
    assert_int_equal(hocket__history_render(h, proto, t, &err), 0);
    assert_string_equal(h->wire.len > 0 ? h->wire.data : "", want);
}

static void test_render(void **state)
{
    struct hocket__history h;
    struct hocket__proto_traits t = { 0 };
    struct hocket_error err;
    asked = 0;
    hocket__history_init(&h, &hocket__malloc, 0);
    check_wire(&h, &counting, &t, "");
    add(&h, "{\"role\":\"user\",\"text\":\"x\"}");
    add(&h, "{\"role\":\"user\",\"text\":\"y\"}");
    check_wire(&h, &counting, &t, "1,2");
    check_wire(&h, &counting, &t, "1,2");
    add(&h, "{\"role\":\"user\",\"text\":\"z\"}");
    check_wire(&h, &counting, &t, "1,2,3");
    check_wire(&h, &other, &t, "4,5,6");
    check_wire(&h, &other, NULL, "7,8,9");
    hocket__history_unwire(&h);
    check_wire(&h, &other, NULL, "10,11,12");
    add(&h, "{\"role\":\"user\",\"text\":\"fail\"}");
    assert_int_equal(hocket__history_render(&h, &other, NULL, &err), HOCKET_EINVAL);
    assert_string_equal(h.wire.data, "10,11,12");
    hocket__history_deinit(&h);
}

static void add_turn(struct hocket__history *h)
{
    struct hocket__reply r;
    struct hocket_error err;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__buf_adds(&r.text, "look \"there\"");
    hocket__buf_adds(&r.reasoning, "hm\n");
    struct hocket__call *c = hocket__reply_add_call(&r);
    hocket__buf_adds(&c->id, "call_a");
    hocket__buf_adds(&c->name, "look");
    hocket__buf_adds(&c->arguments, "{\"at\":\"\\u00e9\"}");
    c = hocket__reply_add_call(&r);
    hocket__buf_adds(&c->name, "nameless");
    assert_int_equal(hocket__history_add_reply(h, &r, "other", &err), 0);
    assert_int_equal(hocket__history_add_result(
                         h, HOCKET__STR("call_a"), HOCKET__STR("look"), HOCKET__STR("a\tb"), true),
        0);
    assert_int_equal(hocket__history_add_result(
                         h, HOCKET__STR("call_1"), HOCKET__STR(""), HOCKET__STR(""), false),
        0);
    hocket__reply_deinit(&r);
}

/* What is added to a history that is rendered is rendered at once, and the same as it is later. */
static void test_render_at_once(void **state)
{
    static const char *const names[] = { "openai_chat", "openai_responses", "anthropic", "gemini",
        "ollama" };
    struct hocket__proto_traits traits = { .call_id_length = 9, .reasoning_back = true };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct hocket__proto *proto = hocket__proto_find(names[i]);
        struct hocket__history now, later;
        struct hocket_error err;
        hocket__history_init(&now, &hocket__malloc, 0);
        hocket__history_init(&later, &hocket__malloc, 0);
        add(&now, "{\"role\":\"user\",\"text\":\"x\"}");
        add(&later, "{\"role\":\"user\",\"text\":\"x\"}");
        assert_int_equal(hocket__history_render(&now, proto, &traits, &err), 0);
        add_turn(&now);
        assert_int_equal(now.wired, now.messages.len);
        add_turn(&later);
        assert_int_equal(later.wired, 0);
        assert_string_equal(now.messages.data, later.messages.data);
        assert_int_equal(hocket__history_render(&later, proto, &traits, &err), 0);
        assert_string_equal(now.wire.data, later.wire.data);
        hocket__history_deinit(&now);
        hocket__history_deinit(&later);
    }
}

/* What cannot be rendered at once is left to the next render, which says why. */
static void test_render_at_once_fails(void **state)
{
    struct hocket__history h;
    struct hocket_error err;
    hocket__history_init(&h, &hocket__malloc, 0);
    assert_int_equal(hocket__history_render(&h, &counting, NULL, &err), 0);
    asked = 0;
    assert_int_equal(hocket__history_add_result(
                         &h, HOCKET__STR("1"), HOCKET__STR(""), HOCKET__STR("fail"), false),
        0);
    assert_int_equal(h.wired, 0);
    assert_int_equal(h.wire.len, 0);
    assert_int_equal(hocket__history_render(&h, &counting, NULL, &err), HOCKET_EINVAL);
    assert_int_equal(asked, 2);
    hocket__history_deinit(&h);
}

static void test_limit(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 60);
    assert_int_equal(add(&h, "{\"role\":\"user\",\"text\":\"01234567890123456789\"}"), 0);
    assert_int_equal(
        add(&h, "{\"role\":\"user\",\"text\":\"01234567890123456789\"}"), HOCKET_ELIMIT);
    assert_int_equal(
        hocket__history_add_text(&h, "user", HOCKET__STR("too long by now")), HOCKET_ELIMIT);
    assert_int_equal(h.count, 1);
    hocket__history_deinit(&h);
}

static void test_neutral(void **state)
{
    struct hocket__neutral m;
    struct hocket__neutral_call call;
    struct hocket__json j;
    struct hocket_error err;
    const char *text =
        "{\"calls\":[{\"name\":\"f\",\"more\":[1],\"id\":\"a\"},3,{\"arguments\":\"{}\"}],"
        "\"replay\":{\"value\":[1],\"protocol\":\"p\"},\"role\":\"assistant\"}";
    assert_int_equal(hocket__neutral_read(&m, hocket__cstr(text), &err), 0);
    assert_int_equal(m.role, HOCKET__ROLE_ASSISTANT);
    assert_true(hocket__str_is(hocket__neutral_replay(&m, "p"), "[1]"));
    assert_int_equal(hocket__neutral_replay(&m, "q").n, 0);
    hocket__neutral_walk(&j, m.calls);
    assert_true(hocket__neutral_call(&j, &call));
    assert_true(hocket__piece_is(&call.id, "a") && hocket__piece_is(&call.name, "f"));
    assert_true(hocket__neutral_call(&j, &call));
    assert_true(hocket__piece_is(&call.arguments, "{}") && !call.id.set);
    assert_false(hocket__neutral_call(&j, &call));
    assert_false(hocket__neutral_call(&j, &call));
    hocket__neutral_walk(&j, hocket__str("", 0));
    assert_false(hocket__neutral_call(&j, &call));
}

/* From the first labelled message on all are, and no model sees it. */
static void test_labels(void **state)
{
    struct hocket__history h, again;
    struct hocket_error err;
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__history_init(&again, &hocket__malloc, 0);
    assert_int_equal(hocket__history_add_text(&h, "user", HOCKET__STR("look it up")), 0);
    h.labels = HOCKET__WEB | HOCKET__OUTSIDE;
    assert_int_equal(hocket__history_add_result(
                         &h, HOCKET__STR("1"), HOCKET__STR("fetch"), HOCKET__STR("a page"), false),
        0);
    assert_int_equal(add(&h, "{\"role\":\"assistant\",\"text\":\"so it is\"} "), 0);
    assert_string_equal(h.messages.data,
        "{\"role\":\"user\",\"text\":\"look it up\"}\n"
        "{\"role\":\"tool\",\"id\":\"1\",\"name\":\"fetch\",\"text\":\"a page\","
        "\"labels\":[\"web\",\"outside\"]}\n"
        "{\"role\":\"assistant\",\"text\":\"so it is\",\"labels\":[\"web\",\"outside\"]}\n");
    assert_int_equal(add(&again, "{\"role\":\"user\",\"labels\":[\"web\"],\"text\":\"x\"}"), 0);
    assert_int_equal(again.labels, HOCKET__WEB);
    assert_int_equal(
        add(&again, "{\"role\":\"assistant\",\"text\":\"y\",\"labels\":[\"server\"]}"), 0);
    assert_int_equal(again.labels, HOCKET__WEB | HOCKET__SERVER);
    assert_int_equal(hocket__history_render(&again, &hocket__proto_openai_chat, NULL, &err), 0);
    /* What is rendered as it is added is what would be rendered later. */
    assert_int_equal(hocket__history_add_result(&again, HOCKET__STR("1"), HOCKET__STR("fetch"),
                         HOCKET__STR("a \"page\""), true),
        0);
    assert_int_equal(again.wired, again.messages.len);
    char *at_once = strdup(again.wire.data);
    hocket__history_unwire(&again);
    assert_int_equal(hocket__history_render(&again, &hocket__proto_openai_chat, NULL, &err), 0);
    assert_string_equal(again.wire.data, at_once);
    assert_null(strstr(at_once, "label"));
    free(at_once);
    hocket__history_deinit(&h);
    hocket__history_deinit(&again);
}

static void test_no_traits(void **state)
{
    struct hocket__history h;
    hocket__history_init(&h, &hocket__malloc, 0);
    add(&h, "{\"role\":\"assistant\",\"text\":\"x\",\"reasoning\":\"r\"}");
    check_wire(&h, &hocket__proto_openai_chat, NULL, "{\"role\":\"assistant\",\"content\":\"x\"}");
    hocket__history_deinit(&h);
}

static void run_failing(struct test_alloc *t, void *ud)
{
    struct hocket__history h;
    struct hocket_error err;
    hocket__history_init(&h, &t->a, 0);
    int status = hocket__history_add_text(&h, "user", HOCKET__STR("hello"));
    if (status == 0)
        status = hocket__history_render(&h, &hocket__proto_openai_chat, NULL, &err);
    assert_int_equal(status, t->failed ? HOCKET_ENOMEM : 0);
    hocket__history_deinit(&h);
}

static void test_no_memory(void **state)
{
    assert_true(test_alloc_each(run_failing, NULL) >= 2);
}

/* What is known of tokens is the same whenever it is asked for, and is gone with the messages. */
static void test_tokens(void **state)
{
    struct hocket__history h, whole;
    (void) state;
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__history_init(&whole, &hocket__malloc, 0);
    struct hocket__history_tokens t = hocket__history_tokens(&h);
    assert_int_equal(t.counted + t.known + t.rest, 0);
    for (int i = 0; i < 20; i++) {
        static const char text[] =
            "{\"role\":\"user\",\"text\":\"A few words, 12345 and h\u00e9llo.\"}";
        assert_int_equal(add(&h, text), 0);
        assert_int_equal(add(&whole, text), 0);
        if (i == 7)
            hocket__history_count(&h, 321);
        if (i % 3 == 0)
            hocket__history_tokens(&h);
    }
    t = hocket__history_tokens(&h);
    struct hocket__history_tokens all = hocket__history_tokens(&whole);
    assert_int_equal(t.counted, 321);
    assert_int_equal(t.known, all.rest * 8 / 20);
    assert_true(t.known + t.rest - all.rest <= 1 && all.rest - t.known - t.rest <= 1);
    assert_int_equal(all.counted + all.known, 0);
    hocket__history_count(&h, 400);
    assert_int_equal(hocket__history_tokens(&h).rest, 0);
    hocket__history_become(&h, &whole);
    assert_int_equal(h.count, 20);
    assert_int_equal(whole.count, 0);
    assert_int_equal(whole.messages.len, 0);
    t = hocket__history_tokens(&h);
    assert_int_equal(t.counted + t.known, 0);
    assert_int_equal(t.rest, all.rest);
    hocket__history_deinit(&h);
    hocket__history_deinit(&whole);
}

/* Labels are never lost, and a body that was under way is not taken for the new one's. */
static void test_become(void **state)
{
    struct hocket__history h, late;
    struct hocket__buf body;
    (void) state;
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__history_init(&late, &hocket__malloc, 0);
    assert_int_equal(add(&h, "{\"role\":\"user\",\"text\":\"old\",\"labels\":[\"web\"]}"), 0);
    assert_int_equal(add(&late, "{\"role\":\"user\",\"text\":\"new\"}"), 0);
    assert_int_equal(hocket__history_render(&h, &hocket__proto_openai_chat, NULL, NULL), 0);
    struct hocket__history_mark mark = hocket__history_mark(&h);
    uint64_t digest = hocket__history_digest(&h);
    hocket__history_become(&h, &late);
    assert_int_equal(h.labels, HOCKET__WEB);
    assert_true(hocket__history_digest(&h) != digest);
    hocket__buf_init(&body, &hocket__malloc, 0);
    hocket__buf_adds(&body, "x");
    hocket__history_keep_body(&h, mark, &body);
    assert_int_equal(h.body.len, 0);
    assert_int_equal(hocket__history_render(&h, &hocket__proto_openai_chat, NULL, NULL), 0);
    assert_non_null(strstr(h.wire.data, "new"));
    assert_null(strstr(h.wire.data, "old"));
    hocket__history_deinit(&h);
    hocket__history_deinit(&late);
}

static void test_guess(void **state)
{
    static const struct {
        const char *text;
        int64_t low, high;
    } rows[] = { { "", 0, 0 }, { "word", 1, 1 }, { "two words", 2, 2 }, { "1234567", 3, 3 },
        { "internationalization", 3, 5 }, { "\xc3\xa9\xc3\xa9\xc3\xa9", 1, 3 },
        { "\xe7\x8c\xab\xe7\x8c\xab", 2, 2 }, { "aGVsbG8gd29ybGQ=", 5, 12 } };
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t n = hocket__tokens_guess(hocket__cstr(rows[i].text));
        if (n < rows[i].low || n > rows[i].high)
            fail_msg("%s: %lld", rows[i].text, (long long) n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_render_at_once),
        cmocka_unit_test(test_render_at_once_fails),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_no_traits),
        cmocka_unit_test(test_neutral),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_become),
        cmocka_unit_test(test_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
