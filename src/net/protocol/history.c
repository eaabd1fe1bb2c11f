/* A conversation in two texts. `messages` is neutral, a JSON object a line: it is stored and shown.
 * `wire` is the same as the protocol wants it, made as far as `wired` and only ever appended to. A
 * third, `body`, is the last request's, which the next one grows from.
 *
 * A change of provider throws the wire form away and counts `epoch` up: a body that comes back
 * from a request of before is then recognised as old. */
#include "net/protocol/history.h"

#include "base/hash/hash.h"
#include "base/json/json.h"
#include "base/label.h"
#include "net/protocol/protocol_impl.h"
#include "net/protocol/reply/reply.h"

void hocket__history_init(struct hocket__history *h, const struct hocket_allocator *a, size_t max)
{
    *h = (struct hocket__history){ .next_call = 1 };
    hocket__buf_init(&h->messages, a, max);
    hocket__buf_init(&h->wire, a, max);
    hocket__buf_init(&h->body, a, 0);
}

uint64_t hocket__history_digest(struct hocket__history *h)
{
    uint64_t key[2] = { h->digest, h->digested };
    struct hocket__str all = hocket__buf_str(&h->messages);
    if (h->digested < all.n)
        h->digest = hocket__siphash(key, hocket__str(all.p + h->digested, all.n - h->digested));
    h->digested = all.n;
    return h->digest;
}

void hocket__history_deinit(struct hocket__history *h)
{
    hocket__buf_deinit(&h->messages);
    hocket__history_unwire(h);
    h->count = 0;
}

void hocket__history_unwire(struct hocket__history *h)
{
    hocket__buf_deinit(&h->wire);
    hocket__buf_deinit(&h->body);
    h->proto = NULL;
    h->traits = NULL;
    h->wired = 0;
    h->epoch++;
}

/* What was found out of messages that have changed. */
static void forget(struct hocket__history *h)
{
    h->digest = h->digested = 0;
    h->counted = 0;
    h->counted_at = h->guess = h->guessed_at = h->known = h->known_at = 0;
    hocket__history_unwire(h);
}

void hocket__history_cut(struct hocket__history *h, size_t len, size_t count)
{
    hocket__buf_cut(&h->messages, len);
    h->count = count;
    forget(h);
}

void hocket__history_become(struct hocket__history *h, struct hocket__history *other)
{
    hocket__buf_move(&h->messages, &other->messages);
    h->count = other->count;
    h->labels |= other->labels;
    if (h->next_call < other->next_call)
        h->next_call = other->next_call;
    other->count = 0;
    forget(h);
    forget(other);
}

/* What could not be added is taken back, so that the history stays usable. */
static int settle(struct hocket__history *h, size_t before, struct hocket_error *err)
{
    int status = h->messages.status;
    if (status == 0) {
        h->count++;
        return 0;
    }
    hocket__buf_cut(&h->messages, before);
    h->messages.status = 0;
    if (status == HOCKET_ELIMIT)
        return hocket__error(
            err, status, "the conversation is longer than %zu bytes", h->messages.max);
    return hocket__error(err, status, "%s", hocket_status_text(status));
}

/* Into the message that was written last, whose line ends with "}" and a line break. */
static void put_labels(struct hocket__history *h)
{
    struct hocket__buf *b = &h->messages;
    char separator = '[';
    if (h->labels == 0 || b->status < 0)
        return;
    while (b->data[b->len - 1] != '}')
        hocket__buf_cut(b, b->len - 1);
    hocket__buf_cut(b, b->len - 1);
    hocket__buf_adds(b, ",\"labels\":");
    for (unsigned bit = 1; bit <= HOCKET__LABELS; bit <<= 1)
        if (h->labels & bit) {
            hocket__buf_addf(
                b, "%c\"%s\"", separator, hocket__label_name((enum hocket__label) bit));
            separator = ',';
        }
    hocket__buf_adds(b, "]}\n");
}

