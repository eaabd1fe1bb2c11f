/* The head of a report: which run it was, what was asked, when, what it has used, whose it is. */
#include "cli/story/story_impl.h"

#include <string.h>
#include <time.h>

#include "cli/text.h"

static void label(struct cli_paper *p, const char *word)
{
    cli_paper_to(p, INDENT);
    cli_paper_add(p, CLI_DIM, word);
    cli_paper_to(p, INDENT + 9);
}

void cli_story_add_seconds(struct cli_paper *p, enum cli_tone tone, double seconds)
{
    struct cli_buf text = { 0 };
    cli_text_seconds(&text, seconds);
    cli_paper_add(p, tone, cli_buf_text(&text));
    cli_buf_free(&text);
}

static void add_moment(struct cli_paper *p, int64_t ms)
{
    time_t t = (time_t) (ms / 1000);
    struct tm tm;
    char text[40] = "";
    if (localtime_r(&t, &tm))
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
    cli_paper_add(p, CLI_PLAIN, text);
}

static void say_time(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *run = hocket_json_get(story, "run");
    double seconds = cli_story_real(story, "seconds", -1);
    int64_t until = cli_story_integer(run, "until_ms");
    label(p, "began");
    add_moment(p, cli_story_integer(run, "created_ms"));
    if (seconds >= 0) {
        cli_paper_add(p, CLI_PLAIN, cli_story_is_text(story, "ended") ? ", took " : ", so far ");
        cli_story_add_seconds(p, CLI_PLAIN, seconds);
    }
    cli_paper_line(p);
    if (until) {
        label(p, "until");
        add_moment(p, until);
        cli_paper_line(p);
    }
}

static void add_counts(struct cli_paper *p, const hocket_json *usage)
{
    struct cli_buf b = { 0 };
    cli_text_plural(&b, cli_story_integer(usage, "calls"), "model call");
    cli_buf_adds(&b, ", ");
    cli_text_plural(&b, cli_story_integer(usage, "tool_calls"), "tool call");
    cli_buf_adds(&b, ", ");
    cli_text_count(&b, cli_story_integer(usage, "input"));
    cli_buf_adds(&b, " in, ");
    cli_text_count(&b, cli_story_integer(usage, "output"));
    cli_buf_adds(&b, " out");
    cli_paper_add(p, CLI_PLAIN, cli_buf_text(&b));
    cli_buf_free(&b);
}

/* Something known is not all, and nothing known is not 0. */
void cli_story_add_cost(struct cli_paper *p, enum cli_tone tone, const hocket_json *usage)
{
    int64_t unpriced = cli_story_integer(usage, "unpriced");
    if (unpriced > 0 && unpriced == cli_story_integer(usage, "calls"))
        cli_paper_add(p, tone, "?");
    else
        cli_paper_addf(p, tone, "%s%.6f", unpriced > 0 ? "\u2265 " : "",
            cli_story_real(usage, "cost_known", 0));
}

static void say_usage(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *usage = hocket_json_get(story, "usage");
    if (cli_story_integer(usage, "calls") + cli_story_integer(usage, "tool_calls") == 0)
        return;
    label(p, "used");
    add_counts(p, usage);
    cli_paper_add(p, CLI_PLAIN, ", ");
    cli_story_add_cost(p, CLI_PLAIN, usage);
    cli_paper_add(p, CLI_PLAIN, " USD");
    cli_paper_line(p);
}

static void say_parent(struct cli_paper *p, const hocket_json *run)
{
    if (!cli_story_is_text(run, "parent"))
        return;
    label(p, "fork");
    cli_paper_add(p, CLI_PLAIN, "of ");
    cli_story_add(p, CLI_PLAIN, run, "parent", 0);
    cli_paper_addf(p, CLI_PLAIN, " at record %lld", (long long) cli_story_integer(run, "at_seq"));
    cli_paper_line(p);
}

static void say_owner(struct cli_paper *p, const hocket_json *run)
{
    const hocket_json *owner = hocket_json_get(run, "owner");
    if (!owner)
        return;
    label(p, "has it");
    cli_paper_addf(p, CLI_PLAIN, "process %lld on ", (long long) cli_story_integer(owner, "pid"));
    cli_story_add(p, CLI_PLAIN, owner, "host", 64);
    cli_paper_line(p);
}

/* The options that it carries, which are no consent of whoever continues it. */
static void say_options(struct cli_paper *p, const hocket_json *story)
{
    if (!cli_story_is_text(story, "options"))
        return;
    label(p, "options");
    cli_story_paragraphs(p, CLI_PLAIN, story, "options", INDENT + 9);
}

/* A report may be of an earlier moment (show --at). */
static void say_records(struct cli_paper *p, const hocket_json *story)
{
    int64_t at = cli_story_integer(story, "at"), all = cli_story_integer(story, "records"),
            broken = cli_story_integer(story, "broken");
    label(p, "records");
    if (at < all)
        cli_paper_addf(p, CLI_WARN, "as it stood at %lld of %lld", (long long) at, (long long) all);
    else
        cli_paper_addf(p, CLI_PLAIN, "%lld", (long long) all);
    if (broken > 0)
        cli_paper_addf(p, CLI_WARN, ", of which %lld cannot be read", (long long) broken);
    cli_paper_line(p);
}

void cli_story_head(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *run = hocket_json_get(story, "run");
    cli_story_add(p, CLI_PLAIN, run, "id", 0);
    cli_paper_add(p, CLI_PLAIN, "  ");
    cli_story_state(p, cli_story_text(run, "state", NULL));
    if (hocket_json_bool(hocket_json_get(story, "simulated"), false))
        cli_paper_add(p, CLI_WARN, " (simulated)");
    cli_paper_add(p, CLI_PLAIN, "  ");
    cli_story_add(p, CLI_PLAIN, run, "target", cli_paper_left(p));
    cli_paper_line(p);
    if (cli_story_is_text(run, "input")) {
        label(p, "asked");
        cli_story_paragraphs(p, CLI_PLAIN, run, "input", INDENT + 9);
    }
    say_time(p, story);
    say_usage(p, story);
    say_options(p, story);
    say_parent(p, run);
    say_owner(p, run);
    say_records(p, story);
}
