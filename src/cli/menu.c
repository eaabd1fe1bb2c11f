/* The choices are commands as they are typed, so that the menu also teaches them. */
#include "cli/menu.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hocket/hocket.h>

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

bool cli_menu_wanted(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int cli_menu(char *words[CLI_MENU_WORDS])
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
