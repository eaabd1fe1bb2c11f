/* Board and document are folds over the journal: 10,000 random operations on both are
 * recorded in one journal; the records up to any number rebuild what was there then. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "core/board/board.h"
#include "core/document/document.h"
#include "core/journal/journal.h"
#include "support/alloc.h"
#include "support/travel.h"

#define OPERATIONS 10000
#define CUTS       40
#define AGENTS     3

static const struct hocket__str agents[AGENTS] = { HOCKET__STR("food"), HOCKET__STR("logistics"),
    HOCKET__STR("Sehenswürdigkeiten") };

/* What board and document were when the journal had `seq` records. */
struct shot {
    uint64_t seq;
    int64_t version;
    struct hocket__buf board, document, rendering;
};

struct world {
    const struct hocket_allocator *a;
    struct hocket__board *board;
    struct hocket__document *document;
    struct hocket__journal *journal;
    uint64_t random;
    int64_t now;
    struct shot shots[CUTS];
    size_t shot_count;
};

static uint32_t rnd(struct world *w, uint32_t n)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t) ((w->random >> 16) % n);
}

/* Into the journal; one in ten is refused, which must change nothing. */
static int emit(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    struct world *w = ud;
    struct hocket__record r = { .type = hocket__cstr(type), .agent = agent, .payload = payload };
    if (rnd(w, 10) == 0)
        return hocket__error(err, HOCKET_EIO, "refused");
    int64_t seq = hocket__journal_append(w->journal, &r, w->now, err);
    return seq < 0 ? (int) seq : 0;
}

static void open_both(struct world *w, bool record)
{
    struct hocket__board_options bo = hocket__board_options_default();
    struct hocket__document_options d = travel_options();
    bo.max_tasks = 1000;
    bo.emit = record ? emit : NULL;
    d.emit = record ? emit : NULL;
    bo.ud = d.ud = w;
    assert_int_equal(hocket__board_new(w->a, &bo, &w->board, NULL), 0);
    assert_int_equal(hocket__document_new(w->a, &d, &w->document, NULL), 0);
}

static struct hocket__str random_text(struct world *w, char *room, size_t size)
{
    static const char *const pieces[] = { "a", "é", "\"", "\\", "\n", "\t", "日本", "😀", "[x] ",
        "## ", "{}", "\x01", "\xff", " ", "\xE2\x80\xA8" };
    size_t n = 0;
    for (uint32_t k = 1 + rnd(w, 12); k > 0; k--) {
        const char *piece = pieces[rnd(w, sizeof(pieces) / sizeof(pieces[0]))];
        if (n + strlen(piece) < size) {
            memcpy(room + n, piece, strlen(piece));
            n += strlen(piece);
        }
    }
    if (rnd(w, 8) == 0)
        room[rnd(w, (uint32_t) n)] = 0;
    return hocket__str(room, n);
}

static void board_operation(struct world *w)
{
    char room[64];
    int64_t own[3];
    size_t count = hocket__board_count(w->board);
    struct hocket__str text = random_text(w, room, sizeof(room)), agent = agents[rnd(w, AGENTS)];
    struct hocket__str by = rnd(w, 2) ? agents[0] : agent;
    struct hocket__completion c;
    for (size_t i = 0; i < 3; i++)
        own[i] = 1 + rnd(w, (uint32_t) count + 1);
    struct hocket__ids ids = { own, 1 + rnd(w, 3) };
    struct hocket__task_spec specs[2] = {
        { .text = text, .assigned_to = agent, .active_form = text, .parent = rnd(w, 4) },
        { .text = text, .assigned_to = agents[0], .active_form = { "", 0 }, .unblocks = rnd(w, 4) },
    };
    switch (rnd(w, 11)) {
    case 0: hocket__board_create(w->board, agent, specs, 1 + rnd(w, 2), NULL, NULL); break;
    case 1:
    case 2: hocket__board_start(w->board, agent, ids, HOCKET__ALL_AT_ONCE, NULL); break;
    case 3:
    case 4: hocket__board_complete(w->board, agent, by, ids, 1 + rnd(w, 9), text, &c, NULL); break;
    case 5: hocket__board_fail(w->board, agent, own[0], text, NULL); break;
    case 6: hocket__board_skip(w->board, agent, own[0], text, NULL); break;
    case 7: hocket__board_reassign(w->board, agent, own[0], by, text, NULL); break;
    case 8:
        if (rnd(w, 4) == 0)
            hocket__board_cancel(w->board, agent, own[0], text, NULL);
        break;
    default: hocket__board_settle(w->board, agent, ids, rnd(w, 2), text, NULL, NULL);
    }
}

