/* Entries of a log in a file, for tests of what continues from one. An entry as bytes:
 *
 *     length of what follows   varint
 *     kind                     1 byte
 *     n, tick, at_ms, ord      varints
 *     path                     8 bytes, low one first
 *     name, digest, value      varint and bytes each
 *     check sum                8 bytes: SipHash of all between length and it */
#pragma once

#include "core/log/log.h"

#include "base/hash/hash.h"

#define LOG_BYTES_CHECK 8

static const uint64_t log_bytes_key[2] = { UINT64_C(0x686f636b65742e6c),
    UINT64_C(0x6f67206f66206566) };

static inline void log_bytes_put_varint(struct hocket__buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        hocket__buf_addc(out, (char) (v | 0x80));
    hocket__buf_addc(out, (char) v);
}

static inline void log_bytes_put_fixed(struct hocket__buf *out, uint64_t v)
{
    for (int i = 0; i < 8; i++, v >>= 8)
        hocket__buf_addc(out, (char) v);
}

static inline void log_bytes_put_text(struct hocket__buf *out, struct hocket__str s)
{
    log_bytes_put_varint(out, s.n);
    hocket__buf_addstr(out, s);
}

static inline size_t log_bytes_varint_size(uint64_t v)
{
    size_t n = 1;
    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

static inline size_t log_bytes_text_size(struct hocket__str s)
{
    return log_bytes_varint_size(s.n) + s.n;
}

static inline void log_bytes_put(const struct hocket__log_entry *e, struct hocket__buf *out)
{
    size_t n = 1 + log_bytes_varint_size(e->n) + log_bytes_varint_size(e->tick)
               + log_bytes_varint_size((uint64_t) e->at_ms) + log_bytes_varint_size(e->ord) + 8
               + log_bytes_text_size(e->name) + log_bytes_text_size(e->digest)
               + log_bytes_text_size(e->value) + LOG_BYTES_CHECK;
    log_bytes_put_varint(out, n);
    size_t from = out->len;
    hocket__buf_addc(out, (char) e->kind);
    log_bytes_put_varint(out, e->n);
    log_bytes_put_varint(out, e->tick);
    log_bytes_put_varint(out, (uint64_t) e->at_ms);
    log_bytes_put_varint(out, e->ord);
    log_bytes_put_fixed(out, e->path);
    log_bytes_put_text(out, e->name);
    log_bytes_put_text(out, e->digest);
    log_bytes_put_text(out, e->value);
    if (out->status == 0)
        log_bytes_put_fixed(
            out, hocket__siphash(log_bytes_key, hocket__str(out->data + from, out->len - from)));
}

/* Sets *wrong, and gives 0, where there is none. */
static inline uint64_t log_bytes_take_varint(struct hocket__str *s, bool *wrong)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < s->n && i < 10; i++) {
        unsigned char c = (unsigned char) s->p[i];
        if (i == 9 && c > 1)
            break;
        v |= (uint64_t) (c & 0x7f) << (7 * i);
        if (c < 0x80) {
            *s = hocket__str(s->p + i + 1, s->n - i - 1);
            return v;
        }
    }
    *wrong = true;
    return 0;
}

static inline uint64_t log_bytes_take_fixed(struct hocket__str *s, bool *wrong)
{
    uint64_t v = 0;
    if (s->n < 8) {
        *wrong = true;
        return 0;
    }
    for (int i = 7; i >= 0; i--)
        v = v << 8 | (unsigned char) s->p[i];
    *s = hocket__str(s->p + 8, s->n - 8);
    return v;
}

static inline struct hocket__str log_bytes_take_text(struct hocket__str *s, bool *wrong)
{
    uint64_t n = log_bytes_take_varint(s, wrong);
    if (*wrong || n > s->n) {
        *wrong = true;
        return hocket__str("", 0);
    }
    struct hocket__str text = hocket__str(s->p, (size_t) n);
    *s = hocket__str(s->p + n, s->n - (size_t) n);
    return text;
}

static inline bool log_bytes_take_entry(struct hocket__str s, struct hocket__log_entry *e)
{
    bool wrong = s.n == 0;
    e->kind = wrong ? 0 : (enum hocket__log_kind)(unsigned char) s.p[0];
    if (e->kind < HOCKET__LOG_LIFE || e->kind >= HOCKET__LOG_KINDS)
        return false;
    s = hocket__str(s.p + 1, s.n - 1);
    e->n = log_bytes_take_varint(&s, &wrong);
    e->tick = log_bytes_take_varint(&s, &wrong);
    uint64_t at = log_bytes_take_varint(&s, &wrong), ord = log_bytes_take_varint(&s, &wrong);
    e->at_ms = (int64_t) at;
    e->ord = (uint32_t) ord;
    e->path = log_bytes_take_fixed(&s, &wrong);
    e->name = log_bytes_take_text(&s, &wrong);
    e->digest = log_bytes_take_text(&s, &wrong);
    e->value = log_bytes_take_text(&s, &wrong);
    return !wrong && s.n == 0 && at <= INT64_MAX && ord <= UINT32_MAX;
}

/* The bytes of a varint at the beginning; 0: it goes on behind them. */
static inline size_t log_bytes_length_bytes(struct hocket__str from)
{
    for (size_t i = 0; i < from.n; i++)
        if ((unsigned char) from.p[i] < 0x80)
            return i + 1;
    return 0;
}

/* Reads the first one of `from`: how many bytes it has, and *e, which points into them; 0 when more is
 * needed; EPARSE when it is none, or was damaged. */
static inline int64_t log_bytes_take(struct hocket__str from, struct hocket__log_entry *e)
{
    bool wrong = false;
    struct hocket__str rest = from;
    if (log_bytes_length_bytes(from) == 0)
        return from.n < 10 ? 0 : HOCKET_EPARSE;
    uint64_t n = log_bytes_take_varint(&rest, &wrong);
    if (wrong || n < LOG_BYTES_CHECK || n > INT64_MAX / 2)
        return HOCKET_EPARSE;
    if (n > rest.n)
        return 0;
    struct hocket__str body = hocket__str(rest.p, (size_t) n - LOG_BYTES_CHECK);
    struct hocket__str sum = hocket__str(rest.p + body.n, LOG_BYTES_CHECK);
    if (log_bytes_take_fixed(&sum, &wrong) != hocket__siphash(log_bytes_key, body)
        || !log_bytes_take_entry(body, e))
        return HOCKET_EPARSE;
    return (int64_t) ((size_t) (rest.p - from.p) + n);
}
