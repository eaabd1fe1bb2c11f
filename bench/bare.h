/* What the benches beside bare SQL share: a clock, an end with a reason, and a connection to the server that
 * tests/support/postgres.sh has started. */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>

/* Seconds. */
double bare_now(void);
/* Or the process ends. */
void bare_must(bool ok, const char *what);
void bare_sql(PGconn *c, const char *text);
PGconn *bare_connect(void);
