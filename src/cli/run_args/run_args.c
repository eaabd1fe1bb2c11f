/* What `run` and `chat` were asked for: one table of options for both, and the options of the
 * run as JSON, which is all that the host sees of them. Values are checked here as far as that
 * needs no run, so that a mistake is told before anything starts. */
#include "cli/run_args/run_args.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/text.h"

#define INPUT_MAX ((size_t) 16 << 20)

enum {
    MODEL = 1,
    SET,
    APPROVE,
    MAX_TURNS,
    MAX_TOKENS,
    MAX_COST,
    PRICE,
    CONTEXT,
    FILES,
    TIMEOUT,
    EVENTS,
    JSON,
    HISTORY,
    RECORD,
    REPLAY,
    WORKDIR,
    TRUST,
    SANDBOX,
    NETWORK,
    WATCH,
    ATTACH,
    JOBS,
    STORE,
    DURABILITY,
    CONTINUE,
    RESUME,
    ALL_RUNS,
    STRICT,
    ALL,
    PORT,
    NO_TOKEN,
    QUIET,
    VERBOSE,
    NO_COLOR
};

const struct cli_option cli_run_options[] = {
    { MODEL, 'm', "model", "P/M",
        "the model for all agents: provider/model, as in openai/gpt-6.1-terra;\n"
        "AGENT=P/M for one agent; can be given several times" },
    { SET, 's', "set", "KEY=VALUE",
        "a value for {{KEY}} in the prompts; can be given several times" },
    { APPROVE, 'a', "approve", "VERDICT",
        "what becomes of tool calls that need approval: ask (the default; denied where\n"
        "nobody can be asked), allow or deny; RULE=VERDICT for some calls, as in\n"
        "'execute_command(git *)=allow'; can be given several times" },
    { MAX_TURNS, 0, "max-turns", "N", "model turns of each agent, at most" },
    { MAX_TOKENS, 0, "max-tokens", "N",
        "tokens of the whole run, in and out, at most; it then ends with a\n"
        "last answer (exit code 5)" },
    { MAX_COST, 0, "max-cost", "USD", "the same for what the run costs, as in 0.50" },
    { PRICE, 0, "price", "P/M=IN,OUT",
        "what a model costs, USD per million tokens, as in mycloud/large=2,8; a third\n"
        "number is for input from the provider's cache; can be given several times" },
    { CONTEXT, 0, "context", "KEY=VALUE",
        "what is done when a conversation fills its model's window: strategy=summary,\n"
        "results or none; at=SHARE, keep=SHARE, model=P/M, window=TOKENS; can be given\n"
        "several times" },
    { FILES, 'f', "file", "FILE",
        "a picture, a recording, a PDF or a text that goes with the input; what it is its\n"
        "content says; can be given several times" },
    { TIMEOUT, 't', "timeout", "SECONDS", "cancel the run when it takes longer (exit code 124)" },
    { EVENTS, 'e', "events", "FILE",
        "write every event as a line of JSON; '-' is stdout, which then has\n"
        "the events only" },
    { JSON, 'j', "json", NULL,
        "print one JSON object in place of the answer, also when the run\n"
        "fails: run ok text error finish partial simulated models usage tree tasks\n"
        "document seconds" },
    { STRICT, 0, "strict", NULL,
        "an answer that was made without all is a failure (exit code 1): somebody who\n"
        "was called failed, or a task is not done" },
    { RECORD, 0, "record", "FILE",
        "write every exchange with a model to FILE, without keys, to be replayed" },
    { REPLAY, 0, "replay", "FILE",
        "answer from a recording, without network and keys; the first request\n"
        "that is not in it ends the run and is told" },
    { HISTORY, 0, "history", "FILE",
        "keep what is typed in FILE, for the arrow keys of later times;\n"
        "without it nothing is written anywhere" },
    { WORKDIR, 'C', "workdir", "DIR", "run in DIR; TARGET and FILE are still looked up from here" },
    { TRUST, 0, "trust", NULL,
        "the Lua of TARGET's folder may run: its main.lua, its sim.lua and their modules;\n"
        "without it the first run of a folder asks, and is refused where nobody is there" },
    { SANDBOX, 0, "sandbox", "LEVEL",
        "the walls around programs that tools run: best (the default: the best there is\n"
        "here), required (fail rather than run without), bubblewrap, landlock, limits" },
    { NETWORK, 0, "network", "HOSTS",
        "what commands of tools may reach: none (the default), all, or named hosts, as in\n"
        "api.example.org,*.example.net,example.org:8443; others ask, and are refused\n"
        "where nobody is there" },
    { JOBS, 0, "jobs", "N", "agents at work at once, at most; no limit unless given" },
    { ATTACH, 0, "attach", "NAME",
        "let 'hocket attach NAME' look into it while it runs, and act on it; '-' names it\n"
        "by the number of its process" },
    { STORE, 0, "store", "FILE|off",
        "where the run is kept, so that it can be resumed, shown and replayed; else HOCKET_STORE,\n"
        "else ~/.local/state/hocket/runs.db, for 30 days or 1 GB. With --record or --replay\n"
        "it is not kept" },
    { DURABILITY, 0, "durability", "LEVEL",
        "normal: what is kept survives the end of the process (the default); full: a loss of\n"
        "power, too, before a tool changes anything" },
    { CONTINUE, 0, "continue", NULL, "go on with the conversation that was left last" },
    { RESUME, 0, "resume", "ID",
        "go on with that conversation; without an ID it is chosen from a list" },
    { ALL_RUNS, 0, "all", NULL, "all runs that were cut off, or are parked, one after the other" },
    { WATCH, 'w', "watch", NULL, "run again each time a file of TARGET changes, until Ctrl-C" },
    { ALL, 0, "all", NULL, "the agents of a directory that others name become tools as well" },
    { PORT, 'p', "port", "N",
        "serve over HTTP, at this port of 127.0.0.1 (0: one that is free), instead of\n"
        "standard input and output" },
    { NO_TOKEN, 0, "no-token", NULL,
        "let in every program of this machine; else only those that send the token, which\n"
        "is HOCKET_MCP_TOKEN, or made and shown" },
    { QUIET, 'q', "quiet", NULL,
        "no progress: only errors, questions and the notes on\n"
        "simulated and on partial answers" },
    { VERBOSE, 'v', "verbose", NULL, "tool calls, model calls with tokens and times as well" },
    { NO_COLOR, 0, "no-color", NULL, "no colours; so does NO_COLOR in the environment" },
    { 0 },
};

