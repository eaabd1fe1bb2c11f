/* What stands in a store's file, and how a file of an older version becomes one of ours.
 *
 * application_id says that it is ours, user_version which schema it has. An empty file is given the
 * newest; an older one is migrated, whole or not at all; one of a newer version, of another program,
 * or a damaged one is refused, and nothing is written into it. */
#pragma once

#include "store/sqlite/db.h"

#define HOCKET__STORE_APPLICATION 0x686F636B /* "hock" */

/* Opens the file of hocket__store_place, checks, makes or migrates it. On failure it is closed again:
 * see d->error. */
int hocket__schema_open(struct hocket__db *d, const char *path);
/* The same of one that may only be read, to which nothing is done. */
int hocket__schema_look(struct hocket__db *d, const char *path);
