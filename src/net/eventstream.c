/* A message is gathered until it is whole, then checked, then read where it lies. */
#include "net/eventstream.h"

#define PRELUDE 12
#define TAIL    4
#define LARGEST ((size_t) 24 << 20)

/* Four bits at a time: a table of 64 bytes, and fast enough for messages of some hundred. */
uint32_t hocket__crc32(struct hocket__str bytes)
{
    static const uint32_t table[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190,
        0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < bytes.n; i++) {
        crc ^= (unsigned char) bytes.p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static uint32_t read_u32(const char *p)
{
    const unsigned char *u = (const unsigned char *) p;
    return (uint32_t) u[0] << 24 | (uint32_t) u[1] << 16 | (uint32_t) u[2] << 8 | u[3];
}

static size_t read_u16(const char *p)
{
    const unsigned char *u = (const unsigned char *) p;
    return (size_t) u[0] << 8 | u[1];
}

void hocket__eventstream_init(struct hocket__eventstream *s, const struct hocket_allocator *a,
    size_t max, hocket__eventstream_cb on_message, void *ud)
{
    *s = (struct hocket__eventstream){
        .max = max < LARGEST ? max : LARGEST, .on_message = on_message, .ud = ud
    };
    hocket__buf_init(&s->frame, a, s->max + PRELUDE + TAIL);
}

void hocket__eventstream_deinit(struct hocket__eventstream *s)
{
    hocket__buf_deinit(&s->frame);
}

static int broken(struct hocket_error *err, const char *what)
{
    return hocket__error(err, HOCKET_EPROTOCOL, "the event stream is broken: %s", what);
}

/* ---- Headers ---- */

/* Bytes of the value that begins at p, with what says its length; SIZE_MAX: it goes past the end, or is of no type
 * that there is. Text and bytes are given in *text. */
static size_t value_size(int type, const char *p, size_t left, struct hocket__str *text)
{
    static const unsigned char sizes[] = { 0, 0, 1, 2, 4, 8, 0, 0, 8, 16 };
    *text = hocket__str("", 0);
    if (type == 6 || type == 7) {
        if (left < 2 || read_u16(p) > left - 2)
            return SIZE_MAX;
        *text = hocket__str(p + 2, read_u16(p));
        return 2 + text->n;
    }
    return type > 9 || sizes[type] > left ? SIZE_MAX : sizes[type];
}

static void take_header(
    struct hocket__eventstream_message *m, struct hocket__str name, struct hocket__str value)
{
    if (hocket__str_is(name, ":message-type"))
        m->failed = !hocket__str_is(value, "event");
    else if (hocket__str_is(name, ":event-type") || hocket__str_is(name, ":exception-type")
             || hocket__str_is(name, ":error-code"))
        m->type = value;
    else if (hocket__str_is(name, ":error-message"))
        m->said = value;
}

static bool read_headers(struct hocket__str in, struct hocket__eventstream_message *m)
{
    while (in.n > 0) {
        size_t n = (unsigned char) in.p[0];
        if (in.n < n + 2)
            return false;
        struct hocket__str name = hocket__str(in.p + 1, n), value;
        in = hocket__str(in.p + n + 2, in.n - n - 2);
        int type = (unsigned char) name.p[n];
        size_t size = value_size(type, in.p, in.n, &value);
        if (size == SIZE_MAX)
            return false;
        if (type == 7)
            take_header(m, name, value);
        in = hocket__str(in.p + size, in.n - size);
    }
    return true;
}

/* ---- Messages ---- */

/* The length of the message that the prelude begins; 0, and an error, where it lies. */
static size_t length_of(
    const struct hocket__eventstream *s, const char *p, int *status, struct hocket_error *err)
{
    size_t total = read_u32(p), headers = read_u32(p + 4);
    if (hocket__crc32(hocket__str(p, 8)) != read_u32(p + 8))
        *status = broken(err, "the checksum of a length is wrong");
    else if (total < PRELUDE + TAIL || headers > total - PRELUDE - TAIL)
        *status = broken(err, "its lengths contradict each other");
    else if (headers > HOCKET__EVENTSTREAM_HEADERS || total > s->max)
        *status = hocket__error(err, HOCKET_ELIMIT, "a message is longer than %zu bytes", s->max);
    else
        return total;
    return 0;
}

static int take(
    struct hocket__eventstream *s, const char *p, size_t total, struct hocket_error *err)
{
    size_t headers = read_u32(p + 4);
    struct hocket__eventstream_message m = { .type = { "", 0 }, .said = { "", 0 } };
    if (hocket__crc32(hocket__str(p, total - TAIL)) != read_u32(p + total - TAIL))
        return broken(err, "the checksum of a message is wrong");
    if (!read_headers(hocket__str(p + PRELUDE, headers), &m))
        return broken(err, "a header goes past its end");
    m.data = hocket__str(p + PRELUDE + headers, total - headers - PRELUDE - TAIL);
    return s->on_message(s->ud, &m);
}

/* Fills the message that has begun up to `want` bytes; how many of the input that took. */
static size_t fill(struct hocket__eventstream *s, const char *p, size_t n, size_t want)
{
    size_t more = want - s->frame.len;
    more = more < n ? more : n;
    hocket__buf_add(&s->frame, p, more);
    return more;
}

int hocket__eventstream_feed(
    struct hocket__eventstream *s, const char *p, size_t n, struct hocket_error *err)
{
    int status = 0;
    while (status == 0 && (n > 0 || s->frame.len >= PRELUDE)) {
        size_t want = PRELUDE;
        if (s->frame.len >= PRELUDE && !(want = length_of(s, s->frame.data, &status, err)))
            return status;
        size_t taken = fill(s, p, n, want);
        p += taken;
        n -= taken;
        if (s->frame.status < 0)
            return s->frame.status;
        if (s->frame.len < want)
            break;
        if (want > PRELUDE) {
            status = take(s, s->frame.data, want, err);
            hocket__buf_cut(&s->frame, 0);
        }
    }
    return status;
}

int hocket__eventstream_finish(struct hocket__eventstream *s, struct hocket_error *err)
{
    if (s->frame.len == 0)
        return 0;
    return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended in the middle of a message");
}
