/* Arguments: each command declares its options in a table of rows, which say what a value becomes and
 * where; argument lists are read by it, and help is printed from it.
 *
 * Options may stand anywhere; `--` ends them; `-` alone is a word. Long options take their value
 * as `--name value` or `--name=value`, short ones as `-n value`; short flags can be joined. An
 * unknown option is an error that names the nearest known one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/buf.h"

/* Takes the value of one option into the arguments of a command; `command` and `name` are for mistakes.
 * 0, or the exit code after having said why not. */
typedef int cli_read_fn(void *args, const char *command, const char *name, const char *value);

enum cli_kind {
    CLI_KIND_FLAG,   /* bool: it was given */
    CLI_KIND_BIT,    /* unsigned: one of its bits */
    CLI_KIND_TEXT,   /* const char *; NULL: not given */
    CLI_KIND_WORD,   /* the same, and it is not empty */
    CLI_KIND_COUNT,  /* int64_t, in a range */
    CLI_KIND_NUMBER, /* double, in a range */
    CLI_KIND_LIST, /* struct cli_buf: JSON texts, none empty, with commas between them, without the brackets */
    CLI_KIND_OWN, /* what `read` makes of it */
};

/* A row of a table; made by the macros below. */
struct cli_option {
    char letter;       /* 'q' for -q, or 0 */
    const char *name;  /* "quiet" for --quiet; NULL ends the table */
    const char *value; /* what --help calls its value, or NULL for a flag */
    const char *help;
    enum cli_kind kind;
    size_t at;             /* of its field in what the command reads into */
    unsigned bit;          /* CLI_KIND_BIT */
    int64_t low, high;     /* CLI_KIND_COUNT */
    double least, most;    /* CLI_KIND_NUMBER */
    double initial;        /* what a count or a number is unless given */
    const char *expected;  /* of a value, in a mistake; NULL: made from the range */
    cli_read_fn *read;     /* CLI_KIND_OWN */
    unsigned for_commands; /* of a shared table: the bits of the commands that take it */
};

/* The offset of a field, which has to have that type. */
#define CLI_AT(s, field, type)                                                                     \
    .at = offsetof(s, field) + 0 * sizeof(&((s *) NULL)->field == (type *) NULL)

#define CLI_FLAG(c, long_name, s, field, text)                                                     \
    .letter = c, .name = long_name, .help = text, .kind = CLI_KIND_FLAG, CLI_AT(s, field, bool)
#define CLI_BIT(c, long_name, s, field, mask, text)                                                \
    .letter = c, .name = long_name, .help = text, .kind = CLI_KIND_BIT, .bit = mask,               \
    CLI_AT(s, field, unsigned)
#define CLI_TEXT(c, long_name, shown, s, field, text)                                              \
    .letter = c, .name = long_name, .value = shown, .help = text, .kind = CLI_KIND_TEXT,           \
    CLI_AT(s, field, const char *)
#define CLI_WORD(c, long_name, shown, s, field, text)                                              \
    .letter = c, .name = long_name, .value = shown, .help = text, .kind = CLI_KIND_WORD,           \
    CLI_AT(s, field, const char *)
#define CLI_LIST(c, long_name, shown, s, field, text)                                              \
    .letter = c, .name = long_name, .value = shown, .help = text, .kind = CLI_KIND_LIST,           \
    CLI_AT(s, field, struct cli_buf)
#define CLI_COUNT(c, long_name, shown, s, field, from, to, unless, text)                           \
    .letter = c, .name = long_name, .value = shown, .help = text, .kind = CLI_KIND_COUNT,          \
    .low = from, .high = to, .initial = unless, CLI_AT(s, field, int64_t)
#define CLI_NUMBER(c, long_name, shown, s, field, from, to, unless, what, text)                    \
    .letter = c, .name = long_name, .value = shown, .help = text, .kind = CLI_KIND_NUMBER,         \
    .least = from, .most = to, .initial = unless, .expected = what, CLI_AT(s, field, double)
