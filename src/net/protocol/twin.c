/* The comparison of twin.h. What is kept is cut by its holes, in the order in which they stand:
 *
 *     gap ─ hole ─ gap ─ hole ─ tail          of the first gap `head` bytes are framing, of the tail `foot`
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

/* What stands from p up to the quote that ends it, as a JSON string; NULL when it is none. */
static inline const char *read_inside(const char *p, const char *end, struct hocket__piece *piece)
{
    const char *from = p;
    bool escaped = false;
    while ((p = hocket__json_plain(p, end)) < end && *p != '"') {
        int n = *p == '\\' ? (int) escape(p, end) : hocket__utf8_sequence(p, (size_t) (end - p));
        if (n < 1 || (unsigned char) *p < 0x20)
            return NULL;
        escaped |= *p == '\\';
        p += n;
    }
    *piece = (struct hocket__piece){ hocket__str(from, (size_t) (p - from)), escaped, true };
    return p < end ? p : NULL;
}

/* A text that may be no more of what it would be appended to is read as any other event. */
static bool is_more(const struct hocket__reader *r, const struct hocket__piece *p)
{
    return r->twin.kind != HOCKET__DELTA_CALL
           || !hocket__arguments_reopen(&r->reply->calls[r->twin.call], p);
}

static void append(struct hocket__reader *r, const struct hocket__piece *p)
{
    if (r->twin.kind == HOCKET__DELTA_CALL)
        hocket__reader_arguments(r, r->twin.call, p);
    else
        hocket__reader_text(r, r->twin.kind, p);
    if (r->twin.state)
        hocket__buf_addstr(&r->state, p->inside);
}

/* A whole number as JSON has it. */
static const char *pass_number(const char *p, const char *end)
{
    const char *from = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p == from || (*from == '0' && p - from > 1) ? NULL : p;
}

static bool is_same(const char *p, const char *end, const char *kept, size_t n)
{
    return (size_t) (end - p) >= n && memcmp(p, kept, n) == 0;
}

/* Compares what begins at s with what is kept, without `head` and `foot` of it, and
 * reads the text. Gives the length of the twin: more may stand behind it. */
static size_t compare(const struct hocket__twin *t, struct hocket__str s, size_t head, size_t foot,
    struct hocket__piece *text)
{
    const char *p = s.p, *end = s.p + s.n, *kept = t->last.data;
    struct hocket__piece other;
    for (size_t i = 0; i < t->n_holes; i++, head = 0) {
        const struct hocket__twin_hole *hole = &t->holes[i];
        if (!is_same(p, end, kept + head, hole->gap - head))
            return 0;
        p += hole->gap - head;
        if (hole->kind == HOCKET__TWIN_NUMBER)
            p = pass_number(p, end);
        else
            p = read_inside(p, end, hole->kind == HOCKET__TWIN_TEXT ? text : &other);
        if (!p)
            return 0;
        kept += hole->gap + hole->n;
    }
    if (t->n_holes == 0 || !is_same(p, end, kept, t->tail - foot))
        return 0;
    return (size_t) (p - s.p) + t->tail - foot;
}

size_t hocket__twin_take_frames(struct hocket__reader *r, const char *p, size_t n, uint64_t *count)
{
    size_t at = 0;
    while (r->twin.head > 0 && at < n) {
        struct hocket__piece piece = { 0 };
        size_t taken = compare(&r->twin, hocket__str(p + at, n - at), 0, 0, &piece);
        if (taken == 0 || !is_more(r, &piece))
            break;
        append(r, &piece);
        at += taken;
        ++*count;
    }
    return at;
}

static bool take(struct hocket__reader *r, struct hocket__str data)
{
    const struct hocket__twin *t = &r->twin;
    struct hocket__piece piece = { 0 };
    size_t taken = compare(t, data, t->head, t->foot, &piece);
    if (taken == 0 || taken < data.n || !is_more(r, &piece))
        return false;
    append(r, &piece);
    if (t->head == 0 && r->frame.n > 0)
        r->twin.n_holes = 0; /* the next one is read, and kept with its frame */
    return true;
}

static void begin(struct hocket__reader *r)
{
    r->twin.seen[0].kind = HOCKET__TWIN_TEXT;
    r->twin.n_seen = 1;
    r->twin.pieces = 0;
    r->twin.state = false;
    r->twin.unlike = false;
}

void hocket__twin_piece(struct hocket__reader *r, enum hocket__delta_kind kind, size_t call,
    const struct hocket__piece *p)
{
    r->twin.pieces++;
    r->twin.kind = kind;
    r->twin.call = call;
    r->twin.seen[0].was = p->inside;
}

void hocket__twin_hole(struct hocket__reader *r, const struct hocket__json *j)
{
    struct hocket__twin *t = &r->twin;
    bool number = j->token == HOCKET__JSON_NUMBER;
    if ((!number && j->token != HOCKET__JSON_STRING) || t->n_seen == HOCKET__TWIN_HOLES) {
        t->unlike = true;
        return;
    }
    t->seen[t->n_seen++] =
        (struct hocket__twin_hole){ .kind = number ? HOCKET__TWIN_NUMBER : HOCKET__TWIN_STRING,
            .was = j->text };
}

void hocket__twin_state(struct hocket__reader *r, bool its)
{
    r->twin.state = its;
    r->twin.unlike |= !its;
}

void hocket__twin_give_up(struct hocket__reader *r)
{
    r->twin.unlike = true;
}

/* What was seen, in the order in which it stands in the event. False: some of it stands elsewhere. */
static bool sort_holes(struct hocket__twin *t, struct hocket__str data)
{
    for (size_t i = 0; i < t->n_seen; i++) {
        struct hocket__twin_hole hole = t->seen[i];
        size_t k = i;
        if (hole.was.p <= data.p || hole.was.p + hole.was.n >= data.p + data.n)
            return false;
        for (; k > 0 && t->holes[k - 1].was.p > hole.was.p; k--)
            t->holes[k] = t->holes[k - 1];
        t->holes[k] = hole;
    }
    return true;
}

static int keep(struct hocket__reader *r, struct hocket__str data)
{
    struct hocket__twin *t = &r->twin;
    struct hocket__str all = r->frame.n > 0 ? r->frame : data;
    const char *from = all.p;
    hocket__buf_reset(&t->last);
    t->n_holes = 0;
    if (t->pieces != 1 || t->unlike || !sort_holes(t, data))
        return 0;
    int status = hocket__buf_addstr(&t->last, all);
    if (status < 0)
        return status == HOCKET_ENOMEM ? status : 0;
    for (struct hocket__twin_hole *hole = t->holes; t->n_holes < t->n_seen; t->n_holes++, hole++) {
        hole->gap = (size_t) (hole->was.p - from);
        hole->n = hole->was.n;
        from = hole->was.p + hole->was.n;
    }
    t->tail = (size_t) (all.p + all.n - from);
    t->head = (size_t) (data.p - all.p);
    t->foot = all.n - t->head - data.n;
    return 0;
}

int hocket__twin_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    hocket__event_read read, struct hocket_error *err)
{
    if (take(r, data))
        return 0;
    begin(r);
    int status = read(r, type, data, err);
    if (status < 0)
        hocket__twin_give_up(r);
    int kept = keep(r, data);
    return status < 0 ? status : kept;
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
