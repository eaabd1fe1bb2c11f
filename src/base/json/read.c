/* One pass, without memory. `expect` says what the grammar allows next, a bit for each level
 * whether it is an object's. Strings are stepped over by words of plain bytes; what needs a
 * closer look (escapes, other scripts) stands in a function that is not inlined, so that the
 * common way stays short.
 *
 * Nothing is remembered of what was passed, so that the memory is the same for a byte and a
 * gigabyte; nesting is bounded by the bits that there are. The first fault ends the reading: every
 * later call answers with it, and callers look once, at the end. */
#include "base/json/read.h"

#include "base/json/scan.h"
#include "base/num/num.h"
#include "base/utf8.h"

#include <limits.h>

/* What the grammar allows next. After a key its colon is read at once. */
enum { EXPECT_VALUE, EXPECT_FIRST, EXPECT_MORE, EXPECT_NOTHING };

void hocket__json_init(struct hocket__json *r, struct hocket__str text)
{
    const char *start = text.p ? text.p : "";
    *r = (struct hocket__json){ .start = start, .p = start, .end = start + text.n };
    r->max_depth = HOCKET__JSON_DEPTH;
    r->expect = EXPECT_VALUE;
}

static enum hocket__json_token fail(struct hocket__json *r, const char *at, const char *error)
{
    r->p = at;
    r->error = error;
    r->text = hocket__str("", 0);
    r->escaped = false;
    return r->token = HOCKET__JSON_ERROR;
}

static inline void skip_space(struct hocket__json *r)
{
    const char *p = r->p;
    while (p < r->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    r->p = p;
}

/* Behind a value at the outermost level nothing may follow; inside, a comma or the end of the
 * level. */
static enum hocket__json_token give(struct hocket__json *r, enum hocket__json_token token)
{
    r->expect = r->depth > 0 ? EXPECT_MORE : EXPECT_NOTHING;
    return r->token = token;
}

/* ---- Strings ---- */

static int hex_value(const char *p, const char *end)
{
    int v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hocket__hex_value(p[i]);
        if (digit < 0)
            return -1;
        v = v << 4 | digit;
    }
    return v;
}

/* The length of the escape at p (which is a backslash), or 0.
 * Whether two escapes make one character is no question of the grammar: a lone half of a pair is
 * valid JSON, and becomes a replacement character when it is decoded. */
static size_t escape_length(const char *p, const char *end)
{
    if (end - p < 2 || p[1] == 0)
        return 0;
    if (p[1] == 'u')
        return hex_value(p + 2, end) < 0 ? 0 : 6;
    return strchr("\"\\/bfnrt", p[1]) ? 2 : 0;
}

static bool end_string(struct hocket__json *r, const char *from, const char *quote)
{
    r->text = hocket__str(from, (size_t) (quote - from));
    r->p = quote + 1;
    return true;
}

/* Goes on at p, which is no plain byte, nor the end of the string that began at `from`. */
static __attribute__((noinline)) bool scan_rest(
    struct hocket__json *r, const char *from, const char *p)
{
    const char *end = r->end;
    for (; p < end && *p != '"'; p = hocket__json_plain(p, end)) {
        if (*p == '\\') {
            size_t n = escape_length(p, end);
            if (n == 0)
                return fail(r, p, "invalid escape in a string"), false;
            r->escaped = true;
            p += n;
        } else if ((unsigned char) *p < 0x20) {
            return fail(r, p, "control character in a string"), false;
        } else {
            do {
                int n = hocket__utf8_sequence(p, (size_t) (end - p));
                if (n < 0)
                    return fail(r, p, "invalid UTF-8"), false;
                p += n;
            } while (p < end && (unsigned char) *p >= 0x80);
        }
    }
    if (p >= end)
        return fail(r, end, "the text ends inside a string"), false;
    return end_string(r, from, p);
}

/* Steps over the string whose opening quote was passed, into r->text. Most hold plain bytes alone. */
static inline bool scan_string(struct hocket__json *r)
{
    const char *p = hocket__json_plain(r->p, r->end);
    r->escaped = false;
    return p < r->end && *p == '"' ? end_string(r, r->p, p) : scan_rest(r, r->p, p);
}

/* ---- Tokens ---- */