const int cli_not_for_run[] = { HISTORY, CONTINUE, RESUME, ALL, ALL_RUNS, PORT, NO_TOKEN, 0 },
          cli_not_for_chat[] = { JSON, STRICT, WATCH, ALL, ALL_RUNS, PORT, NO_TOKEN, 0 },
          cli_not_for_serve[] = { EVENTS, FILES, JSON, STRICT, RECORD, REPLAY, HISTORY, WATCH,
              QUIET, VERBOSE, NO_COLOR, CONTINUE, RESUME, ALL_RUNS, 0 },
          cli_not_for_endpoints[] = { EVENTS, FILES, JSON, STRICT, RECORD, REPLAY, HISTORY, WATCH,
              QUIET, VERBOSE, NO_COLOR, CONTINUE, RESUME, ALL_RUNS, ALL, PORT, NO_TOKEN, 0 },
          cli_not_for_acp[] = { EVENTS, FILES, JSON, STRICT, RECORD, REPLAY, HISTORY, WATCH, QUIET,
              VERBOSE, NO_COLOR, CONTINUE, RESUME, ALL, ALL_RUNS, WORKDIR, PORT, NO_TOKEN, 0 },
          cli_not_for_resume[] = { MODEL, SET, APPROVE, MAX_TURNS, MAX_TOKENS, MAX_COST, PRICE,
              CONTEXT, FILES, TIMEOUT, RECORD, REPLAY, HISTORY, WORKDIR, TRUST, SANDBOX, NETWORK,
              JOBS, CONTINUE, RESUME, WATCH, ALL, PORT, NO_TOKEN, 0 };

