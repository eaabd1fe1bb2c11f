/* The event stream format: the cases of the HTML standard and of the web platform's
 * format tests, at every place where the input can be cut, and what model servers do beyond it. */
#include "net/sse.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/alloc.h"

/* Events as text: "type|data|id\n" each, `!` in front of one that was flushed at the end. */
struct log {
    struct hocket__buf text;
    const char *in, *in_end; /* to see whether data was copied */
    size_t in_place;
};

static int on_event(void *ud, const struct hocket__sse_event *e)
{
    struct log *log = ud;
    hocket__buf_adds(&log->text, e->at_end ? "!" : "");
    hocket__buf_addstr(&log->text, e->type);
    hocket__buf_addc(&log->text, '|');
    hocket__buf_addstr(&log->text, e->data);
    hocket__buf_addc(&log->text, '|');
    hocket__buf_addstr(&log->text, e->id);
    hocket__buf_addc(&log->text, '\n');
    log->in_place += e->data.p >= log->in && e->data.p < log->in_end;
    return 0;
}

static void check_fed(struct hocket__str in, struct hocket__str want, size_t cut, size_t step)
{
    struct test_alloc t;
    struct log log = { .in = in.p, .in_end = in.p + in.n };
    struct hocket__sse s;
    test_alloc_init(&t);
    hocket__buf_init(&log.text, &t.a, 0);
    hocket__sse_init(&s, &t.a, 0, on_event, &log);
    for (size_t at = 0; at < in.n;) {
        size_t n = step ? step : at < cut ? cut : in.n;
        n = n < in.n - at ? n : in.n - at;
        char *copy = malloc(n);
        memcpy(copy, in.p + at, n);
        assert_int_equal(hocket__sse_feed(&s, copy, n), 0);
        free(copy);
        at += n;
    }
    assert_int_equal(hocket__sse_finish(&s), 0);
    if (!hocket__str_eq(hocket__buf_str(&log.text), want))
        fail_msg("input: %s\ncut at %zu, step %zu\nwant: %s\nhave: %s", in.p, cut, step, want.p,
            log.text.data ? log.text.data : "");
    hocket__buf_deinit(&log.text);
    hocket__sse_deinit(&s);
    test_alloc_check(&t);
}

static void check_str(struct hocket__str in, struct hocket__str want)
{
    for (size_t cut = 0; cut <= in.n; cut++)
        check_fed(in, want, cut, 0);
    for (size_t step = 1; step < 8; step++)
        check_fed(in, want, 0, step);
}

#define CHECK(in, want) check_str(HOCKET__STR(in), HOCKET__STR(want))

/* ---- The examples of the standard ---- */

static void test_standard(void **state)
{
    CHECK("data: This is the first message.\n\ndata: This is the second message, it\n"
          "data: has two lines.\n\ndata: This is the third message.\n\n",
        "message|This is the first message.|\n"
        "message|This is the second message, it\nhas two lines.|\n"
        "message|This is the third message.|\n");
    CHECK("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
        "add|73857293|\nremove|2153|\nadd|113411|\n");
    CHECK("data: YHOO\ndata: +2\ndata: 10\n\n", "message|YHOO\n+2\n10|\n");
    CHECK(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third "
          "event\n",
        "message|first event|1\nmessage|second event|\n!message| third event|\n");
    CHECK("data\n\ndata\ndata\n\ndata:\n", "message||\nmessage|\n|\n!message||\n");
    CHECK("data:test\n\ndata: test\n\n", "message|test|\nmessage|test|\n");
}

/* ---- web-platform-tests, eventsource/format-* ---- */

static void test_bom(void **state)
{
    CHECK("\xEF\xBB\xBF"
          "data:1\n\n\xEF\xBB\xBF"
          "data:2\n\ndata:3\n\n",
        "message|1|\nmessage|3|\n");
    CHECK("\xEF\xBB\xBF\xEF\xBB\xBF"
          "data:1\n\ndata:2\n\ndata:3\n\n",
        "message|2|\nmessage|3|\n");
}

static void test_comments(void **state)
{
    CHECK(
        "data:1\r:\0\n:\r\ndata:2\n:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\rdata:3\n:data:fail\r:"
        "yyyyyyyyyyyyyyyyyyyyyy\ndata:4\n\n",
        "message|1\n2\n3\n4|\n");
}

static void test_data_before_final_empty_line(void **state)
{
    /* Flushed here, where a browser drops it: model servers leave the blank line out. */
    CHECK("retry:1000\ndata:test1\n\nid:test\ndata:test2", "message|test1|\n!message|test2|test\n");
}

static void test_field_data(void **state)
{
    CHECK("data:\n\ndata\ndata\n\ndata:test\n\n", "message||\nmessage|\n|\nmessage|test|\n");
}

static void test_field_event(void **state)
{
    CHECK("event:test\ndata:x\n\ndata:x\n\n", "test|x|\nmessage|x|\n");
    CHECK("event: \ndata:data\n\n", "message|data|\n");
    CHECK("event:one\nevent:two\ndata:x\n\n", "two|x|\n");
    CHECK("event:lost\n\ndata:x\n\n", "message|x|\n");
}