static enum hocket__json_token read_word(
    struct hocket__json *r, struct hocket__str word, enum hocket__json_token token)
{
    if ((size_t) (r->end - r->p) < word.n || memcmp(r->p, word.p, word.n) != 0)
        return fail(r, r->p, "invalid value");
    r->text = hocket__str(r->p, word.n);
    r->p += word.n;
    return give(r, token);
}

static enum hocket__json_token read_number(struct hocket__json *r)
{
    size_t fault, n = hocket__num_scan(hocket__str(r->p, (size_t) (r->end - r->p)), &fault);
    if (n == 0)
        return fail(r, r->p + fault, "invalid number");
    r->text = hocket__str(r->p, n);
    r->p += n;
    return give(r, HOCKET__JSON_NUMBER);
}

/* Two limits: the caller's, and that of the bits in which the levels are kept. */
static enum hocket__json_token open_level(struct hocket__json *r, bool object)
{
    if (r->depth >= r->max_depth || r->depth >= HOCKET__JSON_DEPTH)
        return fail(r, r->p, "nested too deeply");
    uint64_t bit = (uint64_t) 1 << r->depth % 64, *word = &r->is_object[r->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    r->in_object = object;
    r->depth++;
    r->p++;
    r->expect = EXPECT_FIRST;
    return r->token = object ? HOCKET__JSON_OBJECT : HOCKET__JSON_ARRAY;
}

static enum hocket__json_token close_level(struct hocket__json *r)
{
    bool object = r->in_object;
    r->p++;
    r->depth--;
    unsigned top = r->depth - 1u;
    r->in_object = r->depth > 0 && (r->is_object[top / 64] >> top % 64 & 1);
    return give(r, object ? HOCKET__JSON_OBJECT_END : HOCKET__JSON_ARRAY_END);
}

static enum hocket__json_token read_value(struct hocket__json *r)
{
    if (r->p == r->end)
        return fail(r, r->p, "the text ends where a value is expected");
    if (*r->p == '"') {
        r->p++;
        return scan_string(r) ? give(r, HOCKET__JSON_STRING) : HOCKET__JSON_ERROR;
    }
    switch (*r->p) {
    case '{': return open_level(r, true);
    case '[': return open_level(r, false);
    case 't': return read_word(r, HOCKET__STR("true"), HOCKET__JSON_TRUE);
    case 'f': return read_word(r, HOCKET__STR("false"), HOCKET__JSON_FALSE);
    case 'n': return read_word(r, HOCKET__STR("null"), HOCKET__JSON_NULL);
    default:
        if (*r->p == '-' || (*r->p >= '0' && *r->p <= '9'))
            return read_number(r);
        return fail(r, r->p, "a value is expected");
    }
}

/* The colon is read with the key, so that what follows is always a value. */
static enum hocket__json_token read_key(struct hocket__json *r)
{
    if (r->p == r->end || *r->p != '"')
        return fail(r, r->p, "a member's name in quotes is expected");
    r->p++;
    if (!scan_string(r))
        return HOCKET__JSON_ERROR;
    skip_space(r);
    if (r->p == r->end || *r->p != ':')
        return fail(r, r->p, "':' is expected");
    r->p++;
    r->expect = EXPECT_VALUE;
    return r->token = HOCKET__JSON_KEY;
}

/* Inside an array or object, where it may end.
 * A comma before the end of a level is an error without a test for it: behind a comma only a key or
 * a value is read. */
static enum hocket__json_token read_item(struct hocket__json *r)
{
    bool object = r->in_object;
    if (r->p == r->end)
        return fail(
            r, r->p, object ? "the text ends inside an object" : "the text ends inside an array");
    if (*r->p == (object ? '}' : ']'))
        return close_level(r);
    if (r->expect == EXPECT_MORE) {
        if (*r->p != ',')
            return fail(r, r->p, object ? "',' or '}' is expected" : "',' or ']' is expected");
        r->p++;
        skip_space(r);
    }
    return object ? read_key(r) : read_value(r);
}

static inline enum hocket__json_token next(struct hocket__json *r)
{
    if (r->error)
        return HOCKET__JSON_ERROR;
    skip_space(r);
    if (r->expect == EXPECT_VALUE)
        return read_value(r);
    if (r->expect != EXPECT_NOTHING)
        return read_item(r);
    if (r->p != r->end)
        return fail(r, r->p, "more text after the value");
    return r->token = HOCKET__JSON_END;
}

enum hocket__json_token hocket__json_next(struct hocket__json *r)
{
    return next(r);
}

/* ---- Moving about ---- */

/* Whether a value is to be read that has not begun. */
static bool before_value(const struct hocket__json *r)
{
    return r->expect == EXPECT_VALUE;
}

static bool is_value(enum hocket__json_token token)
{
    return token >= HOCKET__JSON_NULL && token <= HOCKET__JSON_OBJECT && token != HOCKET__JSON_KEY
           && token != HOCKET__JSON_ARRAY_END;
}

/* Of a value that has begun already the whole is given, from its first byte: the token before knows
 * where that is. */
int hocket__json_skip(struct hocket__json *r, struct hocket__str *value)
{
    if (before_value(r))
        hocket__json_next(r);
    if (r->error)
        return HOCKET_EPARSE;
    if (!is_value(r->token)) {
        fail(r, r->p, "a value is expected");
        return HOCKET_EPARSE;
    }
    const char *from = r->text.p;
    if (r->token == HOCKET__JSON_STRING)
        from--;
    if (r->token == HOCKET__JSON_ARRAY || r->token == HOCKET__JSON_OBJECT) {
        from = r->p - 1;
        for (unsigned outside = r->depth - 1u; r->depth > outside;)
            if (hocket__json_next(r) == HOCKET__JSON_ERROR)
                return HOCKET_EPARSE;
    }
    if (value)
        *value = hocket__str(from, (size_t) (r->p - from));
    return 0;
}

/* A value that nobody has looked at is passed over here. So a loop over members may leave out what
 * it does not know, and an object whose value was a string or a number needs no word at all. */
bool hocket__json_key(struct hocket__json *r)
{
    if (r->token == HOCKET__JSON_KEY || r->token == HOCKET__JSON_ARRAY)
        hocket__json_skip(r, NULL);
    if (!r->error && !r->in_object)
        fail(r, r->p, "an object is expected");
    return next(r) == HOCKET__JSON_KEY;
}

bool hocket__json_element(struct hocket__json *r)
{
    if (r->token == HOCKET__JSON_KEY || r->token == HOCKET__JSON_OBJECT)
        hocket__json_skip(r, NULL);
    if (!r->error && (r->depth == 0 || r->in_object))
        fail(r, r->p, "an array is expected");
    return is_value(hocket__json_next(r));
}

/* For a reader that knows by comparison what the text before is: it stands as if that had been
 * read, at the value of a member. */
void hocket__json_jump(struct hocket__json *r, size_t n)
{
    r->p = r->start + n;
    r->token = HOCKET__JSON_KEY;
    r->expect = EXPECT_VALUE;
}

/* true and false are one type here, and the token says which. */
bool hocket__json_want(struct hocket__json *r, enum hocket__json_token type)
{
    if (before_value(r))
        hocket__json_next(r);
    if (r->error)
        return false;
    if (r->token == type || (r->token == HOCKET__JSON_TRUE && type == HOCKET__JSON_FALSE)
        || (r->token == HOCKET__JSON_FALSE && type == HOCKET__JSON_TRUE))
        return true;
    hocket__json_skip(r, NULL);
    return false;
}

/* ---- What a token holds ---- */

static bool is_surrogate(int code, int first)
{
    return code >= first && code < first + 0x400;
}

/* The code point of the escape at *p, which moves past it; -1 when it is none.
 * A high half without its low one is given as it is: whoever writes it puts a replacement character
 * in its place. */
static int32_t read_escape(const char **p, const char *end)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = *p;
    size_t n = escape_length(at, end);
    *p += n;
    if (n != 6)
        return n == 0 ? -1 : to[strchr(from, at[1]) - from];
    int code = hex_value(at + 2, end);
    if (!is_surrogate(code, 0xD800) || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
        return code;
    int low = hex_value(*p + 2, end);
    if (!is_surrogate(low, 0xDC00))
        return code;
    *p += 6;
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

int hocket__json_code_unit(struct hocket__str text)
{
    bool is_one = text.n >= 6 && text.p[0] == '\\' && text.p[1] == 'u';
    return is_one ? hex_value(text.p + 2, text.p + text.n) : -1;
}

int hocket__json_unescape(struct hocket__str inside, struct hocket__buf *out)
{
    const char *p = inside.p, *end = p + inside.n;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t) (end - p));
        hocket__buf_add(out, p, (size_t) ((slash ? slash : end) - p));
        if (!slash)
            break;
        p = slash;
        int32_t code = read_escape(&p, end);
        if (code < 0)
            return HOCKET_EPARSE;
        hocket__utf8_add(out, (uint32_t) code);
    }
    return out->status;
}

