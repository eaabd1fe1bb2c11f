/* The effect of a durable run that one of its fibers waits for.
 *
 *     none ─ask─> asked ─┬─start─> begun ─end─> over ─┐
 *                  ^ │   └─replay─> replayed ─────────┼─forget─> none
 *            release hold                             │
 *                  └ held ────────────────────────────┘
 *
 * An effect that is asked in a replay stays so until the log has its end, or the run goes live: then it is started
 * (again), or held at the gate (core/gate.h) until the store has confirmed its intent. A fiber that left an effect by an
 * error asks its next one all the same.
 *
 * Pure: whoever performs the effect says what has happened. */
#pragma once

#include <stdint.h>

enum hocket__effect_state {
    HOCKET__EFFECT_NONE,
    HOCKET__EFFECT_ASKED,    /* its intent is in the log */
    HOCKET__EFFECT_HELD,     /* at the gate */
    HOCKET__EFFECT_BEGUN,    /* a fiber of this process performs it */
    HOCKET__EFFECT_OVER,     /* its end is in the log, and the fiber has not taken it yet */
    HOCKET__EFFECT_REPLAYED, /* the log had its end, and the fiber has not taken it yet */
    HOCKET__EFFECT_STATES
};

enum hocket__effect_event {
    HOCKET__EFFECT_ASK,
    HOCKET__EFFECT_HOLD,
    HOCKET__EFFECT_RELEASE,
    HOCKET__EFFECT_START,
    HOCKET__EFFECT_END,
    HOCKET__EFFECT_REPLAY,
    HOCKET__EFFECT_FORGET, /* the fiber has its outcome, or gets none any more */
    HOCKET__EFFECT_EVENTS
};

/* What it is. A set of bits. */
enum hocket__effect_option {
    HOCKET__EFFECT_WORLD = 1,      /* it changes the world */
    HOCKET__EFFECT_REMEMBERED = 2, /* its outcome is another run's */
    HOCKET__EFFECT_LOOKS = 4,      /* the run did not ask for it, and it is not counted */
    HOCKET__EFFECT_SHELTERS = 8,   /* it is made also where its fiber is cancelled */
    HOCKET__EFFECT_AGAIN = 16      /* a process began it that did not see its end */
};

/* The state after an event. An event that means nothing in a state leaves it. */
enum hocket__effect_state hocket__effect_next(
    enum hocket__effect_state state, enum hocket__effect_event event);
