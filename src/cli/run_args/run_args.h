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

struct cli_run_args {
    const char *
        command; /* "run", "chat" or "mcp serve": what mistakes are told of; set before they are read */
    const char *target, *events, *workdir, *model, *record, *replay, *sandbox, *network, *history,
        *offer, *store, *durability, *project;
    const char *resume; /* the run to go on with; "": the one that was left last; NULL: a new one */
    struct cli_buf input, record_path, replay_path,
        store_path; /* the paths where they had to be made */
    bool has_input, input_from_stdin, has_max_tokens, has_max_cost, json, strict, quiet, verbose,
        no_color, watch, trust, all_agents, has_port, no_token, pool_local;
    bool conversation;
    bool all;         /* of resume: every run that can go on */
    bool interactive; /* somebody is there to answer: set by the command */
    bool consent; /* a person consents to what the run is allowed: it holds when they continue it */
    bool traced;  /* its runs are of the trace that the program was started in */
    bool detach;  /* of run: a worker does it */
    const char *pool; /* of those that are submitted; NULL: the usual one */
    bool park;        /* nobody is, and the run is kept until somebody is */
    bool on_terminal; /* … and it is a person who sees what is asked */
    struct cli_pairs models, variables, prices, approve; /* approve: rules, without values */
    struct cli_pairs context;
    struct cli_pairs files; /* paths that hold wherever the run works */
    int64_t port;
    int64_t jobs;      /* 0: not given */
    int64_t max_turns; /* 0: not given */
    int64_t max_tokens;
    double max_cost;
    double timeout; /* 0: not given */
};

extern const struct cli_option cli_run_options[];
extern const int cli_not_for_run[], cli_not_for_chat[], cli_not_for_serve[], cli_not_for_acp[],
    cli_not_for_resume[], cli_not_for_endpoints[], cli_not_for_eval[], cli_not_for_schedule[];

/* Fills *out from the arguments. CLI_GO_ON, or the exit code. Free it in either case. */
int cli_run_args_read(
    const struct cli_command *self, int argc, char **argv, struct cli_run_args *out);
void cli_run_args_free(struct cli_run_args *a);

/* Words behind the target are the input; "-": what comes from stdin. 0, or the exit code. */
int cli_run_args_input(struct cli_run_args *a, char **words, int count);

/* Changes to the folder that runs work in, where one is given; the targets are still looked up from here. 0, or the
 * exit code after having said why not. */
int cli_run_args_enter(const struct cli_run_args *a, struct cli_args *targets);

int cli_run_args_set(void *ud, int id, const char *value);
/* What --model says: one for all agents, of several the last, or AGENT=P/M. 0, or the exit code. */
int cli_run_args_model(struct cli_run_args *a, const char *value);

/* The options of the run as the host wants them: one JSON object. */
void cli_run_args_json(const struct cli_run_args *a, struct cli_buf *out);
/* What is said of a run that is continued: who is there, and the options that cut what it was allowed. */
void cli_run_args_resume_json(const struct cli_run_args *a, struct cli_buf *out);
