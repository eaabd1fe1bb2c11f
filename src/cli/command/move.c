/* `hocket export` and `hocket import`: a run as a file, and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/store.h"
#include "cli/text.h"

struct move {
    const char *store;
    bool new, all;
};

static const struct cli_option export_options[] = {
    { CLI_FLAG('a', "all", struct move, all, "all runs of the store, in one file") },
    { CLI_TEXT(0, "store", "FILE", struct move, store, CLI_STORE_HELP) },
    { 0 },
};

static const struct cli_option import_options[] = {
    { CLI_FLAG(
        'n', "new", struct move, new, "use a new id, even if the store already has the run") },
    { CLI_TEXT(0, "store", "FILE", struct move, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- export ------------------------------------------------------------------------------------------ */

static int export_to(const struct move *m, const char *id, const char *file)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    if (strcmp(file, "-") == 0)
        cli_buf_addf(&args, ",\"fd\":%d", STDOUT_FILENO);
    else
        cli_buf_member(&args, "file", file);
    cli_buf_adds(&args, "}");
    int rc = cli_stored_call("export", "export", args.p, m->store, &result);
    cli_buf_free(&args);
    if (rc == CLI_EXIT_DONE)
        cli_result_free(&result);
    return rc;
}

static int complain(const char *file)
{
    fprintf(stderr, "hocket export: cannot write %s: %s\n", file, strerror(errno));
    return CLI_EXIT_FAILED;
}

/* Runs that could not be read: the others are there. */
static int say_left(struct cli_result *result)
{
    hocket_json *answer = hocket_json_parse(result->json.p, result->json.n, NULL);
    const hocket_json *left = hocket_json_get(answer, "left");
    int rc = hocket_json_count(left) > 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
    for (size_t i = 0; i < hocket_json_count(left); i++)
        fprintf(stderr, "hocket export: left out: %s\n",
            hocket_json_text(hocket_json_at(left, i), "", NULL));
    hocket_json_free(answer);
    cli_result_free(result);
    return rc;
}

/* All runs go into a file beside it, which takes its place when all of them are in it. */
static int export_all(const struct move *m, const char *file)
{
    struct cli_part part;
    if (!cli_part_open(&part, file))
        return complain(file);
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_addf(&args, "{\"fd\":%d}", part.fd);
    int rc = cli_stored_call("export", "export", args.p, m->store, &result);
    cli_buf_free(&args);
    if (!cli_part_close(&part, file, rc == CLI_EXIT_DONE)) {
        cli_result_free(&result);
        return complain(file);
    }
    return rc == CLI_EXIT_DONE ? say_left(&result) : rc;
}

static int main_export(const struct cli_command *self, int argc, char **argv)
{
    struct move m = { 0 };
    struct cli_args args = { .ud = &m };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != (m.all ? 1 : 2))
        return cli_usage("export", m.all ? "--all expects a file alone (- is stdout)"
                                         : "expected the id of a run, and a file (- is stdout)");
    const char *file = args.words[args.count - 1];
    if (strcmp(file, "-") == 0 && cli_out_is_terminal())
        return cli_usage("export", "a run is no text for a terminal: give a file, or a pipe");
    return m.all ? export_all(&m, file) : export_to(&m, args.words[0], file);
}

const struct cli_command cli_export = {
    .name = "export",
    .usage = "ID FILE | --all FILE",
    .summary = "write runs into a file, for another store",
    .about =
        "The file holds the whole run: its log, its records, the files of its start, its "
        "messages.\n"
        "Whoever has it can read and resume it. A fork is written completely. - as FILE is stdout.",
    .examples = "  hocket export 01KANC3V0Q trip.run\n"
                "  hocket export 01KANC3V0Q - | ssh elsewhere hocket import -\n"
                "  hocket export --all - | hocket import --store postgres://hocket@db/app -\n",
    .options = export_options,
    .main = main_export,
};

/* ---- import ------------------------------------------------------------------------------------------ */

static int import_from(const struct move *m, const char *file)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "file", file);
    cli_buf_addf(&args, ",\"new\":%s}", m->new ? "true" : "false");
    int rc = cli_stored_call_new("import", "import", args.p, m->store, &result);
    cli_buf_free(&args);
    if (rc != CLI_EXIT_DONE)
        return rc;
    hocket_json *answer = hocket_json_parse(result.json.p, result.json.n, NULL);
    const hocket_json *ids = hocket_json_get(answer, "ids");
    int64_t there = cli_int(answer, "there");
    for (size_t i = 0; i < hocket_json_count(ids); i++) {
        const char *id = hocket_json_text(hocket_json_at(ids, i), "", NULL);
        cli_out_line(id, strlen(id));
    }
    if (there > 0)
        fprintf(stderr, "hocket import: %lld runs were there already, and stay as they are\n",
            (long long) there);
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
    .summary = "import exported runs",
    .about = "Prints the id of each run. A run is imported completely or not at all; of several, "
             "existing\n"
             "ones stay unchanged. - is stdin. Import runs only from people whose scripts you "
             "would run:\n"
             "their files run when you resume them.",
    .examples = "  hocket import trip.run\n"
                "  hocket show $(hocket import --new trip.run)\n",
    .options = import_options,
    .main = main_import,
};
