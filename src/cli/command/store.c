/* `hocket store`: the file or the database that runs are kept in, as a whole. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/store.h"
#include "cli/text.h"

struct care {
    const char *store, *worker, *reader;
    int64_t days;
    bool json;
};

static const struct cli_option options[] = {
    { CLI_TEXT(0, "worker", "ROLE", struct care, worker,
        "init: a role of the database that may run and keep runs") },
    { CLI_TEXT(0, "reader", "ROLE", struct care, reader,
        "init: a role that may look, and change nothing") },
    { CLI_COUNT(0, "days", "N", struct care, days, 1, 36500, 0,
        "vacuum: remove runs that ended longer ago; none") },
    { CLI_FLAG('j', "json", struct care, json, "print one JSON object") },
    { CLI_TEXT(0, "store", "FILE", struct care, store, CLI_STORE_HELP) },
    { 0 },
};

static int check(const struct care *c, const struct cli_args *args)
{
    static const char *const words[] = { "init", "migrate", "check", "vacuum" };
    const char *word = args->count == 1 ? args->words[0] : "";
    size_t i = 0;
    while (i < 4 && strcmp(words[i], word) != 0)
        i++;
    if (i == 4)
        return cli_usage("store", "expected init, migrate, check or vacuum");
    if ((c->worker || c->reader) && i != 0)
        return cli_usage("store", "--worker and --reader are for init");
    if (c->days && i != 3)
        return cli_usage("store", "--days is for vacuum");
    return CLI_GO_ON;
}

static void print(const struct care *c, const struct cli_result *result)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, cli_buf_text(&result->text), result->text.n, true);
    if (c->json)
        cli_out_json(result->json.p, result->json.n);
    else
        cli_out_line(cli_buf_text(&shown), shown.n);
    cli_buf_free(&shown);
}

static int main_store(const struct cli_command *self, int argc, char **argv)
{
    struct care c = { 0 };
    struct cli_args args = { .ud = &c };
    struct cli_buf json = { 0 };
    struct cli_result result;
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON)
        rc = check(&c, &args);
    if (rc != CLI_GO_ON)
        return rc;
    bool makes = strcmp(args.words[0], "init") == 0;
    cli_buf_adds(&json, "{");
    cli_stored_arg(&json, "word", args.words[0]);
    cli_stored_arg(&json, "worker", c.worker);
    cli_stored_arg(&json, "reader", c.reader);
    if (c.days)
        cli_buf_addf(&json, ",\"days\":%lld", (long long) c.days);
    cli_buf_adds(&json, "}");
    rc =
        (makes ? cli_stored_call_new : cli_stored_call)("store", "store", json.p, c.store, &result);
    cli_buf_free(&json);
    if (rc != CLI_EXIT_DONE)
        return rc;
    print(&c, &result);
    cli_result_free(&result);
    return cli_out_end();
}

const struct cli_command cli_store = {
    .name = "store",
    .usage = "init|migrate|check|vacuum",
    .summary = "make, check and clean up what runs are kept in",
    .about =
        "init     makes the file, or the tables in a database, and lets roles use them\n"
        "migrate  brings what an older hocket has made up to date\n"
        "check    whether all that is in it holds together\n"
        "vacuum   removes old runs, and gives back room\n\n"
        "Any command makes a store that it is allowed to make; in a database that is often not the "
        "role\nthat runs agents.",
    .examples =
        "  hocket store check\n"
        "  hocket store init --store postgres://admin@db/app --worker hocket_worker --reader "
        "dashboard\n"
        "  hocket store vacuum --days 30\n",
    .options = options,
    .main = main_store,
};
