#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/json/json.h"
#include "core/document/document.h"
#include "support/alloc.h"
#include "support/strings.h"
#include "support/travel.h"

#define NOW         INT64_C(1795251600123)
#define FACILITATOR HOCKET__STR("facilitator")
#define FOOD        HOCKET__STR("food")
#define LOGISTICS   HOCKET__STR("logistics")

static const struct hocket__slot general = { { 0, 0 } }, morning = { { 1, 1 } },
                                 evening = { { 1, 3 } }, second = { { 2, 1 } };

struct fixture {
    struct test_alloc t;
    struct hocket__document *d;
    struct hocket_error err;
    char type[32], agent[64], payload[1024];
    int records;
    bool refuse;
    int64_t inner;
};

static int emit(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    struct fixture *f = ud;
    assert_int_equal(hocket__json_check(payload, NULL), 0);
    f->inner = hocket__document_append(f->d, &general, FOOD, HOCKET__STR("x"), NOW, NULL);
    if (f->refuse)
        return hocket__error(err, HOCKET_EIO, "the disk is full");
    f->records++;
    snprintf(f->type, sizeof(f->type), "%s", type);
    snprintf(f->agent, sizeof(f->agent), "%.*s", (int) agent.n, agent.p);
    snprintf(f->payload, sizeof(f->payload), "%.*s", (int) payload.n, payload.p);
    return 0;
}

static void open_with(struct fixture *f, struct hocket__document_options o)
{
    o.emit = emit;
    o.ud = f;
    assert_int_equal(hocket__document_new(&f->t.a, &o, &f->d, &f->err), 0);
}

static int setup_bare(void **state)
{
    static struct fixture f;
    memset(&f, 0, sizeof(f));
    test_alloc_init(&f.t);
    *state = &f;
    return 0;
}

static int setup(void **state)
{
    setup_bare(state);
    open_with(*state, travel_options());
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    hocket__document_free(f->d);
    test_alloc_check(&f->t);
    return 0;
}

static int64_t append(
    struct fixture *f, struct hocket__slot slot, const char *agent, const char *text)
{
    return hocket__document_append(
        f->d, &slot, hocket__cstr(agent), hocket__cstr(text), NOW, &f->err);
}

static int64_t merge(struct fixture *f, struct hocket__slot slot, const char *text, int64_t base)
{
    return hocket__document_consolidate(
        f->d, &slot, FACILITATOR, hocket__cstr(text), base, NULL, NOW, &f->err);
}

static void renders(
    struct fixture *f, int64_t version, enum hocket__rendering how, const char *expected)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__document_render(f->d, version, how, &out, &f->err), 0);
    assert_string_equal(hocket__buf_str(&out).p, expected);
    hocket__buf_deinit(&out);
}

/* ---- Appending and rendering ------------------------------------------------ */

