#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/run_state.h"

/* Every cell of every table. A row has a cell for each event: the next state, then the letters of the actions. "." stays as
 * it is and asks for nothing. */
#define CELLS 12

struct row {
    const char *cells[CELLS + 1];
};

struct machine {
    const char *const *names, *letters;
    const struct row *rows;
    unsigned states, events;
    unsigned (*on)(unsigned *state, unsigned event);
};

static void check_cell(const struct machine *m, unsigned state, unsigned event)
{
    char is[64] = "", was[64] = ".";
    unsigned next = state, actions = m->on(&next, event);
    const char *want = m->rows[state].cells[event];
    assert_non_null(want);
    if (strcmp(want, ".") != 0)
        snprintf(was, sizeof(was), "%s", want);
    int n = snprintf(is, sizeof(is), "%s", m->names[next]);
    for (unsigned i = 0; m->letters[i]; i++)
        if (actions & 1U << i)
            n += snprintf(is + n, sizeof(is) - (size_t) n, "%s%c",
                n == (int) strlen(m->names[next]) ? "+" : "", m->letters[i]);
    assert_int_equal(actions >> strlen(m->letters), 0);
    if (strcmp(want, ".") == 0)
        snprintf(was, sizeof(was), "%s", m->names[state]);
    if (strcmp(is, was) != 0)
        fail_msg("%s, event %u: %s in place of %s", m->names[state], event, is, was);
}

static void check(const struct machine *m)
{
    for (unsigned state = 0; state < m->states; state++) {
        for (unsigned event = 0; event < m->events; event++)
            check_cell(m, state, event);
        assert_null(m->rows[state].cells[m->events]);
    }
}

static bool in(const char *list, const char *name)
{
    char word[32];
    snprintf(word, sizeof(word), " %s ", name);
    return strstr(list, word) != NULL;
}

/* ---- Phase -------------------------------------------------------------------------------------- */

static const char *const phases[] = { "loading", "asleep", "told", "retelling", "replaying",
    "catching", "live", "cut", "parked", "held", "held_parked", "ended", "ended_parked" };

static unsigned phase_on(unsigned *state, unsigned event)
{
    enum hocket__run_phase phase = *state;
    unsigned actions = hocket__run_phase_on(&phase, event);
    *state = phase;
    return actions;
}

/* w: watch, u: no more, l: load, a: announce */
static const struct row phase_rows[] = {
    /* start   retell       replay       sleep       tell    wake          used up
       heard   park      end             hold           let go */
    { { "live", "retelling", "replaying", "asleep+w", ".", "loading+l", ".", ".", ".", ".", ".",
        "." } },                                                                    /* loading */
    { { ".", ".", ".", ".", "told", "loading+ul", ".", ".", ".", ".", ".", "." } }, /* suspended */
    { { ".", ".", ".", ".", ".", "loading+ul", ".", ".", ".", ".", ".", "." } },    /* told */
    { { ".", ".", ".", ".", ".", ".", ".", ".", ".", "ended", ".", "." } },         /* retelling */
    { { ".", ".", ".", ".", ".", ".", "catching+a", ".", "cut", "ended", ".", "." } },
    { { ".", ".", ".", ".", ".", ".", "catching+a", "live", "parked", "ended", ".",
        "." } },                                                                      /* catching */
    { { ".", ".", ".", ".", ".", ".", "live+a", ".", "parked", "ended", ".", "." } }, /* live */
    { { ".", ".", ".", ".", ".", ".", ".", ".", ".", "ended_parked", ".", "." } },
    { { ".", ".", ".", ".", ".", ".", ".", ".", ".", "ended_parked", ".", "." } }, /* parked */
    { { ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "ended" } },        /* held */
    { { ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "ended_parked" } },
    { { ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "held", "." } }, /* ended */
    { { ".", ".", ".", ".", ".", ".", ".", ".", ".", ".", "held_parked", "." } },
};

static void test_phase(void **state)
{
    const struct machine m = { phases, "wula", phase_rows, HOCKET__RUN_PHASES, HOCKET__RUN_EVENTS,
        phase_on };
    (void) state;
    assert_int_equal(sizeof(phase_rows) / sizeof(*phase_rows), HOCKET__RUN_PHASES);
    check(&m);
}

static void test_phase_questions(void **state)
{
    (void) state;
    for (unsigned p = 0; p < HOCKET__RUN_PHASES; p++) {
        const char *name = phases[p];
        assert_int_equal(hocket__run_phase_is_live(p), in(" catching live parked ", name));
        assert_int_equal(hocket__run_phase_is_replaying(p), in(" replaying cut ", name));
        assert_int_equal(hocket__run_phase_hears(p), in(" catching live ", name));
        assert_int_equal(hocket__run_phase_is_suspended(p), in(" asleep told ", name));
        assert_int_equal(
            hocket__run_phase_is_parked(p), in(" cut parked held_parked ended_parked ", name));
        assert_int_equal(hocket__run_phase_is_held(p), in(" held held_parked ", name));
    }
}

/* ---- Claim -------------------------------------------------------------------------------------- */

static const char *const claims[] = { "none", "made", "taken", "confirmed", "back_new", "back",
    "broken", "lost", "off", "off_lost" };

