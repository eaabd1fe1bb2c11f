/* `hocket show`: one run, as its records tell it. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/html/html.h"
#include "cli/out.h"
#include "cli/paper.h"
#include "cli/store.h"
#include "cli/story/story.h"

struct show {
    bool json, force;
    const char *store, *agent, *html;
    int64_t at;
};

static const struct cli_option options[] = {
    { CLI_COUNT('n', "at", "N", struct show, at, 1, INT64_MAX, 0,
          "the state at record N; each line shows the number of its record"),
        .expected = "the number of a record, from 1" },
    { CLI_TEXT('a', "agent", "NAME", struct show, agent, "only what this agent said and did") },
    { CLI_FLAG('j', "json", struct show, json,
        "print one JSON object: run agents boards documents events open …") },
    { CLI_TEXT(0, "html", "FILE", struct show, html,
        "write it as one page for browsers that needs no server and no network, to mail or\n"
        "attach; - is stdout") },
    { CLI_FLAG(0, "force", struct show, force, "replace FILE even if it is not such a page") },
    { CLI_TEXT(0, "store", "FILE", struct show, store, CLI_STORE_HELP) },
    { 0 },
};

static void print(const struct cli_result *result, const void *ud)
{
    hocket_json *story = hocket_json_parse(result->json.p, result->json.n, NULL);
    struct cli_paper p;
    cli_paper_start(&p);
    cli_story_print(&p, story, ud);
    cli_paper_end(&p);
    hocket_json_free(story);
}

static int show(const struct show *s, const char *id)
{
    struct cli_buf args = { 0 };
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    cli_buf_member(&args, "agent", s->agent);
    if (s->at > 0)
        cli_buf_addf(&args, ",\"at\":%lld", (long long) s->at);
    cli_buf_adds(&args, "}");
    int rc = cli_stored_show("show", "show", args.p, s->store, s->json, print, s->store);
    cli_buf_free(&args);
    return rc;
}

static int show_html(const struct show *s, const char *id)
{
    if (s->json || s->agent)
        return cli_usage("show", "--html writes all of the run: without --json and --agent");
    if (strcmp(s->html, "-") == 0 && cli_out_is_terminal())
        return cli_usage("show", "a page is no text for a terminal: give a file, or a pipe");
    return cli_html_write(&(struct cli_html){ .command = "show",
        .id = id,
        .store = s->store,
        .file = s->html,
        .at = s->at,
        .force = s->force });
}

static int main_show(const struct cli_command *self, int argc, char **argv)
{
    struct show s = { 0 };
    struct cli_args args = { .ud = &s };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 1)
        return cli_usage("show", "expected the id of one run: hocket runs lists them");
    if (s.html)
        return show_html(&s, args.words[0]);
    return show(&s, args.words[0]);
}

const struct cli_command cli_show = {
    .name = "show",
    .usage = "ID",
    .summary = "show a stored run: who did what, when, and at what cost",
    .about =
        "Shows the agents and their callers with times and costs, the boards, the documents, what\n"
        "each agent said and did, open questions, and the answer. --at shows the state at a "
        "record.\n"
        "Control characters in text of models and tools are made visible.",
    .examples = "  hocket show 01KANC3V0Q\n"
                "  hocket show 01KANC3V0Q --at 40\n"
                "  hocket show 01KANC3V0Q --agent food | less -R\n"
                "  hocket show 01KANC3V0Q --html trip.html\n"
                "  hocket show 01KANC3V0Q --json | jq '.agents[] | {agent, seconds}'\n",
    .options = options,
    .main = main_show,
};
