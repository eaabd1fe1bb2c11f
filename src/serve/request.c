/* What comes on a connection: heads and bodies, one request after the other, each handed on when it is whole. Input is worked
 * off by a loop that an answer given inside of on_request only continues. */
#include "serve/conn.h"

#include "serve/body.h"
#include "serve/head.h"

/* A body's framing as a machine over bytes, so that it does not matter how they were cut on
 * the way. Strict on purpose: two readers that differ about where a body ends let one request
 * hide in another (request smuggling).
 *
 *    LENGTH ─(;)─> EXTENSION ─> LENGTH_LF ─> DATA ─> DATA_CR ─> DATA_LF ─> LENGTH …
 *                                  └─(length 0)─> LINE ─> trailers ─> LAST_LF ─> END */

#define STATUS_BAD   400
#define STATUS_LARGE 413
/* Extensions and trailers carry nothing for us: more of them is an attack. */
#define MAX_IGNORED 16384
#define MAX_DIGITS  15

enum state {
    LENGTH,
    EXTENSION,
    LENGTH_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    LINE, /* a trailer's first byte, or the last line's CR */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    END,
};

void hocket__body_init(struct hocket__body *b, bool chunked, uint64_t length)
{
    *b = (struct hocket__body){
        .chunked = chunked,
        .state = chunked ? LENGTH : DATA,
        .left = length,
    };
}

static int length_byte(struct hocket__body *b, char c)
{
    int digit = hocket__hex_value(c);
    if (digit >= 0) {
        b->left = b->left * 16 + (unsigned) digit;
        return ++b->digits > MAX_DIGITS ? STATUS_LARGE : 0;
    }
    if (b->digits == 0 || (c != '\r' && c != ';'))
        return STATUS_BAD;
    b->state = c == '\r' ? LENGTH_LF : EXTENSION;
    return 0;
}

/* A byte that is dropped; `next` follows at the end of its line. */
static int ignored_byte(struct hocket__body *b, char c, enum state next)
{
    if (c == '\r')
        b->state = (int) next;
    else if (((unsigned char) c < 0x20 && c != '\t') || c == 0x7f || ++b->ignored > MAX_IGNORED)
        return STATUS_BAD;
    return 0;
}

static int name_byte(struct hocket__body *b, char c)
{
    b->state = c == ':' ? TRAILER_VALUE : TRAILER_NAME;
    return (c != ':' && !hocket__head_is_token(c)) || ++b->ignored > MAX_IGNORED ? STATUS_BAD : 0;
}

static int expect(struct hocket__body *b, char c, char wanted, enum state next)
{
    b->state = (int) next;
    return c == wanted ? 0 : STATUS_BAD;
}

static int framing_byte(struct hocket__body *b, char c)
{
    switch ((enum state) b->state) {
    case LENGTH: return length_byte(b, c);
    case EXTENSION: return ignored_byte(b, c, LENGTH_LF);
    case LENGTH_LF: return expect(b, c, '\n', b->left ? DATA : LINE);
    case DATA_CR: return expect(b, c, '\r', DATA_LF);
    case DATA_LF: b->digits = 0; return expect(b, c, '\n', LENGTH);
    case LINE:
        if (c == '\r')
            return expect(b, c, '\r', LAST_LF);
        return c == ':' ? STATUS_BAD : name_byte(b, c);
    case TRAILER_NAME: return name_byte(b, c);
    case TRAILER_VALUE: return ignored_byte(b, c, TRAILER_LF);
    case TRAILER_LF: return expect(b, c, '\n', LINE);
    case LAST_LF: return expect(b, c, '\n', END);
    case DATA:
    case END: break;
    }
    return STATUS_BAD;
}

/* A run of body bytes. */
static int take(
    struct hocket__body *b, struct hocket__str in, size_t *used, struct hocket__buf *out)
{
    size_t n = b->left < in.n - *used ? (size_t) b->left : in.n - *used;
    if (b->left > out->max - out->len) /* what was announced counts, not what has come */
        return STATUS_LARGE;
    if (n > 0)
        hocket__buf_add(out, in.p + *used, n);
    if (out->status)
        return out->status == HOCKET_ELIMIT ? STATUS_LARGE : out->status;
    *used += n;
    b->left -= n;
    if (b->left == 0)
        b->state = b->chunked ? DATA_CR : END;
    return 0;
}

int hocket__body_feed(
    struct hocket__body *b, struct hocket__str in, size_t *used, struct hocket__buf *out)
{
    int rc = 0;
    *used = 0;
    if (b->state == DATA)
        rc = take(b, in, used, out); /* also when there is no input: a body of no bytes */
    while (rc == 0 && b->state != END && *used < in.n)
        rc = b->state == DATA ? take(b, in, used, out) : framing_byte(b, in.p[(*used)++]);
    return rc ? rc : b->state == END;
}

#define KEEP 8192 /* buffers larger than this are not kept for the next request */

static void send_continue(struct hocket__conn *c)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char copy[sizeof text]; /* a uv_buf_t is not const */
    memcpy(copy, text, sizeof text);
    uv_buf_t piece = { .base = copy, .len = sizeof text - 1 };
    hocket__conn_send(c, &piece, 1, 0);
}

/* Compared in a time that says nothing of where it differs. */
static bool is_key(const struct hocket__buf *key, struct hocket__str given)
{
    unsigned char differs = given.n != key->len;
    for (size_t i = 0; i < given.n && i < key->len; i++)
        differs |= (unsigned char) (given.p[i] ^ key->data[i]);
    return !differs;
}

