/* The operation "admit_run" looks at the run's code, and asks where it is not known; what was said yes to is remembered. */
#include "cli/kept/kept.h"

#include <string.h>
#include <unistd.h>

#include "cli/args/args.h"
#include "cli/ask/ask.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/store.h"

static int ask(const char *command, const struct hocket_options *store, const char *args)
{
    struct cli_result result = { 0 };
    struct cli_screen screen;
    int rc = CLI_EXIT_FAILED;
    cli_screen_start(&screen, false, true);
    hocket_host *host = cli_host_open_store(&screen, store, &rc);
    if (!host)
        return rc;
    cli_ask_call(host, &screen, true, "admit_run", args, &result);
    cli_host_close(host);
    cli_screen_end(&screen);
    rc = result.status < 0 ? cli_exit_of(result.status) : CLI_GO_ON;
    if (rc != CLI_GO_ON)
        cli_result_complain(&result, command);
    cli_result_free(&result);
    return rc;
}

int cli_admit(const char *command, const char *store, const char *id, bool trust)
{
    struct hocket_options options = { 0 };
    struct cli_buf args = { 0 };
    if (trust || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return CLI_GO_ON;
    if (!cli_store_look(&options, command, store))
        return CLI_EXIT_FAILED;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    cli_buf_adds(&args, "}");
    int rc = ask(command, &options, args.p);
    cli_buf_free(&args);
    return rc;
}
