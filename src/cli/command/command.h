/* The commands, one file each. */
#pragma once

#include "cli/args/args.h"

extern const struct cli_command cli_agents, cli_tools, cli_acp, cli_eval, cli_workers;
extern const struct cli_command cli_run, cli_workflow, cli_chat, cli_check, cli_sim, cli_new,
    cli_skill, cli_doctor, cli_models, cli_decode, cli_memory, cli_mcp, cli_mcp_serve, cli_attach,
    cli_runs, cli_show, cli_answer_run, cli_say, cli_signal, cli_fork, cli_rm, cli_export,
    cli_import, cli_resume, cli_replay, cli_serve, cli_store, cli_watch, cli_work, cli_wait,
    cli_cancel, cli_schedule, cli_budget, cli_serve_token, cli_policy_command, cli_plan;