/* ---- Pairs ------------------------------------------------------------- */

static void set_pair(struct cli_pairs *p, const char *name, size_t n, const char *value)
{
    for (size_t i = 0; i < p->count; i++)
        if (strlen(p->list[i].name) == n && memcmp(p->list[i].name, name, n) == 0) {
            p->list[i].value = value;
            return;
        }
    if (p->count == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 8;
        p->list = realloc(p->list, p->cap * sizeof(*p->list));
        if (!p->list)
            cli_nomem();
    }
    char *copy = strndup(name, n);
    if (!copy)
        cli_nomem();
    p->list[p->count++] = (struct cli_pair){ copy, value };
}

static void free_pairs(struct cli_pairs *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->list[i].name);
    free(p->list);
}

static bool is_word(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", p[i]))
            return false;
    return n > 0;
}

/* ---- Options ----------------------------------------------------------- */

/* A model's own name may hold '=', a provider's and an agent's may not. */
static int set_model(struct cli_run_args *a, const char *value)
{
    size_t slash = strcspn(value, "/"), equals = strcspn(value, "=");
    const char *model = equals < slash ? value + equals + 1 : value;
    size_t name = strcspn(model, "/");
    if (!is_word(model, model[name] ? name : strcspn(model, ".:"))
        || (equals < slash && !is_word(value, equals)) || model[strlen(model) - 1] == '/')
        return cli_usage(a->command,
            "'--model %s': expected provider/model, as in openai/gpt-6.1-terra, or AGENT=P/M",
            value);
    if (equals < slash)
        set_pair(&a->models, value, equals, model);
    else
        a->model = value;
    return 0;
}

static int set_variable(struct cli_run_args *a, const char *value)
{
    size_t n = strcspn(value, "=");
    if (!value[n] || !is_word(value, n))
        return cli_usage(a->command, "'--set %s': expected KEY=VALUE", value);
    set_pair(&a->variables, value, n, value + n + 1);
    return 0;
}

static bool is_verdict(const char *word)
{
    return strcmp(word, "allow") == 0 || strcmp(word, "ask") == 0 || strcmp(word, "deny") == 0;
}

/* RULE=VERDICT or VERDICT. What stands in a rule is looked at when the run begins. */
static int set_approve(struct cli_run_args *a, const char *value)
{
    const char *equals = strrchr(value, '=');
    if (equals == value || !is_verdict(equals ? equals + 1 : value))
        return cli_usage(a->command,
            "'--approve %s': expected allow, ask or deny, or RULE=allow, as in "
            "'execute_command(git *)=allow'",
            value);
    set_pair(&a->approve, value, strlen(value), "");
    return 0;
}

static int set_max_turns(struct cli_run_args *a, const char *value)
{
    if (cli_parse_int(value, 1, 1000000, &a->max_turns))
        return 0;
    return cli_usage(a->command, "'--max-turns %s': expected a whole number of at least 1", value);
}

static int set_max_tokens(struct cli_run_args *a, const char *value)
{
    a->has_max_tokens = cli_parse_int(value, 0, INT64_MAX / 2, &a->max_tokens);
    return a->has_max_tokens ? 0
                             : cli_usage(a->command,
                                 "'--max-tokens %s': expected a whole number of at least 0", value);
}

static int set_max_cost(struct cli_run_args *a, const char *value)
{
    a->has_max_cost = cli_parse_seconds(value, &a->max_cost);
    return a->has_max_cost
               ? 0
               : cli_usage(a->command, "'--max-cost %s': expected dollars, as in 0.50", value);
}

