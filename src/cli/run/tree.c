/* The tree of usage at the end of `hocket run --verbose` (tree.h). Two walks: the
 * first measures the columns, the second prints. "itself" is a node's usage without its
 * children, so that the lines below a name add up to it. */
#include "cli/run/tree.h"

#include <stdio.h>

#include "cli/text.h"

/* Columns of the names, at least and at most, and of what stands behind them; levels that are shown;
 * lines. What is deeper or further down is in the sums. */
#define NAMES   26
#define MOST    72
#define FIGURES 53
#define LEVELS  12
#define LINES   400

struct view {
    struct cli_screen *screen;
    size_t lines, names; /* names: columns of the names */
};

struct counts {
    int64_t calls, tools, input, output, unpriced;
    double cost; /* of the calls that have a price */
};

static struct counts counts_of(const hocket_json *usage)
{
    return (struct counts){ cli_int(usage, "calls"), cli_int(usage, "tool_calls"),
        cli_int(usage, "input"), cli_int(usage, "output"), cli_int(usage, "unpriced"),
        hocket_json_number(hocket_json_get(usage, "cost_known"), cli_number(usage, "cost")) };
}

static struct counts minus(struct counts a, const struct counts *b)
{
    return (struct counts){ a.calls - b->calls, a.tools - b->tools, a.input - b->input,
        a.output - b->output, a.unpriced - b->unpriced, a.cost - b->cost };
}

static void pad(struct cli_buf *out, size_t from, size_t columns)
{
    size_t width = cli_text_width(out->p + from, out->n - from);
    for (; width < columns; width++)
        cli_buf_adds(out, " ");
}

/* "food (dispatch)", indented. */
static void name_line(struct cli_buf *out, int level, const char *name, const char *trigger)
{
    struct cli_buf text = { 0 };
    cli_buf_addf(out, "%*s", level * 2, "");
    cli_buf_adds(&text, name);
    if (*trigger)
        cli_buf_addf(&text, " (%s)", trigger);
    cli_text_show(out, text.p, text.n, false);
    cli_buf_free(&text);
}

static void add_name(
    const struct view *v, struct cli_buf *out, int level, const char *name, const char *trigger)
{
    struct cli_buf shown = { 0 };
    size_t from = out->n;
    name_line(&shown, level, name, trigger);
    cli_text_cut(out, cli_buf_text(&shown), shown.n, v->names);
    pad(out, from, v->names);
    cli_buf_free(&shown);
}

/* Nothing known is not 0, and something known is not all. */
static void add_cost(struct cli_buf *out, const struct counts *c)
{
    struct cli_buf text = { 0 };
    if (c->unpriced > 0 && c->unpriced == c->calls)
        cli_buf_adds(&text, "?");
    else
        cli_buf_addf(&text, "%s%.6f", c->unpriced > 0 ? "\u2265 " : "", c->cost);
    for (size_t width = cli_text_width(text.p, text.n); width < 12; width++)
        cli_buf_adds(out, " ");
    cli_buf_adds(out, text.p);
    cli_buf_free(&text);
}

static void say(struct view *v, int level, const char *name, const char *trigger,
    const struct counts *c, double seconds)
{
    struct cli_buf line = { 0 }, time = { 0 };
    if (++v->lines > LINES)
        return;
    add_name(v, &line, level, name, trigger);
    cli_buf_addf(&line, "%6lld%6lld%9lld%8lld", (long long) c->calls, (long long) c->tools,
        (long long) c->input, (long long) c->output);
    add_cost(&line, c);
    if (seconds >= 0) {
        cli_text_seconds(&time, seconds);
        cli_buf_addf(&line, "%11s", time.p);
    }
    if (c->unpriced > 0)
        cli_buf_addf(&line, "  (%lld call%s of unknown price)", (long long) c->unpriced,
            c->unpriced == 1 ? "" : "s");
    cli_screen_say(v->screen, CLI_DIM, line.p);
    cli_buf_free(&time);
    cli_buf_free(&line);
}

static const char *name_of(const hocket_json *node, int level)
{
    return level == 0 ? "run" : hocket_json_text(hocket_json_get(node, "agent"), "job", NULL);
}

static const char *trigger_of(const hocket_json *node)
{
    return cli_member(node, "trigger");
}

/* As wide as the longest name, where there is room for it. */
static void measure(struct view *v, const hocket_json *node, int level)
{
    const hocket_json *children = hocket_json_get(node, "children");
    struct cli_buf line = { 0 };
    name_line(&line, level, name_of(node, level), trigger_of(node));
    size_t width = cli_text_width(line.p, line.n) + 1;
    v->names = width > v->names ? width : v->names;
    cli_buf_free(&line);
    for (size_t i = 0; level < LEVELS && i < hocket_json_count(children); i++)
        measure(v, hocket_json_at(children, i), level + 1);
}

static size_t names_at_most(const struct cli_screen *screen)
{
    size_t columns = screen->terminal ? screen->columns : MOST + FIGURES;
    return columns < NAMES + FIGURES ? NAMES : columns > MOST + FIGURES ? MOST : columns - FIGURES;
}

static void say_node(struct view *v, const hocket_json *node, int level);

/* Counts itself, the agents that it called, and agents that only the sum has. */
static void say_below(struct view *v, const hocket_json *node, int level)
{
    const hocket_json *children = hocket_json_get(node, "children");
    struct counts own = counts_of(hocket_json_get(node, "own")),
                  rest = minus(counts_of(hocket_json_get(node, "total")), &own);
    int64_t merged = cli_int(node, "merged");
    if (own.calls + own.tools > 0)
        say(v, level, "itself", "", &own, -1);
    for (size_t i = 0; i < hocket_json_count(children); i++) {
        struct counts c = counts_of(hocket_json_get(hocket_json_at(children, i), "total"));
        rest = minus(rest, &c);
        say_node(v, hocket_json_at(children, i), level);
    }
    if (merged > 0) {
        char name[64];
        snprintf(name, sizeof(name), "%lld more", (long long) merged);
        say(v, level, name, "", &rest, -1);
    }
}

static void say_node(struct view *v, const hocket_json *node, int level)
{
    struct counts total = counts_of(hocket_json_get(node, "total"));
    say(v, level, name_of(node, level), trigger_of(node), &total, cli_number(node, "seconds"));
    if (level < LEVELS && hocket_json_count(hocket_json_get(node, "children")) > 0)
        say_below(v, node, level + 1);
}

void cli_tree_say(struct cli_screen *screen, const hocket_json *tree)
{
    struct view v = { screen, 0, NAMES };
    struct cli_buf head = { 0 };
    if (!tree || cli_int(hocket_json_get(tree, "total"), "calls") == 0)
        return;
    measure(&v, tree, 0);
    v.names = v.names < names_at_most(screen) ? v.names : names_at_most(screen);
    cli_buf_addf(&head, "%-*s%6s%6s%9s%8s%12s%11s", (int) v.names, "usage", "calls", "tools", "in",
        "out", "USD", "time");
    cli_screen_say(screen, CLI_DIM, head.p);
    cli_buf_free(&head);
    say_node(&v, tree, 0);
    if (v.lines > LINES) {
        cli_buf_addf(&head, "%zu more lines: --json has them", v.lines - LINES);
        cli_screen_say(screen, CLI_DIM, head.p);
        cli_buf_free(&head);
    }
}
