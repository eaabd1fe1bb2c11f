#include "net/llm.h"

#include <stdio.h>

#include "net/http.h"

#define MAX_HEADERS 24

struct hocket__llm_call {
    const struct hocket_allocator *a;
    struct hocket__http *http;
    int64_t id; /* 0: not under way */
    const struct hocket__provider *provider;
    struct hocket__reply reply;
    struct hocket__decoder *decoder;
    uint64_t events; /* decoded when progress was last reported */
    int http_status;
    bool stream;
    struct hocket__llm_timing timing;
    void (*on_done)(void *ud, const struct hocket_error *err);
    void *ud;
};

/* ---- Secrets ------------------------------------------------------------------ */

/* Servers quote keys back in their messages. Overwrites every occurrence. */
static void scrub(char *text, struct hocket__str key)
{
    if (key.n < 4)
        return;
    for (char *at = text; (at = strstr(at, key.p)) != NULL;)
        memset(at, '*', key.n);
}

/* ---- The answer ------------------------------------------------------------------ */

static void on_head(void *ud, int status)
{
    struct hocket__llm_call *c = ud;
    c->http_status = status;
    hocket__decoder_head(c->decoder, status, c->stream);
}

static int on_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct hocket__llm_call *c = ud;
    int rc = hocket__decoder_feed(c->decoder, p, n, err);
    uint64_t events = hocket__decoder_events(c->decoder);
    if (events != c->events) {
        c->events = events;
        hocket__http_progress(c->http, c->id);
    }
    return rc;
}

/* What the transfer's end means: an error that the provider reported says more than a
 * broken connection behind it, and that more than a cut stream. */
static int outcome(struct hocket__llm_call *c, const struct hocket_error *http_err, struct hocket_error *err)
{
    struct hocket_error cut;
    int ended = http_err ? 0 : hocket__decoder_end(c->decoder, &cut);
    if (hocket__reply_failed(&c->reply, err) < 0)
        return err->status;
    if (http_err)
        *err = *http_err;
    else if (ended < 0)
        *err = cut;
    else
        return hocket__reply_status(&c->reply) < 0
            ? hocket__error(err, HOCKET_ELIMIT, "the answer is larger than the limit of %zu bytes", c->reply.max)
            : 0;
    return err->status;
}

static void on_done(void *ud, const struct hocket_error *http_err, const struct hocket__http_timing *t)
{
    struct hocket__llm_call *c = ud;
    struct hocket_error err;
    c->id = 0;
    c->timing.total_us = t->total_us;
    if (c->events > 0)
        c->timing.first_us = t->first_byte_us;
    int rc = outcome(c, http_err, &err);
    hocket__decoder_free(c->decoder);
    c->decoder = NULL;
    if (rc < 0) {
        if (err.http_status == 0 && c->http_status >= 300)
            err.http_status = c->http_status;
        scrub(err.message, hocket__buf_str(&c->provider->key));
    }
    c->on_done(c->ud, rc < 0 ? &err : NULL);
}

static const struct hocket__http_handler handler = { on_head, NULL, on_data, on_done };

/* ---- The request ------------------------------------------------------------------- */

struct headers {
    struct hocket__http_header list[MAX_HEADERS];
    size_t n;
};

static void add_line(struct headers *h, const char *line)
{
    const char *colon = strchr(line, ':');
    if (!colon || h->n == MAX_HEADERS)
        return;
    const char *value = colon + 1 + strspn(colon + 1, " ");
    h->list[h->n++] = (struct hocket__http_header) {
        hocket__str(line, (size_t) (colon - line)), hocket__cstr(value) };
}

static void add_headers(struct headers *h, const struct hocket__provider *p, struct hocket__str auth)
{
    add_line(h, "content-type: application/json");
    if (auth.n > 0 && p->proto->key_header)
        h->list[h->n++] = (struct hocket__http_header) { hocket__cstr(p->proto->key_header), auth };
    for (const char *const *line = p->proto->headers; line && *line; line++)
        add_line(h, *line);
    for (size_t at = 0; at < p->headers.len; at += strlen(p->headers.data + at) + 1)
        add_line(h, p->headers.data + at);
}

