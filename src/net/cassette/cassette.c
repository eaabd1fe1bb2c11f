/* What recording and replaying have in common: life, the identity of a request, facts, chance.
 * A cassette is one object for both, since whoever makes a call does not know which it is.
 *
 * A failure to write ends the recording and not the run: `status` keeps the first, and the end
 * of the run tells of it. */
#include "net/cassette/cassette.h"

#include "base/hash/hash.h"
#include "base/json/json.h"
#include "base/utf8.h"
#include "net/cassette/cassette_impl.h"

/* Recording: what goes through a request's handler is kept, and written as one line when it
 * is over. A line is written whole, in the order in which things happened.
 *
 * Keys are masked before a line is written, in headers and bodies alike. A request that was
 * cancelled is recorded as such, since a replay has to end it there as well. */

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
static void put(struct hocket__cassette *c, const struct hocket__buf *line)
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

/* Written when the request starts, its answer when that ends: several may be under way at once, and
 * the number says which belong together. */
static void put_request(const struct recording *r, const struct hocket__http_spec *spec)
{
    struct hocket__cassette *c = r->c;
    struct hocket__buf *b = &c->scratch;
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    hocket__jw_key_int(b, "request", (int64_t) r->number);
    hocket__jw_key_int(b, "at", (int64_t) since(c->began));
    hocket__jw_key(b, "url");
    size_t url = b->len;
    hocket__jw_string(b, hocket__cstr(spec->url));
    if (b->status == 0)
        hocket__secrets_mask_url(&c->secrets, b->data + url + 1, b->len - url - 2);
    hocket__cassette_identity(c, spec, b);
    hocket__jw_close(b, '}');
    put(c, b);
}

/* Appends any bytes: a JSON string, or {"hex":"…"}. */
static void cassette_bytes(struct hocket__buf *out, struct hocket__str bytes)
{
    if (hocket__utf8_valid(bytes.p, bytes.n) == bytes.n) {
        hocket__jw_string(out, bytes);
        return;
    }
    hocket__jw_open(out, '{');
    hocket__buf_adds(out, "\"hex\":\"");
    for (size_t i = 0; i < bytes.n; i++)
        hocket__buf_addf(out, "%02x", (unsigned) (unsigned char) bytes.p[i]);
    hocket__buf_adds(out, "\"}");
}