static void test_field_id(void **state)
{
    CHECK("id: a\ndata:1\n\ndata:2\n\nid\ndata:3\n\n", "message|1|a\nmessage|2|a\nmessage|3|\n");
    CHECK("id:a\0b\ndata:hello\n\n", "message|hello|\n");
    CHECK("id: \xE2\x80\xA6\ndata:hello\n\n", "message|hello|\xE2\x80\xA6\n");
}

static void test_field_parsing(void **state)
{
    CHECK(
        "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n "
        "data:32\ndata:4\n\n",
        "message|\0\n 2\n1\n3\n\n4|\n");
}

static void test_field_retry(void **state)
{
    CHECK("retry:3000\nretry:1000x\ndata:x\n\n", "message|x|\n");
}

static void test_field_unknown(void **state)
{
    CHECK("data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n",
        "message|test\n\ntest|\n");
}

static void test_leading_space(void **state)
{
    CHECK("data:\ttest\rdata: \ndata:test\n\n", "message|\ttest\n\ntest|\n");
}

static void test_newlines(void **state)
{
    CHECK("data:test\r\ndata\ndata:test\r\n\r", "message|test\n\ntest|\n");
    CHECK("data:1\r\rdata:2\r\r", "message|1|\nmessage|2|\n");
    CHECK("data:1\r\n\r\ndata:2\n\r\n", "message|1|\nmessage|2|\n");
}

static void test_null_character(void **state)
{
    CHECK("data:\0\n\n\n\n", "message|\0|\n");
}

static void test_utf8(void **state)
{
    CHECK("data:ok\xE2\x80\xA6\n\n", "message|ok\xE2\x80\xA6|\n");
    CHECK("data:a\xE2\x80z\xFF\n\n", "message|a\xEF\xBF\xBDz\xEF\xBF\xBD|\n");
}

/* ---- What model servers send ---- */

static void test_servers(void **state)
{
    CHECK(": OPENROUTER PROCESSING\n\ndata: {\"a\":1}\n\n: keep-alive\n\ndata: [DONE]",
        "message|{\"a\":1}|\n!message|[DONE]|\n");
    CHECK("data:\ndata: {\"a\":1}\n\n", "message|\n{\"a\":1}|\n");
    CHECK("data: {\"a\":1}\n\nerror: {\"error\":{\"message\":\"no\"}}\n\n",
        "message|{\"a\":1}|\nerror|{\"error\":{\"message\":\"no\"}}|\n");
    CHECK("data: 1\n\n{\r\n  \"error\"\n: {}\r\n}\r\n\r\ndata: 2\n{no data}\n\n{",
        "message|1|\nmessage|{\n  \"error\"\n: {}\n}|\nmessage|2|\n!message|{|\n");
    CHECK("data: {\"a\":1}   \r\n\r\n", "message|{\"a\":1}   |\n");
}

/* ---- Cost and limits ---- */

static void test_no_copy(void **state)
{
    const char *in = "event: x\ndata: one\n\ndata: two\r\n\r\ndata: three\r\r";
    struct test_alloc t;
    struct log log = { .in = in, .in_end = in + strlen(in) };
    struct hocket__sse s;
    test_alloc_init(&t);
    hocket__buf_init(&log.text, &hocket__malloc, 0);
    hocket__sse_init(&s, &t.a, 0, on_event, &log);
    assert_int_equal(hocket__sse_feed(&s, in, strlen(in)), 0);
    assert_int_equal(log.in_place, 3);
    assert_true(t.calls <= 1); /* for the type */
    hocket__buf_deinit(&log.text);
    hocket__sse_deinit(&s);
    test_alloc_check(&t);
}

/* Frames as text, and the event under way is taken where the input begins with `known`. */
struct frames {
    struct hocket__buf text;
    const char *known;
    int taken;
};

static int on_frame(void *ud, const struct hocket__sse_event *e)
{
    struct frames *f = ud;
    hocket__buf_addc(&f->text, '<');
    hocket__buf_addstr(&f->text, e->frame);
    hocket__buf_addc(&f->text, '>');
    return 0;
}

static ptrdiff_t take_known(void *ud, const char *p, size_t n)
{
    struct frames *f = ud;
    size_t len = strlen(f->known);
    if (len == 0 || n < len || memcmp(p, f->known, len) != 0)
        return 0;
    f->taken++;
    return (ptrdiff_t) len;
}

static void check_frames(const char *in, const char *known, const char *want, int taken)
{
    struct frames f = { .known = known };
    struct hocket__sse s;
    hocket__buf_init(&f.text, &hocket__malloc, 0);
    hocket__sse_init(&s, &hocket__malloc, 0, on_frame, &f);
    s.take = take_known;
    assert_int_equal(hocket__sse_feed(&s, in, strlen(in)), 0);
    assert_int_equal(hocket__sse_finish(&s), 0);
    assert_string_equal(f.text.data ? f.text.data : "", want);
    assert_int_equal(f.taken, taken);
    hocket__buf_deinit(&f.text);
    hocket__sse_deinit(&s);
}

