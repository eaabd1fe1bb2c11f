/* The one reader of argument lists. Options may stand anywhere, so words are moved to the
 * front of argv as they are met; argv itself is the list of them afterwards.
 *
 * Values of options are checked by the command that has them. A word that looks like an option and
 * is none is an error with the nearest one that there is, and `--` ends options as everywhere. */
#include "cli/args/args.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"

int cli_usage(const char *command, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "hocket%s%s: ", command ? " " : "", command ? command : "");
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n(see hocket%s%s --help)\n", command ? " " : "", command ? command : "");
    return CLI_EXIT_USAGE;
}

/* ---- Values ------------------------------------------------------------ */

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
    if (end == text || *end || !isfinite(v) || v < 0 || v > 1e9)
        return false;
    *out = v;
    return true;
}

/* ---- Reading ----------------------------------------------------------- */

struct reader {
    const struct cli_command *command;
    void *ud;
    char **argv;
    int argc, at;
};

const struct cli_option *cli_next_option(const struct cli_command *c, const struct cli_option *o)
{
    bool in_own = c->own && !o;
    for (const struct cli_option *one = c->own; one && one->name && !in_own; one++)
        in_own = one == o;
    o = !o ? (c->own ? c->own : c->options) : o + 1;
    if (in_own && !o->name)
        o = c->options;
    while (o->name && !cli_takes(c, o))
        o++;
    return o->name ? o : NULL;
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
    return cli_usage(
        c->name, "unknown option '--%s'; text that begins with '-' goes behind '--'", name);
}

static int take_value(struct reader *r, const struct cli_option *o, const char *shown)
{
    if (r->at + 1 >= r->argc)
        return cli_usage(r->command->name, "option '%s' needs a value: %s", shown, o->value);
    return r->command->set(r->ud, o->id, r->argv[++r->at]);
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
        return r->command->set(r->ud, o->id, equals + 1);
    return o->value ? take_value(r, o, arg) : r->command->set(r->ud, o->id, NULL);
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
            return r->command->set(r->ud, o->id, p + 1);
        int rc = o->value ? take_value(r, o, shown) : r->command->set(r->ud, o->id, NULL);
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
    return CLI_GO_ON;
}
