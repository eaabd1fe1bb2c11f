/* An answer on stdout: as it is in a pipe or file, as Markdown on a terminal. */
#pragma once

#include "cli/screen.h"

/* Writes it with a line end. JSON stands as it is on a terminal, too. */
void cli_answer(const struct cli_screen *screen, const char *p, size_t n);
