/* Tells addresses of the public internet from all others (address.h), for requests that a model asks
 * for. The others are loopback, private networks, link-local with the metadata services of clouds, and
 * forms that carry an IPv4 address inside of an IPv6 one. What is not known to be public is not. */
#include "net/address.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <uv.h>

struct range4 {
    uint32_t prefix;
    int bits;
};

static const struct range4 special4[] = {
    { 0x00000000, 8 },  /* this network */
    { 0x0a000000, 8 },  /* private */
    { 0x64400000, 10 }, /* shared, 100.64/10 */
    { 0x7f000000, 8 },  /* loopback */
    { 0xa9fe0000, 16 }, /* link-local */
    { 0xa83f8110, 32 }, /* public, but it gives secrets to a cloud's machines: 168.63.129.16 */
    { 0xac100000, 12 }, /* private */
    { 0xc0000000, 24 }, /* protocol assignments */
    { 0xc0000200, 24 }, /* documentation */
    { 0xc0586300, 24 }, /* 6to4 relays */
    { 0xc0a80000, 16 }, /* private */
    { 0xc6120000, 15 }, /* benchmarks */
    { 0xc6336400, 24 }, /* documentation */
    { 0xcb007100, 24 }, /* documentation */
    { 0xe0000000, 4 },  /* multicast */
    { 0xf0000000, 4 },  /* reserved, broadcast */
};

static bool is_public4(uint32_t address)
{
    for (size_t i = 0; i < sizeof(special4) / sizeof(special4[0]); i++)
        if ((address ^ special4[i].prefix) >> (32 - special4[i].bits) == 0)
            return false;
    return true;
}

static uint32_t read32(const uint8_t *p)
{
    return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

/* Global unicast is 2000::/3; all else is special. */
static bool is_public6(const uint8_t *a)
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
    static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };
    if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0)
        return is_public4(read32(a + 12));
    if ((a[0] & 0xe0) != 0x20)
        return false;
    if (read32(a) == 0x20010000 || read32(a) == 0x20010db8
        || a[0] == 0x3f) /* Teredo, documentation, 3fff */
        return false;
    if (a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xfe) == 0) /* protocol assignments, 2001::/23 */
        return false;
    if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 carries an IPv4 address */
        return is_public4(read32(a + 2));
    return true;
}

bool hocket__address_is_public(const struct sockaddr *to)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    switch (to->sa_family) {
    case AF_INET: memcpy(&v4, to, sizeof(v4)); return is_public4(ntohl(v4.sin_addr.s_addr));
    case AF_INET6: memcpy(&v6, to, sizeof(v6)); return is_public6(v6.sin6_addr.s6_addr);
    default: return false;
    }
}
