/* A request's timeouts: one deadline for everything that it waits for at a time.
 *
 * The deadline is only ever moved forward where a shorter wait begins; when it passes, a check finds deadlines
 * that moved meanwhile. When the loop itself was held up, the answer may lie in the socket: so a late request gets
 * one more check, after the loop has polled. */
#pragma once

#include "net/deadline.h"

struct hocket__request;

/* To be called where a wait begins that may end before the others. */
void hocket__wait_begin(struct hocket__request *req);
/* Something has come that counts. */
void hocket__wait_progress(struct hocket__request *req);
/* Everything needed has arrived: until there is more progress it only waits for the end, for a
 * second at most. */
void hocket__wait_for_end(struct hocket__request *req);
/* The deadline's callback: ends the request when it is late. */
void hocket__wait_passed(struct hocket__deadline *d);
