#include "net/history.h"

#include "base/json_write.h"
#include "net/proto_util.h"

void hocket__history_init(struct hocket__history *h, const struct hocket_allocator *a, size_t max)
{
    *h = (struct hocket__history){ .next_call = 1 };
    hocket__buf_init(&h->messages, a, max);
    hocket__buf_init(&h->wire, a, max);
    hocket__buf_init(&h->tools_given, a, max);
    hocket__buf_init(&h->tools_wire, a, max);
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
    hocket__buf_deinit(&h->tools_given);
    hocket__buf_deinit(&h->tools_wire);
    h->proto = NULL;
    h->traits = NULL;
    h->wired = 0;
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

/* One message a line: a line break in valid JSON can only be white space. */
static void add_line(struct hocket__buf *b, struct hocket__str s)
{
    size_t from = b->len;
    if (hocket__buf_addstr(b, s) < 0)
        return;
    for (size_t i = from; i < b->len; i++)
        if (b->data[i] == '\n' || b->data[i] == '\r')
            b->data[i] = ' ';
    hocket__buf_addc(b, '\n');
}

int hocket__history_add(
    struct hocket__history *h, struct hocket__str message, struct hocket_error *err)
{
    struct hocket__neutral m;
    int status = hocket__neutral_read(&m, message, err);
    return status < 0 ? status : hocket__history_add_own(h, message, err);
}

int hocket__history_add_own(
    struct hocket__history *h, struct hocket__str message, struct hocket_error *err)
{
    size_t before = h->messages.len;
    add_line(&h->messages, message);
    return settle(h, before, err);
}

static void member(struct hocket__buf *b, const char *key, struct hocket__str value)
{
    hocket__jw_key(b, key);
    hocket__jw_string(b, value);
}

int hocket__history_add_text(struct hocket__history *h, const char *role, struct hocket__str text)
{
    struct hocket__buf *b = &h->messages;
    size_t before = b->len;
    if (strcmp(role, "system") != 0 && strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0)
        return HOCKET_EINVAL;
    hocket__jw_open(b, '{');
    member(b, "role", hocket__cstr(role));
    member(b, "text", text);
    hocket__jw_close(b, '}');
    hocket__buf_addc(b, '\n');
    return settle(h, before, NULL);
}

int hocket__history_add_result(struct hocket__history *h, struct hocket__str id,
    struct hocket__str name, struct hocket__str text, bool is_error)
{
    struct hocket__buf *b = &h->messages;
    size_t before = b->len;
    hocket__jw_open(b, '{');
    member(b, "role", HOCKET__STR("tool"));
    member(b, "id", id);
    if (name.n > 0)
        member(b, "name", name);
    member(b, "text", text);
    if (is_error) {
        hocket__jw_key(b, "error");
        hocket__jw_bool(b, true);
    }
    hocket__jw_close(b, '}');
    hocket__buf_addc(b, '\n');
    return settle(h, before, NULL);
}

/* Renders one line; a wire form that could not be made whole is cut back. */
static int render_line(struct hocket__history *h, struct hocket__str line, struct hocket_error *err)
{
    size_t before = h->wire.len;
    int status = h->proto->message(line, h->traits, &h->wire, err);
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
        hocket__buf_reset(&h->tools_given);
        h->wired = 0;
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

bool hocket__history_tools(
    const struct hocket__history *h, struct hocket__str given, struct hocket__str *wire)
{
    if (given.n == 0 || !hocket__str_eq(given, hocket__buf_str(&h->tools_given)))
        return false;
    *wire = hocket__buf_str(&h->tools_wire);
    return true;
}

void hocket__history_keep_tools(
    struct hocket__history *h, struct hocket__str given, struct hocket__str wire)
{
    hocket__buf_reset(&h->tools_given);
    hocket__buf_reset(&h->tools_wire);
    if (hocket__buf_addstr(&h->tools_wire, wire) < 0
        || hocket__buf_addstr(&h->tools_given, given) < 0)
        hocket__buf_reset(&h->tools_given);
}
