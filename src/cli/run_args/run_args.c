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
          "the model of all agents: provider/model, for example openai/gpt-6.1-terra; AGENT=P/M\n"
          "for one agent; repeatable"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_RESUME) },
    { CLI_OWN(0, "label", "KEY=VALUE", cli_read_label,
          "a label, by which hocket runs finds the run; repeatable"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_SCHEDULE },
    { CLI_OWN('s', "set", "KEY=VALUE", cli_read_variable,
          "a value for {{KEY}} in the prompts; repeatable"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_OWN('a', "approve", "[RULE=]ask|allow|deny", cli_read_approve,
        "tool calls that need approval: ask (the default; without a person the run waits in\n"
        "the store), allow or deny; RULE=VERDICT for some calls, for example\n"
        "'execute_command(git *)=allow'; repeatable") },
    { CLI_OWN(0, "mode", "plan|act", cli_read_mode,
          "plan: agents only read, until you agree to the plan that they present"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT },
    { CLI_COUNT(0, "max-turns", "N", struct cli_run_args, max_turns, 1, 1000000, 0,
        "the most model turns of each agent") },
    { CLI_COUNT(0, "max-tokens", "N", struct cli_run_args, max_tokens, 0, INT64_MAX / 2, -1,
        "the most input and output tokens of the whole run; at the limit it gives a last\n"
        "answer (exit code 5)") },
    { CLI_NUMBER(0, "max-cost", "USD", struct cli_run_args, max_cost, 0, CLI_MOST_SECONDS, -1,
          "dollars, as in 0.50", "the same for the cost, for example 0.50"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL) },
    { CLI_OWN(0, "project", "NAME", cli_read_project,
          "the project, whose daily budget limits the run (hocket budget)"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_RESUME) },
    { CLI_OWN(0, "price", "P/M=IN,OUT", cli_read_price,
          "the price of a model in USD per million tokens, for example mycloud/large=2,8; a\n"
          "third number is for cached input; repeatable"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_OWN(0, "context", "KEY=VALUE", cli_read_context,
          "what to do when a conversation fills its model's window: strategy=summary, results\n"
          "or none; at=SHARE, keep=SHARE, model=P/M, window=TOKENS; repeatable"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_OWN('f', "attach", "FILE", cli_read_file,
          "send a picture, audio, a PDF or a text with the input; the type is detected from the\n"
          "content; repeatable"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_SCHEDULE },
    { CLI_NUMBER('t', "timeout", "SECONDS", struct cli_run_args, timeout, CLI_SOME_SECONDS,
          CLI_MOST_SECONDS, 0, "seconds, as in 90 or 2.5",
          "cancel the run when its work takes longer (exit code 124); waiting for people does\n"
          "not count"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_TEXT(0, "plan", "FILE|NAME", struct cli_run_args, plan,
          "carry out the plan in FILE (Markdown or YAML), without a TARGET; the words are its\n"
          "request"),
        .for_commands = CLI_FOR_RUN },
    { CLI_TEXT('e', "events", "FILE", struct cli_run_args, events,
          "write every event as a line of JSON; '-' is stdout, which then has only the events"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_RESUME },
    { CLI_BIT('j', "json", struct cli_run_args, flags, CLI_JSON,
          "print one JSON object instead of the answer, also when the run fails: run ok text\n"
          "error finish partial simulated models usage tree tasks document seconds"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_RESUME },
    { CLI_BIT(0, "strict", struct cli_run_args, flags, CLI_STRICT,
          "a partial answer is a failure (exit code 1): an agent failed, or a task was not done"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_RESUME },
    { CLI_TEXT(0, "record", "FILE", struct cli_run_args, record,
          "write every exchange with a model to FILE, without keys, for --replay"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT },
    { CLI_TEXT(0, "replay", "FILE", struct cli_run_args, replay,
          "answer from a recording, without network and keys; the first request that is not in\n"
          "it ends the run with an error"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT },
    { CLI_TEXT(0, "history", "FILE", struct cli_run_args, history,
          "store your lines in FILE, for the arrow keys of later sessions; without it they are\n"
          "not stored"),
        .for_commands = CLI_FOR_CHAT },
    { CLI_TEXT('C', "workdir", "DIR", struct cli_run_args, workdir,
          "run in DIR; TARGET and FILE are still relative to the current directory"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_SERVE | CLI_FOR_MCP },
    { CLI_BIT(0, "trust", struct cli_run_args, flags, CLI_TRUST,
        "run the Lua of TARGET's folder (its main.lua, its sim.lua and their modules) without\n"
        "a question; without it the first run of a folder asks, and fails if there is no\n"
        "terminal") },
    { CLI_OWN(0, "sandbox", "best|required|bubblewrap|landlock|limits", cli_read_sandbox,
        "the sandbox for programs of tools: best (the default: the best available), required\n"
        "(fail without one), bubblewrap, landlock, limits") },
    { CLI_TEXT(0, "network", "HOSTS", struct cli_run_args, network,
        "what commands of tools may reach: none (the default), all, or named hosts, for\n"
        "example api.example.org,*.example.net,example.org:8443; other hosts ask, and are\n"
        "refused without a person") },
    { CLI_COUNT(0, "jobs", "N", struct cli_run_args, jobs, 1, 1000000, 0,
          "the most agents that work at once; default: no limit"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_RESUME) },
    { CLI_BIT(0, "pool-local", struct cli_run_args, flags, CLI_POOL_LOCAL,
          "agents with 'pool' work in this process; otherwise their calls wait for workers of\n"
          "that pool (hocket work)"),
        .for_commands = ALL_BUT(CLI_FOR_RESUME) },
    { CLI_TEXT(0, "offer", "NAME", struct cli_run_args, offer,
          "let 'hocket attach NAME' look into the run and control it; '-' uses the process\n"
          "number as its name"),
        .for_commands = ALL_BUT(CLI_FOR_EVAL | CLI_FOR_SCHEDULE) },
    { CLI_TEXT(0, "store", "FILE|off", struct cli_run_args, store,
        "where to store the run, so that you can resume, show and replay it; default:\n"
        "HOCKET_STORE, then ~/.local/state/hocket/runs.db, for 30 days or 1 GB; a run with a\n"
        "recording is not stored") },
    { CLI_TEXT(0, "durability", "normal|full", struct cli_run_args, durability,
          "normal (the default): stored data survives the end of the process; full: also a loss\n"
          "of power, before a tool changes anything"),
        .for_commands = ALL_BUT(CLI_FOR_SCHEDULE) },
    { CLI_OWN(0, "continue", NULL, read_last, "continue the newest conversation"),
        .for_commands = CLI_FOR_CHAT },
    { CLI_TEXT(0, "resume", "ID", struct cli_run_args, resume,
          "continue that conversation; without an ID you choose from a list"),
        .for_commands = CLI_FOR_CHAT },
    { CLI_BIT(0, "all", struct cli_run_args, flags, CLI_ALL_RUNS,
          "all interrupted and parked runs, one after the other"),
        .for_commands = CLI_FOR_RESUME },
    { CLI_BIT('w', "watch", struct cli_run_args, flags, CLI_WATCH,
          "run again each time a file of TARGET changes, until Ctrl-C"),
        .for_commands = CLI_FOR_RUN },
    { CLI_BIT(0, "all", struct cli_run_args, flags, CLI_ALL_AGENTS,
          "also offer the agents of a folder that other agents name"),
        .for_commands = CLI_FOR_MCP },
    { CLI_COUNT('p', "port", "N", struct cli_run_args, port, 0, 65535, -1,
          "serve over HTTP at this port of 127.0.0.1 (0: any free one), instead of standard\n"
          "input and output"),
        .for_commands = CLI_FOR_MCP, .expected = "a number up to 65535" },
    { CLI_BIT(0, "no-token", struct cli_run_args, flags, CLI_NO_TOKEN,
          "accept every program of this machine; otherwise clients need the token:\n"
          "HOCKET_MCP_TOKEN, or a new one that is printed"),
        .for_commands = CLI_FOR_MCP },
    { CLI_BIT('q', "quiet", struct cli_run_args, flags, CLI_QUIET,
          "no progress: only errors, questions and the notes on simulated and partial answers"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_EVAL | CLI_FOR_RESUME },
    { CLI_BIT('v', "verbose", struct cli_run_args, flags, CLI_VERBOSE,
          "also show tool calls, and model calls with tokens and times"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_EVAL | CLI_FOR_RESUME },
    { CLI_TEXT(0, "ping", "URL", struct cli_run_args, ping,
          "a dead man's switch: calls URL/start at the start, URL at success and URL/fail at\n"
          "failure; nothing while the run waits for a person"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_RESUME | CLI_FOR_SCHEDULE },
    { CLI_TEXT(0, "format", CLI_FORMATS, struct cli_run_args, format,
          "read the agents of TARGET in another program's format, where place and keys do not\n"
          "tell it"),
        .for_commands = CLI_FOR_RUN },
    { CLI_OWN(0, "log-format", "text|json", cli_read_log_format, CLI_LOG_FORMAT_HELP),
        .for_commands = CLI_FOR_RUN | CLI_FOR_RESUME | CLI_FOR_SERVE | CLI_FOR_SCHEDULE },
    { CLI_BIT(0, "no-color", struct cli_run_args, flags, CLI_NO_COLOR,
          "no colours; NO_COLOR in the environment does the same"),
        .for_commands = CLI_FOR_RUN | CLI_FOR_CHAT | CLI_FOR_EVAL | CLI_FOR_RESUME },
    { 0 },
};
