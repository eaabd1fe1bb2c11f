/* The one reader of argument lists. Options may stand anywhere, so words are moved to the
 * front of argv as they are met; argv itself is the list of them afterwards.
 *
 * A word that looks like an option and is none is an error with the nearest one that there is, and
 * `--` ends options as everywhere. */
#include "cli/args/args.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/buf.h"
#include "cli/exit.h"
#include "cli/log/log.h"
#include "cli/text.h"

int cli_usage(const char *command, const char *fmt, ...)
{
    struct cli_buf line = { 0 };
    va_list ap;
    const char *space = command ? " " : "";
    command = command ? command : "";
    cli_buf_addf(&line, "hocket%s%s: ", space, command);
    va_start(ap, fmt);
    cli_buf_addv(&line, fmt, ap);
    va_end(ap);
    cli_buf_addf(&line, "\n(see hocket%s%s --help)", space, command);
    cli_log(CLI_LOG_ERROR, NULL, NULL, line.p);
    cli_buf_free(&line);
    return CLI_EXIT_USAGE;
}

int cli_wrong_value(const char *command, const char *name, const char *value, const char *expected)
{
    return cli_usage(command, "'--%s %s': expected %s", name, value, expected);
}

int cli_read_log_format(void *args, const char *command, const char *name, const char *value)
{
    (void) args;
    return cli_log_choose(value) ? 0 : cli_wrong_value(command, name, value, "text or json");
}

/* ---- Values ------------------------------------------------------------ */

bool cli_is_origin(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    return scheme > 0 && text[scheme] && !strpbrk(text + scheme, "/?#@ \t\r\n\"");
}

int cli_read_address(const char **to, const char *command, const char *name, const char *value)
{
    if (!cli_is_origin(value))
        return cli_wrong_value(
            command, name, value, "an address, as in https://agents.example.org");
    *to = value;
    return 0;
}

bool cli_parse_int(const char *text, int64_t low, int64_t high, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    /* strtoll stops at what it does not know: "12abc" is no number here */
    if (end == text || *end || errno || v < low || v > high)
        return false;
    *out = v;
    return true;
}

bool cli_parse_seconds(const char *text, double *out)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v) || v < 0 || v > CLI_MOST_SECONDS)
        return false;
    *out = v;
    return true;
}

void cli_add_word(struct cli_buf *list, const char *value)
{
    cli_buf_adds(list, list->n > 0 ? "," : "");
    cli_buf_json(list, value, strlen(value));
}

void cli_add_words(struct cli_buf *list, const struct cli_args *args)
{
    for (int i = 0; i < args->count; i++) {
        cli_buf_adds(list, i > 0 ? "," : "");
        cli_buf_json(list, args->words[i], strlen(args->words[i]));
    }
}

bool cli_is_label(const char *value)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strspn(value, letters);
    return n > 0 && n <= 64 && value[n] == 0 && !strchr("._-", value[0]);
}

/* ---- What a value becomes ---------------------------------------------- */

struct reader {
    const struct cli_command *command;
    char *args;
    char **argv;
    int argc, at;
};

static bool in_table(const struct cli_option *table, const struct cli_option *o)
{
    while (table && table->name && table != o)
        table++;
    return table == o;
}

/* What the rows of its table are read into. */
static char *base_of(const struct reader *r, const struct cli_option *o)
{
    return r->args + (in_table(r->command->options, o) ? 0 : r->command->shared_at);
}

static int read_count(
    const struct cli_command *c, const struct cli_option *o, const char *value, int64_t *out)
{
    char range[80];
    if (cli_parse_int(value, o->low, o->high, out))
        return 0;
    if (o->high >= INT64_MAX / 2)
        snprintf(range, sizeof(range), "a whole number of at least %" PRId64, o->low);
    else
        snprintf(
            range, sizeof(range), "a whole number from %" PRId64 " to %" PRId64, o->low, o->high);
    return cli_wrong_value(c->name, o->name, value, o->expected ? o->expected : range);
}

static int read_number(
    const struct cli_command *c, const struct cli_option *o, const char *value, double *out)
{
    if (cli_parse_seconds(value, out) && *out >= o->least && *out <= o->most)
        return 0;
    return cli_wrong_value(c->name, o->name, value, o->expected);
}

static int take(struct reader *r, const struct cli_option *o, const char *value)
{
    const struct cli_command *c = r->command;
    char *base = base_of(r, o), *field = base + o->at;
    if (value && !cli_text_is_utf8(value, strlen(value)))
        return cli_usage(c->name, "the value of '--%s' is not valid UTF-8", o->name);
    bool words = o->kind == CLI_KIND_WORD || o->kind == CLI_KIND_LIST;
    if (words && !*value)
        return cli_usage(c->name, "the value of '--%s' is empty", o->name);
    switch (o->kind) {
    case CLI_KIND_FLAG: *(bool *) field = true; return 0;
    case CLI_KIND_BIT: *(unsigned *) field |= o->bit; return 0;
    case CLI_KIND_WORD:
    case CLI_KIND_TEXT: *(const char **) field = value; return 0;
    case CLI_KIND_COUNT: return read_count(c, o, value, (int64_t *) field);
    case CLI_KIND_NUMBER: return read_number(c, o, value, (double *) field);
    case CLI_KIND_LIST: cli_add_word((struct cli_buf *) field, value); return 0;
    default: return o->read(base, c->name, o->name, value);
    }
}

