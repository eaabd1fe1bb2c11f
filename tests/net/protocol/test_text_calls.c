/* Which texts are tool calls and nothing else, and that no beginning of one passes for an answer. */
#include "net/protocol/talk.h"

#include <stdio.h>
#include <string.h>

#include "net/protocol/text_calls.h"
#include "support/alloc.h"

#define LOOK "{\"name\": \"look\", \"arguments\": {\"at\": \"tree\"}}"
#define ALSO "{\"name\":\"go\",\"arguments\":{}}"

/* The calls as "name arguments" lines; "": an answer. */
static const struct {
    const char *text, *calls;
} texts[] = {
    /* Hermes */
    { "<tool_call>\n" LOOK "\n</tool_call>", "look {\"at\": \"tree\"}\n" },
    { "<tool_call>" LOOK "</tool_call>\n<tool_call>" ALSO "</tool_call>\n",
        "look {\"at\": \"tree\"}\ngo {}\n" },
    { "<tool_call>" LOOK "\n", "look {\"at\": \"tree\"}\n" },
    { "<tool_call>{'name': 'look', 'arguments': {'at': 'tree', 'deep': "
      "True}}</tool_call><tool_call>" ALSO "</tool_call>",
        "look {\"at\":\"tree\",\"deep\":true}\ngo {}\n" },
    { "<tool_call>" LOOK "</tool_call><|im_end|>", "look {\"at\": \"tree\"}\n" },
    { "<tool_call>{\"name\":\"say\",\"arguments\":{\"text\":\"</tool_call>\"}}</tool_call>",
        "say {\"text\":\"</tool_call>\"}\n" },
    /* bare */
    { " " LOOK " ", "look {\"at\": \"tree\"}\n" },
    { LOOK "\n" ALSO, "look {\"at\": \"tree\"}\ngo {}\n" },
    { LOOK "; " ALSO, "look {\"at\": \"tree\"}\ngo {}\n" },
    { "[" LOOK ", " ALSO "]", "look {\"at\": \"tree\"}\ngo {}\n" },
    { "{\"name\":\"look\",\"parameters\":{\"at\":1}}", "look {\"at\":1}\n" },
    { "{\"arguments\": \"{\\\"at\\\": \\\"\\u00e4\\\"}\", \"name\": \"look\"}",
        "look {\"at\": \"ä\"}\n" },
    { "{\"id\":\"x\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}",
        "look {}\n" },
    { "{\"type\":\"function\",\"function\":\"look\",\"parameters\":{\"at\":1}}",
        "look {\"at\":1}\n" },
    { "{name: 'look', arguments: {at: 'tree',}}", "look {\"at\":\"tree\"}\n" },
    /* fenced */
    { "```json\n" LOOK "\n```", "look {\"at\": \"tree\"}\n" },
    { "```\n" LOOK "\n" ALSO "\n```\n", "look {\"at\": \"tree\"}\ngo {}\n" },
    { "```json\n" LOOK "\n```\n```json\n" ALSO "\n```", "look {\"at\": \"tree\"}\ngo {}\n" },
    { "```xml\n<tool_call>" ALSO "</tool_call>\n```", "go {}\n" },
    { "```json\n{'name': 'go', 'arguments': {}}\n```", "go {}\n" },
    /* Llama */
    { "<|python_tag|>{\"name\":\"look\",\"parameters\":{\"at\":1}}<|eom_id|>",
        "look {\"at\":1}\n" },
    { "<function=look>{\"at\": 1}</function>", "look {\"at\": 1}\n" },
    { "<function=look>{\"at\": 1}", "look {\"at\": 1}\n" },
    /* Mistral */
    { "[TOOL_CALLS][" LOOK "," ALSO "]", "look {\"at\": \"tree\"}\ngo {}\n" },
    { "[TOOL_CALLS] [" ALSO "]</s>", "go {}\n" },
    { "[TOOL_CALLS]look[ARGS]{\"at\":1}[TOOL_CALLS]go[CALL_ID]abc123[ARGS]{}",
        "look {\"at\":1}\ngo {}\n" },
    { "[TOOL_CALLS]look{\"at\":1}", "look {\"at\":1}\n" },
    /* something stands beside them */
    { "Sure: " LOOK, "" },
    { LOOK " is what I would call.", "" },
    { "<tool_call>" LOOK "</tool_call> Done.", "" },
    { "<tool_call>" LOOK " and </tool_call>", "" },
    { "```json\n" LOOK "\n```\nThis looks at the tree.", "" },
    { "The page says: <tool_call>" LOOK "</tool_call>", "" },
    { "> " LOOK, "" },
    { "[TOOL_CALLS]" LOOK "no", "" },
    { LOOK LOOK "x", "" },
    { "</s>", "" },
    /* data */
    { "{\"name\": \"Bob\", \"age\": 3}", "" },
    { "{\"name\": \"Bob\", \"arguments\": {}, \"age\": 3}", "" },
    { "{\"name\": \"look\"}", "" },
    { "{\"arguments\": {}}", "" },
    { "{\"name\": \"\", \"arguments\": {}}", "" },
    { "{\"name\": 3, \"arguments\": {}}", "" },
    { "{\"name\": \"a\", \"name\": \"b\", \"arguments\": {}}", "" },
    { "{\"name\": \"a\", \"arguments\": {}, \"parameters\": {}}", "" },
    { "{\"name\": \"a\", \"arguments\": [1]}", "" },
    { "{\"name\": \"a\", \"arguments\": \"b\"}", "" },
    { "{\"name\": \"a\", \"arguments\": \"[1]\"}", "" },
    { "{\"function\":{\"function\":{\"name\":\"a\",\"arguments\":{}}}}", "" },
    { "[]", "" },
    { "[" LOOK ", 3]", "" },
    { "[[" LOOK "]]", "" },
    { "{\"floor\": 9}", "" },
    { "", "" },
    /* cut, or never closed */
    { "{\"name\": \"look\", \"arguments\": {\"at\": \"tr", "" },
    { "```json\n" LOOK, "" },
    { "<tool_call>", "" },
    { "<function=>{}</function>", "" },
    { "[TOOL_CALLS]", "" },
    { "[TOOL_CALLS]look[ARGS]", "" },
};

