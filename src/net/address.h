/* Which addresses are the public internet's. Sources: the IANA special-purpose address registries
 * for IPv4 and IPv6 (RFC 6890 and its updates). */
#pragma once

#include "base/private.h"

#include <stdbool.h>

struct sockaddr;

/* False for loopback, private, link-local (cloud metadata services live there), shared, multicast,
 * reserved and documentation addresses, for IPv6 forms that carry such an IPv4 address (mapped,
 * translated, 6to4, Teredo), and for what is no IP address at all. */
HOCKET__PRIVATE bool hocket__address_is_public(const struct sockaddr *to);
