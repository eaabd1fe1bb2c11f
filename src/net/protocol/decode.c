/* From bytes to a reply: chooses the framing, cuts the stream into events and
 * hands them to the protocol's reader.
 *
 *   feed ──> undecided ──┬─ status >= 300, '{', '[', '<' ──> body ──(end)──> proto->body
 *          (white space) ├─ an SSE protocol ────────────────> sse ─┬───────> proto->event
 *                        ├─ an NDJSON protocol, streamed ──> lines ┤
 *                        └─ an event stream of AWS ────────> frames ┘
 *
 * Whatever was asked for: a server may answer a streamed request with one JSON body, and
 * keeps a connection alive with blank lines before a body or comments inside a stream. */
#include "base/utf8.h"
#include "net/protocol/protocol_impl.h"
#include "net/protocol/twin.h"
#include "net/eventstream.h"
#include "net/sse.h"

#define MAX_MESSAGE ((size_t) 32 << 20)

enum mode { MODE_UNDECIDED, MODE_BODY, MODE_SSE, MODE_LINES, MODE_FRAMES };

/* What each event of a stream needs lies together, at the beginning. */
struct hocket__decoder {
    uint64_t events;
    struct hocket_error *err; /* of the call under way */
    int status;               /* what ended the reading early */
    enum mode mode;
    struct hocket__reader reader;
    struct hocket__sse sse;
    struct hocket__eventstream frames;
    struct hocket__buf body; /* the whole body, or a line's beginning */
    int http_status;
    bool stream;
    const struct hocket_allocator *a;
};

/* White space alone, or a comment that a proxy wrapped into data, says nothing. */
static bool says_nothing(struct hocket__str data)
{
    size_t i = 0;
    if (data.n > 0 && data.p[0] == '{')
        return false;
    while (i < data.n && memchr(" \t\r\n", data.p[i], 4))
        i++;
    return i == data.n || data.p[i] == ':';
}

static int texts_status(struct hocket__decoder *d)
{
    const struct hocket__reply *r = d->reader.reply;
    int status = r->text.status < 0 ? r->text.status : r->reasoning.status;
    return status < 0 ? status : r->refusal.status;
}

static int texts_error(int status, struct hocket__decoder *d)
{
    if (status == HOCKET_ELIMIT)
        return hocket__error(
            d->err, status, "the answer is longer than %zu bytes", d->reader.reply->max);
    return hocket__error(d->err, status, "%s", hocket_status_text(status));
}

/* An event that was cut by the end of the input cannot be told from a broken one. */
static int read_event(
    struct hocket__decoder *d, struct hocket__str type, struct hocket__str data, bool at_end)
{
    /* what comes behind a protocol's last event says nothing any more */
    if (d->reader.done || says_nothing(data))
        return 0;
    d->events++;
    int status = d->reader.proto->event(&d->reader, type, data, d->err);
    /* Out of memory, or of room, is no cut answer. */
    if (status < 0 && at_end && status != HOCKET_ENOMEM && status != HOCKET_ELIMIT)
        return hocket__error(
            d->err, HOCKET_ETRUNCATED, "the answer ended in the middle of an event");
    if (status == 0 && texts_status(d) < 0)
        status = texts_error(texts_status(d), d);
    return status;
}

static int on_event(void *ud, const struct hocket__sse_event *e)
{
    struct hocket__decoder *d = ud;
    d->reader.frame = e->frame;
    return read_event(d, e->type, e->data, e->at_end);
}

/* Twins of the event before, one behind the other. The framing, which knows the limit, handles an
 * event that is as long as a message may be. */
static ptrdiff_t take_twins(void *ud, const char *p, size_t n)
{
    struct hocket__decoder *d = ud;
    if (d->reader.done)
        return 0;
    n = n < d->body.max ? n : d->body.max;
    size_t taken = hocket__twin_take_frames(&d->reader, p, n, &d->events);
    if (taken > 0 && texts_status(d) < 0)
        return texts_error(texts_status(d), d);
    return (ptrdiff_t) taken;
}

static int read_frame(
    struct hocket__decoder *d, const struct hocket__eventstream_message *m, struct hocket__buf *b)
{
    struct hocket__str data = m->data;
    if (m->failed && data.n == 0) { /* what failed has words, or its name at least */
        hocket__jw_open(b, '{');
        hocket__jw_key_string(b, "message", m->said.n > 0 ? m->said : m->type);
        hocket__jw_close(b, '}');
        data = hocket__buf_str(b);
    } else if (hocket__utf8_valid(data.p, data.n) < data.n) {
        hocket__utf8_repair(b, data.p, data.n);
        data = hocket__buf_str(b);
    }
    d->reader.fault = m->failed;
    return b->status < 0 ? b->status : read_event(d, m->type, data, false);
}

