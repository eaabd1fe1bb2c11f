/* What the commands over kept runs (runs, show, answer, fork, …) have in common: a host that opens
 * the store and does nothing but the one operation, and errors said in one form. */

#include "cli/command/command_impl.h"

#include <stdio.h>
#include <string.h>

#include "cli/args/args.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/store.h"
#include "cli/text.h"

static int call(const char *command, const char *operation, const char *args_json,
    const struct hocket_options *store, struct cli_result *out)
{
    int status = cli_host_call_store(operation, args_json, store, out);
    if (status >= 0)
        return CLI_EXIT_DONE;
    cli_result_complain(out, command);
    cli_result_free(out);
    return cli_exit_of(status);
}

/* Looks at a store that is there; a mistyped name makes no empty one. */
int cli_stored_call(const char *command, const char *operation, const char *args_json,
    const char *store, struct cli_result *out)
{
    struct hocket_options o = { 0 };
    *out = (struct cli_result){ 0 };
    if (!cli_store_look(&o, command, store))
        return CLI_EXIT_FAILED;
    return call(command, operation, args_json, &o, out);
}

/* For commands that put a run into the store, which may be its first. */
int cli_stored_call_new(const char *command, const char *operation, const char *args_json,
    const char *store, struct cli_result *out)
{
    struct hocket_options o = { 0 };
    *out = (struct cli_result){ 0 };
    cli_store_options(&o, store, NULL);
    if (!o.store)
        return cli_usage(command, "the store is off, or there is no home for it: --store FILE");
    return call(command, operation, args_json, &o, out);
}

int cli_stored_show(const char *command, const char *operation, const char *args_json,
    const char *store, bool json, void (*print)(const struct cli_result *result, const void *ud),
    const void *ud)
{
    struct cli_result result;
    int rc = cli_stored_call(command, operation, args_json, store, &result);
    if (rc != CLI_EXIT_DONE)
        return rc;
    if (json)
        cli_out_json(result.json.p, result.json.n);
    else
        print(&result, ud);
    cli_result_free(&result);
    return cli_out_end();
}

void cli_stored_print(const struct cli_result *result, bool json)
{
    if (json)
        cli_out_json(result->json.p, result->json.n);
    else if (result->text.n > 0)
        cli_out_shown(result->text.p, result->text.n);
}

int cli_stored_answer(
    const char *name, struct cli_buf *args_json, const char *store, bool makes, bool json)
{
    struct cli_result result;
    int rc = (makes ? cli_stored_call_new : cli_stored_call)(
        name, name, cli_buf_text(args_json), store, &result);
    cli_buf_free(args_json);
    if (rc != CLI_EXIT_DONE)
        return rc;
    cli_stored_print(&result, json);
    cli_result_free(&result);
    return cli_out_end();
}