static void test_frames(void **state)
{
    check_frames("data: 1\n\nevent: x\ndata: 2\n\n", "", "<data: 1\n\n><event: x\ndata: 2\n\n>", 0);
    check_frames("data: 1\r\n\r\ndata: 2\r\r", "", "<data: 1\r\n\r><data: 2\r\r>", 0);
    /* two lines of data, an id, a comment, bytes that are repaired, no blank line */
    check_frames("data: 1\ndata: 2\n\nid: 3\ndata: 4\n\n:\ndata: 5\n\ndata: \xFF\n\ndata: 6\n", "",
        "<><><><><>", 0);
}

static void test_taking(void **state)
{
    check_frames("data: 1\n\ndata: 1\n\ndata: 2\n\ndata: 1\n\n", "data: 1\n\n", "<data: 2\n\n>", 3);
    check_frames("data: 2\r\n\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", "data: 1\r\n\r",
        "<data: 2\r\n\r><data: 2\r\n\r>", 1);
    /* inside an event nobody is asked: not behind a type, nor behind data */
    check_frames("event: x\ndata: 1\n\n", "data: 1\n\n", "<event: x\ndata: 1\n\n>", 0);
    check_frames("data: 0\ndata: 1\n\n", "data: 1\n\n", "<>", 0);
}

static int feed_many(struct hocket__sse *s, const char *piece, size_t times)
{
    int status = 0;
    for (size_t i = 0; i < times && status == 0; i++)
        status = hocket__sse_feed(s, piece, strlen(piece));
    return status;
}

static int feed_limited(const char *begin, const char *piece, size_t times)
{
    struct test_alloc t;
    struct log log = { 0 };
    struct hocket__sse s;
    test_alloc_init(&t);
    hocket__buf_init(&log.text, &hocket__malloc, 0);
    hocket__sse_init(&s, &t.a, 100, on_event, &log);
    int status = feed_many(&s, begin, 1);
    if (status == 0)
        status = feed_many(&s, piece, times);
    assert_true(t.bytes < 1000);
    hocket__buf_deinit(&log.text);
    hocket__sse_deinit(&s);
    test_alloc_check(&t);
    return status;
}

static void test_limits(void **state)
{
    assert_int_equal(feed_limited("data: ", "xxxxxxxxxx", 9), 0);
    assert_int_equal(feed_limited("data: ", "xxxxxxxxxx", 20), HOCKET_ELIMIT);
    assert_int_equal(feed_limited("", "data: xxxxxxxxxx\n", 8), 0);
    assert_int_equal(feed_limited("", "data: xxxxxxxxxx\n", 20), HOCKET_ELIMIT);
    assert_int_equal(feed_limited("", "data: xxxxxxxxxx\n\n", 200), 0);
    assert_int_equal(feed_limited(":", "a comment may be endless", 1000), 0);
    char line[300];
    memset(line, 'x', sizeof(line));
    memcpy(line, "data: ", 6);
    memcpy(line + 296, "\n\n\n", 4);
    assert_int_equal(feed_limited("", line, 1), HOCKET_ELIMIT);
}

static int stop(void *ud, const struct hocket__sse_event *e)
{
    *(int *) ud += 1;
    return HOCKET_EPROTOCOL;
}

static void test_stop(void **state)
{
    int n = 0;
    struct hocket__sse s;
    hocket__sse_init(&s, &hocket__malloc, 0, stop, &n);
    assert_int_equal(feed_many(&s, "data:1\n\ndata:2\n\n", 1), HOCKET_EPROTOCOL);
    assert_int_equal(n, 1);
    hocket__sse_deinit(&s);
}

static void run_failing(struct test_alloc *t, void *ud)
{
    struct log log = { 0 };
    struct hocket__sse s;
    hocket__buf_init(&log.text, &hocket__malloc, 0);
    hocket__sse_init(&s, &t->a, 0, on_event, &log);
    int status = feed_many(&s, "event: a\nid: 7\ndata: on", 1);
    if (status == 0)
        status = feed_many(&s, "e\ndata: \xFFtwo\n\nda", 1);
    if (status == 0)
        status = hocket__sse_finish(&s);
    assert_int_equal(status, t->failed ? HOCKET_ENOMEM : 0);
    hocket__buf_deinit(&log.text);
    hocket__sse_deinit(&s);
}

static void test_no_memory(void **state)
{
    assert_true(test_alloc_each(run_failing, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standard),
        cmocka_unit_test(test_bom),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_data_before_final_empty_line),
        cmocka_unit_test(test_field_data),
        cmocka_unit_test(test_field_event),
        cmocka_unit_test(test_field_id),
        cmocka_unit_test(test_field_parsing),
        cmocka_unit_test(test_field_retry),
        cmocka_unit_test(test_field_unknown),
        cmocka_unit_test(test_leading_space),
        cmocka_unit_test(test_newlines),
        cmocka_unit_test(test_null_character),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_servers),
        cmocka_unit_test(test_no_copy),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_taking),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
