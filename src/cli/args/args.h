/* Arguments: each command declares its options in a table; argument lists are read by it, and help
 * is printed from it.
 *
 * Options may stand anywhere; `--` ends them; `-` alone is a word. Long options take their value
 * as `--name value` or `--name=value`, short ones as `-n value`; short flags can be joined. An
 * unknown option is an error that names the nearest known one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    const struct cli_option *own; /* more of them, which no other command has; or NULL */
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

/* The next of a command's options, its own first: from NULL to NULL. */
const struct cli_option *cli_next_option(const struct cli_command *c, const struct cli_option *o);

struct cli_args {
    void *ud; /* for `set` */
    char **words;
    int count; /* what is left when options are taken out; the words are moved to the front */
};

#define CLI_GO_ON (-1)

/* Returns CLI_GO_ON, or the exit code to end with: 0 after --help, 2 after a mistake. */
int cli_args_read(const struct cli_command *command, int argc, char **argv, struct cli_args *out);

/* "hocket run: …" and where help is, on stderr. Returns the exit code for wrong usage. */
int cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool cli_parse_int(const char *text, int64_t low, int64_t high, int64_t *out);
bool cli_parse_seconds(const char *text, double *out); /* not negative, finite */

/* ---- Help ---------------------------------------------------------------- */

/* Of the program, with all its commands up to a NULL: on stdout; returns the exit code. */
int cli_help(const struct cli_command *const *commands);
/* Of one command. */
int cli_help_command(const struct cli_command *c);

/* ---- The known word that somebody probably meant -------------------------- */

/* How many letters to change, add, leave out or swap; words of more than 64 bytes are far from
 * all others. */
size_t cli_distance(const char *a, const char *b);

/* Whether a distance is small enough for a slip in a word. */
int cli_is_slip(size_t distance, const char *word);
