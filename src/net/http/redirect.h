/* Redirects, followed by us and not by libcurl: it would send all our headers, keys
 * among them, to wherever an answer points.
 *
 * Followed are at most as many as the spec allows, to http and https. Not followed,
 * but handed over as they are: from https to http, and a body (307, 308) to another
 * origin. Another origin is sent only headers that say nothing about who asks. */
#pragma once

#include "base/status.h"

struct hocket__request;

/* The answer is complete: sends the request to head.target. On failure the request is
 * as it was, for the caller to end. */
int hocket__redirect_follow(struct hocket__request *req, struct hocket_error *err);
