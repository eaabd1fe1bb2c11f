/* What `hocket run` was asked for. */
#pragma once

#include "cli/args/args.h"
#include "cli/buf.h"

/* name=value, the last one of a name counts. */
struct cli_pairs {
    struct cli_pair {
        char *name;
        const char *value;
    } * list;
    size_t count, cap;
};

/* What of it is yes or no. */
enum cli_run_flag {
    CLI_JSON = 1 << 0,
    CLI_STRICT = 1 << 1,
    CLI_QUIET = 1 << 2,
    CLI_VERBOSE = 1 << 3,
    CLI_NO_COLOR = 1 << 4,
    CLI_WATCH = 1 << 5,
    CLI_TRUST = 1 << 6,
    CLI_ALL_AGENTS = 1 << 7, /* also agents that others name */
    CLI_ALL_RUNS = 1 << 8,   /* of resume: every run that can go on */
    CLI_NO_TOKEN = 1 << 9,
    CLI_POOL_LOCAL = 1 << 10,
    CLI_DETACH = 1 << 11, /* of run: a worker does it */
};

/* The words of --format (lua/hocket/internal/agents/formats). */
#define CLI_FORMATS "claude|copilot|opencode|gemini|netdata"

/* Of `hocket workflow --save`: the name is a variable of its agent. */
cli_read_fn cli_read_save;

/* Who takes an option. */
enum cli_run_command {
    CLI_FOR_RUN = 1 << 0,
    CLI_FOR_CHAT = 1 << 1,
    CLI_FOR_RESUME = 1 << 2,
    CLI_FOR_SERVE = 1 << 3,
    CLI_FOR_MCP = 1 << 4,
    CLI_FOR_ACP = 1 << 5,
    CLI_FOR_EVAL = 1 << 6,
    CLI_FOR_SCHEDULE = 1 << 7,
};

struct cli_run_args {
    const char *
        command; /* "run", "chat" or "mcp serve": the command in messages about mistakes; set before the arguments are read */
    const char *target, *events, *workdir, *model, *record, *replay, *sandbox, *network, *history,
        *offer, *store, *durability, *project, *ping, *mode, *format, *plan;
    const char *
        agent; /* the agent that gets all words, set before the arguments are read; NULL: the first word is the target */
    const char *
        as; /* what the target has to be: "built-in" or "plan" (lua/hocket/internal/runner/target.lua); NULL: anything */
    const char *resume; /* the run to resume; "": the last one; NULL: a new one */
    const char *pool;   /* for submitted runs; NULL: the default one */
    struct cli_buf input, record_path, replay_path,
        store_path; /* the paths where they had to be made */
    unsigned flags; /* CLI_JSON … */
    bool has_input, input_from_stdin;
    bool asks; /* a question stood where the target would: the assistant answers it */
    bool conversation;
    bool live;        /* somebody sees its models' text as it comes */
    bool interactive; /* somebody is there to answer: set by the command */
    bool consent; /* a person consents to what the run is allowed: it holds when they continue it */
    bool unattended;  /* nobody watches it: it says where nothing limits it */
    bool traced;      /* its runs are of the trace that the program was started in */
    bool park;        /* nobody is, and the run is kept until somebody is */
    bool on_terminal; /* … and it is a person who sees what is asked */
    struct cli_pairs models, variables, prices, approve; /* approve: rules, without values */
    struct cli_pairs context;
    struct cli_pairs labels;
    struct cli_pairs files;   /* paths that hold wherever the run works */
    int64_t port, max_tokens; /* -1: not given */
    int64_t jobs, max_turns;  /* 0: not given */
    double max_cost;          /* -1: not given */
    double timeout;           /* 0: not given */
};

/* For cli_command.shared. */
extern const struct cli_option cli_run_options[];

/* Whether the target is no file, folder, built-in agent or workflow. Such a run fails before it begins, so it is not stored. */
bool cli_run_args_missing(const struct cli_run_args *a);

/* Fills *out from the arguments. CLI_GO_ON, or the exit code. Free it in either case. */
int cli_run_args_read(
    const struct cli_command *self, int argc, char **argv, struct cli_run_args *out);
void cli_run_args_free(struct cli_run_args *a);

/* Words behind the target are the input; "-": what comes from stdin. 0, or the exit code. */
int cli_run_args_input(struct cli_run_args *a, char **words, int count);

/* Changes to the folder that runs work in, where one is given; the targets are still looked up from here. 0, or the
 * exit code after having said why not. */
int cli_run_args_enter(const struct cli_run_args *a, struct cli_args *targets);

/* What --model says: one for all agents, of several the last, or AGENT=P/M. */
cli_read_fn cli_read_model;

/* The options of the run as the host wants them: one JSON object. */
void cli_run_args_json(const struct cli_run_args *a, struct cli_buf *out);
/* Options of a run that is continued: whether a person is there, and the options that narrow its permissions. */
void cli_run_args_resume_json(const struct cli_run_args *a, struct cli_buf *out);
