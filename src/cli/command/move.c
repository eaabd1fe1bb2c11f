/* `hocket export` and `hocket import`: a run as a file, and back. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/store.h"

struct move {
    const char *store;
    bool new;
};

static const struct cli_option export_options[] = {
    { CLI_TEXT(0, "store", "FILE", struct move, store, CLI_STORE_HELP) },
    { 0 },
};

static const struct cli_option import_options[] = {
    { CLI_FLAG('n', "new", struct move, new,
        "under an id of its own, also where the store has the run already") },
    { CLI_TEXT(0, "store", "FILE", struct move, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- export ------------------------------------------------------------------------------------------ */

static int export_to(const struct move *m, const char *id, const char *file)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{");
    cli_stored_arg(&args, "id", id);
    if (strcmp(file, "-") == 0)
        cli_buf_addf(&args, ",\"fd\":%d", STDOUT_FILENO);
    else
        cli_stored_arg(&args, "file", file);
    cli_buf_adds(&args, "}");
    int rc = cli_stored_call("export", "export", args.p, m->store, &result);
    cli_buf_free(&args);
    if (rc == CLI_EXIT_DONE)
        cli_result_free(&result);
    return rc;
}

static int main_export(const struct cli_command *self, int argc, char **argv)
{
    struct move m = { 0 };
    struct cli_args args = { .ud = &m };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 2)
        return cli_usage("export", "expected the id of a run, and a file (- is stdout)");
    if (strcmp(args.words[1], "-") == 0 && cli_out_is_terminal())
        return cli_usage("export", "a run is no text for a terminal: give a file, or a pipe");
    return export_to(&m, args.words[0], args.words[1]);
}

const struct cli_command cli_export = {
    .name = "export",
    .usage = "ID FILE",
    .summary = "write a run into a file, for another store",
    .about =
        "The file holds all of the run: its log, its records, the files that it began with, what "
        "was said to\n"
        "it. Whoever has it can read it, and resume it. A fork is written whole. - as FILE is "
        "stdout.",
    .examples = "  hocket export 01KANC3V0Q trip.run\n"
                "  hocket export 01KANC3V0Q - | ssh elsewhere hocket import -\n",
    .options = export_options,
    .main = main_export,
};

/* ---- import ------------------------------------------------------------------------------------------ */

static int import_from(const struct move *m, const char *file)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{");
    cli_stored_arg(&args, "file", file);
    cli_buf_addf(&args, ",\"new\":%s}", m->new ? "true" : "false");
    int rc = cli_stored_call_new("import", "import", args.p, m->store, &result);
    cli_buf_free(&args);
    if (rc != CLI_EXIT_DONE)
        return rc;
    hocket_json *answer = hocket_json_parse(result.json.p, result.json.n, NULL);
    const char *id = hocket_json_text(hocket_json_get(answer, "id"), "", NULL);
    cli_out_line(id, strlen(id));
    hocket_json_free(answer);
    cli_result_free(&result);
    return cli_out_end();
}

/* What cannot be read makes no store. */
static int check_file(const char *file)
{
    if (strcmp(file, "-") == 0 || access(file, R_OK) == 0)
        return CLI_GO_ON;
    fprintf(stderr, "hocket import: cannot read %s: %s\n", file, strerror(errno));
    return CLI_EXIT_FAILED;
}

static int main_import(const struct cli_command *self, int argc, char **argv)
{
    struct move m = { 0 };
    struct cli_args args = { .ud = &m };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 1)
        return cli_usage("import", "expected one file (- is stdin)");
    rc = check_file(args.words[0]);
    return rc == CLI_GO_ON ? import_from(&m, args.words[0]) : rc;
}

const struct cli_command cli_import = {
    .name = "import",
    .usage = "FILE",
    .summary = "take a run in that was exported",
    .about =
        "Prints the id of the run. The file is taken in whole or not at all. - is stdin. Take runs "
        "from those\n"
        "whom you would take scripts from: the files that it began with run when it is resumed.",
    .examples = "  hocket import trip.run\n"
                "  hocket show $(hocket import --new trip.run)\n",
    .options = import_options,
    .main = main_import,
};
