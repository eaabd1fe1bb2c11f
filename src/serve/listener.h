/* The socket that a server listens on: its own, or one that was handed over. */
#pragma once

#include "base/status.h"

/* At a numeric address; port 0: any that is free. A descriptor, or -1 with errno set. */
int hocket__listener_open(const char *address, int port);
/* One that a program that started us has opened: itself, or -1 with errno set. */
int hocket__listener_take(int fd);
/* The port that it has; 0 where it has none. */
int hocket__listener_port(int fd);
/* Says why it could not be opened. */
int hocket__listener_error(struct hocket_error *err, int error, const char *address, int port);
