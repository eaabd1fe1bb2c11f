/* A reply's memory, its calls' names, and its way into a history. Buffers keep their first
 * failure, so readers append without looking, and hocket__reply_status asks once at the end. */
#include "net/protocol/reply/reply_impl.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/json/json.h"

const char *hocket__finish_word(enum hocket__finish f)
{
    static const char *const words[] = { NULL, "stop", "length", "tool_calls", "content_filter",
        "error" };
    return (unsigned) f < sizeof(words) / sizeof(words[0]) ? words[f] : NULL;
}

/* All texts of a reply that are not a call's. */
#define EACH_TEXT(X, r)                                                                            \
    HOCKET__REPLY_TEXTS(X, r)                                                                      \
    X(&(r)->error.type)                                                                            \
    X(&(r)->error.code)                                                                            \
    X(&(r)->error.message)                                                                         \
    X(&(r)->error.detail)

#define INIT(b) hocket__buf_init(b, r->a, r->max);

void hocket__reply_init(struct hocket__reply *r, const struct hocket_allocator *a, size_t max)
{
    *r = (struct hocket__reply){ .a = a, .max = max, .usage = { -1, -1, -1, -1, -1 } };
    r->error.retry_after_ms = -1;
    EACH_TEXT(INIT, r)
}

#define DEINIT(b) hocket__buf_deinit(b);

void hocket__call_deinit(struct hocket__call *c)
{
    HOCKET__CALL_TEXTS(DEINIT, c)
}

void hocket__reply_deinit(struct hocket__reply *r)
{
    EACH_TEXT(DEINIT, r)
    for (size_t i = 0; i < r->n_calls; i++)
        hocket__call_deinit(&r->calls[i]);
    hocket__free(r->a, r->calls, r->cap_calls * sizeof(*r->calls));
    hocket__reply_init(r, r->a, r->max);
}

/* NULL as well for more calls than any model means to make. */
struct hocket__call *hocket__reply_add_call(struct hocket__reply *r)
{
    if (r->n_calls >= HOCKET__REPLY_MAX_CALLS
        || hocket__grow(r->a, &r->calls, &r->cap_calls, r->n_calls + 1, sizeof(*r->calls)) < 0)
        return NULL;
    struct hocket__call *c = &r->calls[r->n_calls++];
    *c = (struct hocket__call){ .index = -1 };
    HOCKET__CALL_TEXTS(INIT, c)
    return c;
}

void hocket__reply_drop_calls(struct hocket__reply *r)
{
    for (size_t i = 0; i < r->n_calls; i++)
        hocket__call_deinit(&r->calls[i]);
    r->n_calls = 0;
    r->surplus = r->as_text = false;
}

#define CHECK(b)                                                                                   \
    if ((b)->status < 0)                                                                           \
        return (b)->status;

int hocket__reply_status(const struct hocket__reply *r)
{
    EACH_TEXT(CHECK, r)
    for (size_t i = 0; i < r->n_calls; i++) {
        HOCKET__CALL_TEXTS(CHECK, &r->calls[i])
    }
    return 0;
}

/* Calls whose arguments are blank, or the word null, have none: {}. */
static bool is_blank(struct hocket__str s)
{
    while (s.n > 0 && memchr(" \t\r\n", s.p[0], 4))
        s = hocket__str(s.p + 1, s.n - 1);
    return s.n == 0 || (s.n == 4 && memcmp(s.p, "null", 4) == 0);
}

struct hocket__str hocket__call_arguments(const struct hocket__call *c)
{
    struct hocket__str s = hocket__buf_str(&c->arguments);
    return !c->free_form && is_blank(s) ? HOCKET__STR("{}") : s;
}

/* An id may be missing, or stand twice in one answer: then it names no call. */
static bool is_unique(const struct hocket__reply *r, size_t pos)
{
    struct hocket__str id = hocket__buf_str(&r->calls[pos].id);
    for (size_t i = 0; i < pos; i++)
        if (hocket__str_eq(id, hocket__buf_str(&r->calls[i].id)))
            return false;
    return id.n > 0;
}

#define NAME_MAX_LEN 32 /* of "call_<n>" in its quotes */
#define SHORT_ID     8  /* bytes of an id that is counted, and not random */

static bool is_taken(const struct hocket__reply *r, struct hocket__str id)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (hocket__str_eq(id, hocket__buf_str(&r->calls[i].id)))
            return true;
    return false;
}

/* `quoted`: with its quotes. Inside of a string they would have a backslash. */
static bool stands_in(struct hocket__str history, struct hocket__str quoted)
{
    return history.n > 0 && hocket__find(history.p, history.n, quoted.p, quoted.n) != NULL;
}