/* Every other one says itself what it replaces. */
static void merge(struct world *w, const struct hocket__slot *slot, struct hocket__str agent,
    struct hocket__str text, int64_t base)
{
    int64_t list[8], next = 1;
    size_t n = rnd(w, 9);
    for (size_t i = 0; i < n; i++)
        next = list[i] = next + 1 + rnd(w, 12);
    const struct hocket__versions only = { list, n };
    hocket__document_consolidate(
        w->document, slot, agent, text, base, rnd(w, 2) ? &only : NULL, w->now, NULL);
}

static void document_operation(struct world *w)
{
    char room[64];
    struct hocket__slot slot = { { rnd(w, 6), rnd(w, 6) } }; /* one in six is none */
    struct hocket__str text = random_text(w, room, sizeof(room)), agent = agents[rnd(w, AGENTS)];
    int64_t latest = hocket__document_version(w->document);
    if (rnd(w, 5) > 0)
        hocket__document_append(w->document, &slot, agent, text, w->now, NULL);
    else
        merge(w, &slot, agent, text, latest > 20 ? latest - rnd(w, 22) + 1 : rnd(w, 3));
}

static void shoot(struct world *w, struct shot *s)
{
    s->seq = hocket__journal_last(w->journal);
    s->version = hocket__document_version(w->document);
    hocket__buf_init(&s->board, &hocket__malloc, 0);
    hocket__buf_init(&s->document, &hocket__malloc, 0);
    hocket__buf_init(&s->rendering, &hocket__malloc, 0);
    assert_int_equal(hocket__board_read(w->board, NULL, &s->board, NULL), 0);
    assert_int_equal(hocket__board_status(w->board, &s->board), 0);
    assert_int_equal(hocket__document_read(w->document, 0, &s->document, NULL), 0);
    assert_int_equal(hocket__document_history(w->document, 0, SIZE_MAX, &s->document), 0);
    assert_int_equal(
        hocket__document_render(w->document, 0, HOCKET__RENDER_TAGGED, &s->rendering, NULL), 0);
}

static void drop(struct shot *s)
{
    hocket__buf_deinit(&s->board);
    hocket__buf_deinit(&s->document);
    hocket__buf_deinit(&s->rendering);
}

static void same(const struct hocket__buf *a, const struct hocket__buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data ? a->data : "", b->data ? b->data : "", a->len);
}

/* An own board and document, fed with the journal's lines up to the shot. */
static void rebuild(struct world *w, const struct shot *expected)
{
    struct world copy = { .a = w->a, .journal = w->journal };
    struct shot got;
    struct hocket__line line;
    uint64_t cursor = 0;
    open_both(&copy, false);
    while (cursor < expected->seq && hocket__journal_next(w->journal, &cursor, &line)) {
        assert_int_equal(line.missed, 0);
        int n = hocket__board_replay(copy.board, line.json, NULL);
        n += hocket__document_replay(copy.document, line.json, NULL);
        assert_int_equal(n, 1);
    }
    shoot(&copy, &got);
    assert_int_equal(got.version, expected->version);
    same(&got.board, &expected->board);
    same(&got.document, &expected->document);
    same(&got.rendering, &expected->rendering);
    drop(&got);
    hocket__board_free(copy.board);
    hocket__document_free(copy.document);
}

/* The live document still knows how it looked then. */
static void look_back(struct world *w, const struct shot *expected)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    if (expected->version > 0)
        assert_int_equal(hocket__document_render(
                             w->document, expected->version, HOCKET__RENDER_TAGGED, &out, NULL),
            0);
    same(&out, &expected->rendering);
    hocket__buf_deinit(&out);
}

static void test_fold(void **state)
{
    struct test_alloc t;
    struct world w = { .a = &t.a, .random = 88172645463325252u, .now = INT64_C(1795251600123) };
    struct hocket__journal_options o = hocket__journal_options_default();
    test_alloc_init(&t);
    w.journal = hocket__journal_new(&t.a, &o);
    open_both(&w, true);
    for (int i = 1; i <= OPERATIONS; i++) {
        w.now += rnd(&w, 1000);
        if (rnd(&w, 2))
            board_operation(&w);
        else
            document_operation(&w);
        if (w.shot_count < CUTS && (rnd(&w, OPERATIONS / CUTS) == 0 || i == OPERATIONS))
            shoot(&w, &w.shots[w.shot_count++]);
    }
    assert_true(w.shot_count > CUTS / 2);
    assert_true(hocket__document_version(w.document) > 2000);
    assert_true(hocket__board_count(w.board) > 200);
    assert_true(hocket__board_in(w.board, HOCKET__TASK_DONE) > 20);
    for (size_t i = 0; i < w.shot_count; i++) {
        rebuild(&w, &w.shots[i]);
        look_back(&w, &w.shots[i]);
        drop(&w.shots[i]);
    }
    hocket__board_free(w.board);
    hocket__document_free(w.document);
    hocket__journal_free(w.journal);
    test_alloc_check(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_fold) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
