/* The socket that a server opens to listen on. */
#pragma once

#include "base/status.h"

/* At a numeric address; port 0: any that is free. A descriptor, or a code of libuv. */
int hocket__listener_open(const char *address, int port);
/* Says why it could not be opened, by the code of libuv. */
int hocket__listener_error(struct hocket_error *err, int error, const char *address, int port);
