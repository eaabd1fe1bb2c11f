/* Server-sent events (WHATWG HTML, "9.2.6 Interpreting an event stream"), fed in
 * pieces that may be cut anywhere. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

struct hocket__sse_event {
    struct hocket__str type; /* the event field; "message" when absent or empty */
    struct hocket__str data; /* valid UTF-8: broken bytes are U+FFFD */
    struct hocket__str id;
    /* All its lines with the blank one, as they lie in the input; empty when they do not lie there
     * whole, or when there are others among them than those of data and type. */
    struct hocket__str frame;
    bool at_end; /* it was flushed at the end, without its blank line */
};

/* Returns 0 to go on or a negative code that stops the feed and is returned by it. */
typedef int (*hocket__sse_cb)(void *ud, const struct hocket__sse_event *event);

/* Asked where an event may begin in the input. Returns how many bytes it has taken, which have
 * to be whole frames (see above); 0 when none, or a negative code that stops the feed. */
typedef ptrdiff_t (*hocket__sse_take_cb)(void *ud, const char *p, size_t n);

struct hocket__sse {
    bool skip_lf, started, has_data, bare;
    hocket__sse_cb cb;
    hocket__sse_take_cb take; /* NULL after init: nobody is asked */
    void *ud;
    struct hocket__buf line, type, data, id;
    size_t max_event; /* bytes of one event's data and of one line */
};

/* max_event 0: 32 MiB. */
void hocket__sse_init(struct hocket__sse *s, const struct hocket_allocator *a, size_t max_event,
    hocket__sse_cb cb, void *ud);
void hocket__sse_deinit(struct hocket__sse *s);

/* 0, ENOMEM, ELIMIT (a longer line or event), or what the callback returned. A line
 * that lies whole in p is handed on without being copied. A line "error: …" (sent by
 * some servers in place of data) is handed on as an event of type "error". Lines that begin with
 * '{' and go on to the next blank line (Google's servers put errors between events like that,
 * without `data:`) are data, too; to the standard they would be fields without a meaning. */
int hocket__sse_feed(struct hocket__sse *s, const char *p, size_t n);
/* End of input: hands on an event that lacks its blank line (at_end). */
int hocket__sse_finish(struct hocket__sse *s);
