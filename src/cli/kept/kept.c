/* Finds a kept run to resume, and the folder where it ran: its target is a path as it was typed then. */
#include "cli/kept/kept.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/progress.h"
#include "cli/store.h"
#include "cli/text.h"

int cli_kept_find(const struct cli_run_args *args, const char *wish, hocket_json **runs)
{
    struct hocket_options store = { 0 };
    struct cli_result result;
    *runs = NULL;
    if (!cli_store_look(&store, args->command, args->store))
        return CLI_EXIT_FAILED;
    int status = cli_host_call_store("resumable", wish, &store, &result);
    if (status < 0)
        cli_result_complain(&result, args->command);
    else
        *runs = hocket_json_parse(cli_buf_text(&result.json), result.json.n, NULL);
    cli_result_free(&result);
    return *runs ? CLI_GO_ON : cli_exit_of(status);
}

int cli_kept_named(const char *command, const char *store, const char *word, struct cli_buf *id)
{
    const struct cli_run_args args = { .command = command, .store = store };
    struct cli_buf wish = { 0 };
    hocket_json *found;
    if (strcmp(word, "last") != 0 && strncmp(word, "last:", 5) != 0) {
        cli_buf_adds(id, word);
        return CLI_GO_ON;
    }
    cli_buf_adds(&wish, "{");
    cli_buf_member(&wish, "id", word);
    cli_buf_adds(&wish, "}");
    int rc = cli_kept_find(&args, wish.p, &found);
    cli_buf_free(&wish);
    if (rc == CLI_GO_ON)
        cli_buf_adds(id, cli_member(hocket_json_at(hocket_json_get(found, "runs"), 0), "id"));
    hocket_json_free(found);
    return rc;
}

static int go_there(const char *command, const hocket_json *run)
{
    const char *cwd = cli_member(run, "cwd");
    if (!*cwd || chdir(cwd) == 0)
        return CLI_GO_ON;
    int code = errno;
    struct cli_buf place = { 0 }; /* of a run that was imported it is anybody's word */
    cli_text_show(&place, cwd, strlen(cwd), false);
    fprintf(stderr, "hocket %s: %s was begun in %s: %s\n", command, cli_member(run, "id"),
        cli_buf_text(&place), strerror(code));
    cli_buf_free(&place);
    return CLI_EXIT_FAILED;
}

int cli_kept_place(const struct cli_run_args *args, const hocket_json *run)
{
    int rc = go_there(args->command, run);
    return rc == CLI_GO_ON ? cli_admit(
               args->command, args->store, cli_member(run, "id"), (args->flags & CLI_TRUST) != 0)
                           : rc;
}