#define CLI_OWN(c, long_name, shown, reader, text)                                                 \
    .letter = c, .name = long_name, .value = shown, .help = text, .kind = CLI_KIND_OWN,            \
    .read = reader

#define CLI_MOST_SECONDS 1e9
#define CLI_SOME_SECONDS 1e-9 /* more than none */

struct cli_command {
    const char *name;                 /* "run" */
    const char *usage;                /* "TARGET [INPUT…]" */
    const char *summary;              /* one line in the list of commands */
    const char *about;                /* what it does, some lines */
    const char *examples;             /* lines */
    const struct cli_option *options; /* its own; or NULL */
    const struct cli_option *shared;  /* options that it shares with other commands; or NULL */
    unsigned bit;                     /* the command's bit in the masks of the shared options */
    size_t shared_at; /* where what they are read into begins in its own arguments */
    bool exit_codes;  /* --help explains them */
    /* argc and argv begin behind the command's name. Returns the exit code. */
    int (*main)(const struct cli_command *self, int argc, char **argv);
    /* Appends more text for --help, or NULL. */
    void (*more_help)(struct cli_buf *out);
    const struct cli_command *below; /* a word of it that has its own options; or NULL */
};

/* The next of the options that a command takes, its own first: from NULL to NULL. */
const struct cli_option *cli_next_option(const struct cli_command *c, const struct cli_option *o);

struct cli_args {
    void *ud; /* what the options are read into */
    char **words;
    int count; /* what is left when options are taken out; the words are moved to the front */
};

#define CLI_GO_ON (-1)

/* Sets all counts and numbers to what they are unless given, then reads. Values and words have to be UTF-8.
 * Returns CLI_GO_ON, or the exit code to end with: 0 after --help, 2 after a mistake. */
int cli_args_read(const struct cli_command *command, int argc, char **argv, struct cli_args *out);

/* "hocket run: …" and where help is, on stderr. Returns the exit code for wrong usage. */
int cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for the value of an option, with what was expected of it. */
int cli_wrong_value(const char *command, const char *name, const char *value, const char *expected);

/* The option --log-format of the commands that work while nobody watches: it holds for the whole program. */
cli_read_fn cli_read_log_format;
#define CLI_LOG_FORMAT_HELP                                                                        \
    "make each line on stderr a record with date, time, zone, level and run: text, or a\n"         \
    "JSON object. If stderr is journald's, it gets the same as fields without this"

/* Whether it can name a pool or a project. */
bool cli_is_label(const char *value);
#define CLI_LABEL_EXPECTED                                                                         \
    "letters, digits, '.', '_' and '-', with a letter or digit first, 64 at most"

/* Appends a JSON text, with a comma where it is not the first. */
void cli_add_word(struct cli_buf *list, const char *value);

/* The words, as cli_add_word has each. */
void cli_add_words(struct cli_buf *list, const struct cli_args *args);

bool cli_parse_int(const char *text, int64_t low, int64_t high, int64_t *out);
/* Whether a text is an address of the web without a path, as in "https://chat.example.org". */
bool cli_is_origin(const char *text);
/* Reads such an address as the value of an option. */
int cli_read_address(const char **to, const char *command, const char *name, const char *value);
bool cli_parse_seconds(const char *text, double *out); /* not negative, finite */

/* ---- Help ---------------------------------------------------------------- */

/* Of the program, with all its commands up to a NULL: on stdout; returns the exit code. */
int cli_help(const struct cli_command *const *commands);
/* Of one command. */
int cli_help_command(const struct cli_command *c);
/* All of it as one JSON object, which man pages and completions are made from. */
int cli_help_json(const struct cli_command *const *commands);

/* ---- The known word that somebody probably meant -------------------------- */

/* How many letters to change, add, leave out or swap; words of more than 64 bytes are far from
 * all others. */
size_t cli_distance(const char *a, const char *b);

/* Whether a distance is small enough for a slip in a word. */
int cli_is_slip(size_t distance, const char *word);
