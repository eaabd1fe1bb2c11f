/* What host.c, turn.c and close.c share: the life of a host. */
#pragma once

#include "host/host.h"

/* Closes the handles of the host itself, when the runtime has closed its own; called back by it. */
void hocket__host_close_handles(void *host);

/* Gives all of it back. Its handles are closed. */
void hocket__host_free(struct hocket_host *host);

/* Nothing of the host is on the C stack. Our own loop is turned until nothing is left, and the host is
 * free when this returns; an embedder's does the rest by itself. */
void hocket__host_close_now(struct hocket_host *host);

/* Says ECALLBACK, and the first time to the log as well. */
int hocket__host_inside_callback(struct hocket_host *host);
