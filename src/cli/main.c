/* hocket, the command-line host: a client of the public C header, as any embedder is.
 *
 * This file finds the command. Each command is a table of options and a function, in a file of
 * its own; `--version` and `--help` open no host. */
#include <hocket/hocket.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/args.h"
#include "cli/buf.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/help/help.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/signals.h"

/* `hocket` alone, on a terminal: a short menu of what to do. */

#define CLI_MENU_WORDS 2

/* The choices are commands as they are typed, so that the menu also teaches them. */

static const struct choice {
    const char *what;
    const char *words[CLI_MENU_WORDS];
} choices[] = {
    { "talk with the assistant about this folder", { "chat", "assistant" } },
    { "make a project with a team of agents", { "new", "my-team" } },
    { "list the agents that come with hocket", { "agents" } },
    { "list the tools that agents can have", { "tools" } },
    { "list your runs", { "runs" } },
    { "check this machine: models, keys, sandbox", { "doctor" } },
    { "list all commands", { "--help" } },
};

static const size_t count = sizeof(choices) / sizeof(*choices);

static void show(void)
{
    fprintf(stderr, "hocket %s: what do you want to do?\n\n", hocket_version());
    for (size_t i = 0; i < count; i++) {
        const char *second = choices[i].words[1];
        fprintf(stderr, "  %zu  %-44s hocket %s%s%s\n", i + 1, choices[i].what, choices[i].words[0],
            second ? " " : "", second ? second : "");
    }
    fprintf(stderr, "\nA number, or Enter to leave: ");
}

static const struct choice *choose(void)
{
    char line[64];
    if (!fgets(line, sizeof(line), stdin))
        return NULL;
    char *end;
    unsigned long n = strtoul(line, &end, 10);
    return end != line && n >= 1 && n <= count ? &choices[n - 1] : NULL;
}

/* Whether somebody is there who can choose. */
static bool menu_wanted(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* Asks, and puts the words of the chosen command into `words`. Returns how many they are; 0: nothing was chosen. */
static int menu(char *words[CLI_MENU_WORDS])
{
    show();
    const struct choice *chosen = choose();
    int n = 0;
    while (chosen && n < CLI_MENU_WORDS && chosen->words[n]) {
        words[n] = (char *) chosen->words[n];
        n++;
    }
    return n;
}

static const struct cli_command *const commands[] = {
    &cli_run,
    &cli_chat,
    &cli_workflow,
    &cli_new,
    &cli_skill,
    &cli_check,
    &cli_agents,
    &cli_tools,
    &cli_models,
    &cli_doctor,
    &cli_runs,
    &cli_show,
    &cli_watch,
    &cli_answer_run,
    &cli_say,
    &cli_signal,
    &cli_cancel,
    &cli_resume,
    &cli_replay,
    &cli_fork,
    &cli_rm,
    &cli_export,
    &cli_import,
    &cli_eval,
    &cli_sim,
    &cli_schedule,
    &cli_work,
    &cli_workers,
    &cli_wait,
    &cli_budget,
    &cli_serve,
    &cli_mcp,
    &cli_acp,
    &cli_attach,
    &cli_store,
    &cli_memory,
    &cli_plan,
    &cli_policy_command,
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
    bool slip = cli_is_slip(cli_distance(word, best), word);
    return cli_usage(NULL,
        "there is no command '%s'%s%s%s To ask a question: hocket run assistant \"…\"", word,
        slip ? ": did you mean '" : ".", slip ? best : "", slip ? "'?" : "");
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

static int print_version(int argc, char **argv)
{
    bool json = argc == 1 && (strcmp(argv[0], "--json") == 0 || strcmp(argv[0], "-j") == 0);
    if (argc > 0 && !json)
        return cli_usage(NULL, "'%s' does not follow --version; only --json does", argv[0]);
    if (!json)
        cli_out_text("hocket ", 7);
    const char *what = json ? hocket_build_info() : hocket_version();
    cli_out_line(what, strlen(what));
    return cli_out_end();
}

static int help(int argc, char **argv)
{
    const struct cli_command *c = argc == 1 ? find(argv[0]) : NULL;
    int code;
    if (argc == 0)
        return cli_help(commands);
    if (argc == 1 && strcmp(argv[0], "--json") == 0)
        return cli_help_json(commands);
    if (argc == 1 && strcmp(argv[0], "topics") == 0)
        return cli_help_topics();
    if (c)
        return cli_help_command(c);
    return cli_help_topic(argc, argv, &code) ? code : unknown(argv[0]);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* No command runs under a policy that cannot be read. This check comes before a command does anything, also for
 * commands that open no host. */
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
        return print_version(argc - 2, argv + 2);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help(argc - 2, argv + 2);
    return unknown(word);
}

static int go_by_menu(char *program)
{
    char *argv[CLI_MENU_WORDS + 2] = { program };
    int n = menu(argv + 1);
    return n > 0 ? go(n + 1, argv) : CLI_EXIT_DONE;
}

int main(int argc, char **argv)
{
    hocket_launcher_main(argc, argv);
    cli_guard_descriptors();
    if (argc >= 2)
        return go(argc, argv);
    return menu_wanted() ? go_by_menu(argv[0]) : no_command();
}
