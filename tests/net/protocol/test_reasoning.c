/* What a model has thought aloud is parted from what it says: in whole answers, and in streams, however they are cut. */
#include "net/protocol/talk.h"

#include <stdio.h>
#include <string.h>

struct parted {
    const char *wrote, *text, *reasoning;
};

static const struct parted answers[] = {
    { "", "", "" },
    { " plain ", " plain ", "" },
    { "a < b, <b>bold</b> <thin> </thinks>", "a < b, <b>bold</b> <thin> </thinks>", "" },
    { "<think>Perhaps {\"floor\": 3}?</think>\n{\"floor\": 9}", "{\"floor\": 9}",
        "Perhaps {\"floor\": 3}?" },
    { "\n<think>\na\n</think>\n\nb\n", "b\n", "a" },
    { "<thinking>a</thinking>b", "b", "a" },
    { "<reasoning>a</reasoning>b", "b", "a" },
    { "<THINK>a</Think>b", "b", "a" },
    { "<think>a</thinking>b", "b", "a" },
    /* no tag opens it: the template did, in the prompt */
    { "{\"floor\": 3}? No.\n</think>\n\n{\"floor\": 9}", "{\"floor\": 9}", "{\"floor\": 3}? No." },
    { "</think>b", "b", "" },
    /* the last closing tag counts */
    { "<think>a</think>b<think>c</think>d", "d", "abc" },
    { "a <think>b</think> c", "c", "a b" },
    { "<think>a</think>", "", "a" },
    { "<think></think>\n\nb", "b", "" },
    { "<think>a <think>b</think> c", "c", "a b" },
    /* cut while it thought */
    { "<think>Perhaps {\"floor\": 3}", "", "Perhaps {\"floor\": 3}" },
    { "<think>a</think> <think>b {\"floor\": 3}", "", "a b {\"floor\": 3}" },
    { "<thi", "<thi", "" },
    { "<think>a</thin", "", "a</thin" },
    /* a tag that is spoken of */
    { "It begins with <think> and", "It begins with <think> and", "" },
    { "<think>a</think>It begins with <think> and", "It begins with <think> and", "a" },
    /* data: JSON to the end */
    { "{\"a\": \"<think>b</think>c\"}", "{\"a\": \"<think>b</think>c\"}", "" },
    { " [\"</think>\"] ", " [\"</think>\"] ", "" },
    { "<think>x</think>{\"a\": \"</think>\"}", "{\"a\": \"</think>\"}", "x" },
    { "{\"a\": \"</think>\"} </think>b", "b", "{\"a\": \"\"}" },
};

static void test_answers(void **state)
{
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct hocket__reply r;
        hocket__reply_init(&r, &hocket__malloc, 0);
        hocket__buf_adds(&r.text, answers[i].wrote);
        hocket__reply_part(&r);
        assert_text(r.text, answers[i].text);
        assert_text(r.reasoning, answers[i].reasoning);
        hocket__reply_part(&r); /* what was parted stays so */
        assert_text(r.text, answers[i].text);
        hocket__reply_deinit(&r);
    }
}

/* What the server calls reasoning itself stands before it. */
static void test_beside_its_own(void **state)
{
    struct hocket__reply r;
    hocket__reply_init(&r, &hocket__malloc, 0);
    hocket__buf_adds(&r.reasoning, "one");
    hocket__buf_adds(&r.text, "<think>two</think>three");
    hocket__reply_part(&r);
    assert_text(r.reasoning, "one\ntwo");
    assert_text(r.text, "three");
    hocket__reply_deinit(&r);
}

/* As many places as there are tags, each of which might begin JSON: the work stays linear. */
static void test_many_tags(void **state)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    for (int i = 0; i < 200000; i++)
        hocket__buf_adds(&b, "[1,</think>");
    hocket__buf_adds(&b, "x");
    assert_int_equal(hocket__reasoning_end(hocket__buf_str(&b)), b.len - 1);
    hocket__buf_deinit(&b);
}

/* ---- Streams ---- */

struct heard {
    struct hocket__buf text, reasoning;
};

static void hear(void *ud, enum hocket__delta_kind kind, size_t call, struct hocket__str text)
{
    struct heard *h = ud;
    hocket__buf_addstr(kind == HOCKET__DELTA_TEXT ? &h->text : &h->reasoning, text);
}

