/* Whole answers are read from their closing tags, streams by a machine with a state for each place a delta may end
 * in. Both read tags by tag_at. */
#include "net/protocol/reasoning.h"

#include "base/json/json.h"

/* At most so many places are tried for JSON up to the end of the text: the work on hostile texts stays linear. */
#define MAX_PLACES 8

/* ---- Tags ---- */

enum tag { NONE, OPENING, CLOSING, CUT /* the text ends in what may become one */ };

/* How `s` compares with "name>". */
static enum tag match(struct hocket__str s, const char *name, size_t *length)
{
    size_t i = 0;
    for (; name[i] && i < s.n; i++)
        if (hocket__lower(s.p[i]) != name[i])
            return NONE;
    if (i == s.n)
        return CUT;
    *length = i + 1;
    return s.p[i] == '>' ? OPENING : NONE;
}

/* The tag at a '<', and how many bytes it has. */
static enum tag tag_at(struct hocket__str s, size_t at, size_t *length)
{
    static const char *const names[] = { "think", "thinking", "reasoning" };
    size_t from = at + 1;
    bool closing = from < s.n && s.p[from] == '/';
    enum tag found = NONE;
    if (closing)
        from++;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        enum tag one = match(hocket__str(s.p + from, s.n - from), names[i], length);
        *length += from - at;
        if (one == OPENING)
            return closing ? CLOSING : OPENING;
        found = one == CUT ? CUT : found;
    }
    return found;
}

/* The next tag from `*at` on, which is its place then; the end of the text where there is none. */
static enum tag next_tag(struct hocket__str s, size_t *at, size_t *length)
{
    while (*at < s.n) {
        const char *hit = memchr(s.p + *at, '<', s.n - *at);
        *at = hit ? (size_t) (hit - s.p) : s.n;
        enum tag tag = hit ? tag_at(s, *at, length) : NONE;
        if (tag != NONE || !hit)
            return tag;
        (*at)++;
    }
    return NONE;
}

static bool begins_json(struct hocket__str s, size_t at)
{
    return at < s.n && (s.p[at] == '{' || s.p[at] == '[');
}

/* ---- Whole answers ---- */

static bool is_json(struct hocket__str s, size_t at)
{
    return begins_json(s, at) && hocket__json_check(hocket__str(s.p + at, s.n - at), NULL) == 0;
}

/* Moves *at behind the next closing tag. */
static bool pass_closing(struct hocket__str s, size_t *at)
{
    size_t length = 0;
    enum tag tag;
    while ((tag = next_tag(s, at, &length)) == OPENING)
        *at += length;
    if (tag == CLOSING)
        *at += length;
    return tag == CLOSING;
}

static bool has_tag(struct hocket__str s)
{
    size_t at = 0, length;
    enum tag tag = next_tag(s, &at, &length);
    return tag == OPENING || tag == CLOSING;
}

size_t hocket__reasoning_end(struct hocket__str text)
{
    size_t at = 0, end = 0, rest = hocket__str_blanks(text, 0), length;
    if (!has_tag(text))
        return 0;
    for (int places = 0;; places++) {
        if (places < MAX_PLACES && is_json(text, rest))
            return end;
        if (!pass_closing(text, &at))
            break;
        end = rest = hocket__str_blanks(text, at);
    }
    bool open = rest < text.n && text.p[rest] == '<' && tag_at(text, rest, &length) == OPENING;
    return open ? text.n : end;
}

static void add_piece(struct hocket__buf *b, size_t before, struct hocket__str piece)
{
    size_t from = b->len == before ? hocket__str_blanks(piece, 0) : 0;
    hocket__buf_add(b, piece.p + from, piece.n - from);
}

/* A text without its tags, and without blanks around it. */
static void add_without_tags(struct hocket__buf *b, struct hocket__str text)
{
    size_t from = 0, at = 0, length = 0, before = b->len;
    enum tag tag;
    do {
        tag = next_tag(text, &at, &length);
        if (tag == CUT)
            at = text.n;
        add_piece(b, before, hocket__str(text.p + from, at - from));
        from = at += length;
    } while (tag == OPENING || tag == CLOSING);
    while (b->len > before && memchr(" \t\r\n", b->data[b->len - 1], 4))
        hocket__buf_cut(b, b->len - 1);
}

void hocket__reply_part(struct hocket__reply *r)
{
    size_t end = hocket__reasoning_end(hocket__buf_str(&r->text));
    if (end == 0)
        return;
    if (r->reasoning.len > 0)
        hocket__buf_addc(&r->reasoning, '\n');
    add_without_tags(&r->reasoning, hocket__str(r->text.data, end));
    r->in_tags = true;
    hocket__buf_drop(&r->text, end);
}

/* ---- Streams ---- */

void hocket__think_splitter_init(struct hocket__think_splitter *p, const struct hocket_allocator *a,
    size_t max, hocket__delta_cb out, void *ud)
{
    *p = (struct hocket__think_splitter){ .out = out, .ud = ud };
    hocket__buf_init(&p->held, a, max);
}

void hocket__think_splitter_deinit(struct hocket__think_splitter *p)
{
    hocket__buf_deinit(&p->held);
}

