/* One attempt at one model: the request is written, sent, decoded, judged.
 *
 *    prepare ─> launch ─> on_head ─> on_header… ─> on_data… ─> on_done ─> dispose
 *    (host's)   └───────────── the thread of the transport ───────────┘  (host's)
 *
 * From prepare on the call owns everything that it needs: key, URL, headers and body are copies, since the provider
 * may be replaced or gone when a relay's thread sends it. `id` is 0 when the transport has nothing of it; the decoder
 * goes with on_done, the reply stays until the call is freed.
 *
 * A history lends its serialised text as the body, and gets it back when the answer was good,
 * so that the next turn writes only what is new. A call on another thread has no history:
 * nothing of the host's is touched from there. */
#include "net/llm/llm.h"

#include <stdio.h>

#include "base/utf8.h"
#include "net/http/http.h"
#include "net/llm/llm_impl.h"
#include "net/sigv4.h"
#include "os/clock.h"

#define MAX_HEADERS (HOCKET__LLM_MAX_HEADERS + 6)
#define PATIENCE_MS 600000 /* as the providers' own clients: models think for minutes in silence */

static size_t max_of(size_t max_message)
{
    return max_message ? max_message : (size_t) 32 << 20;
}

/* ---- The answer ------------------------------------------------------------------ */

/* Here for the first time it is known whether the answer is an error or a stream: the decoder
 * chooses by status and type. */
static void on_head(void *ud, int status)
{
    struct hocket__llm_call *c = ud;
    c->http_status = status;
    hocket__decoder_head(c->decoder, status, c->stream);
}

/* Without its query, which may hold a secret. */
static void keep_location(struct hocket__llm_call *c, struct hocket__str url)
{
    const char *query = memchr(url.p, '?', url.n);
    size_t n = query ? (size_t) (query - url.p) : url.n;
    if (n >= sizeof(c->location))
        n = hocket__utf8_cut(url.p, sizeof(c->location) - 1);
    memcpy(c->location, url.p, n);
    c->location[n] = 0;
}

static void on_header(void *ud, struct hocket__str name, struct hocket__str value)
{
    struct hocket__llm_call *c = ud;
    if (c->http_status >= 300 && c->http_status < 400 && hocket__str_is(name, "location"))
        keep_location(c, value);
    hocket__advice_header(&c->advice, name, value);
}

/* Headers have no end of their own: they are complete when data comes, or the end. */
static void end_head(struct hocket__llm_call *c)
{
    if (c->head_done || c->http_status == 0)
        return;
    c->head_done = true;
    hocket__advice_resolve(
        &c->advice, hocket__advice_needs_now(&c->advice) ? hocket__wall_ms() : 0);
    if (c->on_head)
        c->on_head(c->ud, c->http_status, &c->advice);
}

/* Progress is a decoded event and not a byte: a server that sends comment lines for ever is
 * not making any. */
static int on_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct hocket__llm_call *c = ud;
    end_head(c);
    int rc = hocket__decoder_feed(c->decoder, p, n, err);
    uint64_t events = hocket__decoder_events(c->decoder);
    bool enough = hocket__decoder_done(c->decoder);
    /* told once; an event after the last one takes it back (HOCKET__HTTP_PROGRESS) */
    if (rc == 0 && enough && !c->enough)
        rc = HOCKET__HTTP_ENOUGH;
    else if (rc == 0 && !enough && events != c->events)
        rc = HOCKET__HTTP_PROGRESS;
    c->enough = enough;
    c->events = events;
    if (c->on_chunk)
        c->on_chunk(c->ud);
    return rc;
}

/* What the transfer's end means: an error that the provider reported says more than a
 * broken connection behind it, and that more than a cut stream. A stream that has said its end
 * is whole, whatever becomes of its connection.
 * The order is that of what helps most: the provider's own words, then the connection's, then ours. */
static int outcome(
    struct hocket__llm_call *c, const struct hocket_error *http_err, struct hocket_error *err)
{
    struct hocket_error cut;
    /* An answer that does not stream is a JSON text: cut off, it is none, and the transfer's
     * error says why. A stream is asked itself. */
    bool broken = http_err && !hocket__decoder_streams(c->decoder);
    int ended = broken ? http_err->status : hocket__decoder_end(c->decoder, &cut);
    hocket__reply_part(&c->reply);
    if (hocket__reply_failed(&c->reply, err) < 0)
        return err->status;
    if (ended < 0) {
        *err = http_err ? *http_err : cut;
        return err->status;
    }
    int kept = hocket__reply_status(&c->reply);
    if (kept == HOCKET_ENOMEM)
        return hocket__error_nomem(err);
    if (kept < 0)
        return hocket__error(
            err, HOCKET_ELIMIT, "the answer is larger than the limit of %zu bytes", c->reply.max);
    return hocket__reply_ended(&c->reply, c->silent, err);
}

