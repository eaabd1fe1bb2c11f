/* `hocket schedule`: runs at times, put by whoever works on the store (`hocket work`). */
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/run_args/run_args.h"
#include "cli/store.h"
#include "cli/text.h"

struct schedule {
    struct cli_run_args run;
    const char *name, *tz, *missed, *overlap, *until, *pool, *webhook;
    bool replace, json;
};

static const struct cli_option own[] = {
    { CLI_WORD('n', "name", "NAME", struct schedule, name, "its name; default: the target's") },
    { CLI_WORD(0, "tz", "ZONE", struct schedule, tz,
        "the time zone, for example Europe/Berlin; default: this machine's") },
    { CLI_WORD(0, "missed", "once|skip|all", struct schedule, missed,
        "what to do about times at which no process was active: once, skip or all") },
    { CLI_WORD(0, "overlap", "skip|queue|allow", struct schedule, overlap,
        "what to do while the last run still works: skip, queue or allow") },
    { CLI_WORD(0, "until", "DAY", struct schedule, until,
        "the last day, for example 2027-03-31, or a time: 2027-03-31T18:00") },
    { CLI_WORD('p', "pool", "NAME", struct schedule, pool, "the pool of its runs") },
    { CLI_WORD(0, "webhook", "URL", struct schedule, webhook,
        "receives a POST if a run fails or cannot be created") },
    { CLI_FLAG(0, "replace", struct schedule, replace, "replace the schedule of this name") },
    { CLI_FLAG('j', "json", struct schedule, json, "print one JSON object") },
    { 0 },
};

/* ---- What is asked ------------------------------------------------------------------------------ */

static int add_input(struct schedule *s, char **words, int count, struct cli_buf *out)
{
    int rc = cli_run_args_input(&s->run, words, count);
    if (rc == 0 && s->run.has_input) {
        cli_buf_key(out, "input");
        cli_buf_json(out, cli_buf_text(&s->run.input), s->run.input.n);
    }
    return rc;
}

static int add_new(struct schedule *s, char **words, int count, struct cli_buf *out)
{
    if (count < 2)
        return cli_usage("schedule",
            "add: expected times and a target, as in: hocket schedule add '0 6 * * *' agents");
    cli_buf_member(out, "cron", words[0]);
    cli_buf_member(out, "target", words[1]);
    cli_buf_member(out, "tz", s->tz);
    cli_buf_member(out, "missed", s->missed);
    cli_buf_member(out, "overlap", s->overlap);
    cli_buf_member(out, "until", s->until);
    cli_buf_member(out, "pool", s->pool);
    cli_buf_member(out, "webhook", s->webhook);
    cli_buf_member(out, "ping", s->run.ping);
    cli_buf_member(out, "name", s->name);
    cli_buf_addf(out, ",\"replace\":%s", s->replace ? "true" : "false");
    cli_buf_key(out, "options");
    cli_run_args_json(&s->run, out);
    return add_input(s, words + 2, count - 2, out);
}

/* The words, and whether a name follows. */
static const struct word {
    const char *name;
    bool named, changes;
} words[] = {
    { "add", false, true },
    { "list", false, false },
    { "show", true, false },
    { "run", true, true },
    { "pause", true, true },
    { "resume", true, true },
    { "rm", true, true },
};

static const struct word *find_word(const char *name)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].name, name) == 0)
            return &words[i];
    return NULL;
}

static bool is_for_add(const struct schedule *s)
{
    return s->name || s->tz || s->missed || s->overlap || s->until || s->pool || s->webhook
           || s->run.ping || s->replace;
}

static int add_args(
    struct schedule *s, const struct word *w, char **rest, int count, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    cli_buf_member(out, "word", w->name);
    if (strcmp(w->name, "add") == 0)
        return add_new(s, rest, count, out);
    if (is_for_add(s))
        return cli_usage("schedule", "%s takes no options but --json and --store", w->name);
    if (count != (w->named ? 1 : 0))
        return cli_usage("schedule", "%s: expected %s", w->name,
            w->named ? "the name of one (hocket schedule list)" : "no words");
    if (w->named)
        cli_buf_member(out, "name", rest[0]);
    return 0;
}

/* ---- All ---------------------------------------------------------------------------------------- */

static int run(struct schedule *s, const struct word *w, char **rest, int count)
{
    struct cli_buf json = { 0 };
    int rc = add_args(s, w, rest, count, &json);
    cli_buf_adds(&json, "}");
    if (rc == 0)
        return cli_stored_answer(
            "schedule", &json, s->run.store, strcmp(w->name, "add") == 0, s->json);
    cli_buf_free(&json);
    return rc;
}

static int main_schedule(const struct cli_command *self, int argc, char **argv)
{
    struct schedule s = { .run = { .command = "schedule", .consent = true } };
    struct cli_args args = { .ud = &s };
    int rc = cli_args_read(self, argc, argv, &args);
    const struct word *w = rc == CLI_GO_ON && args.count > 0 ? find_word(args.words[0]) : NULL;
    if (rc == CLI_GO_ON && !w)
        rc = cli_usage("schedule", "expected add, list, show, run, pause, resume or rm");
    else if (rc == CLI_GO_ON)
        rc = run(&s, w, args.words + 1, args.count - 1);
    cli_run_args_free(&s.run);
    return rc;
}

const struct cli_command cli_schedule = {
    .name = "schedule",
    .usage = "add TIMES TARGET [INPUT…] | list | show NAME | run NAME | pause NAME | resume NAME | "
             "rm NAME",
    .summary = "run a script, an agent or a team at fixed times",
    .about =
        "TIMES are five fields as in a crontab: minute, hour, day of the month, month, day of the\n"
        "week; or @hourly, @daily, @weekly, @monthly, @yearly. The schedule stores TARGET's "
        "present\n"
        "files. At its time, one process of the store (hocket work, hocket serve) creates a run, "
        "and\n"
        "a worker executes it. 'run' creates one now. hocket help guides/deployment has the "
        "details.",
    .examples =
        "  hocket schedule add '0 6 * * mon-fri' agents 'What happened yesterday?' --tz "
        "Europe/Berlin\n"
        "  hocket schedule add @hourly check.lua --missed skip --webhook https://example.org/hook\n"
        "  hocket schedule list\n"
        "  hocket schedule pause check\n",
    .options = own,
    .shared = cli_run_options,
    .bit = CLI_FOR_SCHEDULE,
    .shared_at = offsetof(struct schedule, run),
    .main = main_schedule,
};