static void test_append(void **state)
{
    struct fixture *f = *state;
    renders(f, 0, HOCKET__RENDER_TAGGED, "");
    assert_int_equal(append(f, morning, "food", "Pastéis\n"), 1);
    assert_string_equal(f->type, "document_updated");
    assert_string_equal(f->agent, "food");
    assert_string_equal(f->payload,
        "{\"version\":1,\"author\":\"food\",\"content\":\"Pastéis\\n\","
        "\"change_description\":\"added to Day 1 — Morning\",\"change\":\"append\","
        "\"slot\":{\"day\":1,\"time_slot\":\"morning\"},\"at\":1795251600123}");
    assert_int_equal(append(f, second, "food", "Bica"), 2);
    assert_int_equal(append(f, general, "logistics", "Viva card"), 3);
    assert_int_equal(append(f, morning, "logistics", "Tram 28"), 4);
    renders(f, 0, HOCKET__RENDER_TAGGED,
        "## General\n\n[logistics] Viva card\n\n"
        "## Day 1 — Morning\n\n[food] Pastéis\n[logistics] Tram 28\n\n"
        "## Day 2 — Morning\n\n[food] Bica\n");
    renders(f, 4, HOCKET__RENDER_CLEAN,
        "## General\n\nViva card\n\n"
        "## Day 1 — Morning\n\nPastéis\n\nTram 28\n\n"
        "## Day 2 — Morning\n\nBica\n");
    renders(f, 2, HOCKET__RENDER_CLEAN,
        "## Day 1 — Morning\n\nPastéis\n\n## Day 2 — Morning\n\nBica\n");
    renders(f, 1, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[food] Pastéis\n");
    assert_int_equal(hocket__document_version(f->d), 4);
    assert_int_equal(hocket__document_entries(f->d), 4);
}

static void test_order(void **state)
{
    struct fixture *f = *state;
    for (int64_t day = 30; day >= 0; day--)
        for (int64_t time = 4; time >= 0; time--)
            append(f, (struct hocket__slot){ { (day * 7) % 31, time } }, "food", "x");
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    hocket__document_render(f->d, 0, HOCKET__RENDER_CLEAN, &out, NULL);
    const char *at = out.data;
    for (int day = 0; day <= 30; day++) {
        char heading[64];
        snprintf(heading, sizeof(heading), "## Day %d — Night", day);
        const char *found = strstr(out.data, day == 0 ? "## General — Night" : heading);
        assert_true(found && found > at);
        at = found;
    }
    hocket__buf_deinit(&out);
}

/* What an entry contains never looks like a tag or a heading of the document. */
static void test_frame(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "\n\nA\n[facilitator] B\r[x] C\r\n## Day 2 — Morning\n\nD \n");
    renders(f, 0, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[food] A\n  [facilitator] B\r  [x] C\r\n"
        "  ## Day 2 — Morning\n  \n  D\n");
    renders(f, 0, HOCKET__RENDER_CLEAN,
        "## Day 1 — Morning\n\nA\n[facilitator] B\r[x] C\r\n## Day 2 — Morning\n\nD\n");
}

/* ---- Consolidating ------------------------------------------------------------ */

