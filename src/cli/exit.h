/* Exit codes: the one table that --help prints and that every command goes by. */
#pragma once

#include "cli/buf.h"

/* X(name, code, text) */
#define CLI_EXIT_MAP(X)                                                                            \
    X(DONE, 0, "done")                                                                             \
    X(FAILED, 1, "the run failed, or its answer could not be written")                             \
    X(USAGE, 2, "wrong usage")                                                                     \
    X(AGENT, 3, "an invalid agent or script")                                                      \
    X(PROVIDER, 4, "the provider failed, refused the key, or there is no key")                     \
    X(BUDGET, 5, "a budget or a limit was reached")                                                \
    X(DECLINED, 6, "a person refused the plan")                                                    \
    X(PARKED, 75, "the run waits for a person: hocket answer, then hocket resume")                 \
    X(TIMEOUT, 124, "out of time")                                                                 \
    X(INTERRUPTED, 130, "interrupted (SIGINT) or cancelled; 143 for SIGTERM, 129 for SIGHUP")      \
    X(UNREAD, 141, "the reader of the output has gone (SIGPIPE)")

enum cli_exit {
#define CLI_EXIT_ENUM(name, code, text) CLI_EXIT_##name = code,
    CLI_EXIT_MAP(CLI_EXIT_ENUM)
#undef CLI_EXIT_ENUM
};

/* The exit code for a HOCKET_… status. */
int cli_exit_of(int status);

/* The exit code after a signal that ended the run: 128 and its number. */
int cli_exit_of_signal(int signo);

/* The table as text, two columns. */
void cli_exit_explain(struct cli_buf *out);