/* The body's pieces, each cut between characters; what is left over of one goes to the next. */
static void add_pieces(const struct recording *r, struct hocket__buf *b)
{
    size_t from = 0;
    hocket__jw_key_open(b, "body", '[');
    for (size_t i = 0; i < r->n; i++) {
        const char *p = r->body.data + from;
        size_t n = r->pieces[i].end - from;
        if (i + 1 < r->n)
            n = hocket__utf8_cut(p, n);
        if (n == 0)
            continue;
        hocket__jw_open(b, '[');
        hocket__jw_int(b, (int64_t) r->pieces[i].at);
        cassette_bytes(b, hocket__str(p, n));
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
    hocket__jw_key_open(b, "error", '{');
    hocket__jw_key_cstring(b, "code", hocket_status_word(err->status));
    hocket__jw_key_cstring(b, "message", message);
    hocket__jw_key_bool(b, "retryable", err->retryable);
    hocket__jw_key_int(b, "http_status", err->http_status);
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
    hocket__jw_key_int(b, word, (int64_t) r->number);
    hocket__jw_key_int(b, "at", (int64_t) since(c->began));
    if (c->rounds)
        hocket__jw_key_int(b, "round", (int64_t) *c->rounds);
    if (t) {
        hocket__jw_key_int(b, "connect_us", (int64_t) t->connect_us);
        hocket__jw_key_int(b, "first_us", (int64_t) t->first_byte_us);
        hocket__jw_key_int(b, "total_us", (int64_t) t->total_us);
    }
    hocket__jw_key_int(b, "status", r->status);
    size_t from = b->len;
    hocket__jw_key_open(b, "headers", '[');
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
    put(c, b);
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
static int64_t recording_start(struct hocket__cassette *c, const struct hocket__http_spec *spec,
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
static void recording_cancel(struct hocket__cassette *c, int64_t id)
{
    struct recording *r = hocket__map_get(&c->by_id, (uint64_t) id);
    if (!r)
        return;
    put_end(r, "cancelled", NULL, NULL);
    free_one(r);
}

static void recording_close(struct hocket__cassette *c)
{
    for (struct hocket__list *n = c->recordings.next; n != &c->recordings; n = n->next)
        put_end(hocket__container_of(n, struct recording, node), "cancelled", NULL, NULL);
}

static void recording_free(struct hocket__cassette *c)
{
    while (!hocket__list_empty(&c->recordings))
        free_one(hocket__container_of(c->recordings.next, struct recording, node));
}

static const struct hocket__transport_ops ops;
static bool again(const struct hocket__transport *t, int64_t id);

/* ---- Life -------------------------------------------------------------------------- */

static struct hocket__cassette *new_cassette(const struct hocket__cassette_options *o)
{
    struct hocket__cassette *c = hocket__zero(o->alloc, sizeof(*c));
    if (!c)
        return NULL;
    c->transport = (struct hocket__transport){ .ops = &ops, .again = again };
    c->below = o->below;
    c->a = o->alloc;
    c->write = o->write;
    c->ud = o->ud;
    c->rounds = o->rounds;
    c->deadlines = o->deadlines;
    c->turn.passed = hocket__play_turn;
    hocket__list_init(&c->recordings);
    hocket__map_init(&c->by_id, c->a);
    hocket__secrets_init(&c->secrets, c->a);
    hocket__buf_init(&c->scratch, c->a, 0);
    hocket__buf_init(&c->text, c->a, 0);
    c->name = hocket__strdup(c->a, o->name, strlen(o->name));
    if (c->name)
        return c;
    hocket__cassette_free(c);
    return NULL;
}

void hocket__cassette_free(struct hocket__cassette *c)
{
    if (!c)
        return;
    recording_free(c);
    hocket__map_deinit(&c->by_id);
    hocket__secrets_deinit(&c->secrets);
    hocket__buf_deinit(&c->scratch);
    hocket__buf_deinit(&c->text);
    hocket__free(c->a, c->exchanges, c->cap_exchanges * sizeof(*c->exchanges));
    hocket__free(c->a, c->events, c->cap_events * sizeof(*c->events));
    hocket__free(c->a, c->facts, c->cap_facts * sizeof(*c->facts));
    hocket__strfree(c->a, c->name);
    hocket__free(c->a, c, sizeof(*c));
}

static void write_head(struct hocket__cassette *c, int64_t wall_ms)
{
    struct hocket__buf *b = &c->scratch;
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    hocket__jw_key_int(b, "cassette", 1);
    hocket__jw_key_cstring(b, "made_by", "hocket " HOCKET_VERSION);
    hocket__jw_key_int(b, "time", wall_ms / 1000);
    hocket__buf_addf(b, ",\"seed\":\"%016llx%016llx\"", (unsigned long long) c->seed[0],
        (unsigned long long) c->seed[1]);
    hocket__jw_close(b, '}');
    put(c, b);
}

int hocket__cassette_record(const struct hocket__cassette_options *o, struct hocket__cassette **out,
    struct hocket_error *err)
{
    struct hocket__cassette *c = new_cassette(o);
    if (!c)
        return hocket__error_nomem(err);
    c->seed[0] = o->seed[0];
    c->seed[1] = o->seed[1];
    c->began = hocket__deadlines_now();
    write_head(c, o->wall_ms);
    int rc = hocket__cassette_status(c, err);
    if (rc < 0)
        hocket__cassette_free(c);
    else
        *out = c;
    return rc;
}

int hocket__cassette_replay(const struct hocket__cassette_options *o, struct hocket__str text,
    struct hocket__cassette **out, struct hocket_error *err)
{
    struct hocket__cassette *c = new_cassette(o);
    if (!c || hocket__buf_addstr(&c->text, text) < 0 || hocket__deadlines_join(o->deadlines) < 0) {
        hocket__cassette_free(c);
        return hocket__error_nomem(err);
    }
    c->transport.offline = true;
    c->moved = hocket__deadlines_now();
    int rc = hocket__cassette_load(c, err);
    if (rc < 0) {
        hocket__cassette_close(c);
        hocket__cassette_free(c);
    } else {
        *out = c;
    }
    return rc;
}

void hocket__cassette_close(struct hocket__cassette *c)
{
    if (c->closed)
        return;
    if (c->transport.offline) {
        hocket__deadline_clear(c->deadlines, &c->turn);
        hocket__deadlines_leave(c->deadlines);
    } else {
        recording_close(c);
    }
    c->closed = true;
}

int hocket__cassette_status(const struct hocket__cassette *c, struct hocket_error *err)
{
    if (err && c->status.status < 0)
        *err = c->status;
    return c->status.status;
}

uint64_t hocket__cassette_missing(const struct hocket__cassette *c, uint64_t *of)
{
    *of = c->n_requests;
    return c->n_requests - c->n_ended;
}

/* ---- What identifies a request ------------------------------------------------------ */

/* JSON stands as such. A line break in it can only be white space, and would end the line. */
static void add_body(struct hocket__buf *out, const struct hocket__buf *body)
{
    struct hocket__str s = body ? hocket__buf_str(body) : hocket__str("", 0);
    size_t from = out->len;
    if (!body) {
        hocket__jw_null(out);
    } else if (hocket__json_check(s, NULL) < 0) {
        cassette_bytes(out, s);
    } else {
        hocket__jw_raw(out, s);
        for (size_t i = from; i < out->len; i++)
            if (out->data[i] == '\n' || out->data[i] == '\r')
                out->data[i] = ' ';
    }
}

int hocket__cassette_identity(
    struct hocket__cassette *c, const struct hocket__http_spec *spec, struct hocket__buf *out)
{
    /* A request's content identifies it, not its address: a replay may have another base URL, and has no key. */
    const struct hocket__http_label *label = &spec->label;
    size_t from = out->len, n = strlen(spec->url);
    size_t base = label->base < n ? label->base : n;
    hocket__jw_key_string(out, "to", label->to);
    hocket__jw_key_cstring(out, "method", spec->method);
    hocket__jw_key(out, "path");
    size_t path = out->len;
    hocket__jw_string(out, hocket__str(spec->url + base, n - base));
    if (out->status == 0)
        hocket__secrets_mask_url(&c->secrets, out->data + path + 1, out->len - path - 2);
    hocket__jw_key(out, "body");
    add_body(out, spec->body);
    if (out->status == 0)
        hocket__secrets_mask(&c->secrets, out->data + from, out->len - from);
    return out->status;
}

/* ---- Both ways ---------------------------------------------------------------------- */

static struct hocket__cassette *cassette_of(const struct hocket__transport *t)
{
    return hocket__container_of(t, struct hocket__cassette, transport);
}

static int64_t start(struct hocket__transport *t, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err)
{
    struct hocket__cassette *c = cassette_of(t);
    if (c->closed)
        return hocket__error(err, HOCKET_ESTATE, "the cassette %s is closed", c->name);
    if (hocket__cassette_secret(c, spec->label.secret) < 0)
        return hocket__error_nomem(err);
    return t->offline ? hocket__play_start(c, spec, handler, ud, err)
                      : recording_start(c, spec, handler, ud, err);
}

static void cancel(struct hocket__transport *t, int64_t id)
{
    struct hocket__cassette *c = cassette_of(t);
    if (t->offline) {
        hocket__play_cancel(c, id);
        return;
    }
    recording_cancel(c, id);
    c->below->ops->cancel(c->below, id);
}

static bool multiplexed(const struct hocket__transport *t, int64_t id)
{
    const struct hocket__transport *below = cassette_of(t)->below;
    return !t->offline && below->ops->multiplexed(below, id);
}

static bool again(const struct hocket__transport *t, int64_t id)
{
    return hocket__play_has_another(cassette_of(t), id);
}

static const struct hocket__transport_ops ops = { start, cancel, multiplexed };

struct hocket__transport *hocket__cassette_transport(struct hocket__cassette *c)
{
    return &c->transport;
}

int hocket__cassette_secret(struct hocket__cassette *c, struct hocket__str secret)
{
    return hocket__secrets_add(&c->secrets, secret);
}

/* ---- Facts and chance ----------------------------------------------------------------- */

void hocket__cassette_note_fact(
    struct hocket__cassette *c, struct hocket__str name, struct hocket__str json)
{
    struct hocket__buf *b = &c->scratch;
    if (c->transport.offline || c->closed)
        return;
    hocket__buf_reset(b);
    hocket__jw_open(b, '{');
    hocket__jw_key_string(b, "fact", name);
    hocket__jw_key_raw(b, "value", json);
    hocket__jw_close(b, '}');
    if (b->status == 0)
        hocket__secrets_mask(&c->secrets, b->data, b->len);
    put(c, b);
}

bool hocket__cassette_recall_fact(
    const struct hocket__cassette *c, struct hocket__str name, struct hocket__str *json)
{
    for (size_t i = 0; c->transport.offline && i < c->n_facts; i++)
        if (hocket__str_eq(c->facts[i].name, name)) {
            *json = c->facts[i].value;
            return true;
        }
    return false;
}

uint64_t hocket__cassette_random(const struct hocket__cassette *c, struct hocket__str about)
{
    return hocket__siphash(c->seed, about);
}