static void stream(const char *text, size_t piece, struct heard *h)
{
    struct hocket__think_splitter p;
    hocket__buf_init(&h->text, &hocket__malloc, 0);
    hocket__buf_init(&h->reasoning, &hocket__malloc, 0);
    hocket__think_splitter_init(&p, &hocket__malloc, 0, hear, h);
    for (size_t at = 0, n = strlen(text); at < n; at += piece)
        hocket__think_splitter_delta(
            &p, HOCKET__DELTA_TEXT, 0, hocket__str(text + at, n - at < piece ? n - at : piece));
    hocket__think_splitter_end(&p);
    hocket__think_splitter_deinit(&p);
}

static void unhear(struct heard *h)
{
    hocket__buf_deinit(&h->text);
    hocket__buf_deinit(&h->reasoning);
}

/* What a stream cannot know: text that went out before a closing tag. */
static bool is_known_late(const char *wrote)
{
    static const char *const late[] = { "{\"floor\": 3}?", "<think>a</think>b<think>c",
        "a <think>b", "{\"a\": \"</think>\"} <" };
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
        if (strncmp(wrote, late[i], strlen(late[i])) == 0)
            return true;
    return false;
}

static void test_streams(void **state)
{
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        for (size_t piece = 1; piece < 40; piece++) {
            struct heard h;
            stream(answers[i].wrote, piece, &h);
            if (!is_known_late(answers[i].wrote))
                assert_text(h.text, answers[i].text);
            unhear(&h);
        }
}

#define STREAM(wrote, said, thought)                                                               \
    do {                                                                                           \
        struct heard h;                                                                            \
        stream(wrote, 3, &h);                                                                      \
        assert_text(h.text, said);                                                                 \
        assert_text(h.reasoning, thought);                                                         \
        unhear(&h);                                                                                \
    } while (0)

/* As far as it can be known it is right: what came behind is, and a draft in a block never goes out. */
static void test_late(void **state)
{
    STREAM("drafted</think> said", "draftedsaid", "");
    STREAM("a <think>b</think> c", "a c", "b");
    STREAM("<think>a</think>b <think>c</think>d", "b d", "ac");
    STREAM("a <think> b", "a <think> b", "");
}

/* Reasoning goes out while it comes; a block in the middle when it is closed. */
static void test_nothing_waits_longer(void **state)
{
    struct heard h;
    struct hocket__think_splitter p;
    hocket__buf_init(&h.text, &hocket__malloc, 0);
    hocket__buf_init(&h.reasoning, &hocket__malloc, 0);
    hocket__think_splitter_init(&p, &hocket__malloc, 0, hear, &h);
#define FEED(s) hocket__think_splitter_delta(&p, HOCKET__DELTA_TEXT, 0, HOCKET__STR(s))
    FEED("<think>hm");
    assert_text(h.reasoning, "hm");
    FEED(" ah</th");
    assert_text(h.reasoning, "hm ah");
    FEED("ink>\n");
    FEED("\nso");
    assert_text(h.text, "so");
    FEED(" be <think>it");
    assert_text(h.text, "so be ");
    FEED("?</think>no");
    assert_text(h.reasoning, "hm ahit?");
    assert_text(h.text, "so be no");
    FEED(" <");
    assert_text(h.text, "so be no ");
    hocket__think_splitter_delta(&p, HOCKET__DELTA_REASONING, 0, HOCKET__STR("own"));
    assert_text(h.reasoning, "hm ahit?own");
    hocket__think_splitter_end(&p);
    assert_text(h.text, "so be no <");
    hocket__think_splitter_deinit(&p);
    unhear(&h);
}

/* Without memory to hold back in, no word is lost. */
static void test_no_memory(void **state)
{
    struct heard h;
    struct hocket__think_splitter p;
    hocket__buf_init(&h.text, &hocket__malloc, 0);
    hocket__buf_init(&h.reasoning, &hocket__malloc, 0);
    hocket__think_splitter_init(&p, &hocket__malloc, 10, hear, &h);
    FEED("see <think>what");
    FEED(" is behind it</think> now");
    hocket__think_splitter_end(&p);
    assert_text(h.text, "see <think>what is behind itnow");
    assert_text(h.reasoning, "");
    hocket__think_splitter_deinit(&p);
    unhear(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_beside_its_own),
        cmocka_unit_test(test_many_tags),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_nothing_waits_longer),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
