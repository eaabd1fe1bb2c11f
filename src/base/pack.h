/* Numbers and texts as bytes: numbers of seven bits a byte, low ones first, the high bit for "more";
 * texts by their length. Reading trusts nothing, and is sticky: after a fault everything is 0 or
 * empty, and `bad` says so. */
#pragma once

#include "base/buf.h"

#include <stdint.h>

static inline void hocket__pack_num(struct hocket__buf *b, uint64_t v)
{
    for (; v > 127; v >>= 7)
        hocket__buf_addc(b, (char) ((v & 127) | 128));
    hocket__buf_addc(b, (char) v);
}

/* Small numbers of either sign are short. */
static inline void hocket__pack_int(struct hocket__buf *b, int64_t v)
{
    hocket__pack_num(b, (uint64_t) v << 1 ^ (uint64_t) (v >> 63));
}

static inline void hocket__pack_str(struct hocket__buf *b, struct hocket__str s)
{
    hocket__pack_num(b, s.n);
    hocket__buf_addstr(b, s);
}

struct hocket__packed {
    const char *p, *end;
    bool bad;
};

static inline struct hocket__packed hocket__packed(struct hocket__str s)
{
    return (struct hocket__packed){ s.p, s.p + s.n, false };
}

static inline uint64_t hocket__unpack_num(struct hocket__packed *in)
{
    uint64_t v = 0;
    for (unsigned shift = 0; in->p < in->end && shift < 64; shift += 7) {
        uint64_t byte = (unsigned char) *in->p++;
        if (shift == 63 && byte > 1)
            break;
        v |= (byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    in->bad = true;
    in->p = in->end;
    return 0;
}

static inline int64_t hocket__unpack_int(struct hocket__packed *in)
{
    uint64_t v = hocket__unpack_num(in);
    return (int64_t) (v >> 1 ^ (0 - (v & 1)));
}

static inline struct hocket__str hocket__unpack_bytes(struct hocket__packed *in, uint64_t n)
{
    if (n > (size_t) (in->end - in->p)) {
        in->bad = true;
        in->p = in->end;
        return HOCKET__STR("");
    }
    struct hocket__str s = hocket__str(in->p, (size_t) n);
    in->p += n;
    return s;
}

static inline struct hocket__str hocket__unpack_str(struct hocket__packed *in)
{
    return hocket__unpack_bytes(in, hocket__unpack_num(in));
}
