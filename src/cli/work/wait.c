/* `hocket wait`: what runs came to, whoever does them; with the exit code that `hocket run` would have had. */
#include <stdio.h>
#include <string.h>

#include "cli/markdown/markdown.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/store.h"
#include "cli/story/story.h"
#include "cli/text.h"
#include "cli/work/work.h"

struct wait {
    const char *store;
    double timeout; /* below 0: none */
    bool json;
    struct cli_screen screen;
};

static const struct cli_option options[] = {
    { CLI_NUMBER('t', "timeout", "SECONDS", struct wait, timeout, 0, CLI_MOST_SECONDS, -1,
        "seconds, as in 60", "wait no longer for each of them (exit code 124)") },
    { CLI_FLAG('j', "json", struct wait, json,
        "the result of each as one JSON object, as 'hocket run --json' has it") },
    { CLI_TEXT(0, "store", "FILE", struct wait, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- What is shown ------------------------------------------------------------------ */

static void print_text(struct wait *w, const hocket_json *found)
{
    const hocket_json *output = hocket_json_get(found, "output");
    size_t n = 0;
    for (size_t i = 0; i < hocket_json_count(output); i++) {
        const char *text = hocket_json_text(hocket_json_at(output, i), "", &n);
        cli_out_text(text, n);
        cli_out_text("\n", 1);
    }
    const char *text =
        hocket_json_text(hocket_json_get(hocket_json_get(found, "result"), "text"), "", &n);
    if (n > 0)
        cli_answer(&w->screen, text, n);
}

static void print_json(const hocket_json *found)
{
    size_t n = 0;
    const char *text = hocket_json_text(hocket_json_get(found, "json"), "", &n);
    cli_out_json(text, n);
}

static void add_shown(struct cli_buf *line, const char *text, size_t columns)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, text, strlen(text), false);
    cli_text_cut(line, cli_buf_text(&shown), shown.n, columns);
    cli_buf_free(&shown);
}

/* "  q1  lead: Which city?" */
static void say_open(const hocket_json *one)
{
    struct cli_buf line = { 0 };
    const char *agent = cli_member(one, "agent"), *tool = cli_member(one, "tool");
    cli_buf_adds(&line, "  ");
    add_shown(&line, cli_member(one, "id"), 24);
    cli_buf_adds(&line, "  ");
    add_shown(&line, agent, 60);
    cli_buf_adds(&line, *agent ? ": " : "");
    if (*tool) {
        cli_buf_adds(&line, "may it call ");
        add_shown(&line, tool, 60);
        cli_buf_adds(&line, " ");
        add_shown(&line, cli_member(one, "arguments"), 160);
    }
    const hocket_json *questions = hocket_json_get(one, "questions");
    for (size_t i = 0; i < hocket_json_count(questions); i++) {
        cli_buf_adds(&line, i > 0 ? " " : "");
        add_shown(&line, hocket_json_text(hocket_json_at(questions, i), "", NULL), 200);
    }
    fprintf(stderr, "%s\n", line.p);
    cli_buf_free(&line);
}

static void say_command(void *ud, const char *what, const char *command)
{
    (void) ud;
    fprintf(stderr, "%-8s %s\n", what, command);
}

static void say_answers(const char *id, const hocket_json *one, const char *where)
{
    struct cli_buf word = { 0 };
    bool is_signal = strcmp(cli_member(one, "kind"), "signal") == 0;
    const char *name = cli_member(one, is_signal ? "name" : "id");
    cli_text_word(&word, name, strlen(name));
    const struct cli_how how = { .run = id,
        .id = cli_buf_text(&word),
        .where = where,
        .signal = is_signal ? cli_buf_text(&word) : NULL,
        .leave = *cli_member(one, "tool") != 0,
        .plan = hocket_json_get(one, "plan") != NULL,
        .always = *cli_member(one, "always") != 0 };
    if (one)
        cli_how_to_answer(&how, say_command, NULL);
    cli_buf_free(&word);
}

static void say_parked(const struct wait *w, const hocket_json *found)
{
    const hocket_json *open = hocket_json_get(found, "waiting_for");
    struct cli_buf where = { 0 };
    const char *id = cli_member(found, "id");
    fprintf(stderr, "run %s waits for an answer:\n", id);
    for (size_t i = 0; i < hocket_json_count(open); i++)
        say_open(hocket_json_at(open, i));
    cli_store_hint(&where, w->store);
    say_answers(id, hocket_json_at(open, 0), cli_buf_text(&where));
    fprintf(stderr, "%-8s hocket wait %s%s\n", "wait:", id, cli_buf_text(&where));
    cli_buf_free(&where);
}

static void show(struct wait *w, const struct cli_result *result)
{
    hocket_json *found = hocket_json_parse(cli_buf_text(&result->json), result->json.n, NULL);
    if (w->json && hocket_json_get(found, "json"))
        print_json(found);
    else if (!w->json)
        print_text(w, found);
    if (result->status == HOCKET_EPARKED)
        say_parked(w, found);
    else if (result->status < 0)
        cli_result_complain(result, NULL);
    hocket_json_free(found);
}

/* ---- Waiting -------------------------------------------------------------------------- */

static int wait_for(struct wait *w, const struct hocket_options *store, const char *id)
{
    struct cli_result result = { 0 };
    struct cli_buf args = { 0 };
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    if (w->timeout >= 0)
        cli_buf_addf(&args, ",\"timeout\":%.9g", w->timeout);
    cli_buf_adds(&args, "}");
    int status = cli_host_call_store("wait", args.p, store, &result);
    show(w, &result);
    cli_result_free(&result);
    cli_buf_free(&args);
    return cli_exit_of(status);
}

int cli_wait_ended(const char *command, const char *store, const char *id, bool json)
{
    struct wait w = { .store = store, .timeout = -1, .json = json };
    struct hocket_options where = { 0 };
    if (!cli_store_look(&where, command, store))
        return CLI_EXIT_FAILED;
    cli_screen_start(&w.screen, false, true);
    int code = wait_for(&w, &where, id);
    cli_screen_end(&w.screen);
    int rc = cli_out_end();
    return code ? code : rc;
}

static int main_wait(const struct cli_command *self, int argc, char **argv)
{
    struct wait w = { 0 };
    struct cli_args args = { .ud = &w };
    struct hocket_options store = { 0 };
    int code = CLI_EXIT_DONE, rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0)
        return cli_usage("wait", "expected ids of runs: hocket runs lists them");
    if (!cli_store_look(&store, "wait", w.store))
        return CLI_EXIT_FAILED;
    cli_screen_start(&w.screen, false, true);
    for (int i = 0; i < args.count; i++) {
        rc = wait_for(&w, &store, args.words[i]);
        code = code ? code : rc;
    }
    cli_screen_end(&w.screen);
    rc = cli_out_end();
    return code ? code : rc;
}

const struct cli_command cli_wait = {
    .name = "wait",
    .usage = "ID…",
    .summary = "wait for runs, and print their answers",
    .about =
        "Prints a run's result once it has ended, whoever executes it: a worker, or another "
        "process.\n"
        "With several runs it prints one after the other; the exit code is that of the first\n"
        "failure. It does not wait for a run that waits for a person (exit code 75): use hocket\n"
        "answer, then hocket wait again.",
    .examples = "  hocket wait 01KANC3V0Q\n"
                "  hocket wait --timeout 600 --json 01KANC3V0Q 01KANC3V5T\n"
                "  id=$(hocket run --detach agents \"Two days in Rome\") && hocket wait $id\n",
    .options = options,
    .exit_codes = true,
    .main = main_wait,
};