/* One message a line: a line break in valid JSON can only be white space. */
static void end_line(struct hocket__buf *b, size_t from)
{
    for (size_t i = from; i < b->len; i++)
        if (b->data[i] == '\n' || b->data[i] == '\r')
            b->data[i] = ' ';
    hocket__buf_addc(b, '\n');
}

int hocket__history_add(
    struct hocket__history *h, struct hocket__str message, struct hocket_error *err)
{
    struct hocket__neutral m;
    /* all or nothing: settle cuts back to here */
    size_t before = h->messages.len;
    int status = hocket__neutral_read(&m, message, err);
    if (status == 0)
        status = hocket__neutral_check(&m, err);
    if (status < 0)
        return status;
    if (hocket__buf_addstr(&h->messages, message) == 0)
        end_line(&h->messages, before);
    if (m.labels == 0)
        put_labels(h);
    status = settle(h, before, err);
    if (status == 0)
        h->labels |= m.labels;
    return status;
}

/* `put` writes the text as JSON has it. */
static int add_text(struct hocket__history *h, const char *role, struct hocket__str text,
    void (*put)(struct hocket__buf *b, struct hocket__str text))
{
    struct hocket__buf *b = &h->messages;
    size_t before = b->len;
    if (strcmp(role, "system") != 0 && strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0)
        return HOCKET_EINVAL;
    hocket__jw_open(b, '{');
    hocket__jw_key_string(b, "role", hocket__cstr(role));
    hocket__jw_key(b, "text");
    put(b, text);
    hocket__jw_close(b, '}');
    hocket__buf_addc(b, '\n');
    put_labels(h);
    return settle(h, before, NULL);
}

int hocket__history_add_text(struct hocket__history *h, const char *role, struct hocket__str text)
{
    return add_text(h, role, text, hocket__jw_string);
}

int hocket__history_add_quoted(struct hocket__history *h, const char *role, struct hocket__str text)
{
    return add_text(h, role, text, hocket__jw_raw);
}

/* A text whose place in the messages is known: it was written here. */
static struct hocket__piece piece_at(const struct hocket__history *h, struct hocket__span at)
{
    struct hocket__str inside = hocket__str(h->messages.data + at.from, at.to - at.from);
    return (struct hocket__piece){ inside, memchr(inside.p, '\\', inside.n) != NULL, at.to > 0 };
}

static struct hocket__str value_at(const struct hocket__history *h, struct hocket__span at)
{
    return hocket__str(h->messages.data + at.from, at.to - at.from);
}

/* Renders what was just added, if all before it is rendered: it needs not be read again for it.
 * What cannot be rendered now is left to the next render, which says why. */
static void render_added(struct hocket__history *h, size_t from, const struct hocket__neutral *m)
{
    size_t before = h->wire.len;
    if (!h->proto || h->wired != from)
        return;
    /* The texts of `m` lie in h->messages, which is not appended to meanwhile. */
    if (h->proto->message(m, h->traits, &h->wire, NULL) == 0 && h->wire.status == 0) {
        h->wired = h->messages.len;
        return;
    }
    hocket__buf_cut(&h->wire, before);
    h->wire.status = 0;
}

static struct hocket__span place(struct hocket__buf *b, const char *key, struct hocket__str value)
{
    hocket__jw_key(b, key);
    size_t from = b->len;
    hocket__jw_string(b, value);
    return (struct hocket__span){ from + 1, b->len - 1 };
}

int hocket__history_add_result(struct hocket__history *h, struct hocket__str id,
    struct hocket__str name, struct hocket__str text, bool is_error)
{
    struct hocket__buf *b = &h->messages;
    struct hocket__span id_at, text_at, name_at = { 0, 0 };
    size_t before = b->len;
    hocket__jw_open(b, '{');
    hocket__buf_lit(b, "\"role\":\"tool\"");
    id_at = place(b, "id", id);
    if (name.n > 0)
        name_at = place(b, "name", name);
    text_at = place(b, "text", text);
    if (is_error)
        hocket__jw_key_bool(b, "error", true);
    hocket__jw_close(b, '}');
    hocket__buf_addc(b, '\n');
    put_labels(h);
    int status = settle(h, before, NULL);
    if (status < 0)
        return status;
    struct hocket__neutral m = { .role = HOCKET__ROLE_TOOL,
        .id = piece_at(h, id_at),
        .name = piece_at(h, name_at),
        .text = piece_at(h, text_at),
        .error = is_error };
    render_added(h, before, &m);
    return 0;
}

