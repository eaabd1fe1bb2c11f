#include "core/effect.h"

/* The letters are short for the states. A row is a state, a column an event. */
enum {
    N = HOCKET__EFFECT_NONE,
    A = HOCKET__EFFECT_ASKED,
    H = HOCKET__EFFECT_HELD,
    B = HOCKET__EFFECT_BEGUN,
    O = HOCKET__EFFECT_OVER,
    R = HOCKET__EFFECT_REPLAYED
};

static const unsigned char table[HOCKET__EFFECT_STATES][HOCKET__EFFECT_EVENTS] = {
    /* clang-format off */
    /*           ask hold release start end replay forget */
    /* none  */ { A,  N,   N,      N,   N,   N,     N },
    /* asked */ { A,  H,   A,      B,   A,   R,     N },
    /* held  */ { A,  H,   A,      H,   H,   H,     N },
    /* begun */ { A,  B,   B,      B,   O,   B,     N },
    /* over  */ { A,  O,   O,      O,   O,   O,     N },
    /* repl. */ { A,  R,   R,      R,   R,   R,     N },
    /* clang-format on */
};

enum hocket__effect_state hocket__effect_next(
    enum hocket__effect_state state, enum hocket__effect_event event)
{
    return (enum hocket__effect_state) table[state][event];
}
