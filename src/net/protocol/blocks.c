/* Parts that several protocols write alike: turns that are joined, blank messages that are
 * left out, images, the system prompt with a schema in words.
 *
 * Anthropic and Gemini refuse two messages of one role in a row. So a message that follows one of its
 * own role goes into it: hocket__turn_open cuts the tail of that turn off, and hocket__turn_close puts
 * it back behind the new content. */
#include "net/protocol/blocks.h"

/* ---- Turns ---- */

bool hocket__buf_ends(const struct hocket__buf *b, const char *text)
{
    size_t n = strlen(text);
    return b->len >= n && memcmp(b->data + b->len - n, text, n) == 0;
}

void hocket__turn_open(
    struct hocket__turn *t, struct hocket__buf *wire, const char *head, const char *tail, bool join)
{
    *t = (struct hocket__turn){ .wire = wire, .tail = hocket__cstr(tail), .before = wire->len };
    t->joined = join && hocket__buf_ends(wire, tail);
    if (t->joined) {
        t->before -= t->tail.n;
        hocket__buf_cut(wire, t->before);
    } else {
        hocket__buf_adds(wire, wire->len > 0 ? ",\n" : "");
        hocket__buf_adds(wire, head);
    }
    t->from = wire->len;
}

/* A tail that was taken off has its place still: putting it back cannot fail. */
static void undo(struct hocket__turn *t)
{
    int status = t->wire->status;
    hocket__buf_cut(t->wire, t->before);
    t->wire->status = 0;
    if (t->joined)
        hocket__buf_addstr(t->wire, t->tail);
    t->wire->status = status;
}

int hocket__turn_close(struct hocket__turn *t, struct hocket_error *err)
{
    bool empty = t->wire->len == t->from;
    hocket__buf_addstr(t->wire, t->tail);
    if (empty || t->wire->status < 0)
        undo(t);
    return hocket__proto_written(t->wire, err);
}

struct hocket__str hocket__turn_before(struct hocket__str wire, size_t end)
{
    /* wire forms have one turn a line: the beginning is behind the last line break */
    size_t from = end;
    while (from > 0 && wire.p[from - 1] != '\n')
        from--;
    if (end > from && wire.p[end - 1] == ',')
        end--;
    return hocket__str(wire.p + from, end - from);
}

int hocket__user_turns(struct hocket__str wire, const char *tail, size_t at[2])
{
    size_t n_tail = strlen(tail);
    int n = 0;
    for (size_t end = wire.n; n < 2 && end > 0;) {
        struct hocket__str turn = hocket__turn_before(wire, end);
        size_t from = (size_t) (turn.p - wire.p);
        if (turn.n > n_tail && memcmp(turn.p + turn.n - n_tail, tail, n_tail) == 0)
            at[n++] = from + turn.n - n_tail - 1;
        end = from > 0 ? from - 1 : 0;
    }
    return n;
}

void hocket__marked_messages(
    struct hocket__buf *b, struct hocket__str wire, const size_t *at, int n, const char *mark)
{
    size_t from = 0;
    hocket__jw_key(b, "messages");
    hocket__buf_addc(b, '[');
    while (n-- > 0) {
        hocket__buf_add(b, wire.p + from, at[n] - from);
        hocket__buf_adds(b, mark);
        from = at[n];
    }
    hocket__buf_add(b, wire.p + from, wire.n - from);
    hocket__buf_addc(b, ']');
}

/* ---- Messages ---- */

bool hocket__piece_blank(const struct hocket__piece *p)
{
    struct hocket__str s = p->inside;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\' && i + 1 < s.n && memchr("ntr", s.p[i + 1], 3))
            i++;
        else if (s.p[i] != ' ')
            return false;
    }
    return true;
}

static bool parts_blank(struct hocket__str parts)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    struct hocket__image image;
    hocket__neutral_walk(&j, parts);
    while (hocket__neutral_part(&j, &part))
        if (!hocket__piece_blank(&part.text) || hocket__image_of(&part, &image))
            return false;
    return true;
}