static int begin(struct hocket__llm_call *c, const struct hocket__llm_spec *spec, struct hocket__buf *url,
    struct hocket__buf *auth, struct hocket__buf *body, struct hocket_error *err)
{
    const struct hocket__provider *p = spec->provider;
    struct headers headers = { .n = 0 };
    int rc = p->proto->url(spec->request, p->base.data, url);
    if (rc == 0)
        rc = p->proto->write(spec->request, body, err);
    else
        hocket__error_nomem(err);
    if (rc < 0)
        return rc;
    if (p->key.len > 0) {
        hocket__buf_adds(auth, p->proto->key_prefix ? p->proto->key_prefix : "");
        hocket__buf_addstr(auth, hocket__buf_str(&p->key));
        if (auth->status < 0)
            return hocket__error_nomem(err);
    }
    add_headers(&headers, p, hocket__buf_str(auth));
    struct hocket__http_spec http = {
        .method = "POST",
        .url = url->data,
        .headers = headers.list,
        .n_headers = headers.n,
        .body = body,
        .pool = p->pool.len ? p->pool.data : NULL,
        .connect_ms = spec->connect_ms,
        .first_ms = spec->first_ms ? spec->first_ms : 120000,
        .idle_ms = spec->idle_ms ? spec->idle_ms : 120000,
        .total_ms = spec->total_ms,
        .own_progress = true,
        .max_body = (spec->max_message ? spec->max_message : (size_t) 32 << 20) * 8,
    };
    int64_t id = hocket__http_start(c->http, &http, &handler, c, err);
    if (id < 0)
        return (int) id;
    c->id = id;
    return 0;
}

int hocket__llm_start(struct hocket__http *http, const struct hocket_allocator *a,
    const struct hocket__llm_spec *spec, struct hocket__llm_call **out, struct hocket_error *err)
{
    struct hocket__llm_call *c = hocket__zero(a, sizeof(*c));
    if (!c)
        return hocket__error_nomem(err);
    struct hocket__buf url, auth, body;
    size_t max = spec->max_message ? spec->max_message : (size_t) 32 << 20;
    hocket__buf_init(&url, a, 8192);
    hocket__buf_init(&auth, a, 0);
    hocket__buf_init(&body, a, 0);
    *c = (struct hocket__llm_call) { .a = a, .http = http, .provider = spec->provider,
        .stream = spec->request->stream, .on_done = spec->on_done, .ud = spec->ud };
    hocket__reply_init(&c->reply, a, max);
    int rc = hocket__decoder_new(
        a, spec->provider->proto, max, &c->reply, spec->on_delta, spec->ud, &c->decoder);
    rc = rc < 0 ? hocket__error_nomem(err) : begin(c, spec, &url, &auth, &body, err);
    hocket__buf_deinit(&url);
    hocket__buf_deinit(&auth);
    hocket__buf_deinit(&body);
    if (rc < 0)
        hocket__llm_free(c);
    else
        *out = c;
    return rc;
}

const struct hocket__reply *hocket__llm_reply(const struct hocket__llm_call *c)
{
    return &c->reply;
}

const char *hocket__llm_protocol(const struct hocket__llm_call *c)
{
    return c->provider->proto->name;
}

struct hocket__llm_timing hocket__llm_timing(const struct hocket__llm_call *c)
{
    return c->timing;
}

void hocket__llm_cancel(struct hocket__llm_call *c)
{
    if (c->id > 0)
        hocket__http_cancel(c->http, c->id);
    c->id = 0;
}

void hocket__llm_orphan(struct hocket__llm_call *c)
{
    c->id = 0;
}

void hocket__llm_free(struct hocket__llm_call *c)
{
    if (!c)
        return;
    hocket__llm_cancel(c);
    if (c->decoder)
        hocket__decoder_free(c->decoder);
    hocket__reply_deinit(&c->reply);
    hocket__free(c->a, c, sizeof(*c));
}
