/* Server-sent events out of pieces that may be cut anywhere, also within a character or between \r
 * and \n (sse.h). A line that lies whole in a piece is read where it lies; only what a piece leaves
 * unfinished is copied. Events are handed on with views that are good during the call. */
#include "net/sse.h"

#include "base/utf8.h"

#define MAX_EVENT ((size_t) 32 << 20)

/* One feed. A line that lies whole in the input stays there; so does an event's only data
 * line (`value`), until a second one comes or the input ends. */
struct feed {
    struct hocket__sse *s;
    struct hocket__str value; /* the first data line of the open event, when it is not in s->data */
    const char *from;         /* where the open event's frame begins; NULL: it has none */
    const char *end;          /* of the line under way, with its line end */
    bool kept;                /* `value` is in use */
    bool fresh;               /* what comes is the first line of an event */
    bool line_used;           /* s->line was handed on, and may still be what `value` points to */
};

void hocket__sse_init(struct hocket__sse *s, const struct hocket_allocator *a, size_t max_event,
    hocket__sse_cb cb, void *ud)
{
    *s = (struct hocket__sse){ .max_event = max_event ? max_event : MAX_EVENT, .cb = cb, .ud = ud };
    hocket__buf_init(&s->line, a, s->max_event);
    hocket__buf_init(&s->data, a, s->max_event);
    hocket__buf_init(&s->type, a, s->max_event);
    hocket__buf_init(&s->id, a, s->max_event);
}

void hocket__sse_deinit(struct hocket__sse *s)
{
    hocket__buf_deinit(&s->line);
    hocket__buf_deinit(&s->data);
    hocket__buf_deinit(&s->type);
    hocket__buf_deinit(&s->id);
}

/* Moves the data line that lies in the input into the buffer. */
static int keep_value(struct feed *f)
{
    if (f->kept)
        hocket__buf_addstr(&f->s->data, f->value);
    f->kept = false;
    return f->s->data.status;
}

static int add_data(struct feed *f, struct hocket__str value)
{
    struct hocket__sse *s = f->s;
    if (!s->has_data) {
        if (value.n > s->max_event)
            return HOCKET_ELIMIT;
        s->has_data = f->kept = true;
        f->value = value;
        return 0;
    }
    keep_value(f);
    hocket__buf_addc(&s->data, '\n');
    return hocket__buf_addstr(&s->data, value);
}

static int set_text(struct hocket__buf *b, struct hocket__str value)
{
    hocket__buf_reset(b);
    return hocket__utf8_repair(b, value.p, value.n);
}

/* Hands on an event whose data is not valid UTF-8, with the data repaired. */
static int hand_on_repaired(struct hocket__sse *s, struct hocket__sse_event *e)
{
    struct hocket__buf repaired = hocket__buf(s->line.a, 0);
    int status = hocket__utf8_repair(&repaired, e->data.p, e->data.n);
    e->data = hocket__buf_str(&repaired);
    e->frame.n = 0;
    if (status == 0)
        status = s->cb(s->ud, e);
    hocket__buf_deinit(&repaired);
    return status;
}

static int hand_on(struct feed *f, bool at_end)
{
    struct hocket__sse *s = f->s;
    struct hocket__sse_event e = { .id = hocket__buf_str(&s->id), .at_end = at_end };
    e.type = s->type.len > 0 ? hocket__buf_str(&s->type) : HOCKET__STR("message");
    e.data = f->kept ? f->value : hocket__buf_str(&s->data);
    if (f->from && f->kept && !at_end)
        e.frame = hocket__str(f->from, (size_t) (f->end - f->from));
    bool valid = hocket__utf8_valid(e.data.p, e.data.n) == e.data.n;
    return valid ? s->cb(s->ud, &e) : hand_on_repaired(s, &e);
}

static int dispatch(struct feed *f, bool at_end)
{
    struct hocket__sse *s = f->s;
    int status = s->has_data ? hand_on(f, at_end) : 0;
    if (s->data.data)
        hocket__buf_reset(&s->data);
    if (s->type.data)
        hocket__buf_reset(&s->type);
    s->has_data = s->bare = f->kept = false;
    f->fresh = true;
    return status;
}

static int field(struct feed *f, struct hocket__str name, struct hocket__str value)
{
    struct hocket__sse *s = f->s;
    if (hocket__str_is(name, "data"))
        return add_data(f, value);
    if (hocket__str_is(name, "event"))
        return set_text(&s->type, value);
    f->from = NULL;
    if (hocket__str_is(name, "id"))
        return memchr(value.p, 0, value.n) ? 0 : set_text(&s->id, value);
    if (hocket__str_is(name, "error")) {
        set_text(&s->type, name);
        return add_data(f, value);
    }
    return 0; /* `retry` too: when to try again is not the stream's to say here */
}