int hocket__history_add_reply(struct hocket__history *h, const struct hocket__reply *r,
    const char *protocol, struct hocket_error *err)
{
    struct hocket__reply_places at;
    size_t before = h->messages.len;
    if (hocket__reply_place(r, protocol, &h->next_call, &h->messages, &at) == 0)
        end_line(&h->messages, at.replay.to > 0 ? at.replay.from : h->messages.len);
    put_labels(h);
    int status = settle(h, before, err);
    if (status < 0 || r->n_calls == 0) /* without calls there may be no further turn */
        return status;
    struct hocket__neutral m = { .role = HOCKET__ROLE_ASSISTANT,
        .text = piece_at(h, at.text),
        .reasoning = piece_at(h, at.reasoning),
        .calls = value_at(h, at.calls),
        .replay = value_at(h, at.replay) };
    if (m.replay.n > 0)
        m.replay_protocol = (struct hocket__piece){ hocket__cstr(protocol), false, true };
    render_added(h, before, &m);
    return 0;
}

/* Renders one line; a wire form that could not be made whole is cut back. */
static int render_line(struct hocket__history *h, struct hocket__str line, struct hocket_error *err)
{
    struct hocket__neutral m;
    size_t before = h->wire.len;
    int status = hocket__neutral_read(&m, line, err);
    if (status == 0)
        status = h->proto->message(&m, h->traits, &h->wire, err);
    if (status == 0 && h->wire.status < 0)
        status = hocket__proto_written(&h->wire, err);
    if (status < 0) {
        hocket__buf_cut(&h->wire, before);
        h->wire.status = 0;
    }
    return status;
}

int hocket__history_render(struct hocket__history *h, const struct hocket__proto *proto,
    const struct hocket__proto_traits *traits, struct hocket_error *err)
{
    if (!traits)
        traits = &hocket__proto_no_traits;
    if (h->proto != proto || h->traits != traits) {
        hocket__buf_reset(&h->wire);
        hocket__buf_deinit(&h->body);
        h->wired = 0;
        h->epoch++;
        h->proto = proto;
        h->traits = traits;
    }
    while (h->wired < h->messages.len) {
        const char *line = h->messages.data + h->wired;
        const char *end = memchr(line, '\n', h->messages.len - h->wired);
        size_t n = (size_t) (end - line);
        int status = render_line(h, hocket__str(line, n), err);
        if (status < 0)
            return status;
        h->wired += n + 1;
    }
    return 0;
}

struct hocket__history_mark hocket__history_mark(const struct hocket__history *h)
{
    return (struct hocket__history_mark){ h->wire.len, h->epoch };
}

void hocket__history_keep_body(
    struct hocket__history *h, struct hocket__history_mark mark, struct hocket__buf *body)
{
    hocket__buf_deinit(&h->body);
    if (mark.epoch != h->epoch) {
        hocket__buf_deinit(body);
        return;
    }
    hocket__buf_move(&h->body, body);
    h->body_wire = mark.wire;
}

/* Between head and wire form may be a comma. */
bool hocket__history_resume(
    struct hocket__history *h, struct hocket__str head, size_t tail, struct hocket__buf *out)
{
    struct hocket__str old = hocket__buf_str(&h->body);
    /* The body is taken only where it is, byte for byte, head, old wire form and tail;
     * otherwise it is written anew. */
    size_t known = head.n + h->body_wire + tail;
    if (h->body_wire == 0 || (old.n != known && old.n != known + 1)
        || memcmp(old.p, head.p, head.n) != 0) {
        hocket__buf_deinit(&h->body);
        return false;
    }
    hocket__buf_move(out, &h->body);
    hocket__buf_cut(out, old.n - tail);
    hocket__buf_add(out, h->wire.data + h->body_wire, h->wire.len - h->body_wire);
    return true;
}
