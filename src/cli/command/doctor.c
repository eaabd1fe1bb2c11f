/* `hocket doctor`: what this machine offers, what is wrong here, and what mends it. */
#include "cli/command/command_impl.h"

#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/policy/policy.h"
#include "cli/store.h"
#include "cli/text.h"

struct doctor {
    bool json, fix;
};

static const struct cli_option options[] = {
    { CLI_FLAG(0, "fix", struct doctor, fix,
        "solve what it can without losing anything: folders, permissions of secrets") },
    { CLI_FLAG('j', "json", struct doctor, json, "print one JSON object") },
    { 0 },
};

/* A store that is not there yet is not made to be looked at. */
static bool is_there(const struct hocket_options *o)
{
    return o->store && strcmp(o->store, "memory") != 0
           && (*o->store != '/' || access(o->store, F_OK) == 0);
}

/* `wrong`: why the store cannot be opened, or NULL. */
static void add_args(const struct doctor *d, const struct hocket_options *o, bool kept,
    const char *wrong, struct cli_buf *out)
{
    struct cli_buf shown = { 0 };
    cli_buf_addf(
        out, "{\"fix\":%s,\"kept\":%s", d->fix ? "true" : "false", kept ? "true" : "false");
    cli_buf_member(out, "wrong", wrong);
    if (o->store && cli_text_is_utf8(o->store, strlen(o->store))) {
        cli_store_show(&shown, o->store);
        cli_buf_member(out, "store", cli_buf_text(&shown));
    }
    cli_buf_adds(out, "}");
    cli_buf_free(&shown);
}

static int call(const struct doctor *d, const struct hocket_options *o, bool kept,
    const char *wrong, struct cli_result *result)
{
    struct cli_buf args = { 0 };
    add_args(d, o, kept, wrong, &args);
    int status = cli_host_call_store("doctor", args.p, kept ? o : NULL, result);
    cli_buf_free(&args);
    return status;
}

/* A store that cannot be opened is a problem among others. */
static int call_again(
    const struct doctor *d, const struct hocket_options *o, struct cli_result *result)
{
    struct cli_buf wrong = result->message;
    result->message = (struct cli_buf){ 0 };
    cli_result_free(result);
    int status = call(d, o, false, cli_buf_text(&wrong), result);
    cli_buf_free(&wrong);
    return status;
}

static int examine(const struct doctor *d)
{
    struct cli_result result = { 0 };
    struct hocket_options o = { 0 };
    cli_policy_tolerate();
    cli_store_options(&o, NULL, NULL);
    o.store_days = 0; /* it only looks */
    o.store_bytes = 0;
    o.store_optional = 1;
    bool kept = is_there(&o);
    int status = call(d, &o, kept, NULL, &result);
    if (status < 0 && kept)
        status = call_again(d, &o, &result);
    if (status < 0)
        cli_result_complain(&result, "doctor");
    else
        cli_stored_print(&result, d->json);
    cli_result_free(&result);
    return status < 0 ? cli_exit_of(status) : cli_out_end();
}

static int main_doctor(const struct cli_command *self, int argc, char **argv)
{
    struct doctor d = { 0 };
    struct cli_args args = { .ud = &d };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && args.count > 0)
        rc = cli_usage("doctor", "expected no arguments");
    return rc == CLI_GO_ON ? examine(&d) : rc;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "show what this machine offers, and how to solve problems",
    .about =
        "Lists the providers, whether their keys are in the environment (never the keys), the\n"
        "default model, the sandboxes for programs of tools, and the store. Then it lists each\n"
        "problem with the command that solves it: no model, no sandbox, secrets that others can\n"
        "read, interrupted runs, pools without workers.",
    .examples = "  hocket doctor\n"
                "  hocket doctor --fix\n"
                "  hocket doctor --json | jq -r '.problems[].command'\n",
    .options = options,
    .main = main_doctor,
};
