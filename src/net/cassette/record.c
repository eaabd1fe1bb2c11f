/* Recording: what goes through a request's handler is kept, and written as one line when it
 * is over. A line is written whole, in the order in which things happened.
 *
 * Keys are masked before a line is written, in headers and bodies alike. A request that was
 * cancelled is recorded as such, since a replay has to end it there as well. */

#include "base/json/json.h"
#include "base/utf8.h"
#include "net/cassette/cassette_impl.h"

struct piece {
    uint64_t at; /* milliseconds since the request was made */
    size_t end;  /* in `body` */
};

struct recording {
    struct hocket__list node;
    struct hocket__cassette *c;
    uint64_t number, id, began;
    const struct hocket__http_handler *handler;
    void *ud;
    int status;
    struct hocket__buf headers, body; /* headers: ["name","value"],… */
    struct piece *pieces;
    size_t n, cap;
    bool nomem;
};

static uint64_t since(uint64_t t)
{
    uint64_t now = hocket__deadlines_now();
    return now > t ? now - t : 0;
}

/* ---- Lines -------------------------------------------------------------------------- */

/* The first error stays, and no line is written after it: a cassette with a hole would replay
 * wrongly. */
void hocket__cassette_put(struct hocket__cassette *c, const struct hocket__buf *line)
{
    struct hocket__buf *b = &c->scratch; /* mostly is `line` itself */
    if (c->closed || c->status.status < 0)
        return;
    if (line != b) {
        hocket__buf_reset(b);
        hocket__buf_addstr(b, hocket__buf_str(line));
    }
    hocket__buf_addc(b, '\n');
    if (line->status < 0 || b->status < 0)
        hocket__error_nomem(&c->status);
    else
        c->write(c->ud, hocket__buf_str(b), &c->status);
}

static void add_int(struct hocket__buf *b, const char *name, int64_t v)
{
    hocket__jw_key(b, name);
    hocket__jw_int(b, v);
}

/* Written when the request starts, its answer when that ends: several may be under way at once, and
 * the number says which belong together. */
static void put_request(const struct recording *r, const struct hocket__http_spec *spec)
{
    struct hocket__cassette *c = r->c;
    struct hocket__buf *b = &c->scratch;
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    add_int(b, "request", (int64_t) r->number);
    add_int(b, "at", (int64_t) since(c->began));
    hocket__jw_key(b, "url");
    size_t url = b->len;
    hocket__jw_string(b, hocket__cstr(spec->url));
    if (b->status == 0)
        hocket__secrets_mask_url(&c->secrets, b->data + url + 1, b->len - url - 2);
    hocket__cassette_identity(c, spec, b);
    hocket__jw_close(b, '}');
    hocket__cassette_put(c, b);
}

/* The body's pieces, each cut between characters; what is left over of one goes to the next. */
static void add_pieces(const struct recording *r, struct hocket__buf *b)
{
    size_t from = 0;
    hocket__jw_key(b, "body");
    hocket__jw_open(b, '[');
    for (size_t i = 0; i < r->n; i++) {
        const char *p = r->body.data + from;
        size_t n = r->pieces[i].end - from;
        if (i + 1 < r->n)
            n = hocket__utf8_cut(p, n);
        if (n == 0)
            continue;
        hocket__jw_open(b, '[');
        hocket__jw_int(b, (int64_t) r->pieces[i].at);
        hocket__cassette_bytes(b, hocket__str(p, n));
        hocket__jw_close(b, ']');
        from += n;
    }
    hocket__jw_close(b, ']');
}

static void add_error(
    struct hocket__cassette *c, const struct hocket_error *err, struct hocket__buf *b)
{
    char message[sizeof(err->message)];
    memcpy(message, err->message, sizeof(message));
    hocket__secrets_mask(&c->secrets, message, strlen(message));
    hocket__jw_key(b, "error");
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "code");
    hocket__jw_cstring(b, hocket_status_word(err->status));
    hocket__jw_key(b, "message");
    hocket__jw_cstring(b, message);
    hocket__jw_key(b, "retryable");
    hocket__jw_bool(b, err->retryable);
    hocket__jw_key(b, "http_status");
    hocket__jw_int(b, err->http_status);
    hocket__jw_close(b, '}');
}

/* `word`: "answer" or "cancelled"; err and t may be NULL.
 * A body is masked as a whole and not piece by piece, as a key may have come in two pieces. The
 * mask does not change a length, so the pieces' ends stay right. */
static void put_end(struct recording *r, const char *word, const struct hocket_error *err,
    const struct hocket__http_timing *t)
{
    struct hocket__cassette *c = r->c;
    struct hocket__buf *b = &c->scratch;
    if (c->closed)
        return;
    hocket__secrets_mask(&c->secrets, r->body.data, r->body.len);
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    add_int(b, word, (int64_t) r->number);
    add_int(b, "at", (int64_t) since(c->began));
    if (c->rounds)
        add_int(b, "round", (int64_t) *c->rounds);
    if (t) {
        add_int(b, "connect_us", (int64_t) t->connect_us);
        add_int(b, "first_us", (int64_t) t->first_byte_us);
        add_int(b, "total_us", (int64_t) t->total_us);
    }
    add_int(b, "status", r->status);
    size_t from = b->len;
    hocket__jw_key(b, "headers");
    hocket__jw_open(b, '[');
    hocket__buf_addstr(b, hocket__buf_str(&r->headers));
    hocket__jw_close(b, ']');
    if (b->status == 0)
        hocket__secrets_mask(&c->secrets, b->data + from, b->len - from);
    add_pieces(r, b);
    if (err)
        add_error(c, err, b);
    hocket__jw_close(b, '}');
    if (r->nomem || r->headers.status < 0 || r->body.status < 0)
        b->status = HOCKET_ENOMEM;
    hocket__cassette_put(c, b);
    if (c->status.status == 0)
        c->n_ended++;
}