/* Reads "2,8" or "2,8,0.2"; how many, 0 when one is no amount. */
static size_t read_amounts(const char *text, double amounts[3])
{
    size_t n = 0;
    for (const char *p = text; n < 3; n++) {
        char one[40];
        size_t len = strcspn(p, ",");
        snprintf(one, sizeof(one), "%.*s", len < sizeof(one) ? (int) len : 0, p);
        if (!cli_parse_seconds(one, &amounts[n]))
            return 0;
        if (!p[len])
            return n + 1;
        p += len + 1;
    }
    return 0;
}

static int set_price(struct cli_run_args *a, const char *value)
{
    const char *equals = strrchr(value, '='), *slash = strchr(value, '/');
    double amounts[3];
    bool named = equals && slash && slash > value && slash + 1 < equals;
    if (!named || read_amounts(equals + 1, amounts) < 2)
        return cli_usage(a->command,
            "'--price %s': expected a model and USD per million tokens, in and out, as in "
            "mycloud/large=2,8",
            value);
    set_pair(&a->prices, value, (size_t) (equals - value), equals + 1);
    return 0;
}

/* What the keys are is looked at when the run begins. */
static int set_context(struct cli_run_args *a, const char *value)
{
    size_t n = strcspn(value, "=");
    if (!value[n] || !value[n + 1] || !is_word(value, n))
        return cli_usage(
            a->command, "'--context %s': expected KEY=VALUE, as in window=32000", value);
    set_pair(&a->context, value, n, value + n + 1);
    return 0;
}

/* Two of a name are one. */
static int add_file(struct cli_run_args *a, const char *value)
{
    char here[PATH_MAX];
    struct cli_buf path = { 0 };
    if (!*value)
        return cli_usage(a->command, "'--file' needs a file's name");
    bool address = strncmp(value, "https://", 8) == 0; /* of a picture: the provider gets it */
    if (!address && value[0] != '/' && getcwd(here, sizeof(here)))
        cli_buf_addf(&path, "%s/", here);
    cli_buf_adds(&path, value);
    int error = !address && access(cli_buf_text(&path), R_OK) < 0 ? errno : 0;
    if (!error)
        set_pair(&a->files, cli_buf_text(&path), path.n, "");
    cli_buf_free(&path);
    return error ? cli_usage(a->command, "'--file %s': %s", value, strerror(error)) : 0;
}

static int set_timeout(struct cli_run_args *a, const char *value)
{
    if (cli_parse_seconds(value, &a->timeout) && a->timeout > 0)
        return 0;
    return cli_usage(a->command, "'--timeout %s': expected seconds, as in 90 or 2.5", value);
}

static int set_sandbox(struct cli_run_args *a, const char *value)
{
    static const char *const levels[] = { "best", "required", "bubblewrap", "landlock", "limits" };
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(value, levels[i]) == 0)
            return a->sandbox = levels[i], 0;
    return cli_usage(a->command,
        "'--sandbox %s': expected best, required, bubblewrap, landlock or limits (see hocket "
        "doctor)",
        value);
}

