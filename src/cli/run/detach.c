/* `hocket run --detach`: the run is put into the store, for a worker, and its id on stdout. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/host/host.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/run/run.h"
#include "cli/store.h"
#include "cli/text.h"

static const char *not_for_it(const struct cli_run_args *a)
{
    return a->events                 ? "--events"
           : a->record               ? "--record"
           : a->replay               ? "--replay"
           : (a->flags & CLI_WATCH)  ? "--watch"
           : a->offer                ? "--offer"
           : (a->flags & CLI_STRICT) ? "--strict"
           : a->workdir              ? "--workdir"
           : a->ping                 ? "--ping"
                                     : NULL;
}

static void add_text(struct cli_buf *out, const char *name, const char *text, size_t n)
{
    cli_buf_key(out, name);
    cli_buf_json(out, text, n);
}

static void add_args(const struct cli_run_args *a, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    add_text(out, "target", a->target, strlen(a->target));
    if (a->has_input)
        add_text(out, "input", cli_buf_text(&a->input), a->input.n);
    if (a->pool)
        add_text(out, "pool", a->pool, strlen(a->pool));
    cli_buf_key(out, "options");
    cli_run_args_json(a, out);
    cli_buf_adds(out, "}");
}

static int failed(struct cli_result *result)
{
    int code = cli_exit_of(result->status);
    cli_result_complain(result, NULL);
    cli_result_free(result);
    return code;
}

int cli_run_detach(const struct cli_run_args *a)
{
    struct cli_result result = { 0 };
    struct hocket_options store = { 0 };
    struct cli_buf args = { 0 }, where = { 0 };
    const char *wrong = not_for_it(a);
    if (wrong)
        return cli_usage("run", "%s is not for a run that a worker does (--detach)", wrong);
    wrong = cli_store_for_others(&store, a->store, a->durability);
    if (wrong)
        return cli_usage("run", "%s", wrong);
    add_args(a, &args);
    int status = cli_host_call_store("submit", args.p, &store, &result);
    cli_buf_free(&args);
    if (status < 0)
        return failed(&result);
    cli_store_hint(&where, a->store);
    if (a->flags & CLI_JSON)
        cli_out_json(result.json.p, result.json.n);
    else
        cli_out_line(result.text.p, result.text.n);
    if (!(a->flags & CLI_QUIET) && isatty(STDERR_FILENO))
        fprintf(stderr, "a worker does it (hocket work%s); for its answer: hocket wait %s%s\n",
            cli_buf_text(&where), cli_buf_text(&result.text), cli_buf_text(&where));
    cli_buf_free(&where);
    cli_result_free(&result);
    return cli_out_end();
}
