/* What may be named as a store. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

bool hocket__store_is_postgres(const char *path);

/* EINVAL: a URL ("word:/…") of nothing that a store can be in. What may be a password in it is not told. */
int hocket__store_check_path(const char *path, struct hocket_error *err);

/* EINVAL: a folder. The file itself is not opened: to close it again would give back the locks that another store of this process
 * has on it. Other problems are reported when the store is opened. */
int hocket__store_look(const char *path, struct hocket_error *err);