/* The server's own word on retrying, and on when, belongs to the error. A message may quote the
 * key, since some servers put the whole request into it: the caller masks it. */
static void complete(struct hocket__llm_call *c, struct hocket_error *err)
{
    /* A redirect of a model call would carry the key to wherever the answer points. */
    if (c->location[0])
        hocket__error(err, HOCKET_EHTTP,
            "HTTP status %d: a redirect to %s, and model calls follow none", c->http_status,
            c->location);
    if (err->http_status == 0 && c->http_status >= 300)
        err->http_status = c->http_status;
    if (c->advice.should_retry >= 0)
        err->retryable = c->advice.should_retry == 1;
    if (c->advice.after_ms > err->retry_after_ms && c->http_status >= 400)
        err->retry_after_ms = c->advice.after_ms;
}

/* The last callback. `on_done` may free the call, so nothing of it is touched behind that. */
static void on_done(
    void *ud, const struct hocket_error *http_err, const struct hocket__http_timing *t)
{
    struct hocket__llm_call *c = ud;
    struct hocket_error err;
    end_head(c);
    c->id = 0;
    c->timing.total_us = t->total_us;
    c->timing.sent = t->connect_us > 0 || c->http_status > 0;
    if (c->events > 0)
        c->timing.first_us = t->first_byte_us;
    int rc = outcome(c, http_err, &err);
    if (rc == 0 && c->history
        && c->reply.n_calls > 0) /* without calls there may be no further turn */
        hocket__history_keep_body(c->history, c->mark, &c->body);
    hocket__buf_deinit(&c->body);
    hocket__decoder_free(c->decoder);
    c->decoder = NULL;
    if (rc < 0)
        complete(c, &err);
    else if (c->parting.out)
        hocket__think_splitter_end(&c->parting);
    c->on_done(c->ud, rc < 0 ? &err : NULL);
}

static const struct hocket__http_handler handler = {
    .on_head = on_head, .on_header = on_header, .on_data = on_data, .on_done = on_done
};

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
    /* Borrowed from c->lines, which libcurl's list copies: free_request comes after send_off. */
    h->list[h->n++] = (struct hocket__http_header){ hocket__str(line, (size_t) (colon - line)),
        hocket__cstr(value) };
}

/* "name: value" lines, each ended by a NUL: the call owns everything that it sends, since the provider may be gone
 * by then. */
static void write_lines(struct hocket__buf *lines, const struct hocket__provider *p)
{
    hocket__buf_add(lines, "content-type: application/json", 31);
    if (p->region.len == 0 && p->key.len > 0 && p->key_header.len > 0) {
        hocket__buf_addstr(lines, hocket__buf_str(&p->key_header));
        hocket__buf_add(lines, p->key.data, p->key.len + 1);
    }
    for (const char *const *line = p->proto->headers; line && *line; line++)
        hocket__buf_add(lines, *line, strlen(*line) + 1);
    hocket__buf_addstr(lines, hocket__buf_str(&p->headers));
}

/* Not by libcurl: see sigv4.h. */
static int sign(
    struct hocket__llm_call *c, const struct hocket__provider *p, struct hocket_error *err)
{
    if (p->region.len == 0)
        return 0;
    if (p->key.len == 0 || p->key_id.len == 0)
        return hocket__error(err, HOCKET_EAUTH, "there is no access key to sign with");
    struct hocket__sigv4 k = { hocket__buf_str(&p->region), HOCKET__STR("bedrock"),
        hocket__buf_str(&p->key_id), hocket__buf_str(&p->key), hocket__buf_str(&p->token) };
    int rc = hocket__sigv4_sign(&k, hocket__buf_str(&c->url), hocket__buf_str(&c->body),
        hocket__wall_ms() / 1000, &c->lines);
    return rc == HOCKET_EINVAL ? hocket__error(err, rc, "a URL with a query cannot be signed")
           : rc < 0            ? hocket__error_nomem(err)
                               : 0;
}

/* A base URL may have a query of its own (Azure's api-version), and the protocol's path one as
 * well. */
static int add_query(struct hocket__buf *url, const struct hocket__provider *p)
{
    if (p->query.len > 0) {
        hocket__buf_addc(url, strchr(url->data, '?') ? '&' : '?');
        hocket__buf_addstr(url, hocket__buf_str(&p->query));
    }
    return url->status;
}