bool hocket__neutral_blank(const struct hocket__neutral *m)
{
    if (m->role == HOCKET__ROLE_TOOL || m->calls.n > 2 || m->replay.n > 0)
        return false;
    return hocket__piece_blank(&m->text) && parts_blank(m->parts);
}

bool hocket__schema_only_in_prompt(const struct hocket__llm_request *q)
{
    return q->schema.n > 0 && hocket__proto_traits_of(q)->no_json_schema;
}

bool hocket__system_has(const struct hocket__llm_request *q, bool in_words)
{
    return q->system.n > 0 || in_words;
}

void hocket__system_write(const struct hocket__llm_request *q, bool in_words, struct hocket__buf *b)
{
    hocket__buf_addc(b, '"');
    hocket__jw_escape(b, q->system);
    if (in_words) {
        hocket__buf_adds(b, q->system.n > 0 ? "\\n\\n" : "");
        hocket__jw_escape(b, HOCKET__PROTO_SCHEMA_WORDS);
        hocket__jw_escape(b, q->schema);
    }
    hocket__buf_addc(b, '"');
}

/* The system messages before all others, one a call; *at begins with 0. Later ones stand where they came. */
static bool next_system(const struct hocket__history *h, size_t *at, struct hocket__neutral *m)
{
    while (*at < h->messages.len) {
        const char *line = h->messages.data + *at;
        const char *end = memchr(line, '\n', h->messages.len - *at);
        size_t n = end ? (size_t) (end - line) : h->messages.len - *at;
        *at += n + 1;
        if (hocket__neutral_read(m, hocket__str(line, n), NULL) < 0)
            break;
        if (hocket__neutral_blank(m))
            continue;
        if (m->role == HOCKET__ROLE_SYSTEM)
            return true;
        break;
    }
    return false;
}

static void open_text(struct hocket__buf *b, bool typed)
{
    hocket__jw_open(b, '{');
    if (typed)
        hocket__jw_key_cstring(b, "type", "text");
    hocket__jw_key(b, "text");
}

void hocket__system_blocks(
    const struct hocket__llm_request *q, bool in_words, bool typed, struct hocket__buf *b)
{
    struct hocket__neutral m;
    size_t at = 0;
    if (hocket__system_has(q, in_words)) {
        open_text(b, typed);
        hocket__system_write(q, in_words, b);
        hocket__jw_close(b, '}');
    }
    while (next_system(q->history, &at, &m)) {
        open_text(b, typed);
        hocket__piece_write(&m.text, b);
        hocket__jw_close(b, '}');
    }
}

void hocket__text_block(struct hocket__buf *b, const struct hocket__piece *text, bool typed)
{
    if (hocket__piece_blank(text))
        return;
    open_text(b, typed);
    hocket__piece_write(text, b);
    hocket__jw_close(b, '}');
}

static void put_words(struct hocket__buf *b, const struct hocket__neutral_part *part, bool typed)
{
    open_text(b, typed);
    hocket__buf_addc(b, '"');
    hocket__neutral_describe(part, b);
    hocket__buf_adds(b, "\"}");
}

void hocket__part_blocks(
    struct hocket__buf *b, struct hocket__str parts, bool typed, hocket__data_block put)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    struct hocket__image image;
    hocket__neutral_walk(&j, parts);
    while (hocket__neutral_part(&j, &part)) {
        hocket__text_block(b, &part.text, typed);
        if (hocket__image_of(&part, &image) && !put(b, &part, &image))
            put_words(b, &part, typed);
    }
}

bool hocket__replay_blocks(struct hocket__buf *b, struct hocket__str replay)
{
    struct hocket__json j;
    struct hocket__str block;
    size_t from = b->len;
    hocket__neutral_walk(&j, replay);
    while (j.depth > 0 && hocket__json_element(&j)) {
        if (j.token != HOCKET__JSON_OBJECT || hocket__json_skip(&j, &block) < 0)
            break;
        hocket__buf_adds(b, hocket__buf_ends(b, "[") ? "" : ",");
        hocket__line_write(b, block);
    }
    return b->len > from;
}