static void list(const struct hocket__reply *r, struct hocket__buf *out)
{
    for (size_t i = 0; i < r->n_calls; i++)
        hocket__buf_addf(out, "%s %s\n", r->calls[i].name.data, r->calls[i].arguments.data);
}

static void test_texts(void **state)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hocket__reply r;
        struct hocket__buf out;
        hocket__reply_init(&r, &hocket__malloc, 0);
        hocket__buf_init(&out, &hocket__malloc, 0);
        int n = hocket__text_calls(hocket__cstr(texts[i].text), &r);
        list(&r, &out);
        if (strcmp(out.data ? out.data : "", texts[i].calls) != 0)
            fail_msg("%s: %s", texts[i].text, out.data ? out.data : "");
        assert_int_equal(n, r.n_calls);
        hocket__buf_deinit(&out);
        hocket__reply_deinit(&r);
    }
}

/* What is held back from a stream until it is known: each beginning of what is calls in the end. */
static void test_beginnings(void **state)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (!*texts[i].calls)
            continue;
        for (size_t n = 0; n < strlen(texts[i].text); n++)
            if (hocket__text_calls_begin(hocket__str(texts[i].text, n)) == HOCKET__TEXT_CALLS_NO)
                fail_msg("%s: passes after %zu bytes", texts[i].text, n);
        assert_int_equal(
            hocket__text_calls_begin(hocket__cstr(texts[i].text)), HOCKET__TEXT_CALLS_YES);
    }
}

