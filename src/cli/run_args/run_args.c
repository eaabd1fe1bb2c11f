/* What `run` and `chat` can be asked for: one table of options for both, and for those like them. */
#include "cli/run_args/run_args.h"

#include <string.h>

#include "cli/exit.h"
#include "cli/run_args/run_args_impl.h"
#include "cli/text.h"

#define ALL_BUT(some) (~0u & ~(unsigned) (some))

/* A conversation's, the one that was left last. */
static int read_last(void *args, const char *command, const char *name, const char *value)
{
    (void) command, (void) name, (void) value;
    ((struct cli_run_args *) args)->resume = "";
    return 0;
}

const struct cli_option cli_run_options[] = {
    { CLI_OWN('m', "model", "P/M", cli_read_model,
          "the model for all agents: provider/model, as in openai/gpt-6.1-terra;\n"
          "AGENT=P/M for one agent; can be given several times"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_RESUME) },
    { CLI_OWN(0, "label", "KEY=VALUE", cli_read_label,
          "what hocket runs finds it by; can be given several times"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_SCHEDULE },
    { CLI_OWN('s', "set", "KEY=VALUE", cli_read_variable,
          "a value for {{KEY}} in the prompts; can be given several times"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_OWN('a', "approve", "[RULE=]ask|allow|deny", cli_read_approve,
        "what becomes of tool calls that need approval: ask (the default; where nobody is\n"
        "there the run waits in the store), allow or deny; RULE=VERDICT for some calls, as in\n"
        "'execute_command(git *)=allow'; can be given several times") },
    { CLI_COUNT(0, "max-turns", "N", struct cli_run_args, max_turns, 1, 1000000, 0,
        "model turns of each agent, at most") },
    { CLI_COUNT(0, "max-tokens", "N", struct cli_run_args, max_tokens, 0, INT64_MAX / 2, -1,
        "tokens of the whole run, in and out, at most; it then ends with a\n"
        "last answer (exit code 5)") },
    { CLI_NUMBER(0, "max-cost", "USD", struct cli_run_args, max_cost, 0, CLI_MOST_SECONDS, -1,
          "dollars, as in 0.50", "the same for what the run costs, as in 0.50"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL) },
    { CLI_OWN(0, "project", "NAME", cli_read_project,
          "what it belongs to: what it costs is drawn from the budget that the project has for\n"
          "the day (hocket budget)"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_RESUME) },
    { CLI_OWN(0, "price", "P/M=IN,OUT", cli_read_price,
          "what a model costs, USD per million tokens, as in mycloud/large=2,8; a third\n"
          "number is for input from the provider's cache; can be given several times"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_OWN(0, "context", "KEY=VALUE", cli_read_context,
          "what is done when a conversation fills its model's window: strategy=summary,\n"
          "results or none; at=SHARE, keep=SHARE, model=P/M, window=TOKENS; can be given\n"
          "several times"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_OWN('f', "attach", "FILE", cli_read_file,
          "a picture, a recording, a PDF or a text that goes with the input; what it is its\n"
          "content says; can be given several times"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_SCHEDULE },
    { CLI_NUMBER('t', "timeout", "SECONDS", struct cli_run_args, timeout, CLI_SOME_SECONDS,
          CLI_MOST_SECONDS, 0, "seconds, as in 90 or 2.5",
          "cancel the run when its work takes longer (exit code 124); waiting for people does not "
          "count"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_TEXT('e', "events", "FILE", struct cli_run_args, events,
          "write every event as a line of JSON; '-' is stdout, which then has\n"
          "the events only"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_RESUME },
    { CLI_BIT('j', "json", struct cli_run_args, flags, CLI_JSON,
          "print one JSON object in place of the answer, also when the run\n"
          "fails: run ok text error finish partial simulated models usage tree tasks\n"
          "document seconds"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_RESUME },
    { CLI_BIT(0, "strict", struct cli_run_args, flags, CLI_STRICT,
          "an answer that was made without all is a failure (exit code 1): somebody who\n"
          "was called failed, or a task is not done"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_RESUME },
    { CLI_TEXT(0, "record", "FILE", struct cli_run_args, record,
          "write every exchange with a model to FILE, without keys, to be replayed"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT },
    { CLI_TEXT(0, "replay", "FILE", struct cli_run_args, replay,
          "answer from a recording, without network and keys; the first request\n"
          "that is not in it ends the run and is told"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT },
    { CLI_TEXT(0, "history", "FILE", struct cli_run_args, history,
          "keep what is typed in FILE, for the arrow keys of later times;\n"
          "without it nothing is written anywhere"),
        .for_commands = CLI_FOR_CHAT },
    { CLI_TEXT('C', "workdir", "DIR", struct cli_run_args, workdir,
          "run in DIR; TARGET and FILE are still looked up from here"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_SERVE | CLI_FOR_MCP },
    { CLI_BIT(0, "trust", struct cli_run_args, flags, CLI_TRUST,
        "the Lua of TARGET's folder may run: its main.lua, its sim.lua and their modules;\n"
        "without it the first run of a folder asks, and is refused where nobody is there") },
    { CLI_OWN(0, "sandbox", "best|required|bubblewrap|landlock|limits", cli_read_sandbox,
        "the walls around programs that tools run: best (the default: the best there is\n"
        "here), required (fail rather than run without), bubblewrap, landlock, limits") },
    { CLI_TEXT(0, "network", "HOSTS", struct cli_run_args, network,
        "what commands of tools may reach: none (the default), all, or named hosts, as in\n"
        "api.example.org,*.example.net,example.org:8443; others ask, and are refused\n"
        "where nobody is there") },
    { CLI_COUNT(0, "jobs", "N", struct cli_run_args, jobs, 1, 1000000, 0,
          "agents at work at once, at most; no limit unless given"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_RESUME) },
    { CLI_BIT(0, "pool-local", struct cli_run_args, flags, CLI_POOL_LOCAL,
          "agents with 'pool' work in this process, too; else their calls wait for workers of\n"
          "that pool (hocket work)"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_TEXT(0, "offer", "NAME", struct cli_run_args, offer,
          "let 'hocket attach NAME' look into it while it runs, and act on it; '-' names it\n"
          "by the number of its process"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_SCHEDULE) },
    { CLI_TEXT(0, "store", "FILE|off", struct cli_run_args, store,
        "where the run is kept, so that it can be resumed, shown and replayed; else HOCKET_STORE,\n"
        "else ~/.local/state/hocket/runs.db, for 30 days or 1 GB. With --record or --replay\n"
        "it is not kept") },
    { CLI_TEXT(0, "durability", "normal|full", struct cli_run_args, durability,
          "normal: what is kept survives the end of the process (the default); full: a loss of\n"
          "power, too, before a tool changes anything"),
        .for_commands = ALL_BUT(CLI_FOR_SCHEDULE) },
    { CLI_OWN(0, "continue", NULL, read_last, "go on with the conversation that was left last"),
        .for_commands = CLI_FOR_CHAT },
    { CLI_TEXT(0, "resume", "ID", struct cli_run_args, resume,
          "go on with that conversation; without an ID it is chosen from a list"),
        .for_commands = CLI_FOR_CHAT },
    { CLI_BIT(0, "all", struct cli_run_args, flags, CLI_ALL_RUNS,
          "all runs that were cut off, or are parked, one after the other"),
        .for_commands = CLI_FOR_RESUME },
    { CLI_BIT('w', "watch", struct cli_run_args, flags, CLI_WATCH,
          "run again each time a file of TARGET changes, until Ctrl-C"),
        .for_commands = CLI_FOR_RUN },
    { CLI_BIT(0, "all", struct cli_run_args, flags, CLI_ALL_AGENTS,
          "the agents of a directory that others name become tools as well"),
        .for_commands = CLI_FOR_MCP },
    { CLI_COUNT('p', "port", "N", struct cli_run_args, port, 0, 65535, -1,
          "serve over HTTP, at this port of 127.0.0.1 (0: one that is free), instead of\n"
          "standard input and output"),
        .for_commands = CLI_FOR_MCP, .expected = "a number up to 65535" },
    { CLI_BIT(0, "no-token", struct cli_run_args, flags, CLI_NO_TOKEN,
          "let in every program of this machine; else only those that send the token, which\n"
          "is HOCKET_MCP_TOKEN, or made and shown"),
        .for_commands = CLI_FOR_MCP },
    { CLI_BIT('q', "quiet", struct cli_run_args, flags, CLI_QUIET,
          "no progress: only errors, questions and the notes on\n"
          "simulated and on partial answers"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_EVAL | CLI_FOR_RESUME },
    { CLI_BIT('v', "verbose", struct cli_run_args, flags, CLI_VERBOSE,
          "tool calls, model calls with tokens and times as well"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_EVAL | CLI_FOR_RESUME },
    { CLI_BIT(0, "no-color", struct cli_run_args, flags, CLI_NO_COLOR,
          "no colours; so does NO_COLOR in the environment"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_EVAL | CLI_FOR_RESUME },
    { 0 },
};