void hocket__id_write(struct hocket__buf *b, const struct hocket__piece *id)
{
    hocket__buf_addc(b, '"');
    for (size_t i = 0; i < id->inside.n; i++) {
        char c = id->inside.p[i];
        bool fits =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
        hocket__buf_addc(b, fits ? c : '_');
    }
    hocket__buf_addc(b, '"');
}

/* ---- JSON texts ---- */

/* In valid JSON a line break can only be white space. */
static void unbreak(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == '\n' || p[i] == '\r')
            p[i] = ' ';
}

void hocket__line_write(struct hocket__buf *b, struct hocket__str json)
{
    size_t from = b->len;
    if (hocket__buf_addstr(b, json) == 0)
        unbreak(b->data + from, b->len - from);
}

static bool is_one_of(const struct hocket__json *j, const char *const *names)
{
    for (; *names; names++)
        if (hocket__json_is(j, *names))
            return true;
    return false;
}

void hocket__members_write(struct hocket__buf *b, struct hocket__str object, const char *const *but)
{
    struct hocket__json j;
    size_t from = b->len;
    hocket__json_init(&j, object);
    if (hocket__json_next(&j) != HOCKET__JSON_OBJECT)
        return;
    while (hocket__json_key(&j)) {
        struct hocket__piece key = hocket__piece_of(&j);
        struct hocket__str value;
        bool wanted = !is_one_of(&j, but);
        if (hocket__json_skip(&j, &value) < 0 || !wanted)
            continue;
        hocket__buf_adds(b, b->len > from ? "," : "");
        hocket__piece_write(&key, b);
        hocket__buf_addc(b, ':');
        hocket__buf_addstr(b, value);
    }
}

/* ---- Images ---- */

/* data:image/png;base64,iVBOR… ; a "/" may stand there as "\/", which JSON lets through. */
static bool split_data_url(struct hocket__str url, struct hocket__image *out)
{
    static const char mark[] = ";base64,";
    const size_t n = sizeof(mark) - 1;
    if (!hocket__str_begins(url, "data:"))
        return false;
    for (size_t i = 5; i + n <= url.n && i < 100; i++)
        if (memcmp(url.p + i, mark, n) == 0) {
            out->mime = hocket__str(url.p + 5, i - 5);
            out->data = hocket__str(url.p + i + n, url.n - i - n);
            return true;
        }
    return false;
}

bool hocket__image_of(const struct hocket__neutral_part *part, struct hocket__image *out)
{
    *out = (struct hocket__image){ .mime = HOCKET__STR("image/png") };
    if (part->data.set) {
        out->data = part->data.inside;
        if (part->mime.inside.n > 0)
            out->mime = part->mime.inside;
    } else if (part->url.set && !split_data_url(part->url.inside, out)) {
        out->url = part->url.inside;
    }
    return out->data.n > 0 || out->url.n > 0;
}

/* ---- Small things ---- */

bool hocket__base_has_version(const char *base)
{
    for (const char *p = base; (p = strstr(p, "/v")); p++)
        if (p[2] >= '0' && p[2] <= '9')
            return true;
    return false;
}

void hocket__member_close(struct hocket__buf *b, size_t before, const char *tail)
{
    if (hocket__buf_ends(b, "[") || hocket__buf_ends(b, "{"))
        hocket__buf_cut(b, before);
    else
        hocket__buf_adds(b, tail);
}

void hocket__member_piece(struct hocket__buf *b, const char *key, const struct hocket__piece *value)
{
    hocket__jw_key(b, key);
    hocket__piece_write(value, b);
}

void hocket__member_raw(struct hocket__buf *b, const char *key, struct hocket__str inside)
{
    hocket__jw_key(b, key);
    hocket__buf_addc(b, '"');
    hocket__buf_addstr(b, inside);
    hocket__buf_addc(b, '"');
}

void hocket__path_write(struct hocket__buf *b, const char *text, const char *also)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
                     || strchr("-._~", c) || strchr(also, c);
        if (plain)
            hocket__buf_addc(b, (char) c);
        else
            hocket__buf_addf(b, "%%%02X", (unsigned) c);
    }
}
