/* application/vnd.amazon.eventstream: messages with a length in front and checksums, as AWS streams. Bytes in, in any
 * pieces; messages out.
 *
 *     total (4)  headers (4)  CRC32 of these eight (4)  │ headers │ payload │ CRC32 of all before (4)
 *
 * All numbers are big-endian, and hostile: a length is believed once its own checksum holds, and never beyond the
 * limits. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__EVENTSTREAM_HEADERS (128 << 10) /* bytes, at most */

struct hocket__eventstream_message {
    struct hocket__str type; /* of the event, the exception or the error */
    struct hocket__str data; /* the payload */
    struct hocket__str said; /* an error's words, where it has no payload */
    bool failed;             /* an exception or an error */
};

/* 0 to go on; what is negative ends the reading. */
typedef int (*hocket__eventstream_cb)(void *ud, const struct hocket__eventstream_message *m);

struct hocket__eventstream {
    struct hocket__buf frame; /* a message that has begun */
    size_t max;               /* bytes of one */
    hocket__eventstream_cb on_message;
    void *ud;
};

void hocket__eventstream_init(struct hocket__eventstream *s, const struct hocket_allocator *a,
    size_t max, hocket__eventstream_cb on_message, void *ud);
void hocket__eventstream_deinit(struct hocket__eventstream *s);
/* 0, EPROTOCOL (a checksum, a length or a header is wrong), ELIMIT, ENOMEM, or what the callback gave. */
int hocket__eventstream_feed(
    struct hocket__eventstream *s, const char *p, size_t n, struct hocket_error *err);
/* The end of the input: 0, or ETRUNCATED in the middle of a message. */
int hocket__eventstream_finish(struct hocket__eventstream *s, struct hocket_error *err);

/* CRC-32 as zlib has it. */
uint32_t hocket__crc32(struct hocket__str bytes);