/* A name for a call, with its quotes. */
static struct hocket__str new_name(const struct hocket__reply *r, struct hocket__str history,
    uint64_t *next_id, char out[NAME_MAX_LEN])
{
    struct hocket__str quoted;
    do {
        int n = snprintf(out, NAME_MAX_LEN, "\"call_%llu\"", (unsigned long long) (*next_id)++);
        quoted = hocket__str(out, (size_t) n);
        /* A made-up name may by chance stand in the text of the conversation: the next number
     * costs nothing. */
    } while (is_taken(r, hocket__str(out + 1, quoted.n - 2)) || stands_in(history, quoted));
    return quoted;
}

/* Servers that count their ids ("call_0") begin anew with each answer. A long id is random and is
 * not looked for, as the history may be large. */
static bool is_repeated(const struct hocket__reply *r, size_t pos, struct hocket__str history)
{
    struct hocket__str id = hocket__buf_str(&r->calls[pos].id);
    char quoted[SHORT_ID + 3];
    if (id.n > SHORT_ID || r->replay.len > 0)
        return false;
    int n = snprintf(quoted, sizeof(quoted), "\"%.*s\"", (int) id.n, id.p);
    return stands_in(history, hocket__str(quoted, (size_t) n));
}

/* A result is sent back under its call's id, so each call of a conversation needs one of its own. */
int hocket__reply_name_calls(struct hocket__reply *r, struct hocket__str history, uint64_t *next_id)
{
    int status = 0;
    char name[NAME_MAX_LEN];
    for (size_t i = 0; i < r->n_calls; i++) {
        struct hocket__buf *id = &r->calls[i].id;
        if (is_unique(r, i) && !is_repeated(r, i, history))
            continue;
        if (id->len > 0)
            hocket__buf_cut(&r->replay, 0); /* it has the id that is taken */
        struct hocket__str quoted = new_name(r, history, next_id, name);
        hocket__buf_cut(id, 0);
        if (hocket__buf_add(id, quoted.p + 1, quoted.n - 2) < 0)
            status = id->status;
    }
    return status;
}

/* Places in `out`, not pointers, as it may still move while it grows. */
static struct hocket__span put_calls(
    const struct hocket__reply *r, uint64_t *next_id, struct hocket__buf *out)
{
    char name[NAME_MAX_LEN];
    hocket__jw_key(out, "calls");
    size_t from = out->len;
    hocket__jw_open(out, '[');
    for (size_t i = 0; i < r->n_calls; i++) {
        const struct hocket__call *c = &r->calls[i];
        hocket__jw_open(out, '{');
        hocket__buf_lit(out, "\"id\":");
        if (is_unique(r, i))
            hocket__jw_string(out, hocket__buf_str(&c->id));
        else
            hocket__buf_addstr(out, new_name(r, HOCKET__STR(""), next_id, name));
        hocket__buf_lit(out, ",\"name\":");
        hocket__jw_string(out, hocket__buf_str(&c->name));
        hocket__buf_lit(out, ",\"arguments\":");
        hocket__jw_string(out, hocket__call_arguments(c));
        hocket__buf_addc(out, '}');
    }
    hocket__jw_close(out, ']');
    return (struct hocket__span){ from, out->len };
}

static struct hocket__span put_text(
    struct hocket__buf *out, const char *key, const struct hocket__buf *text)
{
    if (text->len == 0)
        return (struct hocket__span){ 0, 0 };
    hocket__jw_key(out, key);
    size_t from = out->len;
    hocket__jw_string(out, hocket__buf_str(text));
    return (struct hocket__span){ from + 1, out->len - 1 };
}

/* The words of the provider as they came, for the same protocol only; another one is given the
 * neutral members. */
static struct hocket__span put_replay(
    struct hocket__buf *out, const char *protocol, const struct hocket__buf *replay)
{
    hocket__jw_key_open(out, "replay", '{');
    hocket__jw_key_cstring(out, "protocol", protocol);
    hocket__jw_key(out, "value");
    struct hocket__span place = { .from = out->len };
    hocket__jw_raw(out, hocket__buf_str(replay));
    place.to = out->len;
    hocket__jw_close(out, '}');
    return place;
}

int hocket__reply_place(const struct hocket__reply *r, const char *protocol, uint64_t *next_id,
    struct hocket__buf *out, struct hocket__reply_places *places)
{
    *places = (struct hocket__reply_places){ .text = { 0, 0 } };
    hocket__jw_open(out, '{');
    hocket__buf_lit(out, "\"role\":\"assistant\"");
    places->text = put_text(out, "text", r->text.len > 0 ? &r->text : &r->refusal);
    places->reasoning = put_text(out, "reasoning", &r->reasoning);
    if (r->n_calls > 0)
        places->calls = put_calls(r, next_id, out);
    if (r->replay.len > 0)
        places->replay = put_replay(out, protocol, &r->replay);
    hocket__jw_close(out, '}');
    return out->status;
}
