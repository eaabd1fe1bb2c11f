/* Events as lines for people: who, what, in which tone. One function for each type of event. */
#pragma once

#include "cli/progress.h"
#include "cli/screen.h"

struct cli_line {
    enum cli_tone tone;
    char who[72];        /* "" for nobody */
    struct cli_buf text; /* shown text, one line; empty: nothing to tell */
    bool details;        /* only for -v */
    bool live;           /* told by the live view already */
};

/* The line of an event; `p` is the state before it. The text is the caller's to free. */
void cli_line_of(struct cli_line *out, const struct cli_progress *p, const char *type,
    const hocket_json *event, double now);
