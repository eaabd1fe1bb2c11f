/* A command and its options, as tables: cli/args.h reads argument lists by them, cli/help.h prints them. */
#pragma once

#include <stdbool.h>

struct cli_option {
    int id;            /* what `set` is called with; not 0 */
    char letter;       /* 'q' for -q, or 0 */
    const char *name;  /* "quiet" for --quiet; NULL ends the table */
    const char *value; /* what --help calls its value, or NULL for a flag */
    const char *help;
};

struct cli_command {
    const char *name;     /* "run" */
    const char *usage;    /* "TARGET [INPUT…]" */
    const char *summary;  /* one line in the list of commands */
    const char *about;    /* what it does, some lines */
    const char *examples; /* lines */
    const struct cli_option *options;
    const int *without; /* ids of those options that it does not take, up to a 0; or NULL */
    bool exit_codes;    /* --help explains them */
    /* Takes one option; returns 0, or an exit code after having said why. */
    int (*set)(void *ud, int id, const char *value);
    /* argc and argv begin behind the command's name. Returns the exit code. */
    int (*main)(const struct cli_command *self, int argc, char **argv);
    /* Writes more text for --help, or NULL. */
    void (*more_help)(void);
};

static inline bool cli_takes(const struct cli_command *c, const struct cli_option *o)
{
    for (const int *id = c->without; id && *id; id++)
        if (*id == o->id)
            return false;
    return true;
}
