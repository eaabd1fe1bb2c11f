/* The live view: what is going on in a run, as rows for the screen. */
#pragma once

#include "cli/progress.h"
#include "cli/screen.h"

/* Composes the rows for the terminal's present size. `now` and `began` are in seconds. */
void cli_view_compose(const struct cli_screen *s, const struct cli_progress *p, double now,
    double began, struct cli_rows *out);
