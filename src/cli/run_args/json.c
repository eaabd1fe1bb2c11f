/* The options of a run as JSON; the host sees nothing else of them. */
#include "cli/run_args/run_args_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/telemetry.h"

/* A literal: true, false or a number. */
static void add_plain(struct cli_buf *out, const char *name, const char *value)
{
    cli_buf_key(out, name);
    cli_buf_adds(out, value);
}

static void add_flag(struct cli_buf *out, const char *name, bool set)
{
    if (set)
        add_plain(out, name, "true");
}

/* 0: it was not given. */
static void add_count(struct cli_buf *out, const char *name, int64_t n)
{
    if (n == 0)
        return;
    cli_buf_key(out, name);
    cli_buf_addf(out, "%lld", (long long) n);
}

static void add_pairs(struct cli_buf *out, const char *name, const struct cli_pairs *p)
{
    if (p->count == 0)
        return;
    cli_buf_key(out, name);
    cli_buf_adds(out, "{");
    for (size_t i = 0; i < p->count; i++)
        cli_buf_member(out, p->list[i].name, p->list[i].value);
    cli_buf_adds(out, "}");
}

static void add_names(struct cli_buf *out, const char *name, const struct cli_pairs *p)
{
    if (p->count == 0)
        return;
    cli_buf_key(out, name);
    cli_buf_adds(out, "[");
    for (size_t i = 0; i < p->count; i++) {
        cli_buf_adds(out, i ? "," : "");
        cli_buf_json(out, p->list[i].name, strlen(p->list[i].name));
    }
    cli_buf_adds(out, "]");
}

static void add_budget(const struct cli_run_args *a, struct cli_buf *out)
{
    if (a->max_tokens < 0 && a->max_cost < 0)
        return;
    cli_buf_key(out, "budget");
    cli_buf_adds(out, "{");
    if (a->max_tokens >= 0) {
        cli_buf_key(out, "tokens");
        cli_buf_addf(out, "%lld", (long long) a->max_tokens);
    }
    if (a->max_cost >= 0) {
        cli_buf_key(out, "cost");
        cli_buf_addf(out, "%.12g", a->max_cost);
    }
    cli_buf_adds(out, "}");
}

/* What reads as a number is one. */
static void add_context(const struct cli_run_args *a, struct cli_buf *out)
{
    if (a->context.count == 0)
        return;
    cli_buf_key(out, "context");
    cli_buf_adds(out, "{");
    for (size_t i = 0; i < a->context.count; i++) {
        const struct cli_pair *p = &a->context.list[i];
        char *end;
        double number = strtod(p->value, &end);
        if (*end || !(number >= 0 && number < 1e15) || strspn(p->value, "0123456789.") == 0) {
            cli_buf_member(out, p->name, p->value);
            continue;
        }
        cli_buf_key(out, p->name);
        cli_buf_addf(out, "%.15g", number);
    }
    cli_buf_adds(out, "}");
}

static void add_prices(const struct cli_run_args *a, struct cli_buf *out)
{
    struct cli_buf list = { 0 };
    double amounts[3];
    for (size_t i = 0; i < a->prices.count; i++) {
        size_t n = cli_read_amounts(a->prices.list[i].value, amounts);
        cli_buf_adds(&list, i ? "," : "{");
        cli_buf_json(&list, a->prices.list[i].name, strlen(a->prices.list[i].name));
        for (size_t k = 0; k < n; k++)
            cli_buf_addf(&list, "%s%.12g", k ? "," : ":[", amounts[k]);
        cli_buf_adds(&list, "]");
    }
    if (list.n == 0)
        return;
    cli_buf_key(out, "prices");
    cli_buf_addf(out, "%s}", list.p);
    cli_buf_free(&list);
}

/* Whose word it is. */
static void add_person(const struct cli_run_args *a, struct cli_buf *out)
{
    /* A target that was typed may be a stranger's folder. */
    add_plain(out, "trust", (a->flags & CLI_TRUST) ? "true" : a->on_terminal ? "\"ask\"" : "false");
    add_flag(out, "typed", !a->input_from_stdin && (a->on_terminal || !a->conversation));
    add_plain(out, "consent", a->consent ? "true" : "false");
}

/* What a run is allowed, and its limits. */
static void add_leave(const struct cli_run_args *a, struct cli_buf *out)
{
    cli_buf_member(out, "sandbox", a->sandbox);
    cli_buf_member(out, "network", a->network);
    add_names(out, "approve", &a->approve);
    add_count(out, "max_turns", a->max_turns);
    add_budget(a, out);
}

/* Whether people are there to answer, and which files count. */
static void add_people(const struct cli_run_args *a, struct cli_buf *out)
{
    add_flag(out, "conversation", a->conversation);
    add_flag(out, "deltas", a->conversation || a->live);
    add_person(a, out);
    add_flag(out, "interactive", a->interactive);
    add_flag(out, "park", a->park);
    add_flag(out, "unattended", a->unattended);
    add_flag(out, "simulate", isatty(STDERR_FILENO)); /* the note on it is seen there */
    if (!(a->flags & CLI_JSON) && !(a->flags & CLI_VERBOSE))
        add_plain(out, "tree", "false"); /* nobody looks at it */
}

void cli_run_args_json(const struct cli_run_args *a, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    cli_buf_member(out, "model", a->model);
    cli_buf_member(out, "mode", a->mode);
    add_people(a, out);
    add_leave(a, out);
    add_count(out, "jobs", a->jobs);
    add_flag(out, "pool_local", a->flags & CLI_POOL_LOCAL);
    add_pairs(out, "models", &a->models);
    add_pairs(out, "variables", &a->variables);
    add_pairs(out, "label", &a->labels);
    add_names(out, "files", &a->files);
    cli_buf_member(out, "project", a->project);
    cli_buf_member(out, "format", a->format);
    cli_buf_member(out, "as", a->as);
    add_context(a, out);
    add_prices(a, out);
    cli_buf_member(out, "record", a->record);
    cli_buf_member(out, "replay", a->replay);
    if (a->timeout > 0) {
        cli_buf_key(out, "timeout");
        cli_buf_addf(out, "%.9g", a->timeout);
    }
    if (a->traced)
        cli_telemetry_trace(out);
    cli_buf_adds(out, "}");
}

void cli_run_args_resume_json(const struct cli_run_args *a, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    cli_buf_key(out, "interactive");
    cli_buf_adds(out, a->interactive ? "true" : "false");
    cli_buf_key(out, "park");
    cli_buf_adds(out, a->interactive ? "false" : "true");
    add_flag(out, "deltas", a->conversation || a->live);
    add_person(a, out);
    add_leave(a, out);
    cli_buf_adds(out, "}");
}
