/* `hocket store`: the file or the database that runs are kept in, as a whole. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/store.h"

struct care {
    const char *store, *worker, *reader;
    int64_t days;
    bool json;
};

static const struct cli_option options[] = {
    { CLI_TEXT(0, "worker", "ROLE", struct care, worker,
        "init: a database role that may execute and store runs") },
    { CLI_TEXT(
        0, "reader", "ROLE", struct care, reader, "init: a database role that may only read") },
    { CLI_COUNT(0, "days", "N", struct care, days, 1, 36500, 0,
        "vacuum: remove runs that ended longer ago; default: none") },
    { CLI_FLAG('j', "json", struct care, json, "print one JSON object") },
    { CLI_TEXT(0, "store", "FILE", struct care, store, CLI_STORE_HELP) },
    { 0 },
};

static int check(const struct care *c, const struct cli_args *args)
{
    static const char *const words[] = { "init", "migrate", "check", "vacuum", "stats" };
    const char *word = args->count == 1 ? args->words[0] : "";
    size_t i = 0;
    while (i < 5 && strcmp(words[i], word) != 0)
        i++;
    if (i == 5)
        return cli_usage("store", "expected init, migrate, check, stats or vacuum");
    if ((c->worker || c->reader) && i != 0)
        return cli_usage("store", "--worker and --reader are for init");
    if (c->days && i != 3)
        return cli_usage("store", "--days is for vacuum");
    return CLI_GO_ON;
}

static int main_store(const struct cli_command *self, int argc, char **argv)
{
    struct care c = { 0 };
    struct cli_args args = { .ud = &c };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON)
        rc = check(&c, &args);
    if (rc != CLI_GO_ON)
        return rc;
    bool makes = strcmp(args.words[0], "init") == 0;
    cli_buf_adds(&json, "{");
    cli_buf_member(&json, "word", args.words[0]);
    cli_buf_member(&json, "worker", c.worker);
    cli_buf_member(&json, "reader", c.reader);
    if (c.days)
        cli_buf_addf(&json, ",\"days\":%lld", (long long) c.days);
    cli_buf_adds(&json, "}");
    return cli_stored_answer("store", &json, c.store, makes, c.json);
}

const struct cli_command cli_store = {
    .name = "store",
    .usage = "init|migrate|check|stats|vacuum",
    .summary = "create, check and clean up a store",
    .about =
        "init     creates the file, or the tables in a database, and admits roles\n"
        "migrate  upgrades the store of an older hocket\n"
        "check    verifies that the store is consistent\n"
        "stats    rows, bytes and statements by kind, per run, and of the largest logs\n"
        "vacuum   removes old runs, and frees space\n"
        "\n"
        "Any command creates a store if it may; in a database that is often a task of its owner.",
    .examples =
        "  hocket store check\n"
        "  hocket store init --store postgres://admin@db/app --worker hocket_worker --reader "
        "dashboard\n"
        "  hocket store vacuum --days 30\n",
    .options = options,
    .main = main_store,
};