int cli_run_args_set(void *ud, int id, const char *value)
{
    struct cli_run_args *a = ud;
    if (value && !cli_text_is_utf8(value, strlen(value)))
        return cli_usage(a->command, "an option's value is not valid UTF-8");
    switch (id) {
    case MODEL: return set_model(a, value);
    case SET: return set_variable(a, value);
    case CONTEXT: return set_context(a, value);
    case FILES: return add_file(a, value);
    case APPROVE: return set_approve(a, value);
    case MAX_TURNS: return set_max_turns(a, value);
    case MAX_TOKENS: return set_max_tokens(a, value);
    case MAX_COST: return set_max_cost(a, value);
    case PRICE: return set_price(a, value);
    case TIMEOUT: return set_timeout(a, value);
    case EVENTS: a->events = value; return 0;
    case RECORD: a->record = value; return 0;
    case REPLAY: a->replay = value; return 0;
    case WORKDIR: a->workdir = value; return 0;
    case SANDBOX: return set_sandbox(a, value);
    case JOBS:
        if (cli_parse_int(value, 1, 1000000, &a->jobs))
            return 0;
        return cli_usage(a->command, "'--jobs %s': expected a whole number of at least 1", value);
    case TRUST: return a->trust = true, 0;
    case ATTACH: a->attach = value; return 0;
    case STORE: a->store = value; return 0;
    case DURABILITY: a->durability = value; return 0;
    case CONTINUE: a->resume = ""; return 0;
    case RESUME: a->resume = value; return 0;
    case ALL_RUNS: return a->all = true, 0;
    case WATCH: return a->watch = true, 0;
    case NETWORK: return a->network = value, 0;
    case HISTORY: a->history = value; return 0;
    case JSON: return a->json = true, 0;
    case STRICT: return a->strict = true, 0;
    case ALL: return a->all_agents = true, 0;
    case NO_TOKEN: return a->no_token = true, 0;
    case PORT:
        a->has_port = cli_parse_int(value, 0, 65535, &a->port);
        return a->has_port
                   ? 0
                   : cli_usage(a->command, "'--port %s': expected a number up to 65535", value);
    case QUIET: return a->quiet = true, 0;
    case VERBOSE: return a->verbose = true, 0;
    default: return a->no_color = true, 0;
    }
}

/* ---- Input ------------------------------------------------------------- */

static int read_stdin(struct cli_run_args *a)
{
    struct cli_buf *out = &a->input;
    char chunk[16384];
    for (;;) {
        ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cli_usage(a->command, "cannot read the input from stdin: %s", strerror(errno));
        if (n == 0)
            return 0;
        cli_buf_add(out, chunk, (size_t) n);
        if (out->n > INPUT_MAX)
            return cli_usage(a->command, "the input is larger than %zu MiB", INPUT_MAX >> 20);
    }
}

static int read_input(struct cli_run_args *a, char **words, int count)
{
    a->has_input = count > 0;
    if (count == 1 && strcmp(words[0], "-") == 0 && strcmp(a->command, "chat") == 0)
        return cli_usage(
            "chat", "'-': what comes from stdin is said line by line anyway: leave it out");
    if (count == 1 && strcmp(words[0], "-") == 0) {
        a->input_from_stdin = true;
        int rc = read_stdin(a);
        if (rc != 0)
            return rc;
    } else {
        for (int i = 0; i < count; i++)
            cli_buf_addf(&a->input, "%s%s", i ? " " : "", words[i]);
    }
    if (!cli_text_is_utf8(cli_buf_text(&a->input), a->input.n))
        return cli_usage(a->command, "the input is not valid UTF-8");
    return 0;
}

/* FILE as it is seen from here, wherever the run will work. */
static const char *from_here(const struct cli_run_args *a, const char *path, struct cli_buf *made)
{
    char here[PATH_MAX];
    if (!path || !a->workdir || path[0] == '/' || !getcwd(here, sizeof(here)))
        return path;
    cli_buf_addf(made, "%s/%s", here, path);
    return made->p;
}

/* The same file wherever a run goes on. */
static const char *store_from_here(const char *store, struct cli_buf *made)
{
    char here[PATH_MAX];
    if (!store || !*store || *store == '/' || strcmp(store, "off") == 0
        || !getcwd(here, sizeof(here)))
        return store;
    cli_buf_addf(made, "%s/%s", here, store);
    return made->p;
}