/* Answers go out with their first word. */
static void test_answers_begin(void **state)
{
    static const char *const answers[] = { "S", " The", "{\"fl", "{\"names", "{}", "[1", "[]", "[[",
        "```py\nx", "```json\n{\"fl", "<b", "<tool_calls", "[TOOL_", "[To", "> ", "-", "`", "{3" };
    enum hocket__text_calls_begin undecided = HOCKET__TEXT_CALLS_SHORT;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        bool is_short = strcmp(answers[i], "[TOOL_") == 0 || strcmp(answers[i], "`") == 0;
        if (hocket__text_calls_begin(hocket__cstr(answers[i]))
            != (is_short ? undecided : HOCKET__TEXT_CALLS_NO))
            fail_msg("%s", answers[i]);
    }
}

static void test_many(void **state)
{
    struct hocket__reply r;
    struct hocket__buf text;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__buf_init(&text, &hocket__malloc, 0);
    for (int i = 0; i < HOCKET__REPLY_MAX_CALLS + 2; i++)
        hocket__buf_adds(&text, "<tool_call>" ALSO "</tool_call>");
    assert_int_equal(hocket__text_calls(hocket__buf_str(&text), &r), HOCKET__REPLY_MAX_CALLS);
    assert_true(r.surplus);
    hocket__reply_drop_calls(&r);
    assert_false(r.surplus);
    /* nested without end, and broken at the end of much: neither takes long nor deep */
    hocket__buf_cut(&text, 0);
    hocket__buf_adds(&text, "{\"name\":\"a\",\"arguments\":");
    for (int i = 0; i < 1000000; i++)
        hocket__buf_adds(&text, "{\"a\":");
    assert_int_equal(hocket__text_calls(hocket__buf_str(&text), &r), 0);
    hocket__buf_cut(&text, 0);
    for (int i = 0; i < 200000; i++)
        hocket__buf_adds(&text, "<tool_call>" ALSO);
    assert_int_equal(hocket__text_calls(hocket__buf_str(&text), &r), 0);
    hocket__buf_cut(&text, 0);
    for (int i = 0; i < 200000; i++)
        hocket__buf_adds(&text, ALSO);
    hocket__buf_adds(&text, ".");
    assert_int_equal(hocket__text_calls(hocket__buf_str(&text), &r), 0);
    hocket__buf_deinit(&text);
    hocket__reply_deinit(&r);
}

/* Random pieces of the forms: nothing but calls is what is read, and no beginning of it passes. */
static void test_pieces(void **state)
{
    static const char *const pieces[] = { "<tool_call>", "</tool_call>", LOOK, ALSO, "[", "]", ",",
        ";", "```", "json\n", "\n", " ", "[TOOL_CALLS]", "go", "[ARGS]", "{", "}", "{}", "\"name\"",
        ":", "'", "<function=go>", "</function>", "<|python_tag|>", "</s>", "\\",
        "{'name': 'go', 'arguments': {}}", "/*", "*/", "<|eom_id|>", "\"" };
    uint64_t seed = 42;
    for (int i = 0; i < 20000; i++) {
        struct hocket__reply r;
        char text[512] = "";
        hocket__reply_init(&r, &hocket__malloc, 0);
        for (int n = (int) (seed % 7); n >= 0; n--) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            strcat(text, pieces[(seed >> 33) % (sizeof(pieces) / sizeof(pieces[0]))]);
        }
        if (hocket__text_calls(hocket__cstr(text), &r) > 0)
            for (size_t n = 0; n < strlen(text); n++)
                if (hocket__text_calls_begin(hocket__str(text, n)) == HOCKET__TEXT_CALLS_NO)
                    fail_msg("%s: passes after %zu bytes", text, n);
        hocket__reply_deinit(&r);
    }
}

static void read_short_of_memory(struct test_alloc *t, void *ud)
{
    struct hocket__reply r;
    hocket__reply_init(&r, &t->a, 0);
    int rc = hocket__text_calls(
        HOCKET__STR("<tool_call>{'name': 'look', 'arguments': {}}</tool_call><tool_call>" ALSO
                    "</tool_call>"),
        &r);
    assert_true(rc == 2 || (t->failed && rc == HOCKET_ENOMEM && r.n_calls == 0));
    hocket__reply_deinit(&r);
}

static void test_memory(void **state)
{
    test_alloc_each(read_short_of_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_answers_begin),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
