/* `hocket resume`: continues a run of the store where it was left. The store has its target, its options and its
 * directory; a conversation continues as a conversation. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat/chat.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/progress.h"
#include "cli/kept/kept.h"
#include "cli/run/run.h"
#include "cli/text.h"
#include "cli/work/work.h"

/* ---- Looking it up ----------------------------------------------------------------------- */

static int look(const struct cli_run_args *args, hocket_json **runs)
{
    struct cli_buf wish = { 0 };
    cli_buf_adds(&wish, "{");
    if (!(args->flags & CLI_ALL_RUNS))
        cli_buf_member(&wish, "id", args->resume);
    cli_buf_adds(&wish, "}");
    int rc = cli_kept_find(args, wish.p, runs);
    cli_buf_free(&wish);
    return rc;
}

/* ---- Going on ------------------------------------------------------------------------------ */

static int go_on(struct cli_run_args *args, const hocket_json *run)
{
    int rc = cli_kept_place(args, run);
    if (rc != CLI_GO_ON)
        return rc;
    args->resume = cli_member(run, "id");
    bool conversation = cli_is(run, "conversation");
    return conversation ? cli_chat_go(args) : cli_run_go(args);
}

/* It may have ended in a process that could not print its answer any more. */
static bool has_ended(const hocket_json *run)
{
    const char *state = cli_member(run, "state");
    return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0
           || strcmp(state, "cancelled") == 0;
}

static int show_end(const struct cli_run_args *args, const hocket_json *run)
{
    const char *id = cli_member(run, "id");
    if (!(args->flags & CLI_QUIET))
        fprintf(stderr,
            "hocket resume: run %s has ended (%s); its result follows. To go on from a place in "
            "it: hocket fork %s\n",
            id, cli_member(run, "state"), id);
    return cli_wait_ended("resume", args->store, id, (args->flags & CLI_JSON) != 0);
}

static void say_which(const hocket_json *run)
{
    struct cli_buf line = { 0 };
    const char *target = cli_member(run, "target"), *input = cli_member(run, "input");
    cli_buf_addf(&line, "== %s ", cli_member(run, "id"));
    cli_text_show(&line, target, strlen(target), false);
    cli_buf_adds(&line, " ");
    cli_text_show(&line, input, strnlen(input, 60), false);
    fprintf(stderr, "%s\n", line.p);
    cli_buf_free(&line);
}

/* The exit code of all is the first that is not 0. */
static int go_on_all(struct cli_run_args *args, const hocket_json *list)
{
    int code = CLI_EXIT_DONE;
    for (size_t i = hocket_json_count(list); i-- > 0;) { /* the oldest first */
        const hocket_json *run = hocket_json_at(list, i);
        say_which(run);
        int rc = go_on(args, run);
        code = code ? code : rc;
        if (rc >= CLI_EXIT_INTERRUPTED - 1)
            break;
    }
    return code;
}

static int resume(struct cli_run_args *args)
{
    hocket_json *found;
    int rc = look(args, &found);
    if (rc != CLI_GO_ON)
        return rc;
    const hocket_json *list = hocket_json_get(found, "runs");
    if (hocket_json_count(list) == 0)
        fprintf(stderr, "hocket resume: there is no run that could go on\n");
    const hocket_json *first = hocket_json_at(list, 0);
    rc = (args->flags & CLI_ALL_RUNS) ? go_on_all(args, list)
         : has_ended(first)           ? show_end(args, first)
                                      : go_on(args, first);
    hocket_json_free(found);
    return rc;
}

static int main_resume(const struct cli_command *self, int argc, char **argv)
{
    struct cli_run_args args = { .command = "resume", .consent = true };
    int rc = cli_run_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON)
        rc = resume(&args);
    cli_run_args_free(&args);
    return rc;
}

const struct cli_command cli_resume = {
    .name = "resume",
    .usage = "ID | --all",
    .summary = "continue a run that was interrupted, or waits",
    .about =
        "Continues a run where it stopped: after Ctrl-C, a crash, a loss of power, or at a "
        "question\n"
        "that nobody answered (hocket answer answers it). Finished work is in its log and is not\n"
        "repeated: no model is asked twice, no tool is called twice. An interrupted call is made\n"
        "again.\n"
        "\n"
        "ID  the run's id, which may be shortened while it is unique: hocket runs lists them;\n"
        "    last is the newest, last:TARGET the newest of a target\n"
        "\n"
        "It uses the files of the run's start, in its folder. On a terminal it asks open "
        "questions;\n"
        "otherwise the run waits in the store again (exit code 75). If the run has ended, it "
        "prints\n"
        "the result.",
    .examples = "  hocket resume 01KANC3V\n"
                "  hocket resume --all --quiet\n"
                "  hocket resume 01KANC3V --events rest.jsonl > answer.md\n",
    .shared = cli_run_options,
    .bit = CLI_FOR_RESUME,
    .exit_codes = true,
    .main = main_resume,
};
