/* A request's timeouts: one deadline for all that it waits for at a time.
 *
 * The deadline is only ever moved forward where a shorter wait begins; what was
 * prolonged meanwhile is found out when it passes. When the loop itself was held
 * up, the answer may lie in the socket: so a request that is late is looked at once
 * more, after the loop has polled. */
#pragma once

#include "net/deadline.h"

struct hocket__request;

/* To be called where a wait begins that may end before the others. */
void hocket__wait_begin(struct hocket__request *req);
/* Something has come that counts. */
void hocket__wait_progress(struct hocket__request *req);
/* All that counts has come: until there is progress again it waits for the end alone, and for a
 * second at most. */
void hocket__wait_for_end(struct hocket__request *req);
/* The deadline's callback: ends the request when it is late. */
void hocket__wait_passed(struct hocket__deadline *d);
