/* systemd's journal as it is written to: one datagram for each record (systemd.io/JOURNAL_NATIVE_PROTOCOL). */
#pragma once

#include <stdbool.h>

#include "cli/buf.h"

/* Whether a descriptor is the stream that JOURNAL_STREAM names ("DEVICE:INODE"). `stream` may be NULL. */
bool cli_journal_has(int fd, const char *stream);

/* Appends one field. `value` may hold line ends. */
void cli_journal_field(struct cli_buf *record, const char *name, const char *value);

/* Sends a record to the socket at `path`. False where it did not get there: nobody listens, or it is too long. */
bool cli_journal_send(const char *path, const struct cli_buf *record);