static void test_consolidate(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    append(f, morning, "logistics", "B");
    append(f, evening, "food", "E");
    assert_int_equal(merge(f, morning, "A and B", 3), 4);
    assert_string_equal(f->payload,
        "{\"version\":4,\"author\":\"facilitator\",\"content\":\"A and B\","
        "\"change_description\":\"merged 2 entries into Day 1 — Morning\","
        "\"change\":\"consolidate\",\"slot\":{\"day\":1,\"time_slot\":\"morning\"},\"base_"
        "version\":3,"
        "\"at\":1795251600123}");
    renders(f, 0, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[facilitator] A and B\n\n## Day 1 — Evening\n\n[food] E\n");
    renders(f, 3, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[food] A\n[logistics] B\n\n## Day 1 — Evening\n\n[food] E\n");
    const struct hocket__entry *a = hocket__document_entry(f->d, 1);
    assert_true(a->born == 1 && a->died == 4 && hocket__str_is(a->content, "A"));
    assert_int_equal(hocket__document_entries(f->d), 2);
    assert_int_equal(hocket__document_bytes(f->d), 10); /* originals stay */
}

/* An entry that came after the read stays, behind the merged one. */
static void test_late_entry(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    append(f, morning, "logistics", "B");
    append(f, morning, "sights", "C");
    assert_int_equal(merge(f, morning, "AB", 2), 4);
    renders(f, 0, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] AB\n[sights] C\n");
    append(f, morning, "food", "D");
    assert_int_equal(merge(f, morning, "ABC", 4), 6);
    renders(f, 6, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] ABC\n[food] D\n");
    renders(f, 5, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[facilitator] AB\n[sights] C\n[food] D\n");
    renders(f, 4, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] AB\n[sights] C\n");
    renders(
        f, 3, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[food] A\n[logistics] B\n[sights] C\n");
}

/* A further consolidation by the same author takes the place of its own one before, which it had
 * not read but written; unless that was made from a later reading. */
static void test_own_merge(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    append(f, morning, "logistics", "B");
    append(f, morning, "sights", "C");
    merge(f, morning, "AB", 2);
    merge(f, morning, "AB!", 2);
    renders(f, 0, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] AB!\n[sights] C\n");
    assert_int_equal(hocket__document_entry(f->d, 5)->replaced, 1);
    assert_int_equal(hocket__document_entry(f->d, 4)->died, 5);
    assert_int_equal(hocket__document_entries(f->d), 2);
    merge(f, morning, "all", 5);
    renders(f, 0, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] all\n");
    assert_int_equal(hocket__document_entry(f->d, 6)->replaced, 2);
    merge(f, morning, "old", 1); /* knows nothing of what came after 1, nor of "all" */
    renders(f, 0, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[facilitator] old\n[facilitator] all\n");
    assert_int_equal(hocket__document_entry(f->d, 7)->replaced, 0);
    renders(f, 4, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] AB\n[sights] C\n");
}

/* Two authors from the same reading: neither has read what the other merged. */
static void test_concurrent(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    append(f, morning, "logistics", "B");
    merge(f, morning, "AB", 2);
    assert_int_equal(hocket__document_consolidate(f->d, &morning, hocket__cstr("editor"),
                         hocket__cstr("A and B"), 2, NULL, NOW, &f->err),
        4);
    renders(
        f, 0, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] AB\n[editor] A and B\n");
    merge(f, morning, "AB.", 2); /* of the two its own */
    renders(
        f, 0, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[editor] A and B\n[facilitator] AB.\n");
    append(f, evening, "facilitator", "not merged");
    merge(f, evening, "merged", 4); /* an author's own entry is no merge: it was not read */
    renders(f, 0, HOCKET__RENDER_CLEAN,
        "## Day 1 — Morning\n\nA and B\n\nAB.\n\n## Day 1 — Evening\n\nmerged\n\nnot merged\n");
}

static int64_t merge_only(
    struct fixture *f, const char *text, int64_t base, const int64_t *v, size_t n)
{
    const struct hocket__versions only = { v, n };
    return hocket__document_consolidate(
        f->d, &morning, FACILITATOR, hocket__cstr(text), base, &only, NOW, &f->err);
}
#define ONLY(...)                                                                                  \
    (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)

/* An author that has read some entries replaces these, and no other: not its own merge either, unless it says so. */
static void test_only(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    append(f, morning, "logistics", "B");
    append(f, morning, "sights", "C");
    append(f, evening, "sights", "E");
    assert_int_equal(merge_only(f, "A and C", 4, ONLY(1, 3, 4, 9)), 5);
    assert_non_null(strstr(f->payload, "\"base_version\":4,\"replaces\":[1,3],"));
    renders(f, 0, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[logistics] B\n[facilitator] A and C\n\n## Day 1 — "
        "Evening\n\n[sights] "
        "E\n");
    assert_int_equal(hocket__document_entry(f->d, 5)->replaced, 2);
    assert_int_equal(merge_only(f, "B", 4, ONLY(2)), 6);
    assert_non_null(strstr(f->payload, "\"replaces\":[2],"));
    assert_int_equal(merge_only(f, "all", 5, ONLY(5, 6)), 7);
    assert_int_equal(hocket__document_entries(f->d), 2);
    assert_int_equal(merge_only(f, "none", 7, NULL, 0), 8);
    assert_non_null(strstr(f->payload, "\"replaces\":[],"));
    append(f, morning, "food", "F");
    /* what base_version says as well is not listed */
    assert_int_equal(merge_only(f, "one", 8, ONLY(7, 8)), 10);
    assert_null(strstr(f->payload, "replaces"));
    renders(f, 0, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[facilitator] one\n[food] F\n\n## Day 1 — Evening\n\n[sights] E\n");
}

/* One's own merge that one has not read again is no part of base_version: the record says so to readers that know this
 * rule, and to those that do not. */
static void test_record_of_own_merge(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    merge(f, morning, "M", 1);
    merge(f, morning, "M!", 1);
    assert_non_null(strstr(f->payload, "\"replaces\":[2],"));
    append(f, morning, "food", "B");
    merge(f, morning, "all", 4);
    assert_null(strstr(f->payload, "replaces"));
}

static void test_tagged(void **state)
{
    struct fixture *f = *state;
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    append(f, morning, "food", " A\n[x] B\n");
    assert_int_equal(hocket__document_render_entry(f->d, 1, &out), 0);
    assert_string_equal(out.data, "[food] A\n  [x] B");
    assert_int_equal(hocket__document_render_entry(f->d, 2, &out), HOCKET_ENOTFOUND);
    merge(f, morning, "M", 1);
    assert_int_equal(hocket__document_render_entry(f->d, 1, &out), HOCKET_ENOTFOUND);
    hocket__buf_deinit(&out);
}

static void test_base_version(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(merge(f, morning, "x", 1), HOCKET_EINVAL);
    assert_string_equal(f->err.message, "base_version 1 does not exist yet: the latest is 0");
    assert_int_equal(merge(f, morning, "first", 0), 1);
    append(f, morning, "food", "A");
    assert_int_equal(merge(f, morning, "x", 3), HOCKET_EINVAL);
    assert_int_equal(merge(f, morning, "x", -1), HOCKET_EINVAL);
    assert_int_equal(merge(f, morning, "x", INT64_MAX), HOCKET_EINVAL);
    assert_int_equal(merge(f, morning, "zero", 0), 3);
    renders(f, 0, HOCKET__RENDER_TAGGED, "## Day 1 — Morning\n\n[facilitator] zero\n[food] A\n");
}

/* ---- Reading -------------------------------------------------------------------- */

static bool collect(const struct hocket__entry *e, void *ud)
{
    struct hocket__buf *out = ud;
    hocket__buf_addstr(out, e->content);
    return e->content.p[0] != '!';
}

static void each_is(
    struct fixture *f, struct hocket__slot slot, int64_t version, const char *expected)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__document_each(f->d, &slot, version, collect, &out, &f->err), 0);
    assert_string_equal(hocket__buf_str(&out).p, expected);
    hocket__buf_deinit(&out);
}

static void test_each(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    append(f, morning, "food", "B");
    append(f, evening, "food", "E");
    merge(f, morning, "M", 1);
    append(f, morning, "food", "!");
    append(f, morning, "food", "Z");
    each_is(f, morning, 0, "MB!");
    each_is(f, morning, 3, "AB");
    each_is(f, morning, 1, "A");
    each_is(f, second, 0, "");
    each_is(f, evening, 2, "");
    struct hocket__slot wrong = { { 1, 9 } };
    assert_int_equal(hocket__document_each(f->d, &wrong, 0, collect, NULL, &f->err), HOCKET_EINVAL);
    assert_int_equal(
        hocket__document_each(f->d, &morning, 7, collect, NULL, &f->err), HOCKET_EINVAL);
    assert_string_equal(
        f->err.message, "version 7 of the document does not exist: the latest is 6");
}

static void test_json(void **state)
{
    struct fixture *f = *state;
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__document_read(f->d, 0, &out, NULL), 0);
    assert_string_equal(out.data, "[]");
    hocket__buf_reset(&out);
    append(f, morning, "food", "A\"");
    append(f, evening, "food", "E");
    merge(f, morning, "M", 1);
    assert_int_equal(hocket__document_read(f->d, 0, &out, NULL), 0);
    assert_string_equal(out.data,
        "[{\"slot\":{\"day\":1,\"time_slot\":\"morning\"},\"heading\":\"Day 1 — Morning\","
        "\"entries\":[{\"version\":3,\"agent\":\"facilitator\",\"content\":\"M\",\"merged\":true,"
        "\"at\":1795251600123}]},"
        "{\"slot\":{\"day\":1,\"time_slot\":\"evening\"},\"heading\":\"Day 1 — Evening\","
        "\"entries\":[{\"version\":2,\"agent\":\"food\",\"content\":\"E\",\"merged\":false,"
        "\"at\":1795251600123}]}]");
    hocket__buf_reset(&out);
    assert_int_equal(hocket__document_read(f->d, 1, &out, NULL), 0);
    assert_non_null(strstr(out.data, "\"content\":\"A\\\"\""));
    assert_null(strstr(out.data, "evening"));
    assert_int_equal(hocket__document_read(f->d, 4, &out, NULL), HOCKET_EINVAL);
    assert_int_equal(hocket__document_read(f->d, -1, &out, NULL), HOCKET_EINVAL);
    hocket__buf_deinit(&out);
}

static void test_history(void **state)
{
    struct fixture *f = *state;
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    append(f, morning, "food", "A");
    merge(f, morning, "M", 1);
    assert_int_equal(hocket__document_history(f->d, 0, 9, &out), 0);
    assert_string_equal(out.data,
        "[{\"version\":1,\"author\":\"food\",\"change_description\":\"added to Day 1 — Morning\","
        "\"time\":\"2026-11-21T09:00:00.123Z\"},"
        "{\"version\":2,\"author\":\"facilitator\",\"change_description\":"
        "\"merged 1 entry into Day 1 — Morning\",\"time\":\"2026-11-21T09:00:00.123Z\"}]");
    hocket__buf_reset(&out);
    assert_int_equal(hocket__document_history(f->d, 1, 1, &out), 0);
    assert_int_equal(strncmp(out.data, "[{\"version\":2", 13), 0);
    hocket__buf_reset(&out);
    assert_int_equal(hocket__document_history(f->d, 2, 1, &out), 0);
    assert_string_equal(out.data, "[]");
    assert_null(hocket__document_entry(f->d, 0));
    assert_null(hocket__document_entry(f->d, 3));
    hocket__buf_deinit(&out);
}

/* ---- Limits and bad input --------------------------------------------------------- */

static void test_refused(void **state)
{
    struct fixture *f = *state;
    struct hocket__slot wrong = { { 1, 5 } };
    assert_int_equal(append(f, wrong, "food", "x"), HOCKET_EINVAL);
    assert_non_null(strstr(f->err.message, "general, morning, afternoon, evening, night"));
    wrong = (struct hocket__slot){ { -1, 0 } };
    assert_int_equal(append(f, wrong, "food", "x"), HOCKET_EINVAL);
    assert_int_equal(append(f, morning, "", "x"), HOCKET_EINVAL);
    assert_int_equal(append(f, morning, "a]", "x"), HOCKET_EINVAL);
    assert_int_equal(append(f, morning, "food", ""), HOCKET_EINVAL);
    assert_int_equal(append(f, morning, "food", " \n"), HOCKET_EINVAL);
    assert_string_equal(f->err.message, "the content is empty");
    assert_int_equal(merge(f, morning, "", 0), HOCKET_EINVAL);
    f->refuse = true;
    assert_int_equal(append(f, morning, "food", "x"), HOCKET_EIO);
    assert_string_equal(f->err.message, "the disk is full");
    assert_int_equal(f->inner, HOCKET_ESTATE);
    assert_int_equal(hocket__document_version(f->d), 0);
    assert_int_equal(f->records, 0);
    renders(f, 0, HOCKET__RENDER_TAGGED, "");
    f->refuse = false;
    assert_int_equal(append(f, morning, "food", "x"), 1);
    f->refuse = true;
    assert_int_equal(merge(f, morning, "y", 1), HOCKET_EIO);
    renders(f, 0, HOCKET__RENDER_CLEAN, "## Day 1 — Morning\n\nx\n");
}

static void test_entry_limit(void **state)
{
    struct fixture *f = *state;
    struct hocket__document_options o = travel_options();
    o.max_entry = 8;
    o.max_bytes = 20;
    open_with(f, o);
    assert_int_equal(append(f, morning, "food", "123456789"), HOCKET_ELIMIT);
    assert_string_equal(f->err.message,
        "the text is 9 bytes long, but an entry has at most 8: shorten it or split it up");
    /* Nine bytes when it is repaired. */
    assert_int_equal(append(f, morning, "food", "\xff\xff\xff"), HOCKET_ELIMIT);
    assert_int_equal(append(f, morning, "food", "12345678"), 1);
    assert_int_equal(merge(f, morning, "12345678", 1), 2);
    assert_int_equal(append(f, morning, "food", "12345"), HOCKET_ELIMIT);
    assert_string_equal(f->err.message,
        "the document with its history holds 16 bytes and cannot take 5 more: its limit is 20");
    assert_int_equal(append(f, morning, "food", "1234"), 3);
}

static void test_count_limits(void **state)
{
    struct fixture *f = *state;
    struct hocket__document_options o = travel_options();
    o.max_slots = 2;
    o.max_entries = 3;
    o.max_versions = 5;
    open_with(f, o);
    append(f, morning, "food", "A");
    append(f, evening, "food", "B");
    assert_int_equal(append(f, second, "food", "x"), HOCKET_ELIMIT);
    assert_non_null(strstr(f->err.message, "2 slots in use"));
    append(f, morning, "food", "C");
    assert_int_equal(append(f, morning, "food", "x"), HOCKET_ELIMIT);
    assert_non_null(strstr(f->err.message, "holds 3 entries, its limit: consolidate"));
    assert_int_equal(merge(f, morning, "x", 0), HOCKET_ELIMIT); /* replaces nothing */
    assert_int_equal(merge(f, morning, "AC", 3), 4);
    assert_int_equal(append(f, morning, "food", "D"), 5);
    assert_int_equal(merge(f, morning, "ACD", 5), HOCKET_ELIMIT);
    assert_non_null(strstr(f->err.message, "5 changes"));
    renders(
        f, 0, HOCKET__RENDER_CLEAN, "## Day 1 — Morning\n\nAC\n\nD\n\n## Day 1 — Evening\n\nB\n");
}

static void test_zero_is_zero(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 5; i++) {
        struct hocket__document_options o = travel_options();
        size_t *limits[] = { &o.max_entry, &o.max_bytes, &o.max_slots, &o.max_entries,
            &o.max_versions };
        *limits[i] = 0;
        hocket__document_free(f->d);
        open_with(f, o);
        assert_int_equal(append(f, morning, "food", "x"), HOCKET_ELIMIT);
    }
}

static void test_new_fails(void **state)
{
    struct hocket__document *d;
    struct hocket_error err;
    struct hocket__document_options o = hocket__document_options_default();
    assert_int_equal(hocket__document_new(&hocket__malloc, &o, &d, &err), HOCKET_EINVAL);
    hocket__document_free(NULL);
}

static void test_bytes(void **state)
{
    struct fixture *f = *state;
    struct hocket__str text = HOCKET__STR("a\0b\xff");
    assert_int_equal(hocket__document_append(f->d, &morning, FOOD, text, NOW, NULL), 1);
    const struct hocket__entry *e = hocket__document_entry(f->d, 1);
    assert_true(hocket__str_eq(e->content, HOCKET__STR("a\0b\xEF\xBF\xBD")));
}

static void test_bad_records(void **state)
{
    struct fixture *f = *state;
    append(f, morning, "food", "A");
    static const struct {
        const char *members;
        int status;
    } records[] = {
        { "\"type\":\"task_updated\"", 0 },
        { "\"type\":\"document_updated\"", HOCKET_EPARSE },
#define GOOD  "\"type\":\"document_updated\",\"version\":2,\"author\":\"f\",\"content\":\"c\""
#define PLACE "\"slot\":{\"day\":1,\"time_slot\":\"night\"}"
        { GOOD "," PLACE ",\"at\":1", HOCKET_EPARSE },
        { GOOD ",\"change\":\"drop\"," PLACE, HOCKET_EPARSE },
        { GOOD ",\"change\":\"append\"", HOCKET_EINVAL },
        { GOOD ",\"change\":\"append\",\"slot\":{\"day\":1}", HOCKET_EINVAL },
        { GOOD ",\"change\":\"append\",\"base_version\":1," PLACE, HOCKET_EPARSE },
        { GOOD ",\"change\":\"consolidate\"," PLACE, HOCKET_EPARSE },
        { GOOD ",\"change\":\"consolidate\",\"base_version\":2," PLACE, HOCKET_ESTATE },
        { GOOD ",\"change\":\"consolidate\",\"base_version\":\"1\"," PLACE, HOCKET_EPARSE },
        { GOOD ",\"change\":\"append\",\"replaces\":[1]," PLACE, HOCKET_EPARSE },
#define MERGE GOOD ",\"change\":\"consolidate\",\"base_version\":1," PLACE ",\"replaces\":"
        { MERGE "1", HOCKET_EPARSE },
        { MERGE "[\"1\"]", HOCKET_EPARSE },
        { MERGE "[0]", HOCKET_EPARSE },
        { MERGE "[2,1]", HOCKET_EPARSE },
        { MERGE "[1,1]", HOCKET_EPARSE },
        { MERGE "[1.5]", HOCKET_EPARSE },
        { GOOD ",\"change\":\"append\"," PLACE ",\"version\":3", HOCKET_ESTATE },
        { GOOD ",\"change\":\"append\"," PLACE ",\"version\":1", HOCKET_ESTATE },
        { GOOD ",\"change\":\"append\"," PLACE ",\"author\":\"[\"", HOCKET_EPARSE },
        { GOOD ",\"change\":\"append\"," PLACE ",\"content\":\"\"", HOCKET_EPARSE },
        { GOOD ",\"change\":\"append\"," PLACE ",", HOCKET_EPARSE },
        { GOOD ",\"change\":\"append\"," PLACE ",\"new\":{\"x\":[1]},\"at\":7", 1 },
    };
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        char record[512];
        snprintf(record, sizeof(record), "{%s}", records[i].members);
        assert_int_equal(
            hocket__document_replay(f->d, hocket__cstr(record), &f->err), records[i].status);
    }
    renders(f, 0, HOCKET__RENDER_TAGGED,
        "## Day 1 — Morning\n\n[food] A\n\n## Day 1 — Night\n\n[f] c\n");
    assert_int_equal(hocket__document_entry(f->d, 2)->at_ms, 7);
    assert_int_equal(f->records, 1);
}

/* What has brought each version brings it again: in another document all of them are as they were. */
static void test_record(void **state)
{
    struct fixture *f = *state;
    struct hocket__document_options o = travel_options();
    struct hocket__document *twin;
    struct hocket__buf record, was, is;
    struct hocket__buf *all[] = { &record, &was, &is };
    for (size_t i = 0; i < 3; i++)
        hocket__buf_init(all[i], &hocket__malloc, 0);
    assert_int_equal(hocket__document_new(&hocket__malloc, &o, &twin, NULL), 0);
    hocket__document_set_number(f->d, 3);
    append(f, morning, "food", "A \"quoted\" one");
    append(f, morning, "food", "B");
    hocket__document_tell_places(f->d, true);
    append(f, evening, "food", "C");
    assert_non_null(strstr(
        f->payload, "\"slot\":{\"day\":1,\"time_slot\":\"evening\"},\"place\":[1,3],\"at\":"));
    assert_int_equal(merge(f, morning, "AB", 2), 4);
    append(f, morning, "food", "D");
    append(f, morning, "food", "E");
    assert_int_equal(merge_only(f, "ABE", 6, ONLY(4, 6)), 7);
    assert_int_equal(hocket__document_record(f->d, 0, &record), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__document_record(f->d, 8, &record), HOCKET_ENOTFOUND);
    assert_int_equal(record.len, 0);
    for (int64_t v = 1; v <= 7; v++) {
        hocket__buf_reset(&record);
        assert_int_equal(hocket__document_record(f->d, v, &record), 0);
        assert_int_equal(hocket__document_replay(twin, hocket__buf_str(&record), NULL), 1);
    }
    assert_int_equal(hocket__document_number(twin), 3);
    for (int64_t v = 1; v <= 7; v++) {
        assert_int_equal(hocket__document_read(f->d, v, &was, NULL), 0);
        assert_int_equal(hocket__document_read(twin, v, &is, NULL), 0);
    }
    assert_int_equal(hocket__document_history(f->d, 0, 100, &was), 0);
    assert_int_equal(hocket__document_history(twin, 0, 100, &is), 0);
    assert_string_equal(is.data, was.data);
    for (size_t i = 0; i < 3; i++)
        hocket__buf_deinit(all[i]);
    hocket__document_free(twin);
}

/* ---- Memory and strings ------------------------------------------------------------- */

static int emit_nothing(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    return hocket__json_check(payload, NULL);
}

static int64_t one_step(struct hocket__document *d, int i)
{
    switch (i) {
    case 4:
        return hocket__document_consolidate(
            d, &morning, FACILITATOR, HOCKET__STR("merged"), 3, NULL, NOW, NULL);
    case 5: {
        const struct hocket__versions only = { (const int64_t[]){ 2, 4 }, 2 };
        return hocket__document_consolidate(
            d, &morning, FACILITATOR, HOCKET__STR("some"), 4, &only, NOW, NULL);
    }
    case 6:
        return hocket__document_replay(d,
            HOCKET__STR("{\"type\":\"document_updated\",\"version\":7,\"author\":\"f\",\"content\":"
                        "\"c\",\"change\":\"consolidate\",\"base_version\":6,\"replaces\":[1,3],"
                        "\"slot\":{\"day\":1,\"time_slot\":\"night\"}}"),
            NULL);
    default:
        return hocket__document_append(d, i % 2 ? &morning : &evening, FOOD,
            HOCKET__STR("some text \xff that has to be repaired"), NOW, NULL);
    }
}

static void print(const struct hocket__document *d, struct hocket__buf *out)
{
    hocket__buf_reset(out);
    assert_int_equal(hocket__document_read(d, 0, out, NULL), 0);
    assert_int_equal(hocket__document_history(d, 0, 100, out), 0);
}

/* Reading gets its work memory from the document's allocator, so the comparison is made with a
 * twin on another one that has had the same steps. */
static void memory_body(struct test_alloc *t, void *ud)
{
    struct hocket__document *d, *twin;
    struct hocket__buf got, expected;
    struct hocket__document_options o = travel_options();
    o.emit = emit_nothing;
    hocket__buf_init(&got, &hocket__malloc, 0);
    hocket__buf_init(&expected, &hocket__malloc, 0);
    int64_t status = hocket__document_new(&t->a, &o, &d, NULL);
    bool opened = status == 0;
    assert_int_equal(hocket__document_new(&hocket__malloc, &o, &twin, NULL), 0);
    for (int i = 0; i < 8 && status >= 0; i++) {
        status = one_step(d, i);
        if (status >= 0)
            assert_int_equal(one_step(twin, i), status);
    }
    assert_true(status >= 0 || (status == HOCKET_ENOMEM && t->failed));
    if (opened) {
        t->fail_at = 0;
        t->fail_rest = false;
        print(d, &got);
        print(twin, &expected);
        assert_string_equal(got.data, expected.data);
        hocket__document_free(d);
    }
    hocket__document_free(twin);
    hocket__buf_deinit(&got);
    hocket__buf_deinit(&expected);
}

static void test_memory(void **state)
{
    assert_true(test_alloc_each(memory_body, NULL) > 30);
}

static void reading_body(struct test_alloc *t, void *ud)
{
    struct hocket__document *d;
    struct hocket__document_options o = travel_options();
    struct hocket__buf out;
    hocket__buf_init(&out, &t->a, 0);
    int status = hocket__document_new(&t->a, &o, &d, NULL);
    bool opened = status == 0;
    if (status == 0 && hocket__document_append(d, &morning, FOOD, HOCKET__STR("x"), NOW, NULL) < 0)
        status = HOCKET_ENOMEM;
    if (status == 0)
        status = hocket__document_read(d, 0, &out, NULL);
    if (status == 0)
        status = hocket__document_history(d, 0, 9, &out);
    if (status == 0)
        status = hocket__document_render(d, 0, HOCKET__RENDER_TAGGED, &out, NULL);
    assert_true(status == 0 || (status == HOCKET_ENOMEM && t->failed));
    if (opened)
        hocket__document_free(d);
    hocket__buf_deinit(&out);
}

static void test_reading_memory(void **state)
{
    assert_true(test_alloc_each(reading_body, NULL) > 10);
}

static void try_text(struct hocket__str text, void *ud)
{
    struct hocket__document *d;
    struct hocket__document_options o = travel_options();
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__document_new(&hocket__malloc, &o, &d, NULL), 0);
    int64_t version = hocket__document_append(d, &morning, FOOD, text, NOW, NULL);
    if (version == 1) {
        assert_true(hocket__str_eq(hocket__document_entry(d, 1)->content, text));
        assert_int_equal(
            hocket__document_consolidate(d, &morning, FOOD, text, 1, NULL, NOW, NULL), 2);
        assert_int_equal(hocket__document_read(d, 0, &out, NULL), 0);
        assert_int_equal(hocket__json_check(hocket__buf_str(&out), NULL), 0);
        assert_int_equal(hocket__document_render(d, 0, HOCKET__RENDER_TAGGED, &out, NULL), 0);
    } else {
        assert_int_equal(version, HOCKET_EINVAL); /* nothing but white space */
    }
    struct hocket__slot slot;
    assert_true(hocket__slots_parse(hocket__document_schema(d), text, &slot, NULL) < 0);
    hocket__document_free(d);
    hocket__buf_deinit(&out);
}

static void test_strings(void **state)
{
    if (!test_strings_each(try_text, NULL))
        skip();
}

#define CASE(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_BARE(name) cmocka_unit_test_setup_teardown(name, setup_bare, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_append),
        CASE(test_order),
        CASE(test_frame),
        CASE(test_consolidate),
        CASE(test_late_entry),
        CASE(test_own_merge),
        CASE(test_concurrent),
        CASE(test_only),
        CASE(test_record_of_own_merge),
        CASE(test_tagged),
        CASE(test_base_version),
        CASE(test_each),
        CASE(test_json),
        CASE(test_history),
        CASE(test_refused),
        CASE_BARE(test_entry_limit),
        CASE_BARE(test_count_limits),
        CASE_BARE(test_zero_is_zero),
        cmocka_unit_test(test_new_fails),
        CASE(test_bytes),
        CASE(test_bad_records),
        CASE(test_record),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_reading_memory),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
