/* Rules about addresses of the web. A glob such as `https://docs.example.org:8443/a*` is compared part
 * by part, after both were taken apart: what a model writes behind the host does not become part of it. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

/* Whether a rule that allows covers an address: scheme, host and port each fit their part of the
 * glob, and the path with its query the rest. Without a port the scheme's own is meant, without a
 * path "/". An address with a user, control characters, or dots that a server may resolve is covered
 * by no path but "/" and a star. A glob without "://" covers none, unless it is "*". */
bool hocket__url_covers(struct hocket__str glob, struct hocket__str url);

/* Whether a rule that asks or denies is for an address: as above, or as text in whatever case, or its
 * host alone. */
bool hocket__url_has(struct hocket__str glob, struct hocket__str url);