/* What goes on has its target and its options. */
static int read_resume(struct cli_run_args *a, const struct cli_args *args)
{
    bool is_resume = strcmp(a->command, "resume") == 0;
    if (a->json && a->events && strcmp(a->events, "-") == 0)
        return cli_usage(a->command, "'--json' and '--events -' both want stdout");
    if (is_resume && args->count > 0)
        a->resume = args->words[0];
    if (is_resume && args->count == (a->all ? 0 : 1))
        return CLI_GO_ON;
    if (is_resume)
        return cli_usage("resume", "which run? One ID (hocket runs lists them), or --all");
    if (args->count > 0)
        return cli_usage(a->command, "a conversation that goes on has its target: leave '%s' out",
            args->words[0]);
    return CLI_GO_ON;
}

int cli_run_args_read(
    const struct cli_command *self, int argc, char **argv, struct cli_run_args *out)
{
    struct cli_args args = { .ud = out };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    out->store = store_from_here(out->store, &out->store_path);
    if (out->resume || strcmp(out->command, "resume") == 0)
        return read_resume(out, &args);
    bool is_chat = strcmp(out->command, "chat") == 0;
    if (args.count == 0 && !is_chat)
        return cli_usage(out->command,
            "what is to be run? A script.lua, an agent.md, or a directory with agents");
    if (out->json && out->events && strcmp(out->events, "-") == 0)
        return cli_usage(
            out->command, "'--json' and '--events -' both want stdout: write the events to a file");
    if (out->record && out->replay)
        return cli_usage(
            out->command, "'--record' and '--replay': a run is either recorded or replayed");
    out->record = from_here(out, out->record, &out->record_path);
    out->replay = from_here(out, out->replay, &out->replay_path);
    out->target = args.count > 0 ? args.words[0] : "assistant";
    if (!cli_text_is_utf8(out->target, strlen(out->target)))
        return cli_usage(out->command, "the target's name is not valid UTF-8");
    rc = args.count > 0 ? read_input(out, args.words + 1, args.count - 1) : 0;
    return rc ? rc : CLI_GO_ON;
}

void cli_run_args_free(struct cli_run_args *a)
{
    free_pairs(&a->models);
    free_pairs(&a->variables);
    free_pairs(&a->prices);
    free_pairs(&a->approve);
    free_pairs(&a->context);
    free_pairs(&a->files);
    cli_buf_free(&a->input);
    cli_buf_free(&a->record_path);
    cli_buf_free(&a->replay_path);
    cli_buf_free(&a->store_path);
}

/* ---- JSON -------------------------------------------------------------- */

static void add_text(struct cli_buf *out, const char *name, const char *value)
{
    cli_buf_key(out, name);
    cli_buf_json(out, value, strlen(value));
}

static void add_pairs(struct cli_buf *out, const char *name, const struct cli_pairs *p)
{
    if (p->count == 0)
        return;
    cli_buf_key(out, name);
    cli_buf_adds(out, "{");
    for (size_t i = 0; i < p->count; i++)
        add_text(out, p->list[i].name, p->list[i].value);
    cli_buf_adds(out, "}");
}

static void add_names(struct cli_buf *out, const char *name, const struct cli_pairs *p)
{
    if (p->count == 0)
        return;
    cli_buf_key(out, name);
    cli_buf_adds(out, "[");
    for (size_t i = 0; i < p->count; i++) {
        cli_buf_adds(out, i ? "," : "");
        cli_buf_json(out, p->list[i].name, strlen(p->list[i].name));
    }
    cli_buf_adds(out, "]");
}

static void add_budget(const struct cli_run_args *a, struct cli_buf *out)
{
    if (!a->has_max_tokens && !a->has_max_cost)
        return;
    cli_buf_key(out, "budget");
    cli_buf_adds(out, "{");
    if (a->has_max_tokens) {
        cli_buf_key(out, "tokens");
        cli_buf_addf(out, "%lld", (long long) a->max_tokens);
    }
    if (a->has_max_cost) {
        cli_buf_key(out, "cost");
        cli_buf_addf(out, "%.12g", a->max_cost);
    }
    cli_buf_adds(out, "}");
}

