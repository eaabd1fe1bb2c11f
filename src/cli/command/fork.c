/* `hocket fork`: a run with the past of another one. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/store.h"
#include "cli/text.h"

struct fork {
    const char *store, *input, *model;
    int64_t at;
    bool latest;
};

static const struct cli_option options[] = {
    { CLI_COUNT('n', "at", "N", struct fork, at, 1, INT64_MAX, 0,
          "fork after record N (hocket show numbers them); default: at the end"),
        .expected = "the number of a record, from 1" },
    { CLI_FLAG('l', "latest", struct fork, latest,
        "start from the beginning, with the present files: equal calls are answered from the\n"
        "parent's log, the rest is done") },
    { CLI_TEXT('i', "input", "TEXT", struct fork, input, "another input") },
    { CLI_TEXT('m', "model", "P/M", struct fork, model, "another model") },
    { CLI_TEXT(0, "store", "FILE", struct fork, store, CLI_STORE_HELP) },
    { 0 },
};

static void print(const struct cli_result *result, const char *store)
{
    hocket_json *answer = hocket_json_parse(result->json.p, result->json.n, NULL);
    const char *id = cli_member(answer, "id");
    struct cli_buf hint = { 0 };
    cli_out_line(id, strlen(id));
    cli_store_hint(&hint, store);
    fprintf(stderr, "hocket fork: next: hocket resume %s%s\n", id, cli_buf_text(&hint));
    cli_buf_free(&hint);
    hocket_json_free(answer);
}

static int make(const struct fork *f, const char *id)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    cli_buf_member(&args, "input", f->input);
    cli_buf_member(&args, "model", f->model);
    if (f->at > 0)
        cli_buf_addf(&args, ",\"at\":%lld", (long long) f->at);
    if (f->latest)
        cli_buf_adds(&args, ",\"latest\":true");
    cli_buf_adds(&args, ",\"consent\":true}");
    int rc = cli_stored_call("fork", "fork", args.p, f->store, &result);
    cli_buf_free(&args);
    if (rc != CLI_EXIT_DONE)
        return rc;
    print(&result, f->store);
    cli_result_free(&result);
    return cli_out_end();
}

static int main_fork(const struct cli_command *self, int argc, char **argv)
{
    struct fork f = { 0 };
    struct cli_args args = { .ud = &f };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 1)
        return cli_usage("fork", "expected the id of one run: hocket runs lists them");
    return make(&f, args.words[0]);
}

const struct cli_command cli_fork = {
    .name = "fork",
    .usage = "ID",
    .summary = "make a run that branches off from another one",
    .about =
        "The fork has everything that its parent had at record N, and nothing after it. It copies\n"
        "nothing: it reads its parent's log, which stays unchanged. Prints the id of the fork.",
    .examples = "  hocket fork 01KANC3V0Q --at 40\n"
                "  hocket resume $(hocket fork 01KANC3V0Q --at 40 --model openai/gpt-6.1-terra)\n",
    .options = options,
    .main = main_fork,
};
