/* Tells that something changed in some directories; what it was, whoever asked looks for.
 *
 * Directories are watched and not files, because a watch on a file is lost when an editor replaces
 * it by a rename. Names and kinds of events are not passed on: they arrive late, doubled or not at
 * all (an overflow), and a look at the files is needed anyway. Source: inotify(7). */
#pragma once

#include "base/status.h"

#include <uv.h>

struct hocket__watch;

/* `on_change` runs from the loop, once for all changes of a turn. EIO, ELIMIT (too many instances
 * of the user: fs.inotify.max_user_instances), ENOMEM. */
int hocket__watch_new(uv_loop_t *loop, const struct hocket_allocator *a,
    void (*on_change)(void *ud), void *ud, struct hocket__watch **out, struct hocket_error *err);

/* Watches a directory, not what lies below its own directories. Again for the same one does
 * nothing. ENOTFOUND, EDENIED, EIO, ELIMIT (fs.inotify.max_user_watches). */
int hocket__watch_add(struct hocket__watch *w, const char *dir, struct hocket_error *err);

/* No callback runs any more; `closed` (may be NULL) runs from the loop when nothing of it is left.
 */
void hocket__watch_close(struct hocket__watch *w, void (*closed)(void *ud), void *ud);
