#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/effect.h"

#define STATES HOCKET__EFFECT_STATES
#define EVENTS HOCKET__EFFECT_EVENTS

/* All moves that there are; every other cell of the table leaves the state. */
static const struct {
    enum hocket__effect_state from;
    enum hocket__effect_event event;
    enum hocket__effect_state to;
} moves[] = {
    { HOCKET__EFFECT_NONE, HOCKET__EFFECT_ASK, HOCKET__EFFECT_ASKED },
    { HOCKET__EFFECT_ASKED, HOCKET__EFFECT_HOLD, HOCKET__EFFECT_HELD },
    { HOCKET__EFFECT_HELD, HOCKET__EFFECT_RELEASE, HOCKET__EFFECT_ASKED },
    { HOCKET__EFFECT_ASKED, HOCKET__EFFECT_START, HOCKET__EFFECT_BEGUN },
    { HOCKET__EFFECT_BEGUN, HOCKET__EFFECT_END, HOCKET__EFFECT_OVER },
    { HOCKET__EFFECT_ASKED, HOCKET__EFFECT_REPLAY, HOCKET__EFFECT_REPLAYED },
};

static enum hocket__effect_state expected(
    enum hocket__effect_state from, enum hocket__effect_event event)
{
    if (event == HOCKET__EFFECT_FORGET)
        return HOCKET__EFFECT_NONE;
    if (event == HOCKET__EFFECT_ASK)
        return HOCKET__EFFECT_ASKED;
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
        if (moves[i].from == from && moves[i].event == event)
            return moves[i].to;
    return from;
}

static void test_every_cell(void **state)
{
    (void) state;
    for (int s = 0; s < STATES; s++)
        for (int e = 0; e < EVENTS; e++)
            assert_int_equal(hocket__effect_next(s, e), expected(s, e));
}

/* What every sequence of seven events keeps to. */
static void walk(enum hocket__effect_state s, int depth, int starts, int replays)
{
    assert_true(starts + replays <= 1); /* never performed twice, nor performed and replayed */
    for (int e = 0; depth > 0 && e < EVENTS; e++) {
        enum hocket__effect_state to = hocket__effect_next(s, e);
        int anew = e == HOCKET__EFFECT_ASK || e == HOCKET__EFFECT_FORGET;
        int started = to == HOCKET__EFFECT_BEGUN && s != to;
        int replayed = to == HOCKET__EFFECT_REPLAYED && s != to;
        if (s == HOCKET__EFFECT_HELD) /* the gate alone lets it go on */
            assert_true(anew || e == HOCKET__EFFECT_RELEASE || to == s);
        if (to == HOCKET__EFFECT_OVER)
            assert_int_equal(starts, 1);
        walk(to, depth - 1, anew ? 0 : starts + started, anew ? 0 : replays + replayed);
    }
}

static void test_once(void **state)
{
    (void) state;
    walk(HOCKET__EFFECT_NONE, 7, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cell),
        cmocka_unit_test(test_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
