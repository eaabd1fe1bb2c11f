/* hocket, the command-line host: a client of the public C header, as any embedder is.
 *
 * This file finds the command. Each command is a table of options and a function, in a file of
 * its own; `--version` and `--help` open no host. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hocket/hocket.h>

#include "cli/args/args.h"
#include "cli/buf.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/menu.h"
#include "cli/out.h"
#include "cli/signals.h"

static const struct cli_command *const commands[] = {
    &cli_run,
    &cli_chat,
    &cli_resume,
    &cli_replay,
    &cli_check,
    &cli_eval,
    &cli_serve,
    &cli_sim,
    &cli_new,
    &cli_agents,
    &cli_tools,
    &cli_attach,
    &cli_runs,
    &cli_show,
    &cli_watch,
    &cli_answer_run,
    &cli_say,
    &cli_signal,
    &cli_work,
    &cli_schedule,
    &cli_budget,
    &cli_wait,
    &cli_cancel,
    &cli_workers,
    &cli_fork,
    &cli_rm,
    &cli_export,
    &cli_import,
    &cli_store,
    &cli_policy_command,
    &cli_doctor,
    &cli_models,
    &cli_mcp,
    &cli_memory,
    &cli_acp,
    &cli_decode,
    NULL,
};

static const struct cli_command *find(const char *name)
{
    for (const struct cli_command *const *c = commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

static bool looks_like_target(const char *word)
{
    return strchr(word, '/') || strchr(word, '.') || access(word, F_OK) == 0;
}

static int unknown(const char *word)
{
    const char *best = "help";
    for (const struct cli_command *const *c = commands; *c; c++)
        if (cli_distance(word, (*c)->name) < cli_distance(word, best))
            best = (*c)->name;
    if (word[0] == '-')
        return cli_usage(NULL, "unknown option '%s'; options follow the command", word);
    if (looks_like_target(word))
        return cli_usage(NULL, "'%s' is no command; to run it: hocket run %s", word, word);
    if (cli_is_slip(cli_distance(word, best), word))
        return cli_usage(NULL, "there is no command '%s': did you mean '%s'?", word, best);
    return cli_usage(NULL, "there is no command '%s'", word);
}

static int no_command(void)
{
    struct cli_buf names = { 0 };
    for (const struct cli_command *const *c = commands; *c; c++)
        cli_buf_addf(&names, "%s%s", c == commands ? "" : c[1] ? ", " : " or ", (*c)->name);
    int code = cli_usage(NULL, "a command is missing: %s", cli_buf_text(&names));
    cli_buf_free(&names);
    return code;
}

static int print_version(void)
{
    cli_out_text("hocket ", 7);
    cli_out_line(hocket_version(), strlen(hocket_version()));
    return cli_out_end();
}

static int help(int argc, char **argv)
{
    const struct cli_command *c = argc > 0 ? find(argv[0]) : NULL;
    if (argc == 1 && strcmp(argv[0], "--json") == 0)
        return cli_help_json(commands);
    if (argc > 0 && !c)
        return unknown(argv[0]);
    return c ? cli_help_command(c) : cli_help(commands);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Nothing is done under a policy that cannot be read. Commands open a host, which says so; here it is for those that open none. */
static int main_of(const struct cli_command *command, int argc, char **argv)
{
    bool free = command == &cli_policy_command || command == &cli_doctor;
    bool is_told = free || (argc > 0 && is_help(argv[argc - 1]));
    int rc = is_told ? CLI_EXIT_DONE : cli_host_check_policy();
    return rc == CLI_EXIT_DONE ? command->main(command, argc, argv) : rc;
}

static int go(int argc, char **argv)
{
    const char *word = argv[1];
    const struct cli_command *command = find(word);
    if (command)
        return main_of(command, argc - 2, argv + 2);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "version") == 0)
        return print_version();
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help(argc - 2, argv + 2);
    return unknown(word);
}

static int go_by_menu(char *program)
{
    char *argv[CLI_MENU_WORDS + 2] = { program };
    int n = cli_menu(argv + 1);
    return n > 0 ? go(n + 1, argv) : CLI_EXIT_DONE;
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    cli_guard_descriptors();
    if (argc >= 2)
        return go(argc, argv);
    return cli_menu_wanted() ? go_by_menu(argv[0]) : no_command();
}
