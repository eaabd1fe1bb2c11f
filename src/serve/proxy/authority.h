/* A host and a port, as requests and rules name them, put right: the same place is always the same
 * text. What others could read in another way is refused: user names, percent signs, letters that
 * are no ASCII (a name in other scripts is written as xn--…), numbers that some take for an address
 * (0x7f.1, 2130706433). No look-ups. */
#pragma once

#include "base/status.h"
#include "base/str.h"

#define HOCKET__HOST_MAX 253

struct hocket__authority {
    char host[HOCKET__HOST_MAX + 1]; /* lower case, no final dot; an address without brackets */
    int port;
    bool address; /* of IPv4 or IPv6, as inet_ntop writes it; one within the other is IPv4 */
};

/* Reads "host:port", "[address]:port" or, with a default port, "host". 0, or EINVAL.
 */
int hocket__authority_read(struct hocket__str text, int port, struct hocket__authority *out);

enum { HOCKET__PORT_ANY = -1, HOCKET__PORT_WEB = 0 }; /* the latter: 80 and 443 */

/* "host", "host:port", "host:*", "[address]:port", "*.domain": hosts below it, and not itself. */
struct hocket__host_rule {
    struct hocket__authority to; /* its port may be one of the above */
    bool below;
    bool inside; /* may be at an address that is not public: it is one, or is called localhost */
};

/* 0, or EINVAL with what would be right. */
int hocket__host_rule_read(
    struct hocket__str text, struct hocket__host_rule *out, struct hocket_error *err);
bool hocket__host_rule_fits(const struct hocket__host_rule *r, const struct hocket__authority *a);
