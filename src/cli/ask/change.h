/* What a call would do to a file, before somebody says yes to it: the path, then a unified diff of what would
 * change there, in colours. Long ones are folded. */
#pragma once

#include <stdbool.h>

#include <hocket/hocket.h>

#include "cli/screen.h"

/* The question in one line, path first: "notes.md: writer wants to change it with edit_file, +2 -1". `event` is an
 * approval_requested with a `change`. */
void cli_change_title(struct cli_buf *out, const hocket_json *event);

/* Whether there is a diff that can be shown. */
bool cli_change_has_diff(const hocket_json *change);

/* Shows it, folded unless `whole`. Returns whether all that the call would do was to be seen. */
bool cli_change_say(struct cli_screen *s, const hocket_json *change, bool whole);