int hocket__json_decode(const struct hocket__json *r, struct hocket__buf *out)
{
    return r->escaped ? hocket__json_unescape(r->text, out) : hocket__buf_addstr(out, r->text);
}

/* Decodes one escape after the other into a few bytes on the stack. */
static bool escaped_is(struct hocket__str inside, struct hocket__str plain_text)
{
    const char *p = inside.p, *end = p + inside.n;
    while (p < end && plain_text.n > 0) {
        char bytes[8];
        size_t n = 1;
        bytes[0] = *p;
        if (*p == '\\') {
            int32_t code = read_escape(&p, end);
            n = code < 0 ? 0 : hocket__utf8_put((uint32_t) code, bytes);
        } else {
            p++;
        }
        if (n == 0 || n > plain_text.n || memcmp(bytes, plain_text.p, n) != 0)
            return false;
        plain_text = hocket__str(plain_text.p + n, plain_text.n - n);
    }
    return p == end && plain_text.n == 0;
}

bool hocket__json_is(const struct hocket__json *r, const char *literal)
{
    if (r->token != HOCKET__JSON_KEY && r->token != HOCKET__JSON_STRING)
        return false;
    return r->escaped ? escaped_is(r->text, hocket__cstr(literal))
                      : hocket__str_is(r->text, literal);
}

