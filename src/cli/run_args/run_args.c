/* What `run` and `chat` can be asked for: one table of options for both, and for those like them. */
#include "cli/run_args/run_args.h"

#include <string.h>

#include "cli/exit.h"
#include "cli/run_args/run_args_impl.h"
#include "cli/text.h"

enum {
    MODEL = 1,
    SET,
    APPROVE,
    MAX_TURNS,
    MAX_TOKENS,
    MAX_COST,
    PROJECT,
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
    OFFER,
    JOBS,
    POOL_LOCAL,
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
        "what becomes of tool calls that need approval: ask (the default; where nobody is\n"
        "there the run waits in the store), allow or deny; RULE=VERDICT for some calls, as in\n"
        "'execute_command(git *)=allow'; can be given several times" },
    { MAX_TURNS, 0, "max-turns", "N", "model turns of each agent, at most" },
    { MAX_TOKENS, 0, "max-tokens", "N",
        "tokens of the whole run, in and out, at most; it then ends with a\n"
        "last answer (exit code 5)" },
    { MAX_COST, 0, "max-cost", "USD", "the same for what the run costs, as in 0.50" },
    { PROJECT, 0, "project", "NAME",
        "what it belongs to: what it costs is drawn from the budget that the project has for\n"
        "the day (hocket budget)" },
    { PRICE, 0, "price", "P/M=IN,OUT",
        "what a model costs, USD per million tokens, as in mycloud/large=2,8; a third\n"
        "number is for input from the provider's cache; can be given several times" },
    { CONTEXT, 0, "context", "KEY=VALUE",
        "what is done when a conversation fills its model's window: strategy=summary,\n"
        "results or none; at=SHARE, keep=SHARE, model=P/M, window=TOKENS; can be given\n"
        "several times" },
    { FILES, 'f', "attach", "FILE",
        "a picture, a recording, a PDF or a text that goes with the input; what it is its\n"
        "content says; can be given several times" },
    { TIMEOUT, 't', "timeout", "SECONDS",
        "cancel the run when its work takes longer (exit code 124); waiting for people does not "
        "count" },
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
    { POOL_LOCAL, 0, "pool-local", NULL,
        "agents with 'pool' work in this process, too; else their calls wait for workers of\n"
        "that pool (hocket work)" },
    { OFFER, 0, "offer", "NAME",
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
          cli_not_for_eval[] = { MODEL, MAX_COST, PROJECT, FILES, EVENTS, JSON, STRICT, RECORD,
              REPLAY, HISTORY, WORKDIR, WATCH, JOBS, OFFER, CONTINUE, RESUME, ALL, ALL_RUNS, PORT,
              NO_TOKEN, 0 },
          cli_not_for_schedule[] = { EVENTS, JSON, STRICT, RECORD, REPLAY, HISTORY, WORKDIR, WATCH,
              OFFER, DURABILITY, CONTINUE, RESUME, ALL, ALL_RUNS, PORT, NO_TOKEN, QUIET, VERBOSE,
              NO_COLOR, 0 },
          cli_not_for_resume[] = { MODEL, SET, PROJECT, PRICE, CONTEXT, FILES, TIMEOUT, RECORD,
              REPLAY, HISTORY, WORKDIR, JOBS, POOL_LOCAL, CONTINUE, RESUME, WATCH, ALL, PORT,
              NO_TOKEN, 0 };

int cli_run_args_model(struct cli_run_args *a, const char *value)
{
    return cli_set_model(a, value);
}

int cli_run_args_set(void *ud, int id, const char *value)
{
    struct cli_run_args *a = ud;
    if (value && !cli_text_is_utf8(value, strlen(value)))
        return cli_usage(a->command, "an option's value is not valid UTF-8");
    switch (id) {
    case MODEL: return cli_set_model(a, value);
    case SET: return cli_set_variable(a, value);
    case CONTEXT: return cli_set_context(a, value);
    case FILES: return cli_add_file(a, value);
    case APPROVE: return cli_set_approve(a, value);
    case MAX_TURNS: return cli_set_max_turns(a, value);
    case MAX_TOKENS: return cli_set_max_tokens(a, value);
    case MAX_COST: return cli_set_max_cost(a, value);
    case PROJECT: return cli_set_project(a, value);
    case PRICE: return cli_set_price(a, value);
    case TIMEOUT: return cli_set_timeout(a, value);
    case EVENTS: a->events = value; return 0;
    case RECORD: a->record = value; return 0;
    case REPLAY: a->replay = value; return 0;
    case WORKDIR: a->workdir = value; return 0;
    case SANDBOX: return cli_set_sandbox(a, value);
    case JOBS: return cli_set_jobs(a, value);
    case TRUST: return a->trust = true, 0;
    case POOL_LOCAL: return a->pool_local = true, 0;
    case OFFER: a->offer = value; return 0;
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
    case PORT: return cli_set_port(a, value);
    case QUIET: return a->quiet = true, 0;
    case VERBOSE: return a->verbose = true, 0;
    default: return a->no_color = true, 0;
    }
}