static int on_frame(void *ud, const struct hocket__eventstream_message *m)
{
    struct hocket__decoder *d = ud;
    struct hocket__buf words = hocket__buf(d->a, 0);
    int status = read_frame(d, m, &words);
    hocket__buf_deinit(&words);
    return status;
}

int hocket__decoder_new(const struct hocket_allocator *a, const struct hocket__proto *proto,
    size_t max_message, struct hocket__reply *reply, hocket__delta_cb on_delta, void *ud,
    struct hocket__decoder **out)
{
    struct hocket__decoder *d = hocket__zero(a, sizeof(*d));
    if (!d)
        return HOCKET_ENOMEM;
    size_t max = max_message ? max_message : MAX_MESSAGE;
    d->a = a;
    d->reader = (struct hocket__reader){
        .proto = proto, .reply = reply, .on_delta = on_delta, .ud = ud, .slot = -1
    };
    hocket__buf_init(&d->reader.scratch, a, max);
    hocket__buf_init(&d->reader.state, a, max);
    hocket__buf_init(&d->reader.twin.last, a, 65536);
    hocket__buf_init(&d->reader.head, a, 4096);
    hocket__buf_init(&d->body, a, max);
    hocket__sse_init(&d->sse, a, max, on_event, d);
    d->sse.take = take_twins;
    hocket__eventstream_init(&d->frames, a, max, on_frame, d);
    d->http_status = 200;
    d->stream = true;
    *out = d;
    return 0;
}

void hocket__decoder_free(struct hocket__decoder *d)
{
    if (!d)
        return;
    hocket__buf_deinit(&d->reader.scratch);
    hocket__buf_deinit(&d->reader.state);
    hocket__buf_deinit(&d->reader.twin.last);
    hocket__buf_deinit(&d->reader.head);
    hocket__buf_deinit(&d->body);
    hocket__sse_deinit(&d->sse);
    hocket__eventstream_deinit(&d->frames);
    hocket__free(d->a, d, sizeof(*d));
}

void hocket__decoder_head(struct hocket__decoder *d, int http_status, bool stream)
{
    d->http_status = http_status;
    d->stream = stream;
    if (http_status >= 300)
        d->mode = MODE_BODY;
}

uint64_t hocket__decoder_events(const struct hocket__decoder *d)
{
    return d->events;
}

bool hocket__decoder_streams(const struct hocket__decoder *d)
{
    return d->mode >= MODE_SSE;
}

bool hocket__decoder_done(const struct hocket__decoder *d)
{
    const struct hocket__reader *r = &d->reader;
    return r->done || r->over || r->reply->error.where;
}

static void choose(struct hocket__decoder *d, char first)
{
    enum hocket__framing framing = d->reader.proto->framing;
    if (framing == HOCKET__FRAMING_EVENTSTREAM)
        d->mode = memchr("{[<\"", first, 4) ? MODE_BODY : MODE_FRAMES;
    else if (framing == HOCKET__FRAMING_SSE)
        d->mode = memchr("{[<\"", first, 4) ? MODE_BODY : MODE_SSE;
    else
        d->mode = d->stream && first == '{' ? MODE_LINES : MODE_BODY;
}

static int feed_body(struct hocket__decoder *d, const char *p, size_t n)
{
    d->events++;
    return hocket__buf_add(&d->body, p, n);
}

static int take_line(struct hocket__decoder *d, struct hocket__str line, bool at_end)
{
    struct hocket__buf repaired = hocket__buf(d->a, 0);
    int status = 0;
    if (hocket__utf8_valid(line.p, line.n) < line.n) {
        status = hocket__utf8_repair(&repaired, line.p, line.n);
        line = hocket__buf_str(&repaired);
    }
    if (status == 0)
        status = read_event(d, hocket__str("", 0), line, at_end);
    hocket__buf_deinit(&repaired);
    return status;
}

/* A line that lies whole in the input is read there. */
static int feed_lines(struct hocket__decoder *d, const char *p, size_t n)
{
    const char *end = p + n, *lf;
    int status = 0;
    while (status == 0 && (lf = memchr(p, '\n', (size_t) (end - p)))) {
        struct hocket__str line = hocket__str(p, (size_t) (lf - p));
        if (d->body.len > 0) {
            status = hocket__buf_addstr(&d->body, line);
            line = hocket__buf_str(&d->body);
        }
        if (status == 0)
            status = take_line(d, line, false);
        hocket__buf_cut(&d->body, 0);
        p = lf + 1;
    }
    return status < 0 ? status : hocket__buf_add(&d->body, p, (size_t) (end - p));
}

