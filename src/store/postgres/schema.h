/* The tables of a store in PostgreSQL. */
#pragma once

#include "store/postgres/db.h"

/* Looks at the database, makes the tables where there are none and brings older ones up to date: 0, EUNSUPPORTED,
 * EEXIST, EDENIED or the connection's status. Two at once do it once. */
int hocket__pg_schema(struct hocket__pg *d);
