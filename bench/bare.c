#include "bare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

double bare_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

void bare_must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s: %s failed\n", program_invocation_short_name, what);
    _exit(1);
}

void bare_sql(PGconn *c, const char *text)
{
    PGresult *r = PQexec(c, text);
    bare_must(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK, text);
    PQclear(r);
}

PGconn *bare_connect(void)
{
    PGconn *c = PQconnectdb(getenv("HOCKET_TEST_POSTGRES"));
    bare_must(PQstatus(c) == CONNECTION_OK, "connecting");
    return c;
}
