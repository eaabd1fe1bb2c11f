/* What a program is not to leave below a folder that it may write to: names that programs outside
 * obey (base/protected.h), wherever they are, also where there were none before.
 *
 *     before   a look finds what is there: it is mounted read-only with the rest that is guarded
 *     during   now and then, and after the end, a look finds what has come since, and sets it
 *     after    aside: .git becomes .git.refused, in its place, and nothing is lost
 *
 * A mount is no wall around what does not exist, so this is the second one. A look that meets the
 * person's own work, a `git init` beside a running command, cannot tell it from the program's.
 *
 * Blocking, for one thread, in the launcher; what it allocates stays as long as the process. */
#pragma once

#include "base/buf.h"
#include "os/launch.h"

struct hocket__protect;

/* Looks through l->protect. NULL: out of memory, or there is no such folder. */
struct hocket__protect *hocket__protect_new(const struct hocket__launch *l);

/* What is to be read-only while the program runs: l->guarded, and what was found. Ends with NULL. */
const char *const *hocket__protect_guarded(const struct hocket__protect *p);

/* Looks again and sets aside what is new. Returns the milliseconds that it took. */
int64_t hocket__protect_look(struct hocket__protect *p);

/* Says in the result what was set aside, and what of the folder was not looked at or guarded. */
void hocket__protect_report(const struct hocket__protect *p, struct hocket__launch_result *r);