static unsigned claim_on(unsigned *state, unsigned event)
{
    enum hocket__run_claim claim = *state;
    bool back = hocket__run_claim_on(&claim, event);
    *state = claim;
    return back;
}

/* b: it is given back */
static const struct row claim_rows[] = {
    /* put   take     written      refused  break     without     forsake  return */
    { { "made", "taken", ".", ".", ".", "off", "off", "." } },                 /* none */
    { { ".", ".", "confirmed", "lost", "none", "off", "off", "back_new+b" } }, /* made */
    { { ".", ".", "confirmed", "lost", "broken", "off", "off", "back+b" } },   /* taken */
    { { ".", ".", ".", "lost", "broken", "off", "off", "back+b" } },           /* confirmed */
    { { ".", ".", "back", ".", ".", "off", "off", "." } },                     /* back_new */
    { { ".", ".", ".", ".", ".", "off", "off", "." } },                        /* back */
    { { ".", ".", ".", ".", ".", "off", "off", "." } },                        /* broken */
    { { ".", ".", ".", ".", ".", "off_lost", "off", "back+b" } },              /* lost */
    { { ".", ".", ".", ".", ".", ".", ".", "." } },                            /* off */
    { { ".", ".", ".", ".", ".", ".", "off", "off+b" } },                      /* off_lost */
};

static void test_claim(void **state)
{
    const struct machine m = { claims, "b", claim_rows, HOCKET__CLAIMS, HOCKET__CLAIM_EVENTS,
        claim_on };
    (void) state;
    assert_int_equal(sizeof(claim_rows) / sizeof(*claim_rows), HOCKET__CLAIMS);
    check(&m);
}

static void test_claim_questions(void **state)
{
    (void) state;
    for (unsigned c = 0; c < HOCKET__CLAIMS; c++) {
        const char *name = claims[c];
        assert_int_equal(hocket__run_claim_is_ours(c), in(" made taken confirmed ", name));
        assert_int_equal(hocket__run_claim_is_off(c), in(" off off_lost ", name));
        assert_int_equal(
            hocket__run_claim_is_known(c), in(" taken confirmed back broken lost ", name));
    }
}

/* ---- Inbox -------------------------------------------------------------------------------------- */

static const char *const inboxes[] = { "stale", "reading", "again", "read", "failed", "retrying",
    "retrying_again" };

static unsigned inbox_on(unsigned *state, unsigned event)
{
    enum hocket__run_inbox inbox = *state;
    unsigned actions = hocket__run_inbox_on(&inbox, event);
    *state = inbox;
    return actions;
}

/* s: start, l: later, w: warn, o: look */
static const struct row inbox_rows[] = {
    /* ask     refused    fail         done        drop     question */
    { { "reading+s", ".", ".", ".", ".", "." } },                              /* stale */
    { { "again", "stale+l", "failed+lw", "read+o", "stale", "." } },           /* reading */
    { { ".", ".", "failed+lw", "reading+s", "stale", "." } },                  /* again */
    { { "reading+s", ".", ".", ".", ".", "stale" } },                          /* read */
    { { "retrying+s", ".", ".", ".", ".", "." } },                             /* failed */
    { { "retrying_again", "failed+l", "failed+l", "read+o", "failed", "." } }, /* retrying */
    { { ".", ".", "failed+l", "reading+s", "failed", "." } },                  /* and again */
};

static void test_inbox(void **state)
{
    const struct machine m = { inboxes, "slwo", inbox_rows, HOCKET__INBOXES, HOCKET__INBOX_EVENTS,
        inbox_on };
    (void) state;
    assert_int_equal(sizeof(inbox_rows) / sizeof(*inbox_rows), HOCKET__INBOXES);
    check(&m);
}

static void test_inbox_questions(void **state)
{
    (void) state;
    for (unsigned i = 0; i < HOCKET__INBOXES; i++) {
        const char *name = inboxes[i];
        assert_int_equal(
            hocket__run_inbox_is_reading(i), in(" reading again retrying retrying_again ", name));
        assert_int_equal(
            hocket__run_inbox_has_failed(i), in(" failed retrying retrying_again ", name));
    }
}

/* ---- Room --------------------------------------------------------------------------------------- */

static const char *const rooms[] = { "free", "full", "pass", "passing", "owed" };

static unsigned room_on(unsigned *state, unsigned event)
{
    enum hocket__run_room room = *state;
    unsigned actions = hocket__run_room_on(&room, event);
    *state = room;
    return actions;
}

/* s: say, w: warn */
static const struct row room_rows[] = {
    /* begin   hear    no      finish */
    { { ".", ".", "full+w", "." } },       /* free */
    { { "pass", ".", ".", "." } },         /* full */
    { { ".", "passing+s", ".", "owed" } }, /* pass */
    { { ".", ".", "full", "free" } },      /* passing */
    { { ".", "free+s", ".", "." } },       /* owed */
};

static void test_room(void **state)
{
    const struct machine m = { rooms, "sw", room_rows, HOCKET__ROOMS, HOCKET__ROOM_EVENTS,
        room_on };
    (void) state;
    assert_int_equal(sizeof(room_rows) / sizeof(*room_rows), HOCKET__ROOMS);
    check(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phase),
        cmocka_unit_test(test_phase_questions),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_claim_questions),
        cmocka_unit_test(test_inbox),
        cmocka_unit_test(test_inbox_questions),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
