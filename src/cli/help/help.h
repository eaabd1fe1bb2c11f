/* `hocket help TOPIC`: the documentation in the terminal, without a network. */
#pragma once

#include <stdbool.h>

/* Prints the page or the section that the words name, or lists the sections that mention them in their headings.
 * False: there is none, and nothing was printed. `*code` is the exit code. */
bool cli_help_topic(int argc, char **argv, int *code);

/* Lists all pages. Returns the exit code. */
int cli_help_topics(void);
