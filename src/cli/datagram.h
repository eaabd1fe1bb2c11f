/* Words for a service of this machine: systemd's journal, systemd itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Sends one datagram of n bytes to the Unix socket `path`; a name that begins with '@' is in no file system. With `wait` a
 * reader that is slow, or is started anew just now, gets a second. False where it did not get there: nobody listens, it is too long. */
bool cli_datagram_send(const char *path, const char *p, size_t n, bool wait);
