/* Runs in PostgreSQL: the component libhocket-postgres. What several machines write to.
 *
 * The store's thread has one connection, and is the only one that waits for it: the loop hands over and asks as
 * with a file (writer/writer.h). A connection on the loop itself was rejected: everything between the two sides
 * would have been written a second time, and a URL's names are looked up by libpq in a way that blocks.
 *
 * What one turn hands over is a transaction of two round trips: the rows of its runs are locked and read, fences and
 * numbers are compared here, and what is to be written goes over in one pipeline with its COMMIT. When the
 * connection is lost before the answer the transaction's own number tells whether it is there (apply.c): it is
 * never written twice. A commit that is acknowledged is synced, as far as the server's settings say so.
 *
 * Times are those of the server's clock: leases are compared by it, whatever the machines' clocks say. */
#pragma once

#include "store/store.h"

/* `o->path` is a URL (url.h). Problems of the server are reported later, as BROKEN. EINVAL: with the URL; ENOMEM,
 * EIO. */
int hocket__store_postgres_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err);