/* Numbers in quotes count as well, where a number is asked for: several servers send counts so. */
static bool number_text(const struct hocket__json *r)
{
    return r->token == HOCKET__JSON_NUMBER
           || (r->token == HOCKET__JSON_STRING && r->text.n > 0
               && hocket__num_scan(r->text, NULL) == r->text.n);
}

bool hocket__json_int(const struct hocket__json *r, int64_t *out)
{
    *out = -1;
    return number_text(r) && hocket__num_int(r->text, out);
}

double hocket__json_double(const struct hocket__json *r)
{
    double d = 0;
    int64_t i;
    bool is_int;
    if (number_text(r))
        hocket__num_read(r->text, &is_int, &i, &d);
    return d;
}

void hocket__json_refuse(struct hocket__json *r, const char *error)
{
    fail(r, r->text.p ? r->text.p : r->p, error);
}

/* ---- Ends ---- */

static int clamp(size_t n)
{
    return n < INT_MAX ? (int) n : INT_MAX;
}

/* Line and column (from 1, in characters) of where the reader stands. */
static void where(const struct hocket__json *r, int *line, int *column)
{
    size_t lines = 1, columns = 1;
    for (const char *p = r->start; p < r->p; p++) {
        if (*p == '\n') {
            lines++;
            columns = 1;
        } else if ((*p & 0xC0) != 0x80) {
            columns++;
        }
    }
    *line = clamp(lines);
    *column = clamp(columns);
}

int hocket__json_end(struct hocket__json *r, struct hocket_error *err)
{
    int line, column;
    if (!r->error && r->expect != EXPECT_NOTHING)
        fail(r, r->p, "the value was not read to its end");
    if (hocket__json_next(r) == HOCKET__JSON_END)
        return 0;
    where(r, &line, &column);
    return hocket__error(err, HOCKET_EPARSE, "line %d, column %d: %s", line, column, r->error);
}

int hocket__json_check(struct hocket__str text, struct hocket_error *err)
{
    struct hocket__json r;
    hocket__json_init(&r, text);
    hocket__json_skip(&r, NULL);
    return hocket__json_end(&r, err);
}

/* Of a member that stands twice the last one, as in most readers; and none of a text that is not
 * whole. */
bool hocket__json_find(struct hocket__str text, const char *name, struct hocket__str *value)
{
    struct hocket__json r;
    struct hocket__str found = { 0 };
    hocket__json_init(&r, text);
    if (hocket__json_next(&r) != HOCKET__JSON_OBJECT)
        return false;
    while (hocket__json_key(&r))
        hocket__json_skip(&r, hocket__json_is(&r, name) ? &found : NULL);
    if (hocket__json_end(&r, NULL) < 0 || !found.p)
        return false;
    if (value)
        *value = found;
    return true;
}