/* What reads as a number is one. */
static void add_context(const struct cli_run_args *a, struct cli_buf *out)
{
    if (a->context.count == 0)
        return;
    cli_buf_key(out, "context");
    cli_buf_adds(out, "{");
    for (size_t i = 0; i < a->context.count; i++) {
        const struct cli_pair *p = &a->context.list[i];
        char *end;
        double number = strtod(p->value, &end);
        if (*end || !(number >= 0 && number < 1e15) || strspn(p->value, "0123456789.") == 0) {
            add_text(out, p->name, p->value);
            continue;
        }
        cli_buf_key(out, p->name);
        cli_buf_addf(out, "%.15g", number);
    }
    cli_buf_adds(out, "}");
}

static void add_prices(const struct cli_run_args *a, struct cli_buf *out)
{
    struct cli_buf list = { 0 };
    double amounts[3];
    for (size_t i = 0; i < a->prices.count; i++) {
        size_t n = read_amounts(a->prices.list[i].value, amounts);
        cli_buf_adds(&list, i ? "," : "{");
        cli_buf_json(&list, a->prices.list[i].name, strlen(a->prices.list[i].name));
        for (size_t k = 0; k < n; k++)
            cli_buf_addf(&list, "%s%.12g", k ? "," : ":[", amounts[k]);
        cli_buf_adds(&list, "]");
    }
    if (list.n == 0)
        return;
    cli_buf_key(out, "prices");
    cli_buf_addf(out, "%s}", list.p);
    cli_buf_free(&list);
}

void cli_run_args_json(const struct cli_run_args *a, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    if (a->model)
        add_text(out, "model", a->model);
    if (a->conversation) {
        cli_buf_key(out, "conversation");
        cli_buf_adds(out, "true");
        cli_buf_key(out, "deltas");
        cli_buf_adds(out, "true");
    }
    cli_buf_key(out, "trust"); /* a target that was typed may be a stranger's folder */
    cli_buf_adds(out, a->trust ? "true" : a->on_terminal ? "\"ask\"" : "false");
    if (!a->input_from_stdin && (a->on_terminal || !a->conversation)) {
        cli_buf_key(out, "typed");
        cli_buf_adds(out, "true");
    }
    if (a->interactive) {
        cli_buf_key(out, "interactive");
        cli_buf_adds(out, "true");
    }
    if (a->park) {
        cli_buf_key(out, "park");
        cli_buf_adds(out, "true");
    }
    if (isatty(STDERR_FILENO)) { /* the note on it is seen there */
        cli_buf_key(out, "simulate");
        cli_buf_adds(out, "true");
    }
    if (!a->json && !a->verbose) { /* nobody looks at it */
        cli_buf_key(out, "tree");
        cli_buf_adds(out, "false");
    }
    if (a->sandbox)
        add_text(out, "sandbox", a->sandbox);
    if (a->jobs > 0) {
        cli_buf_key(out, "jobs");
        cli_buf_addf(out, "%lld", (long long) a->jobs);
    }
    if (a->network)
        add_text(out, "network", a->network);
    add_pairs(out, "models", &a->models);
    add_pairs(out, "variables", &a->variables);
    add_names(out, "approve", &a->approve);
    add_names(out, "files", &a->files);
    if (a->max_turns > 0) {
        cli_buf_key(out, "max_turns");
        cli_buf_addf(out, "%lld", (long long) a->max_turns);
    }
    add_budget(a, out);
    add_context(a, out);
    add_prices(a, out);
    if (a->record)
        add_text(out, "record", a->record);
    if (a->replay)
        add_text(out, "replay", a->replay);
    if (a->timeout > 0) {
        cli_buf_key(out, "timeout");
        cli_buf_addf(out, "%.9g", a->timeout);
    }
    cli_buf_adds(out, "}");
}
