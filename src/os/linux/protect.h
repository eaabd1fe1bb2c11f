/* Keeps a program from leaving protected names below a folder that it may write to: names that
 * programs outside obey (base/protected.h), at any depth, even if none existed before.
 *
 *     before   a scan finds existing ones, which are mounted read-only with the other guarded paths
 *     during   from time to time, and at the end, a scan finds new ones and sets them
 *     after    aside: .git becomes .git.refused, in its place, and nothing is lost
 *
 * A mount cannot protect a path that does not exist; this scan does. It cannot distinguish the user's
 * own work, such as a `git init` beside a running command, from the program's.
 *
 * Blocking, for one thread, in the launcher; what it allocates stays as long as the process. */
#pragma once

#include "base/buf.h"
#include "os/launch.h"

struct hocket__protect;

/* Scans l->protect. NULL: out of memory, or the folder does not exist. */
struct hocket__protect *hocket__protect_new(const struct hocket__launch *l);

/* The paths that are read-only while the program runs: l->guarded, and the scan's findings. Ends with NULL. */
const char *const *hocket__protect_guarded(const struct hocket__protect *p);

/* Scans again and sets new names aside. Returns the milliseconds that it took. */
int64_t hocket__protect_look(struct hocket__protect *p);

/* Reports in the result which names were set aside, and whether parts of the folder were not scanned or guarded. */
void hocket__protect_report(const struct hocket__protect *p, struct hocket__launch_result *r);