static int write_request(
    struct hocket__llm_call *c, const struct hocket__llm_spec *spec, struct hocket_error *err)
{
    const struct hocket__provider *p = spec->provider;
    if (p->proto->url(spec->request, p->base.data, &c->url) < 0 || add_query(&c->url, p) < 0)
        return hocket__error_nomem(err);
    int rc = p->proto->write(spec->request, &c->body, err);
    if (rc < 0)
        return rc;
    hocket__buf_addstr(&c->key, hocket__buf_str(&p->key));
    hocket__buf_addstr(&c->pool, hocket__buf_str(&p->pool));
    write_lines(&c->lines, p);
    if ((rc = sign(c, p, err)) < 0)
        return rc;
    hocket__buf_addstr(&c->lines, spec->trace);
    /* one look at the end: a buffer that failed takes nothing more and stays failed */
    if (c->key.status < 0 || c->pool.status < 0 || c->lines.status < 0)
        return hocket__error_nomem(err);
    c->history = spec->relay ? NULL : spec->request->history;
    c->mark = hocket__history_mark(spec->request->history);
    const char *name = p->traits.provider;
    c->spec = (struct hocket__http_spec){
        .method = "POST",
        .label = { .to = hocket__cstr(name ? name : p->proto->name), .base = p->base.len },
        .body_back = c->history != NULL,
        .connect_ms = spec->connect_ms,
        .first_ms = spec->first_ms ? spec->first_ms : PATIENCE_MS,
        .idle_ms = spec->idle_ms ? spec->idle_ms : PATIENCE_MS,
        .total_ms = spec->total_ms,
        .own_progress = true,
        .plain = spec->request->stream, /* a compressor would hold events back */
        .max_body = max_of(spec->max_message) * 8,
    };
    return 0;
}

static void free_request(struct hocket__llm_call *c)
{
    hocket__buf_deinit(&c->url);
    hocket__buf_deinit(&c->lines);
    hocket__buf_deinit(&c->pool);
    hocket__buf_deinit(&c->body);
}

/* On the transport's thread. What the request needed is copied by it, so the texts go right away:
 * a conversation of megabytes is not held twice. */
int hocket__llm_launch(
    struct hocket__llm_call *c, struct hocket__transport *t, struct hocket_error *err)
{
    struct headers headers = { .n = 0 };
    for (size_t at = 0; at < c->lines.len; at += strlen(c->lines.data + at) + 1)
        add_line(&headers, c->lines.data + at);
    c->transport = t;
    c->spec.url = c->url.data;
    c->spec.headers = headers.list;
    c->spec.n_headers = headers.n;
    c->spec.body = &c->body;
    c->spec.pool = c->pool.len ? c->pool.data : NULL;
    c->spec.label.secret = hocket__buf_str(&c->key);
    int64_t id = t->ops->start(t, &c->spec, &handler, c, err);
    free_request(c);
    if (id < 0)
        return (int) id;
    c->id = c->last_id = id;
    return 0;
}

static void init_texts(struct hocket__llm_call *c)
{
    hocket__buf_init(&c->url, c->a, 8192);
    hocket__buf_init(&c->body, c->a, 0);
    struct hocket__buf *texts[] = { &c->key, &c->pool, &c->lines };
    for (size_t i = 0; i < 3; i++)
        hocket__buf_init(texts[i], c->a, 0);
}

/* On the host's thread: only this code reads the session's objects, and nothing reads them later. */
int hocket__llm_prepare(const struct hocket_allocator *a, const struct hocket__llm_spec *spec,
    struct hocket__llm_call **out, struct hocket_error *err)
{
    struct hocket__llm_call *c = hocket__zero(a, sizeof(*c));
    if (!c)
        return hocket__error_nomem(err);
    size_t max = max_of(spec->max_message);
    *c = (struct hocket__llm_call){ .a = a,
        .proto = spec->provider->proto,
        .stream = spec->request->stream,
        .silent = spec->provider->traits.no_finish_reason,
        .on_head = spec->on_head,
        .on_done = spec->on_done,
        .ud = spec->ud };
    init_texts(c);
    hocket__advice_init(&c->advice);
    hocket__reply_init(&c->reply, a, max);
    hocket__think_splitter_init(&c->parting, a, max, spec->on_delta, spec->ud);
    int rc = hocket__decoder_new(a, spec->provider->proto, max, &c->reply,
        spec->on_delta ? hocket__think_splitter_delta : NULL, &c->parting, &c->decoder);
    rc = rc < 0 ? hocket__error_nomem(err) : write_request(c, spec, err);
    if (rc < 0)
        hocket__llm_dispose(c);
    else
        *out = c;
    return rc;
}

