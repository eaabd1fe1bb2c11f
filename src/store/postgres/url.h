/* The address of a store in PostgreSQL: a URL as libpq takes it, with one parameter of ours.
 *
 *     postgres://USER@HOST/DATABASE?schema=NAME        (schema: hocket)
 */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__PG_SCHEMA 40 /* bytes of a schema's name, with the NUL */

/* `conninfo` gets the URL without our parameter, `shown` the same without a password: what may be printed. EINVAL
 * without a word of the URL in *err. */
int hocket__pg_url(const char *url, struct hocket__buf *conninfo, struct hocket__buf *shown,
    char schema[HOCKET__PG_SCHEMA], struct hocket_error *err);
