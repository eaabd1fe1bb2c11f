/* Before a run of the store is continued or replayed: a person is asked whether code that somebody else has put into it may run. */
#pragma once

#include <stdbool.h>

/* On a terminal, without `trust`: asks whether the code of a run that somebody else has begun may run. `store`: that of --store, or
 * NULL. CLI_GO_ON, also where nobody can be asked (the run itself says then what it lacks); or the exit code, after having said why. */
int cli_admit(const char *command, const char *store, const char *id, bool trust);