static int feed_mode(struct hocket__decoder *d, const char *p, size_t n)
{
    switch (d->mode) {
    case MODE_BODY: return feed_body(d, p, n);
    case MODE_SSE: return hocket__sse_feed(&d->sse, p, n);
    case MODE_LINES: return feed_lines(d, p, n);
    case MODE_FRAMES: return hocket__eventstream_feed(&d->frames, p, n, d->err);
    default: return 0;
    }
}

static bool framing_failed(const struct hocket__decoder *d)
{
    const struct hocket__sse *s = &d->sse;
    return s->line.status < 0 || s->data.status < 0 || s->type.status < 0 || s->id.status < 0
           || d->body.status < 0 || d->frames.frame.status < 0;
}

/* Sticky: what failed once stays failed. The framing's own limits get their message here;
 * the reader's failures have brought theirs. */
static int settle(struct hocket__decoder *d, int status)
{
    if (status == HOCKET_ELIMIT && framing_failed(d))
        hocket__error(d->err, status, "a message is longer than %zu bytes", d->body.max);
    else if (status == HOCKET_ENOMEM)
        hocket__error_nomem(d->err);
    d->status = status;
    d->err = NULL;
    return status;
}

int hocket__decoder_feed(
    struct hocket__decoder *d, const char *p, size_t n, struct hocket_error *err)
{
    if (d->status < 0)
        return hocket__error(err, d->status, "the reading has failed before");
    d->err = err;
    /* A byte order mark counts as white space here. */
    while (d->mode == MODE_UNDECIDED && n > 0 && memchr(" \t\r\n\xEF\xBB\xBF", *p, 7)) {
        p++;
        n--;
    }
    if (n > 0 && d->mode == MODE_UNDECIDED)
        choose(d, *p);
    return settle(d, n > 0 ? feed_mode(d, p, n) : 0);
}

static int end_body(struct hocket__decoder *d)
{
    struct hocket__reply *reply = d->reader.reply;
    if (d->http_status >= 300) {
        hocket__reply_set_error(reply, "http", d->http_status, hocket__buf_str(&d->body));
        return 0;
    }
    int status = 0;
    struct hocket__str text = hocket__buf_str(&d->body), title;
    if (hocket__html_title(text, &title)) {
        size_t n = hocket__utf8_cut(title.p, title.n < 200 ? title.n : 200);
        return hocket__error(d->err, HOCKET_EPROTOCOL,
            "the answer is a web page%s%.*s, and no JSON", n > 0 ? ": " : "", (int) n, title.p);
    }
    struct hocket__buf repaired = hocket__buf(d->a, 0);
    if (hocket__utf8_valid(text.p, text.n) < text.n) {
        status = hocket__utf8_repair(&repaired, text.p, text.n);
        text = hocket__buf_str(&repaired);
    }
    if (status == 0)
        status = d->reader.proto->body(&d->reader, d->http_status, text, d->err);
    hocket__buf_deinit(&repaired);
    return status;
}

static int end_framing(struct hocket__decoder *d)
{
    switch (d->mode) {
    case MODE_BODY: return end_body(d);
    case MODE_SSE: return hocket__sse_finish(&d->sse);
    case MODE_FRAMES: return hocket__eventstream_finish(&d->frames, d->err);
    case MODE_LINES: return d->body.len > 0 ? take_line(d, hocket__buf_str(&d->body), true) : 0;
    default: return hocket__error(d->err, HOCKET_ETRUNCATED, "the answer is empty");
    }
}

int hocket__decoder_end(struct hocket__decoder *d, struct hocket_error *err)
{
    if (d->status < 0)
        return hocket__error(err, d->status, "the reading has failed before");
    d->err = err;
    int status = end_framing(d);
    hocket__reader_flush(&d->reader);
    if (status == 0 && d->reader.reply->error.where)
        hocket__reply_normalise(d->reader.reply);
    else if (status == 0)
        status = d->reader.proto->end(&d->reader, err);
    if (status == 0 && hocket__reply_status(d->reader.reply) < 0)
        status = texts_error(hocket__reply_status(d->reader.reply), d);
    /* The replay text has all calls, and would send dropped calls back. */
    if (d->reader.reply->surplus) /* it has calls that nobody runs */
        hocket__buf_cut(&d->reader.reply->replay, 0);
    d->reader.reply->complete = d->reader.reply->complete && status == 0;
    return settle(d, status);
}
