/* What recording and replaying have in common: life, the identity of a request, facts, chance.
 * A cassette is one object for both, since whoever makes a call does not know which it is.
 *
 * A failure to write ends the recording and not the run: `status` keeps the first, and the end
 * of the run tells of it. */
#include "net/cassette/cassette.h"

#include "base/json/json.h"
#include "base/hash/hash.h"
#include "base/utf8.h"
#include "net/cassette/cassette_impl.h"

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
    hocket__recording_free(c);
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
    hocket__jw_key(b, "cassette");
    hocket__jw_int(b, 1);
    hocket__jw_key(b, "made_by");
    hocket__jw_cstring(b, "hocket " HOCKET_VERSION);
    hocket__jw_key(b, "time");
    hocket__jw_int(b, wall_ms / 1000);
    hocket__buf_addf(b, ",\"seed\":\"%016llx%016llx\"", (unsigned long long) c->seed[0],
        (unsigned long long) c->seed[1]);
    hocket__jw_close(b, '}');
    hocket__cassette_put(c, b);
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
        hocket__recording_close(c);
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

/* ---- What a request is told by ------------------------------------------------------ */

void hocket__cassette_bytes(struct hocket__buf *out, struct hocket__str bytes)
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

/* JSON stands as such. A line break in it can only be white space, and would end the line. */
static void add_body(struct hocket__buf *out, const struct hocket__buf *body)
{
    struct hocket__str s = body ? hocket__buf_str(body) : hocket__str("", 0);
    size_t from = out->len;
    if (!body) {
        hocket__jw_null(out);
    } else if (hocket__json_check(s, NULL) < 0) {
        hocket__cassette_bytes(out, s);
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
    /* A request is told by what it says, not by where it went: a replay may have another base
     * URL, and has no key. */
    const struct hocket__http_label *label = &spec->label;
    size_t from = out->len, n = strlen(spec->url);
    size_t base = label->base < n ? label->base : n;
    hocket__jw_key(out, "to");
    hocket__jw_string(out, label->to);
    hocket__jw_key(out, "method");
    hocket__jw_cstring(out, spec->method);
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
                      : hocket__recording_start(c, spec, handler, ud, err);
}

static void cancel(struct hocket__transport *t, int64_t id)
{
    struct hocket__cassette *c = cassette_of(t);
    if (t->offline) {
        hocket__play_cancel(c, id);
        return;
    }
    hocket__recording_cancel(c, id);
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
    hocket__jw_key(b, "fact");
    hocket__jw_string(b, name);
    hocket__jw_key(b, "value");
    hocket__jw_raw(b, json);
    hocket__jw_close(b, '}');
    if (b->status == 0)
        hocket__secrets_mask(&c->secrets, b->data, b->len);
    hocket__cassette_put(c, b);
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
