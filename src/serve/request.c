/* What comes on a connection: heads and bodies, one request after the other, each handed on when it is whole. Input is worked
 * off by a loop that an answer given inside of on_request only continues. */
#include "serve/conn.h"

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
    while (rc == 0 && go_on && !c->broken && !c->server->paused) {
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
