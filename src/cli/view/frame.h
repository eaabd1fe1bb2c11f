/* The live view: what is going on in a run, as rows for the screen. */
#pragma once

#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/view/speech.h"

/* Composes the rows for the terminal's present size: as much of the end of the answer that comes as there is room for, who is
 * at work, the totals. `now` and `began` are in seconds. */
void cli_view_compose(const struct cli_screen *s, const struct cli_progress *p,
    const struct cli_speech *speech, double now, double began, struct cli_rows *out);
