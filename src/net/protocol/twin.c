/* The comparison of twin.h. All offsets are from the beginning of what is kept: `from` is
 * where the text begins in it, `tail` how much stands behind it, `head` and `foot` how much of
 * both is framing.
 *
 * It is only ever a shortcut: what does not compare is parsed as if there were no twins, so a
 * mistake of the comparison could only be to take too much. Hence the string is scanned by the
 * JSON reader's own rules. */
#include "net/protocol/twin.h"

#include "base/json/json.h"
#include "base/utf8.h"

/* The length of the escape at p (a backslash), or 0 when it is none. */
static size_t escape(const char *p, const char *end)
{
    if (end - p < 2)
        return 0;
    if (p[1] != 'u')
        return strchr("\"\\/bfnrt", p[1]) && p[1] ? 2 : 0;
    if (end - p < 6)
        return 0;
    for (int i = 2; i < 6; i++)
        if (!strchr("0123456789abcdefABCDEF", p[i]) || !p[i])
            return 0;
    return 6;
}

/* What stands from p up to the quote that ends it, as a JSON string; false when it is none. */
static bool read_inside(const char *p, const char *end, struct hocket__piece *piece)
{
    const char *from = p;
    while ((p = hocket__json_plain(p, end)) < end && *p != '"') {
        int n = *p == '\\' ? (int) escape(p, end) : hocket__utf8_sequence(p, (size_t) (end - p));
        if (n < 1 || (unsigned char) *p < 0x20)
            return false;
        piece->escaped |= *p == '\\';
        p += n;
    }
    piece->set = true;
    piece->inside = hocket__str(from, (size_t) (p - from));
    return p < end;
}

static void append(struct hocket__reader *r, const struct hocket__piece *p)
{
    if (r->twin.kind == HOCKET__DELTA_CALL)
        hocket__reader_arguments(r, r->twin.call, p);
    else
        hocket__reader_text(r, r->twin.kind, p);
}

/* Compares what begins at s with the bytes around the text, without `head` and `foot` of them, and
 * reads the text. Gives the length of the twin: more may stand behind it. */
static size_t compare(const struct hocket__twin *t, struct hocket__str s, size_t head, size_t foot,
    struct hocket__piece *piece)
{
    size_t from = t->from - head, tail = t->tail - foot;
    const char *end = s.p + s.n;
    if (t->last.len == 0 || s.n < from + tail || memcmp(s.p, t->last.data + head, from) != 0
        || !read_inside(s.p + from, end, piece))
        return 0;
    const char *behind = piece->inside.p + piece->inside.n;
    if ((size_t) (end - behind) < tail
        || memcmp(behind, t->last.data + t->last.len - t->tail, tail) != 0)
        return 0;
    return (size_t) (behind - s.p) + tail;
}

size_t hocket__twin_take_frames(struct hocket__reader *r, const char *p, size_t n, uint64_t *count)
{
    size_t at = 0;
    while (r->twin.head > 0 && at < n) {
        struct hocket__piece piece = { 0 };
        size_t taken = compare(&r->twin, hocket__str(p + at, n - at), 0, 0, &piece);
        if (taken == 0)
            break;
        append(r, &piece);
        at += taken;
        ++*count;
    }
    return at;
}

bool hocket__twin_take(struct hocket__reader *r, struct hocket__str data)
{
    const struct hocket__twin *t = &r->twin;
    struct hocket__piece piece = { 0 };
    size_t taken = compare(t, data, t->head, t->foot, &piece);
    if (taken == 0 || taken < data.n)
        return false;
    append(r, &piece);
    if (t->head == 0 && r->frame.n > 0)
        hocket__twin_keep(r, data);
    return true;
}

void hocket__twin_begin(struct hocket__reader *r)
{
    r->twin.pieces = 0;
    r->twin.unlike = false;
}

void hocket__twin_piece(struct hocket__reader *r, enum hocket__delta_kind kind, size_t call,
    const struct hocket__piece *p)
{
    r->twin.pieces++;
    r->twin.kind = kind;
    r->twin.call = call;
    r->twin.text = p->inside;
}

void hocket__twin_unlike(struct hocket__reader *r)
{
    r->twin.unlike = true;
}

void hocket__twin_keep(struct hocket__reader *r, struct hocket__str data)
{
    struct hocket__twin *t = &r->twin;
    struct hocket__str all = r->frame.n > 0 ? r->frame : data;
    hocket__buf_reset(&t->last);
    t->head = t->foot = 0;
    if (t->pieces != 1 || t->unlike || t->text.p <= data.p
        || t->text.p + t->text.n >= data.p + data.n)
        return;
    if (hocket__buf_addstr(&t->last, all) < 0) {
        hocket__buf_reset(&t->last); /* it is only a shortcut */
        return;
    }
    t->head = (size_t) (data.p - all.p);
    t->foot = all.n - t->head - data.n;
    t->from = (size_t) (t->text.p - all.p);
    t->tail = all.n - t->from - t->text.n;
}

int hocket__head_keep(struct hocket__reader *r, const struct hocket__json *j)
{
    hocket__buf_reset(&r->head);
    hocket__buf_add(&r->head, j->start, (size_t) (j->p - j->start));
    return r->head.status == HOCKET_ENOMEM ? HOCKET_ENOMEM : 0;
}

bool hocket__head_jump(struct hocket__reader *r, struct hocket__json *j)
{
    size_t n = r->head.len;
    if (n == 0 || (size_t) (j->end - j->start) < n || memcmp(j->start, r->head.data, n) != 0)
        return false;
    hocket__json_jump(j, n);
    return true;
}
