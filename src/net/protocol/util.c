/* What readers and writers of all protocols share. A piece is a JSON string that is not
 * decoded yet; it is decoded where it is appended to, once, and written to another JSON text
 * without being decoded at all. */
#include "net/protocol/protocol_impl.h"

#include "base/utf8.h"
#include "net/protocol/finish.h"
#include "net/protocol/twin.h"

/* ---- Pieces ---- */

/* `set` tells an empty string from none. */
struct hocket__piece hocket__piece_of(const struct hocket__json *j)
{
    return (struct hocket__piece){ j->text, j->escaped, true };
}

void hocket__json_pass(struct hocket__json *j)
{
    if (j->token == HOCKET__JSON_ARRAY || j->token == HOCKET__JSON_OBJECT)
        hocket__json_skip(j, NULL);
}

void hocket__piece_read(struct hocket__json *j, struct hocket__piece *out)
{
    if (hocket__json_next(j) == HOCKET__JSON_STRING)
        *out = hocket__piece_of(j);
    else
        hocket__json_pass(j);
}

int hocket__piece_add(const struct hocket__piece *p, struct hocket__buf *out)
{
    if (!p->set)
        return out->status;
    return p->escaped ? hocket__json_unescape(p->inside, out) : hocket__buf_addstr(out, p->inside);
}

int hocket__piece_set(const struct hocket__piece *p, struct hocket__buf *out)
{
    if (p->set)
        hocket__buf_cut(out, 0);
    return hocket__piece_add(p, out);
}

/* From one JSON text into another: what was valid in quotes there is so here. */
void hocket__piece_write(const struct hocket__piece *p, struct hocket__buf *out)
{
    size_t n = p->inside.n;
    if (hocket__buf_reserve(out, n + 2) < 0)
        return;
    char *to = out->data + out->len;
    to[0] = '"';
    if (n > 0)
        memcpy(to + 1, p->inside.p, n);
    to[n + 1] = '"';
    to[n + 2] = 0;
    out->len += n + 2;
}

bool hocket__piece_is(const struct hocket__piece *p, const char *literal)
{
    return p->set && !p->escaped && hocket__str_is(p->inside, literal);
}

int64_t hocket__json_count(struct hocket__json *j)
{
    int64_t v;
    if (hocket__json_next(j) == HOCKET__JSON_NUMBER && hocket__json_int(j, &v) && v >= 0)
        return v;
    hocket__json_pass(j);
    return -1;
}

bool hocket__json_true(struct hocket__json *j)
{
    enum hocket__json_token t = hocket__json_next(j);
    hocket__json_pass(j);
    return t == HOCKET__JSON_TRUE;
}

/* null is as if the member were not there. */
struct hocket__str hocket__json_value(struct hocket__json *j)
{
    struct hocket__str value = { "", 0 };
    if (hocket__json_next(j) == HOCKET__JSON_NULL || hocket__json_skip(j, &value) < 0)
        return hocket__str("", 0);
    return value;
}

bool hocket__json_begins(struct hocket__str text, char bracket)
{
    size_t i = 0;
    while (i < text.n && memchr(" \t\r\n", text.p[i], 4))
        i++;
    return i < text.n && text.p[i] == bracket && hocket__json_check(text, NULL) == 0;
}

/* ---- Into the reply ---- */

static void report(struct hocket__reader *r, enum hocket__delta_kind kind, size_t pos,
    const struct hocket__buf *b, size_t from)
{
    if (r->on_delta && b->len > from)
        r->on_delta(r->ud, kind, pos, hocket__str(b->data + from, b->len - from));
}

/* ---- Characters in two pieces ---- */

/* "\ud83d" at the end of one piece and "\ude00" at the beginning of the next are one character. The
 * texts by number: */
enum { SLOT_TEXT, SLOT_REASONING, SLOT_REFUSAL, SLOT_CALLS };

