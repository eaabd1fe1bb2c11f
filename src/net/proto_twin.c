#include "net/proto_twin.h"

#include "base/json_scan.h"

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

/* Whether it can stand between quotes. The text around it is valid UTF-8, and so is it. */
static bool is_inside(struct hocket__str s, bool *escaped)
{
    const char *p = s.p, *end = s.p + s.n;
    while (p < end && (p = hocket__json_plain(p, end)) < end) {
        size_t n = *p == '\\' ? escape(p, end) : (unsigned char) *p >= 0x80 ? 1 : 0;
        if (n == 0)
            return false;
        *escaped |= *p == '\\';
        p += n;
    }
    return true;
}

bool hocket__twin_take(struct hocket__reader *r, struct hocket__str data)
{
    const struct hocket__twin *t = &r->twin;
    struct hocket__piece p = { .set = true };
    if (t->last.len == 0 || data.n < t->from + t->tail)
        return false;
    if (memcmp(data.p, t->last.data, t->from) != 0
        || memcmp(data.p + data.n - t->tail, t->last.data + t->last.len - t->tail, t->tail) != 0)
        return false;
    p.inside = hocket__str(data.p + t->from, data.n - t->from - t->tail);
    if (!is_inside(p.inside, &p.escaped))
        return false;
    if (t->kind == HOCKET__DELTA_CALL)
        hocket__reader_arguments(r, t->call, &p);
    else
        hocket__reader_text(r, t->kind, &p);
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
    hocket__buf_reset(&t->last);
    if (t->pieces != 1 || t->unlike || t->text.p <= data.p
        || t->text.p + t->text.n >= data.p + data.n)
        return;
    if (hocket__buf_addstr(&t->last, data) < 0) {
        hocket__buf_reset(&t->last); /* it is only a shortcut */
        return;
    }
    t->from = (size_t) (t->text.p - data.p);
    t->tail = data.n - t->from - t->text.n;
}
