/* `hocket replay`: a kept run once more, from its log alone. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/kept/kept.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/store.h"
#include "cli/text.h"

struct wish {
    const char *store;
    bool events; /* are printed */
    bool trust;
    unsigned long long count;
    char name[32];
    struct cli_result result;
};

static const struct cli_option options[] = {
    { CLI_TEXT(0, "store", "FILE", struct wish, store, CLI_STORE_HELP) },
    { CLI_FLAG('e', "events", struct wish, events, "print the events as lines of JSON") },
    { CLI_FLAG(0, "trust", struct wish, trust,
        "run the code of a run that was imported, or that somebody else began; without it a\n"
        "terminal asks you") },
    { 0 },
};

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct wish *w = ud;
    const char *name = hocket_run_name(host, run);
    if (name)
        snprintf(w->name, sizeof(w->name), "%s", name);
    if (e->seq == 0)
        return;
    w->count++;
    if (w->events)
        cli_out_json(e->json, e->json_len);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(&((struct wish *) ud)->result, result);
}

/* What the run came to is its own business: that it is the same again is what was asked. */
static int report(const struct wish *w)
{
    struct cli_buf shown = { 0 };
    int status = w->result.status;
    if (status == HOCKET_EREPLAY || !w->name[0]) {
        cli_result_complain(&w->result, "replay");
        return cli_exit_of(status);
    }
    cli_text_show(&shown, cli_buf_text(&w->result.message), w->result.message.n, true);
    fprintf(stderr, "%s: %llu events, all as recorded%s%s\n", w->name, w->count,
        status == HOCKET_EPARKED ? "; "
        : status < 0             ? "; the run failed: "
                                 : "",
        status < 0 ? cli_buf_text(&shown) : "");
    cli_buf_free(&shown);
    return cli_out_end();
}

static int replay(struct wish *w, const char *id)
{
    struct hocket_options store = { 0 };
    struct hocket_error err;
    int code;
    int rc = cli_admit("replay", w->store, id, w->trust);
    if (rc != CLI_GO_ON)
        return rc;
    if (!cli_store_look(&store, "replay", w->store))
        return CLI_EXIT_FAILED;
    hocket_host *host = cli_host_open_store(NULL, &store, &code);
    if (!host)
        return code;
    const char *said =
        w->trust ? "{\"consent\":true,\"trust\":true}" : "{\"consent\":true,\"trust\":false}";
    if (hocket_run_replay(host, id, said, NULL, on_event, on_done, w, &err) < 0)
        cli_result_fail(&w->result, &err);
    while (!w->result.done)
        hocket_wait(host, -1);
    cli_host_close(host);
    return report(w);
}

static int main_replay(const struct cli_command *self, int argc, char **argv)
{
    struct wish w = { 0 };
    struct cli_args args = { .ud = &w };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 1 || !*args.words[0])
        return cli_usage("replay", "which run? One ID (hocket runs lists them)");
    struct cli_buf id = { 0 };
    rc = cli_kept_named("replay", w.store, args.words[0], &id);
    if (rc == CLI_GO_ON)
        rc = replay(&w, id.p);
    cli_buf_free(&id);
    cli_result_free(&w.result);
    return rc;
}

const struct cli_command cli_replay = {
    .name = "replay",
    .usage = "ID",
    .summary = "run a stored run again from its log, and compare",
    .about =
        "Runs a run again from its log alone. It asks no model, no tool and no person, uses no\n"
        "network, and writes nothing. It compares every event with the stored one, byte by byte. "
        "The\n"
        "first difference is an error (exit code 1): the program, or something that the run read\n"
        "outside its log, has changed.",
    .examples = "  hocket replay 01KANC3V\n"
                "  hocket replay 01KANC3V --events | jq -c 'select(.type == \"tool_call\")'\n",
    .options = options,
    .main = main_replay,
};