static void set_initial(const struct cli_option *table, char *base)
{
    for (const struct cli_option *o = table; o && o->name; o++)
        if (o->kind == CLI_KIND_COUNT)
            *(int64_t *) (base + o->at) = (int64_t) o->initial;
        else if (o->kind == CLI_KIND_NUMBER)
            *(double *) (base + o->at) = o->initial;
}

/* ---- Which there are --------------------------------------------------- */

static bool takes(const struct cli_command *c, const struct cli_option *o)
{
    return o->for_commands == 0 || (o->for_commands & c->bit);
}

const struct cli_option *cli_next_option(const struct cli_command *c, const struct cli_option *o)
{
    bool own = !o || in_table(c->options, o);
    o = o ? o + 1 : c->options;
    if (own && (!o || !o->name))
        o = c->shared;
    while (o && o->name && !takes(c, o))
        o++;
    return o && o->name ? o : NULL;
}

static const struct cli_option *by_name(const struct cli_command *c, const char *name, size_t n)
{
    const struct cli_option *o = NULL;
    while ((o = cli_next_option(c, o)) && (strlen(o->name) != n || memcmp(o->name, name, n) != 0))
        ;
    return o;
}

static const struct cli_option *by_letter(const struct cli_command *c, char letter)
{
    const struct cli_option *o = NULL;
    while ((o = cli_next_option(c, o)) && o->letter != letter)
        ;
    return o;
}

/* Whether what --help shows of a value has this word, in any case. */
static bool shows(const char *value, const char *word)
{
    size_t n = strlen(word);
    while (*value && strncasecmp(value, word, n) != 0)
        value++;
    return *value;
}

static int unknown(const struct cli_command *c, const char *name)
{
    const char *best = "help";
    size_t best_distance = cli_distance(name, best);
    for (const struct cli_option *o = NULL; (o = cli_next_option(c, o));) {
        size_t d = cli_distance(name, o->name);
        if (d < best_distance) {
            best = o->name;
            best_distance = d;
        }
    }
    if (cli_is_slip(best_distance, name))
        return cli_usage(c->name, "unknown option '--%s': did you mean '--%s'?", name, best);
    for (const struct cli_option *o = NULL; (o = cli_next_option(c, o));)
        if (o->value && strlen(name) > 2
            && shows(o->value, name)) /* --port, where there is ADDRESS:PORT */
            return cli_usage(
                c->name, "unknown option '--%s': did you mean '--%s %s'?", name, o->name, o->value);
    return cli_usage(
        c->name, "unknown option '--%s'; text that begins with '-' goes behind '--'", name);
}

/* ---- Reading ----------------------------------------------------------- */

static int take_value(struct reader *r, const struct cli_option *o, const char *shown)
{
    if (r->at + 1 >= r->argc)
        return cli_usage(r->command->name, "option '%s' needs a value: %s", shown, o->value);
    return take(r, o, r->argv[++r->at]);
}

static int take_long(struct reader *r, const char *arg)
{
    const char *name = arg + 2, *equals = strchr(name, '=');
    size_t n = equals ? (size_t) (equals - name) : strlen(name);
    const struct cli_option *o = by_name(r->command, name, n);
    if (!o) {
        char word[80];
        snprintf(word, sizeof(word), "%.*s", n < 70 ? (int) n : 70, name);
        return unknown(r->command, word);
    }
    if (equals && !o->value)
        return cli_usage(r->command->name, "option '--%s' takes no value", o->name);
    if (equals)
        return take(r, o, equals + 1);
    return o->value ? take_value(r, o, arg) : take(r, o, NULL);
}

static int take_letters(struct reader *r, const char *arg)
{
    for (const char *p = arg + 1; *p; p++) {
        const struct cli_option *o = by_letter(r->command, *p);
        char shown[3] = { '-', *p, 0 };
        if (!o)
            return cli_usage(r->command->name,
                "unknown option '%s'; text that begins with '-' goes behind '--'", arg);
        /* -n5 and -n 5 mean the same */
        if (o->value && p[1])
            return take(r, o, p + 1);
        int rc = o->value ? take_value(r, o, shown) : take(r, o, NULL);
        if (rc != 0 || o->value)
            return rc;
    }
    return 0;
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

int cli_args_read(const struct cli_command *c, int argc, char **argv, struct cli_args *out)
{
    struct reader r = { c, out->ud, argv, argc, 0 };
    bool options = true;
    set_initial(c->options, r.args);
    set_initial(c->shared, r.args + c->shared_at);
    out->words = argv;
    out->count = 0;
    for (; r.at < argc; r.at++) {
        char *arg = argv[r.at];
        int rc = 0;
        if (!options || arg[0] != '-' || arg[1] == 0)
            out->words[out->count++] = arg;
        else if (strcmp(arg, "--") == 0)
            options = false;
        else if (is_help(arg))
            return cli_help_command(c);
        else
            rc = arg[1] == '-' ? take_long(&r, arg) : take_letters(&r, arg);
        if (rc != 0)
            return rc;
    }
    for (int i = 0; i < out->count; i++)
        if (!cli_text_is_utf8(out->words[i], strlen(out->words[i])))
            return cli_usage(c->name, "a word is not valid UTF-8");
    return CLI_GO_ON;
}