static void put(struct hocket__think_splitter *p, bool reasoning, struct hocket__str s)
{
    if (s.n > 0)
        p->out(p->ud, reasoning ? HOCKET__DELTA_REASONING : HOCKET__DELTA_TEXT, 0, s);
}

static struct hocket__str part_of(struct hocket__str s, size_t from, size_t to)
{
    return hocket__str(s.p + from, to - from);
}

static void close_block(struct hocket__think_splitter *p)
{
    p->state = HOCKET__PARTING_BLANK;
    p->parted = true;
}

/* Each takes what it can of `s` from `at` on and returns where the rest begins; false in *more: that has to wait for
 * further bytes. */
static size_t take_blank(
    struct hocket__think_splitter *p, struct hocket__str s, size_t at, bool *more)
{
    size_t i = hocket__str_blanks(s, at), length = 0;
    enum tag tag = i < s.n && s.p[i] == '<' ? tag_at(s, i, &length) : NONE;
    *more = i < s.n && tag != CUT;
    if (!*more)
        return at;
    if (tag == OPENING)
        p->state = HOCKET__PARTING_REASONING;
    else if (tag == CLOSING)
        close_block(p);
    else
        p->state = begins_json(s, i) ? HOCKET__PARTING_JSON : HOCKET__PARTING_TEXT;
    return tag != NONE ? i + length : p->parted ? i : at;
}

static size_t take_text(
    struct hocket__think_splitter *p, struct hocket__str s, size_t at, bool *more)
{
    size_t i = at, length = 0;
    enum tag tag = next_tag(s, &i, &length);
    put(p, false, part_of(s, at, i));
    *more = tag != CUT && i < s.n;
    if (tag == CLOSING) {
        close_block(p);
        return i + length;
    }
    if (tag == OPENING) {
        p->state = HOCKET__PARTING_HELD;
        p->looked = length;
    }
    return i;
}

static size_t take_reasoning(
    struct hocket__think_splitter *p, struct hocket__str s, size_t at, bool *more)
{
    size_t i = at, length = 0;
    enum tag tag = next_tag(s, &i, &length);
    put(p, true, part_of(s, at, i));
    *more = tag != CUT && i < s.n;
    if (tag == CLOSING)
        close_block(p);
    return tag == OPENING || tag == CLOSING ? i + length : i;
}

/* From its opening tag on, which is at `at`. */
static size_t take_held(
    struct hocket__think_splitter *p, struct hocket__str s, size_t at, bool *more)
{
    size_t i = at + p->looked, length = 0, tag_length = 0;
    enum tag tag;
    while ((tag = next_tag(s, &i, &length)) == OPENING)
        i += length;
    *more = tag == CLOSING;
    if (tag != CLOSING) {
        p->looked = i - at;
        return at;
    }
    tag_at(s, at, &tag_length);
    put(p, true, part_of(s, at + tag_length, i));
    close_block(p);
    return i + length;
}

static size_t take(struct hocket__think_splitter *p, struct hocket__str s)
{
    size_t at = 0;
    for (bool more = true; more && at < s.n;)
        switch (p->state) {
        case HOCKET__PARTING_BLANK: at = take_blank(p, s, at, &more); break;
        case HOCKET__PARTING_TEXT: at = take_text(p, s, at, &more); break;
        case HOCKET__PARTING_REASONING: at = take_reasoning(p, s, at, &more); break;
        case HOCKET__PARTING_HELD: at = take_held(p, s, at, &more); break;
        default: put(p, false, part_of(s, at, s.n)); return s.n;
        }
    return at;
}

/* Nothing can be held any more. */
static void give_up(struct hocket__think_splitter *p, struct hocket__str text)
{
    bool reasoning = p->state == HOCKET__PARTING_REASONING;
    put(p, reasoning, hocket__buf_str(&p->held));
    put(p, reasoning, text);
    hocket__buf_reset(&p->held);
    if (!reasoning)
        p->state = HOCKET__PARTING_TEXT;
}

static void add_text(struct hocket__think_splitter *p, struct hocket__str text)
{
    if (p->held.len == 0) {
        size_t taken = take(p, text);
        text = part_of(text, taken, text.n);
        if (text.n > 0 && hocket__buf_addstr(&p->held, text) < 0)
            give_up(p, text);
        return;
    }
    if (hocket__buf_addstr(&p->held, text) < 0)
        give_up(p, text);
    else
        hocket__buf_drop(&p->held, take(p, hocket__buf_str(&p->held)));
}

void hocket__think_splitter_delta(
    void *ud, enum hocket__delta_kind kind, size_t call, struct hocket__str text)
{
    struct hocket__think_splitter *p = ud;
    if (kind == HOCKET__DELTA_TEXT)
        add_text(p, text);
    else
        p->out(p->ud, kind, call, text);
}

void hocket__think_splitter_end(struct hocket__think_splitter *p)
{
    struct hocket__str held = hocket__buf_str(&p->held);
    size_t from = p->state == HOCKET__PARTING_BLANK && p->parted ? hocket__str_blanks(held, 0) : 0;
    put(p, p->state == HOCKET__PARTING_REASONING, part_of(held, from, held.n));
    hocket__buf_cut(&p->held, 0);
}
