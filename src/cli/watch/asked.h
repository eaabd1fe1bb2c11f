/* What a run that is watched asks of people: told as a question with the command that answers it while it is open, as a line
 * when it was answered by the time that it is looked at. A fold over its records. */
#pragma once

#include <hocket/hocket.h>

#include "cli/screen.h"

struct cli_asked {
    struct cli_asked_one {
        char id[24];
        bool told;
        struct cli_buf who, text; /* shown */
    } * list;                     /* what is open */
    size_t count, cap;
};

/* Takes a record; of one that was told before (`again`) no line is made. */
void cli_asked_take(struct cli_asked *a, struct cli_screen *screen, const char *type,
    const hocket_json *event, bool again);

/* Whether something is open that was not told. */
bool cli_asked_untold(const struct cli_asked *a);
/* Tells it; `open`: what the operation "answer" says of it. `id`: the run's, as commands are to have it. */
void cli_asked_tell(
    struct cli_asked *a, struct cli_screen *screen, const hocket_json *open, const char *id);
/* All that is open is told once more when it is asked for: the run has changed hands. */
void cli_asked_forget(struct cli_asked *a);
void cli_asked_free(struct cli_asked *a);
