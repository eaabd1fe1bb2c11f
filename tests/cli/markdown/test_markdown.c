/* Markdown on a terminal: blocks, wrapping, text that comes in pieces, and hostile text. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/markdown/markdown.h"

/* In pieces of `step` bytes. */
static void render(
    struct cli_buf *out, const char *text, size_t n, size_t step, size_t columns, bool color)
{
    struct cli_markdown m = { .columns = columns, .color = color, .unicode = true };
    for (size_t at = 0; at < n; at += step)
        cli_markdown_feed(&m, text + at, n - at < step ? n - at : step, out);
    cli_markdown_end(&m, out);
    cli_buf_free(&m.tail);
}

static void check(const char *text, size_t columns, bool color, const char *expected)
{
    static const size_t steps[] = { 1, 3, 7, 1000000 };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct cli_buf out = { 0 };
        render(&out, text, strlen(text), steps[i], columns, color);
        assert_string_equal(cli_buf_text(&out), expected);
        cli_buf_free(&out);
    }
}

static void test_paragraphs(void **state)
{
    (void) state;
    check("One two three\nfour five six seven.\n\nNext.", 24, false,
        "One two three\nfour five six seven.\n\nNext.\n");
    check(
        "One two three four five six seven.\n", 24, false, "One two three four five\nsix seven.\n");
    check("A **bold** and an *italic* word, `code` too.", 80, false,
        "A bold and an italic word, `code` too.\n");
    check("A **bold** word.", 80, true, "A \033[0;1mbold\033[0m word.\n");
    check("hard  \nbreak", 80, false, "hard\nbreak\n");
    check("", 80, false, "");
}

static void test_headings(void **state)
{
    (void) state;
    check("# Title\ntext\n## Part\n\nmore", 80, false, "Title\n\ntext\n\nPart\n\nmore\n");
}

static void test_lists(void **state)
{
    (void) state;
    check("- one\n- two words that are too long\n- three\n", 20, false,
        "• one\n• two words that are\n  too long\n• three\n");
    check("3. three\n4. four\n", 80, false, "3. three\n4. four\n");
    check("- a\n  - inner\n  - more\n- b\n", 80, false, "• a\n  • inner\n  • more\n• b\n");
    check("text\n\n- a\n- b\n\ntext\n", 80, false, "text\n\n• a\n• b\n\ntext\n");
    check("> - a\n> - b\n>\n> text\n", 80, false, "│ • a\n│ • b\n\n│ text\n");
    check("- [x] done\n- [ ] open\n", 80, false, "[x] done\n[ ] open\n");
    check("- a\n\n  more of a\n- b\n", 80, false, "• a\n\n  more of a\n\n• b\n");
}

static void test_code(void **state)
{
    (void) state;
    check("Run:\n\n```sh\necho one   # a long line that is never wrapped\n\n# no heading\n```\nend",
        24, false,
        "Run:\n\n    echo one   # a long line that is never wrapped\n    \n    # no "
        "heading\n\nend\n");
    check("~~~\n```\nstill code\n~~~\n", 80, false, "    ```\n    still code\n");
}

static void test_quotes_and_links(void **state)
{
    (void) state;
    check("> said so\n> at length", 80, false, "│ said so\n│ at length\n");
    check("See [the page](https://example.org/a).", 80, false,
        "See the page (https://example.org/a).\n");
    check("See https://example.org/a", 80, false, "See https://example.org/a\n");
    check("![a cat](cat.png)", 80, false, "[image: a cat] (cat.png)\n");
}

static void test_tables(void **state)
{
    (void) state;
    const char *table = "| Day | Plan |\n|---|---|\n| 1 | Alfama |\n| 2 | Belém |\n";
    check(table, 80, false, "Day │ Plan\n────┼───────\n1   │ Alfama\n2   │ Belém\n");
    check("| A | What there is |\n|---|---|\n| 1 | Alfama and much more |\n| 2 | - |\n", 22, false,
        "A: 1\nWhat there is: Alfama\nand much more\n\nA: 2\nWhat there is: -\n");
}

/* What a model writes is shown, never obeyed. */
static void test_hostile(void **state)
{
    (void) state;
    check("a\033[31mb **c\033]0;x\007d**", 80, false, "a^[[31mb c^[]0;x^Gd\n");
    check("<script>x</script>", 80, false, "<script>x</script>\n");
    check("[safe](\033[2J)", 80, false, "safe (^[[2J)\n");
}

/* Deep and endless nesting neither crashes nor takes long. */
static void test_limits(void **state)
{
    struct cli_buf text = { 0 }, out = { 0 };
    (void) state;
    for (int i = 0; i < 20000; i++)
        cli_buf_adds(&text, ">");
    cli_buf_adds(&text, " deep\n\n");
    for (int i = 0; i < 5000; i++)
        cli_buf_adds(&text, "[");
    cli_buf_adds(&text, "\n\n");
    for (int i = 0; i < 70000; i++)
        cli_buf_adds(&text, "ab ");
    render(&out, text.p, text.n, 4096, 80, true);
    assert_non_null(strstr(out.p, "deep"));
    cli_buf_free(&text);
    cli_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paragraphs),
        cmocka_unit_test(test_headings),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_quotes_and_links),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