int hocket__llm_start(struct hocket__transport *t, const struct hocket_allocator *a,
    const struct hocket__llm_spec *spec, struct hocket__llm_call **out, struct hocket_error *err)
{
    if (spec->relay)
        return hocket__llm_start_remote(spec->relay, a, spec, out, err);
    int rc = hocket__llm_prepare(a, spec, out, err);
    if (rc == 0 && (rc = hocket__llm_launch(*out, t, err)) < 0) {
        hocket__llm_dispose(*out);
        *out = NULL;
    }
    return rc;
}

/* A call without a request: it has its reply already, and whoever asks it finds what a live one
 * would have said. */
int hocket__llm_from_packed(const struct hocket_allocator *a,
    const struct hocket__provider *provider, size_t max_message, struct hocket__llm_timing timing,
    struct hocket__str packed, struct hocket__llm_call **out, struct hocket_error *err)
{
    struct hocket__llm_call *c = hocket__zero(a, sizeof(*c));
    if (!c)
        return hocket__error_nomem(err);
    c->a = a;
    c->proto = provider->proto;
    c->timing = timing;
    init_texts(c);
    hocket__think_splitter_init(&c->parting, a, 0, NULL, NULL);
    hocket__reply_init(&c->reply, a, max_of(max_message));
    int rc = hocket__reply_unpack(packed, &c->reply);
    if (rc < 0) {
        hocket__llm_dispose(c);
        return hocket__error(
            err, rc, "the reply that was kept cannot be read: %s", hocket_status_text(rc));
    }
    *out = c;
    return 0;
}

const struct hocket__reply *hocket__llm_reply(const struct hocket__llm_call *c)
{
    return &c->reply;
}

static void mask(const struct hocket__secrets *s, struct hocket__buf *b)
{
    if (b->len > 0)
        hocket__secrets_mask(s, b->data, b->len);
}

/* Before Lua sees them: a model may repeat a key that stood in a tool's result. */
void hocket__llm_mask(struct hocket__llm_call *c, const struct hocket__secrets *s)
{
    struct hocket__reply *r = &c->reply;
    struct hocket__buf *texts[] = { &r->text, &r->reasoning, &r->refusal, &r->replay,
        &r->server_items, &r->found, &r->finish_raw, &r->usage_raw, &r->id, &r->model };
    for (size_t i = 0; s->shortest > 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        mask(s, texts[i]);
    for (size_t i = 0; s->shortest > 0 && i < r->n_calls; i++) {
        mask(s, &r->calls[i].id);
        mask(s, &r->calls[i].name);
        mask(s, &r->calls[i].arguments);
        mask(s, &r->calls[i].extra);
    }
}

bool hocket__llm_multiplexed(const struct hocket__llm_call *c)
{
    if (c->remote)
        return hocket__llm_remote_multiplexed(c->remote);
    return c->id > 0 && c->transport->ops->multiplexed(c->transport, c->id);
}

const char *hocket__llm_protocol(const struct hocket__llm_call *c)
{
    return c->proto->name;
}

const struct hocket__advice *hocket__llm_advice(const struct hocket__llm_call *c)
{
    return c->head_done ? &c->advice : NULL;
}

struct hocket__llm_timing hocket__llm_timing(const struct hocket__llm_call *c)
{
    return c->timing;
}

bool hocket__llm_has_another_recording(const struct hocket__llm_call *c)
{
    return c->transport && c->transport->again && c->transport->again(c->transport, c->last_id);
}

void hocket__llm_cancel(struct hocket__llm_call *c)
{
    if (c->remote) {
        hocket__llm_remote_cancel(c->remote);
        return;
    }
    if (c->id > 0)
        c->transport->ops->cancel(c->transport, c->id);
    c->id = 0;
}

void hocket__llm_dispose(struct hocket__llm_call *c)
{
    free_request(c);
    if (c->key.data)
        /* in place, before the block goes back to the embedder's allocator */
        memset(c->key.data, 0, c->key.len);
    hocket__buf_deinit(&c->key);
    if (c->decoder)
        hocket__decoder_free(c->decoder);
    hocket__think_splitter_deinit(&c->parting);
    hocket__reply_deinit(&c->reply);
    hocket__free(c->a, c, sizeof(*c));
}

void hocket__llm_free(struct hocket__llm_call *c)
{
    if (!c)
        return;
    hocket__llm_cancel(c);
    if (!c->remote || hocket__llm_remote_free(c->remote))
        hocket__llm_dispose(c);
}
