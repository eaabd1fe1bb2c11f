/* `hocket serve token`: tokens of clients, beside the owner's. The operation "serve_token" reads and writes them; no store is needed. */
#include <string.h>

#include "cli/args/args.h"
#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"

/* As it was given; NULL: not named. */
struct token {
    const char *name, *budget, *rate, *expires;
    struct cli_buf agents, scopes; /* JSON, without the brackets */
    bool json;
};

static int read_word(void *args, const char *command, const char *name, const char *value)
{
    struct token *t = args;
    if (!*value)
        return cli_wrong_value(command, name, value, "a name");
    cli_add_word(strcmp(name, "agent") == 0 ? &t->agents : &t->scopes, value);
    return 0;
}

static const struct cli_option options[] = {
    { CLI_TEXT(
        0, "name", "NAME", struct token, name, "create: its name, for example chat or ann") },
    { CLI_OWN(0, "agent", "AGENT", read_word,
        "create: an agent that it may run; repeatable; default: all") },
    { CLI_OWN(0, "scope", "SCOPE", read_word,
        "create: run, read, read-all, answer, manage or metrics; repeatable (run and read)") },
    { CLI_TEXT(0, "budget", "USD/day", struct token, budget,
        "create: the cost limit of its runs per day (UTC), for example 5/day") },
    { CLI_TEXT(0, "rate", "N/min", struct token, rate,
        "create: how often it may start or continue a run, for example 10/min, 2/s or 100/h") },
    { CLI_TEXT(0, "expires", "WHEN", struct token, expires,
        "create: its end: in 30d, 12h or 15min, or at the beginning of a day (UTC), for\n"
        "example 2027-01-31") },
    { CLI_FLAG('j', "json", struct token, json, "print one JSON object") },
    { 0 },
};

static int add_args(const struct token *t, const struct cli_args *args, struct cli_buf *out)
{
    const char *word = args->count > 0 ? args->words[0] : "";
    bool create = strcmp(word, "create") == 0, revoke = strcmp(word, "revoke") == 0;
    if (!create && !revoke && strcmp(word, "list") != 0)
        return cli_usage("serve token", "expected create, list or revoke");
    if (args->count != (revoke ? 2 : 1))
        return cli_usage("serve token", "%s: expected %s", word,
            revoke ? "the name or the id of a token" : "no words");
    bool has_options =
        t->name || t->budget || t->rate || t->expires || t->agents.n > 0 || t->scopes.n > 0;
    if (!create && has_options)
        return cli_usage("serve token", "%s takes no options but --json", word);
    if (create && !t->name)
        return cli_usage("serve token", "create: a token has a name (--name)");
    cli_buf_adds(out, "{");
    cli_buf_member(out, "word", word);
    if (revoke)
        cli_buf_member(out, "name", args->words[1]);
    cli_buf_member(out, "name", t->name);
    cli_buf_member(out, "budget", t->budget);
    cli_buf_member(out, "rate", t->rate);
    cli_buf_member(out, "expires", t->expires);
    if (t->agents.n > 0)
        cli_buf_addf(out, ",\"agents\":[%s]", cli_buf_text(&t->agents));
    if (t->scopes.n > 0)
        cli_buf_addf(out, ",\"scopes\":[%s]", cli_buf_text(&t->scopes));
    cli_buf_adds(out, "}");
    return 0;
}

static int answer(const struct token *t, const char *args_json)
{
    struct cli_result result = { 0 };
    int status = cli_host_call("serve_token", args_json, &result);
    if (status < 0)
        cli_result_complain(&result, "serve token");
    else
        cli_stored_print(&result, t->json);
    cli_result_free(&result);
    return status < 0 ? cli_exit_of(status) : cli_out_end();
}

static int main_token(const struct cli_command *self, int argc, char **argv)
{
    struct token t = { 0 };
    struct cli_args args = { .ud = &t };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && (rc = add_args(&t, &args, &json)) == 0)
        rc = answer(&t, json.p);
    cli_buf_free(&json);
    cli_buf_free(&t.agents);
    cli_buf_free(&t.scopes);
    return rc;
}

const struct cli_command cli_serve_token = {
    .name = "serve token",
    .usage = "create --name NAME | list | revoke NAME",
    .summary = "tokens for clients of hocket serve, each with its own rights",
    .about = "The owner's token may do everything. Give each client its own token:\n"
             "\n"
             "  create   create a token and print it, once; only its hash is stored\n"
             "  list     list the tokens, with their rights\n"
             "  revoke   end one: its requests and streams end within a second, its runs continue\n"
             "\n"
             "  run        start runs, and continue its own\n"
             "  read       read its own runs\n"
             "  read-all   read all runs\n"
             "  answer     answer questions and approvals of all runs\n"
             "  manage     read, continue, answer and remove all runs\n"
             "  metrics    read /metrics\n",
    .examples = "  hocket serve token create --name chat --agent guide --budget 5/day --rate "
                "10/min\n"
                "  hocket serve token create --name phone --scope answer --expires 30d\n"
                "  hocket serve token list\n"
                "  hocket serve token revoke chat\n",
    .options = options,
    .main = main_token,
};
