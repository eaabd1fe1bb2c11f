/* What is going on in a run, as far as a person wants to see it: a fold over its events. No
 * clock, no terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hocket/hocket.h>

#include "cli/buf.h"
#include "cli/text.h"

/* An operation: one agent at work. */
struct cli_agent {
    char op[24], name[72], tool[72];
    char progress[96]; /* how far the tool says that it is: "2 of 5, page 2" */
    double since;      /* the `now` it was first seen at */
    int64_t turn;
    int64_t tasks;   /* that it was sent with */
    bool dispatched; /* another agent sent it; agents that nobody sent wait for the sent ones */
    bool asking;     /* a model request is under way */
    bool failed, cancelled;
};

/* Each board of a run counts its tasks from 1. */
struct cli_task {
    int64_t board, id;
    char op[24]; /* of the agent that was sent to work on it last; "" for nobody yet */
    char *agent, *doing;
    enum { CLI_TASK_OPEN, CLI_TASK_RUNNING, CLI_TASK_DONE, CLI_TASK_UNDONE } state;
};

struct cli_progress {
    struct cli_agent *agents; /* at work, in the order of their beginning */
    size_t n_agents, cap_agents;
    struct cli_task *tasks;
    size_t n_tasks, cap_tasks;
    bool several_boards;
    size_t done_tasks, undone_tasks; /* failed, skipped or cancelled ones never count as done */
    char **names;                    /* of all agents so far */
    size_t n_names, cap_names;
    long long calls, input, output;
    char last_failed[72]; /* the agent whose failure was reported last */
};

/* Takes one parsed event. */
void cli_progress_take(
    struct cli_progress *p, const char *type, const hocket_json *event, double now);
void cli_progress_free(struct cli_progress *p);

struct cli_agent *cli_progress_agent(const struct cli_progress *p, const char *op);

/* What an agent does, in a few words: "Choosing sights". */
void cli_progress_activity(
    const struct cli_progress *p, const struct cli_agent *agent, struct cli_buf *out);