static bool brings_key(const struct hocket__conn *c)
{
    static const size_t bearer = sizeof("Bearer ") - 1;
    const struct hocket__buf *key = &c->server->key;
    for (size_t i = 0; i < c->head.n_headers; i++) {
        struct hocket__str name = c->head.headers[i].name, v = c->head.headers[i].value;
        if (hocket__head_same(name, "x-api-key") && is_key(key, v))
            return true;
        if (hocket__head_same(name, "authorization") && v.n > bearer
            && hocket__head_same(hocket__str(v.p, bearer), "Bearer ")
            && is_key(key, hocket__str(v.p + bearer, v.n - bearer)))
            return true;
    }
    return false;
}

static size_t max_body(const struct hocket__conn *c)
{
    const struct hocket__server *s = c->server;
    bool stranger = s->key.len > 0 && s->max_stranger < s->max_body && !brings_key(c);
    return stranger ? s->max_stranger : s->max_body;
}

/* 0, or what to refuse with.
 * The head's text is copied out of the input, as the parsed head points into it and the input moves
 * on. */
static int take_head(struct hocket__conn *c)
{
    hocket__buf_reset(&c->text);
    hocket__buf_add(&c->text, c->in.data + c->scan.start, c->scan.at - c->scan.start);
    hocket__buf_drop(&c->in, c->scan.at);
    c->scan = (struct hocket__head_scan){ 0 };
    if (c->text.status)
        return c->text.status;
    int rc = hocket__head_parse(&c->head, c->server->a, hocket__buf_str(&c->text));
    if (rc == 0 && hocket__str_is(c->head.method, "CONNECT"))
        rc = 501;
    if (rc)
        return rc;
    c->content.max = max_body(c);
    c->began = uv_now(c->server->loop);
    if (!c->head.chunked && c->head.length > c->content.max)
        return 413;
    hocket__body_init(&c->body, c->head.chunked, c->head.length);
    c->state = HOCKET__CONN_BODY;
    if (c->head.expect_continue && c->in.len == 0 && (c->head.chunked || c->head.length > 0))
        send_continue(c);
    return 0;
}

/* After on_request the texts are no longer anybody's: a thousand requests that are answered slowly
 * hold no bodies. */
static void drop_request_text(struct hocket__conn *c)
{
    hocket__buf_deinit(&c->text);
    hocket__buf_deinit(&c->content);
    if (c->in.len == 0 && c->in.cap > KEEP)
        hocket__buf_deinit(&c->in);
}

/* Hands the request on. Answers of any kind may be given before on_request returns. */
static int dispatch(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    struct hocket__server_request r = {
        .id = s->last_id + 1,
        .method = c->head.method,
        .path = c->head.path,
        .body = hocket__buf_str(&c->content),
        .headers = c->head.headers,
        .n_headers = c->head.n_headers,
    };
    int rc = hocket__map_set(&s->requests, r.id, c);
    if (rc)
        return rc;
    s->last_id = c->id = r.id;
    c->state = HOCKET__CONN_OPEN;
    c->to_head = hocket__str_is(r.method, "HEAD");
    c->http10 = c->head.minor == 0;
    c->keep_alive = c->head.keep_alive && !s->muted;
    hocket__conn_wait(c);
    s->handler.on_request(s->ud, &r);
    if (c->state != HOCKET__CONN_CLOSED)
        drop_request_text(c);
    return 0;
}

static int step_head(struct hocket__conn *c, bool *go_on)
{
    int rc = hocket__head_find(&c->scan, hocket__buf_str(&c->in), c->server->max_header);
    *go_on = rc == 1;
    return rc == 1 ? take_head(c) : rc;
}

/* `used` may be less than there is: what follows is the next request, and stays in the input. */
static int step_body(struct hocket__conn *c, bool *go_on)
{
    size_t used;
    int rc = hocket__body_feed(&c->body, hocket__buf_str(&c->in), &used, &c->content);
    hocket__buf_drop(&c->in, used);
    *go_on = rc == 1;
    return rc == 1 ? dispatch(c) : rc;
}

/* Not recursive: an answer inside on_request leaves the next request to this loop. */
void hocket__conn_work(struct hocket__conn *c)
{
    bool go_on = true;
    int rc = 0;
    if (c->busy)
        return;
    c->busy = true;
    while (rc == 0 && go_on && !c->broken) {
        if (c->state == HOCKET__CONN_HEAD)
            rc = step_head(c, &go_on);
        else if (c->state == HOCKET__CONN_BODY)
            rc = step_body(c, &go_on);
        else
            go_on = false;
    }
    c->busy = false;
    if (rc > 0)
        hocket__conn_refuse(c, rc, NULL);
    else if (rc < 0)
        hocket__conn_break(c);
    else
        hocket__conn_watch(c);
}

/* Whoever sends a body a byte at a time would hold its place for ever. */
static bool drips(const struct hocket__conn *c)
{
    uint64_t since = uv_now(c->server->loop) - c->began;
    return c->state == HOCKET__CONN_BODY && since > c->server->waiting.ms + c->content.len;
}

/* Slow clients: time counts anew with each piece of a body, but for a head from its first byte on. */
void hocket__conn_take(struct hocket__conn *c, const char *p, size_t n)
{
    if (c->state == HOCKET__CONN_DRAIN)
        return;
    if (c->state == HOCKET__CONN_BODY || (c->state == HOCKET__CONN_HEAD && c->in.len == 0))
        hocket__conn_touch(c);
    if (hocket__buf_add(&c->in, p, n))
        hocket__conn_gone(c);
    else if (drips(c))
        hocket__conn_refuse(c, 408, NULL);
    else
        hocket__conn_work(c);
}