/* ---- What comes ----------------------------------------------------------------------- */

static void free_one(struct recording *r)
{
    struct hocket__cassette *c = r->c;
    hocket__list_del(&r->node);
    hocket__map_del(&c->by_id, r->id);
    hocket__buf_deinit(&r->headers);
    hocket__buf_deinit(&r->body);
    hocket__free(c->a, r->pieces, r->cap * sizeof(*r->pieces));
    hocket__free(c->a, r, sizeof(*r));
}

static void on_head(void *ud, int status)
{
    struct recording *r = ud;
    r->status = status;
    hocket__buf_reset(&r->headers); /* those of an answer that was redirected */
    if (r->handler->on_head)
        r->handler->on_head(r->ud, status);
}

static bool is_private(struct hocket__str name)
{
    return hocket__str_is(name, "set-cookie") || hocket__str_is(name, "authorization")
           || hocket__str_is(name, "www-authenticate");
}

/* What is private in any answer is not kept at all, known secret or not. */
static void on_header(void *ud, struct hocket__str name, struct hocket__str value)
{
    struct recording *r = ud;
    hocket__jw_open(&r->headers, '[');
    hocket__jw_string(&r->headers, name);
    hocket__jw_string(&r->headers, is_private(name) ? HOCKET__STR("*") : value);
    hocket__jw_close(&r->headers, ']');
    if (r->handler->on_header)
        r->handler->on_header(r->ud, name, value);
}

static void keep(struct recording *r, const char *p, size_t n)
{
    uint64_t at = since(r->began);
    hocket__buf_add(&r->body, p, n);
    /* what came within a millisecond is one piece: a replay keeps the order, not the times */
    if (r->n > 0 && r->pieces[r->n - 1].at == at) {
        r->pieces[r->n - 1].end = r->body.len;
        return;
    }
    if (hocket__grow(r->c->a, &r->pieces, &r->cap, r->n + 1, sizeof(*r->pieces)) < 0)
        r->nomem = true;
    else
        r->pieces[r->n++] = (struct piece){ at, r->body.len };
}

static int on_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct recording *r = ud;
    if (!r->c->closed)
        keep(r, p, n);
    return r->handler->on_data(r->ud, p, n, err); /* may cancel: r is not touched after it */
}

static void on_done(void *ud, const struct hocket_error *err, const struct hocket__http_timing *t)
{
    struct recording *r = ud;
    const struct hocket__http_handler *handler = r->handler;
    void *its = r->ud;
    put_end(r, "answer", err, t);
    free_one(r);
    handler->on_done(its, err, t);
}

static const struct hocket__http_handler recorder = {
    .on_head = on_head, .on_header = on_header, .on_data = on_data, .on_done = on_done
};

/* ---- Start and end ---------------------------------------------------------------------- */

static struct recording *new_recording(
    struct hocket__cassette *c, const struct hocket__http_handler *handler, void *ud)
{
    struct recording *r = hocket__zero(c->a, sizeof(*r));
    if (!r)
        return NULL;
    r->c = c;
    r->handler = handler;
    r->ud = ud;
    r->began = hocket__deadlines_now();
    r->number = ++c->n_requests;
    hocket__buf_init(&r->headers, c->a, 0);
    hocket__buf_init(&r->body, c->a, 0);
    hocket__list_add(&c->recordings, &r->node);
    return r;
}

/* What could not be started is recorded too: the replay has to fail at the same place. */
int64_t hocket__recording_start(struct hocket__cassette *c, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err)
{
    struct hocket__transport *below = c->below;
    struct recording *r = new_recording(c, handler, ud);
    if (!r)
        return hocket__error_nomem(err);
    put_request(r, spec); /* now: the transport takes the body */
    int64_t id = below->ops->start(below, spec, &recorder, r, err);
    if (id > 0 && hocket__map_set(&c->by_id, (uint64_t) id, r) == 0) {
        r->id = (uint64_t) id;
        return id;
    }
    if (id > 0) {
        below->ops->cancel(below, id);
        id = hocket__error_nomem(err);
    }
    put_end(r, "answer", err, NULL);
    free_one(r);
    return id;
}

/* A request that was cancelled gets no on_done any more. */
void hocket__recording_cancel(struct hocket__cassette *c, int64_t id)
{
    struct recording *r = hocket__map_get(&c->by_id, (uint64_t) id);
    if (!r)
        return;
    put_end(r, "cancelled", NULL, NULL);
    free_one(r);
}

void hocket__recording_close(struct hocket__cassette *c)
{
    for (struct hocket__list *n = c->recordings.next; n != &c->recordings; n = n->next)
        put_end(hocket__container_of(n, struct recording, node), "cancelled", NULL, NULL);
}

void hocket__recording_free(struct hocket__cassette *c)
{
    while (!hocket__list_empty(&c->recordings))
        free_one(hocket__container_of(c->recordings.next, struct recording, node));
}