/* By number and not by address: calls move when one is added. */
static struct hocket__buf *slot_buf(struct hocket__reply *reply, size_t slot)
{
    struct hocket__buf *const texts[] = { &reply->text, &reply->reasoning, &reply->refusal };
    if (slot < SLOT_CALLS)
        return texts[slot];
    return slot - SLOT_CALLS < reply->n_calls ? &reply->calls[slot - SLOT_CALLS].arguments : NULL;
}

static bool is_high(int unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(int unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* Whether the six bytes at the end are an escape: as many backslashes before them as escape each
 * other. */
static bool ends_with_escape(struct hocket__str s)
{
    size_t n = s.n - 6, slashes = 0;
    while (slashes < n && s.p[n - slashes - 1] == '\\')
        slashes++;
    return slashes % 2 == 0;
}

/* A half that stays alone becomes a replacement character, at the place where it stood. */
void hocket__reader_flush(struct hocket__reader *r)
{
    struct hocket__buf *b = r->half.code ? slot_buf(r->reply, r->half.slot) : NULL;
    if (b && b->len == r->half.at) /* nobody has replaced the text since */
        hocket__utf8_add(b, 0xFFFD);
    r->half.code = 0;
}

/* The rest of a piece whose beginning may end the character that was begun. */
static struct hocket__str take_low(
    struct hocket__reader *r, size_t slot, struct hocket__buf *b, struct hocket__str s)
{
    if (r->half.slot != slot)
        return s;
    int unit = hocket__json_code_unit(s);
    if (!is_low(unit) || b->len != r->half.at) {
        hocket__reader_flush(r);
        return s;
    }
    hocket__utf8_add(b, 0x10000 + ((r->half.code - 0xD800) << 10) + (uint32_t) (unit - 0xDC00));
    r->half.code = 0;
    return hocket__str(s.p + 6, s.n - 6);
}

static void add_pieces(
    struct hocket__reader *r, size_t slot, struct hocket__buf *b, struct hocket__str s)
{
    if (r->half.code)
        s = take_low(r, slot, b, s);
    int unit = s.n >= 6 ? hocket__json_code_unit(hocket__str(s.p + s.n - 6, 6)) : -1;
    bool begins = is_high(unit) && ends_with_escape(s);
    hocket__json_unescape(hocket__str(s.p, begins ? s.n - 6 : s.n), b);
    if (begins) {
        hocket__reader_flush(r);
        /* `at` remembers how long the text was: where it is another when the second half
         * comes, something stood between the two. */
        r->half = (struct hocket__half){ (uint32_t) unit, slot, b->len };
    }
}

static void add_piece(
    struct hocket__reader *r, size_t slot, struct hocket__buf *b, const struct hocket__piece *p)
{
    if (!p->escaped && !r->half.code)
        hocket__piece_add(p, b);
    else if (p->set && p->inside.n > 0)
        add_pieces(r, slot, b, p->inside);
}

void hocket__reader_refusal(struct hocket__reader *r, const struct hocket__piece *p)
{
    add_piece(r, SLOT_REFUSAL, &r->reply->refusal, p);
}

void hocket__reader_text(
    struct hocket__reader *r, enum hocket__delta_kind kind, const struct hocket__piece *p)
{
    bool is_text = kind == HOCKET__DELTA_TEXT;
    hocket__twin_piece(r, kind, 0, p);
    struct hocket__buf *b = is_text ? &r->reply->text : &r->reply->reasoning;
    size_t from = b->len;
    add_piece(r, is_text ? SLOT_TEXT : SLOT_REASONING, b, p);
    report(r, kind, 0, b, from);
}

void hocket__reader_arguments(struct hocket__reader *r, size_t pos, const struct hocket__piece *p)
{
    struct hocket__buf *b = &r->reply->calls[pos].arguments;
    size_t from = b->len;
    hocket__twin_piece(r, HOCKET__DELTA_CALL, pos, p);
    add_piece(r, SLOT_CALLS + pos, b, p);
    report(r, HOCKET__DELTA_CALL, pos, b, from);
}

/* A call past the limit is no error: the reply says that there were more, and the session tells the
 * model. */
int hocket__reader_call(
    struct hocket__reader *r, struct hocket__call **out, struct hocket_error *err)
{
    *out = hocket__reply_add_call(r->reply);
    if (*out)
        return 0;
    if (r->reply->n_calls < HOCKET__REPLY_MAX_CALLS)
        return hocket__error_nomem(err);
    r->reply->surplus = true;
    return 0;
}

/* Servers send several reasons in one answer ("stop" behind "tool_calls"): the one that says more
 * stays. */
void hocket__reply_finish(struct hocket__reply *reply, const struct hocket__piece *raw)
{
    struct hocket__str old = hocket__buf_str(&reply->finish_raw);
    if (!raw->set || (old.n > 0 && hocket__str_eq(old, raw->inside)))
        return;
    reply->has_finish_raw = true;
    if (hocket__finish_covers(hocket__finish_of(raw->inside), hocket__finish_of(old)))
        hocket__piece_set(raw, &reply->finish_raw);
}

void hocket__reply_server_item(struct hocket__reply *reply, const struct hocket__piece *type)
{
    struct hocket__buf *b = &reply->server_items;
    if (!type->set)
        return;
    if (b->len == 0)
        hocket__jw_open(b, '[');
    else
        hocket__buf_cut(b, b->len - 1);
    hocket__buf_adds(b, b->len > 1 ? ",\"" : "\"");
    hocket__buf_addstr(b, type->inside);
    hocket__buf_adds(b, "\"]");
}

void hocket__reply_found(struct hocket__reply *reply, struct hocket__str object)
{
    if (object.n == 0 || object.p[0] != '{')
        return;
    hocket__buf_adds(&reply->found, reply->found.len > 0 ? "," : "");
    hocket__buf_addstr(&reply->found, object);
}

void hocket__reply_found_all(struct hocket__reply *reply, struct hocket__str list)
{
    struct hocket__json j;
    struct hocket__str object;
    if (list.n == 0)
        return;
    hocket__json_init(&j, list);
    hocket__json_next(&j);
    while (hocket__json_element(&j))
        if (hocket__json_skip(&j, &object) == 0)
            hocket__reply_found(reply, object);
}

void hocket__reply_set(struct hocket__buf *b, struct hocket__str text)
{
    hocket__buf_cut(b, 0);
    hocket__buf_addstr(b, text);
}

/* Nobody can run a call without a name, and no server takes it back. */
static void drop_nameless(struct hocket__reply *reply)
{
    size_t kept = 0;
    for (size_t i = 0; i < reply->n_calls; i++) {
        struct hocket__call call = reply->calls[i];
        if (call.name.len == 0 && call.name.status == 0)
            hocket__call_deinit(&call);
        else
            reply->calls[kept++] = call;
    }
    reply->n_calls = kept;
}

void hocket__reply_normalise(struct hocket__reply *reply)
{
    drop_nameless(reply);
    if (reply->error.where)
        reply->finish = HOCKET__FINISH_ERROR;
    else if (reply->n_calls > 0
             && (reply->finish == HOCKET__FINISH_STOP || reply->finish == HOCKET__FINISH_NONE))
        reply->finish = HOCKET__FINISH_CALLS;
    else if (reply->n_calls == 0 && reply->finish == HOCKET__FINISH_CALLS)
        reply->finish = HOCKET__FINISH_STOP; /* whether that is an answer: hocket__reply_is_none */
}

/* A word, an escape or a sequence that the end of the text cuts. */
static bool is_cut(const struct hocket__json *j)
{
    size_t left = (size_t) (j->end - j->p);
    if (left == 0)
        return true;
    unsigned char c = (unsigned char) *j->p;
    return left <= 6 && ((c && strchr("tfn\\-", c)) || c >= 0x80);
}

int hocket__proto_broken(struct hocket__json *j, struct hocket_error *err)
{
    if (!j->error || is_cut(j))
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended in the middle");
    return hocket__error(err, HOCKET_EPROTOCOL, "the answer is not valid JSON: %s", j->error);
}
