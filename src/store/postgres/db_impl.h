/* What a connection's own part and its statements share. */
#pragma once

#include "store/postgres/db.h"

/* Milliseconds of a clock that nobody sets. */

#define HOCKET__PG_LONG_MS (INT64_C(24) * 3600 * 1000) /* a large table may take long */

/* These give the status, with d->error: as said; that the connection is lost; what a result fails with. */
int hocket__pg_fail(struct hocket__pg *d, int status, bool retryable, const char *text);
int hocket__pg_lose(struct hocket__pg *d, const char *why);
int hocket__pg_fail_by(struct hocket__pg *d, const PGresult *r);

/* Until all is sent, or a result is there; EIO: the connection is lost. */
int hocket__pg_flush(struct hocket__pg *d, int64_t until);
int hocket__pg_await(struct hocket__pg *d, int64_t until);
