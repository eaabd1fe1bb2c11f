/* How a person answers what a run waits for: commands to copy, one to a line. One rule for `show`, `answer`, `watch`, `wait` and for a run that
 * parks. */
#pragma once

#include <stdbool.h>

/* One thing that it waits for. */
struct cli_how {
    const char *run;        /* its id, as commands are to have it */
    const char *id, *where; /* of the question; what stands behind it all (cli_store_hint), or "" */
    const char *signal;     /* the name of a signal, as a word of a command; else NULL */
    bool leave, plan, always;
};

/* One command: `what` is "allow:", "deny:", "always:", "change:", "answer:" or "send:". */
typedef void (*cli_how_cb)(void *ud, const char *what, const char *command);

/* Calls say for each command that answers it. */
void cli_how_to_answer(const struct cli_how *how, cli_how_cb say, void *ud);
