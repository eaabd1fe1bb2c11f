/* What rules have to know of command lines.
 *
 * A rule `git *` is meant for git: what a model puts in the place of the star is not to start another
 * program. Words that the rule spells out are the person's; those behind them are covered where a table (programs.h) says of
 * them that they neither start another program nor write elsewhere. A program that is not in the table is taken for what its
 * name says. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* Why a command is not covered: NULL when it is. `glob` has matched `line`, as text. */
const char *hocket__command_not_covered(struct hocket__str glob, struct hocket__str line);

/* Whether the glob matches the line, or one of the commands in it: behind ; & | and the like, inside of
 * what another program is given to run, without quotes and git's options. There are other ways to
 * write one. */
bool hocket__command_has(struct hocket__str glob, struct hocket__str line);