static struct hocket__str after_bom(struct hocket__sse *s, struct hocket__str line)
{
    bool bom = !s->started && line.n >= 3 && memcmp(line.p, "\xEF\xBB\xBF", 3) == 0;
    s->started = true;
    return bom ? hocket__str(line.p + 3, line.n - 3) : line;
}

static int take_line(struct feed *f, struct hocket__str line)
{
    line = after_bom(f->s, line);
    if (line.n == 0)
        return dispatch(f, false);
    if (line.p[0] == '{' && !f->s->has_data)
        f->s->bare = true;
    if (f->s->bare)
        return add_data(f, line);
    if (line.n > 6 && memcmp(line.p, "data: ", 6) == 0) /* as nearly all lines begin */
        return add_data(f, hocket__str(line.p + 6, line.n - 6));
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon)
        return field(f, line, hocket__str("", 0));
    size_t n = (size_t) (colon - line.p), skip = n + 1 < line.n && colon[1] == ' ' ? n + 2 : n + 1;
    if (n == 0)
        f->from = NULL;
    return n == 0 ? 0 : field(f, hocket__str(line.p, n), hocket__str(line.p + skip, line.n - skip));
}

/* The end of a line whose beginning came with an earlier feed. */
static int take_joined(struct feed *f, const char *p, size_t n)
{
    struct hocket__sse *s = f->s;
    if (s->line.len == 0 || f->line_used)
        return take_line(f, hocket__str(p, n));
    if (hocket__buf_add(&s->line, p, n) < 0)
        return s->line.status;
    f->line_used = true;
    return take_line(f, hocket__buf_str(&s->line));
}

/* What is left without a line end. A comment of any length costs one byte. */
static int keep_rest(struct feed *f, const char *p, size_t n)
{
    struct hocket__sse *s = f->s;
    int status = keep_value(f);
    if (f->line_used)
        hocket__buf_reset(&s->line);
    if (status == 0 && n > 0) {
        const char *first = s->line.len > 0 ? s->line.data : p;
        if (*first == ':' && !s->bare)
            n = s->line.len > 0 ? 0 : 1;
        status = hocket__buf_add(&s->line, p, n);
    }
    return status;
}

/* Has what begins at *p taken, if somebody takes it. */
static int begin_event(struct feed *f, const char **p, const char *end)
{
    struct hocket__sse *s = f->s;
    ptrdiff_t taken = s->take ? s->take(s->ud, *p, (size_t) (end - *p)) : 0;
    if (taken > 0) {
        *p += taken;
        s->skip_lf = (*p)[-1] == '\r';
        return 0;
    }
    f->fresh = false;
    f->from = *p;
    return (int) taken;
}

static bool is_between(const struct hocket__sse *s)
{
    return s->line.len == 0 && s->type.len == 0 && !s->has_data && !s->bare;
}

int hocket__sse_feed(struct hocket__sse *s, const char *p, size_t n)
{
    struct feed f = { .s = s, .fresh = is_between(s) };
    const char *end = p + n, *lf = NULL;
    int status = 0;
    while (p < end && status == 0) {
        bool skip = s->skip_lf && *p == '\n';
        s->skip_lf = false;
        if (skip) {
            p++;
            continue;
        }
        if (f.fresh) {
            status = begin_event(&f, &p, end);
            continue;
        }
        /* Searches once for the next LF, and for a CR only before it: linear whatever is sent. */
        if (!lf || lf < p)
            lf = memchr(p, '\n', (size_t) (end - p));
        const char *stop = lf ? lf : end;
        const char *cr = memchr(p, '\r', (size_t) (stop - p));
        if (!cr && !lf)
            break;
        const char *eol = cr ? cr : lf;
        f.end = eol + 1;
        status = take_joined(&f, p, (size_t) (eol - p));
        s->skip_lf = cr != NULL;
        p = eol + 1;
    }
    if (status < 0 || (f.fresh && p == end && !f.line_used))
        return status;
    return keep_rest(&f, p, (size_t) (end - p));
}

int hocket__sse_finish(struct hocket__sse *s)
{
    struct feed f = { .s = s };
    int status = s->line.len > 0 ? take_joined(&f, "", 0) : 0;
    if (status == 0)
        status = dispatch(&f, true);
    hocket__buf_reset(&s->line);
    return status;
}
