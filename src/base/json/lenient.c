/* A reader that writes strict JSON as it reads loose JSON. It has no last word: what was JSON
 * all along is handed on as written, and everything it makes is read by the strict reader
 * afterwards.
 *
 * For answers of models, which write JSON in fences, with comments, with single quotes, in the
 * middle of a sentence. The rule: what can be meant in one way only is read so; what could be two
 * things (a number such as 007, a text that is cut) is none. */
#include "base/json/lenient.h"

#include "base/bytes.h"
#include "base/json/read.h"
#include "base/utf8.h"

#include <string.h>

/* Bytes of work for each of the text, and for a short one. */
#define WORK_PER_BYTE 8
#define WORK_AT_LEAST 4096

/* A pass over the text from p on. Once `ok` is false nothing more is read or written. */
struct pass {
    const char *p, *end;
    struct hocket__buf *out;
    int depth;
    bool ok;
    bool begun; /* it has a member's key, or a whole element: what ends now was cut */
};

static void value(struct pass *s);

static bool fail(struct pass *s)
{
    s->ok = false;
    return false;
}

/* False once the pass has failed, so that no function needs a test of its own. */
static bool at(const struct pass *s, const char *literal)
{
    size_t n = strlen(literal);
    return s->ok && (size_t) (s->end - s->p) >= n && memcmp(s->p, literal, n) == 0;
}

static bool take(struct pass *s, char c)
{
    if (!s->ok || s->p >= s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* ---- White space, comments ----------------------------------------------------------------- */

/* A comment of lines that does not end is a fault, one of a line ends with the text. */
static void skip_comment(struct pass *s)
{
    bool line = s->p[1] == '/';
    s->p += 2;
    while (s->p < s->end && (line ? *s->p != '\n' : !at(s, "*/")))
        s->p++;
    if (s->p < s->end)
        s->p += line ? 1 : 2;
    else if (!line)
        fail(s);
}

static void space(struct pass *s)
{
    while (s->ok && s->p < s->end) {
        if (hocket__is_space(*s->p))
            s->p++;
        else if (at(s, "//") || at(s, "/*"))
            skip_comment(s);
        else if (at(s, "\xC2\xA0")) /* no-break space */
            s->p += 2;
        else
            return;
    }
}

/* ---- Texts ------------------------------------------------------------------------------------ */

static void put(struct pass *s, const char *p, size_t n)
{
    hocket__buf_add(s->out, p, n);
}

static void put_control(struct pass *s, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
    put(s, text, sizeof(text));
}

static bool is_unicode_escape(const struct pass *s)
{
    if (s->end - s->p < 6)
        return false;
    return hocket__is_hex(s->p[2]) && hocket__is_hex(s->p[3]) && hocket__is_hex(s->p[4])
           && hocket__is_hex(s->p[5]);
}

/* At a backslash. One that escapes nothing, as in a pattern or a path, is a character itself. */
static void escape(struct pass *s)
{
    char c = s->end - s->p > 1 ? s->p[1] : '\0';
    if (c == '\'') {
        put(s, "'", 1);
    } else if (c != '\0' && strchr("\"\\/bfnrt", c)) {
        put(s, s->p, 2);
    } else if (c == 'u' && is_unicode_escape(s)) {
        put(s, s->p, 2);
    } else {
        put(s, "\\\\", 2);
        s->p++;
        return;
    }
    s->p += 2;
}

/* A character past ASCII, whole. */
static void character(struct pass *s)
{
    int n = hocket__utf8_sequence(s->p, (size_t) (s->end - s->p));
    if (n <= 0) {
        fail(s);
        return;
    }
    put(s, s->p, (size_t) n);
    s->p += n;
}

/* At its first quote, single or double; the other kind may stand in it.
 * Line ends inside of quotes are taken, as models write them; the strict text has \u000a in their
 * place. */
static void text(struct pass *s)
{
    char quote = *s->p++;
    put(s, "\"", 1);
    while (s->ok && s->p < s->end && *s->p != quote) {
        unsigned char c = (unsigned char) *s->p;
        if (c == '\\') {
            escape(s);
        } else if (c >= 0x80) {
            character(s);
        } else {
            if (c < 0x20)
                put_control(s, c);
            else
                put(s, c == '"' ? "\\\"" : s->p, c == '"' ? 2 : 1);
            s->p++;
        }
    }
    if (!take(s, quote))
        fail(s);
    put(s, "\"", 1);
}

/* ---- Numbers and words --------------------------------------------------------------------------- */

static size_t digits(struct pass *s)
{
    const char *from = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return (size_t) (s->p - from);
}

/* As in RFC 8259: what else looks like one may mean anything. */
static void number(struct pass *s)
{
    const char *from = s->p;
    take(s, '-');
    bool zero = s->p < s->end && *s->p == '0';
    size_t n = digits(s);
    if (n == 0 || (zero && n > 1) || (take(s, '.') && digits(s) == 0))
        fail(s);
    if (s->ok && (take(s, 'e') || take(s, 'E'))) {
        if (!take(s, '+'))
            take(s, '-');
        if (digits(s) == 0)
            fail(s);
    }
    if (s->ok)
        put(s, from, (size_t) (s->p - from));
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '$' || c == '-';
}

static struct hocket__str word(struct pass *s)
{
    const char *from = s->p;
    while (s->p < s->end && in_word(*s->p))
        s->p++;
    return hocket__str(from, (size_t) (s->p - from));
}

static void constant(struct pass *s)
{
    static const char *const words[][2] = { { "true", "true" }, { "false", "false" },
        { "null", "null" }, { "True", "true" }, { "False", "false" }, { "None", "null" } };
    struct hocket__str w = word(s);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (hocket__str_is(w, words[i][0])) {
            put(s, words[i][1], strlen(words[i][1]));
            return;
        }
    fail(s);
}

/* ---- Values ------------------------------------------------------------------------------------------ */

static void key(struct pass *s)
{
    if (s->p < s->end && (*s->p == '"' || *s->p == '\'')) {
        text(s);
    } else {
        struct hocket__str w = word(s);
        if (w.n == 0)
            fail(s);
        put(s, "\"", 1);
        put(s, w.p, w.n);
        put(s, "\"", 1);
    }
    space(s);
    if (!take(s, ':'))
        fail(s);
    s->begun = s->begun || s->ok;
    put(s, ":", 1);
}

/* Behind its opening bracket.
 * A comma behind the last is taken: after it the loop finds the closing bracket. */
static void members(struct pass *s, char close)
{
    space(s);
    for (bool first = true; s->ok && !take(s, close); first = false) {
        if (!first)
            put(s, ",", 1);
        if (close == '}')
            key(s);
        if (s->ok)
            value(s);
        s->begun = s->begun || s->ok;
        space(s);
        if (!s->ok || s->p >= s->end || (*s->p != close && !take(s, ','))) {
            fail(s);
            return;
        }
        space(s);
    }
}

static void nested(struct pass *s, char open, char close)
{
    s->p++;
    put(s, &open, 1);
    if (++s->depth > HOCKET__LENIENT_DEPTH)
        fail(s);
    members(s, close);
    s->depth--;
    put(s, &close, 1);
}

static void value(struct pass *s)
{
    space(s);
    char c = s->ok && s->p < s->end ? *s->p : '\0';
    if (c == '{')
        nested(s, '{', '}');
    else if (c == '[')
        nested(s, '[', ']');
    else if (c == '"' || c == '\'')
        text(s);
    else if (c == '-' || (c >= '0' && c <= '9'))
        number(s);
    else
        constant(s);
}

/* ---- In a text ----------------------------------------------------------------------------------------- */

/* What is JSON already stays as it was written.
 * As it was written, because a number such as 1.10, or an escape, should come back as the model
 * gave it. */
static int outcome(const struct pass *s, const char *from)
{
    struct hocket__str as_written = { from, (size_t) (s->p - from) };
    if (s->ok && s->out->status == 0 && hocket__json_check(as_written, NULL) == 0) {
        hocket__buf_reset(s->out);
        hocket__buf_addstr(s->out, as_written);
    }
    return s->out->status < 0 ? s->out->status : s->ok;
}

static int read_all(const char *p, const char *end, struct hocket__buf *out)
{
    struct pass s = { p, end, out, 0, true, false };
    value(&s);
    space(&s);
    if (s.p < s.end)
        fail(&s);
    return outcome(&s, p);
}

#define FENCE "```"

/* The inside of the next fence from p on: true, and *p behind it. Its first line may name a
 * language.
 * A fence inside of a text of JSON would end it too early: then the reading of its inside fails,
 * and the whole text is looked through (anywhere). */
static bool next_fence(const char **p, const char *end, struct hocket__str *inside)
{
    const char *open = hocket__find(*p, (size_t) (end - *p), FENCE, 3);
    if (!open)
        return false;
    const char *from = open + 3;
    while (from < end && in_word(*from))
        from++;
    const char *close = hocket__find(from, (size_t) (end - from), FENCE, 3);
    if (!close)
        return false;
    *inside = hocket__str(from, (size_t) (close - from));
    *p = close + 3;
    return true;
}

static struct hocket__str trim(struct hocket__str t)
{
    if (t.n >= 3 && memcmp(t.p, "\xEF\xBB\xBF", 3) == 0) /* byte order mark */
        t = hocket__str(t.p + 3, t.n - 3);
    while (t.n > 0 && hocket__is_space(t.p[0]))
        t = hocket__str(t.p + 1, t.n - 1);
    while (t.n > 0 && hocket__is_space(t.p[t.n - 1]))
        t.n--;
    return t;
}

int hocket__lenient_whole(struct hocket__str text, struct hocket__buf *out)
{
    struct hocket__str inside, t = trim(text);
    const char *p = t.p, *end = t.p + t.n;
    if (t.n == 0)
        return 0;
    if (t.n > 6 && memcmp(t.p, FENCE, 3) == 0 && next_fence(&p, end, &inside) && p == end)
        t = trim(inside);
    return read_all(t.p, t.p + t.n, out);
}

static bool is_object(struct hocket__str text)
{
    while (text.n > 0 && hocket__is_space(text.p[0]))
        text = hocket__str(text.p + 1, text.n - 1);
    return text.n > 0 && text.p[0] == '{' && hocket__json_check(text, NULL) == 0;
}

int hocket__lenient_meant(struct hocket__str text, struct hocket__buf *out)
{
    int rc = hocket__lenient_whole(text, out);
    if (rc != 1 || out->data[0] != '"')
        return rc;
    size_t n = out->len; /* the content is unescaped behind it, and is no longer */
    if (hocket__buf_reserve(out, n) < 0
        || hocket__json_unescape(hocket__str(out->data + 1, n - 2), out) < 0)
        return out->status;
    if (is_object(hocket__str(out->data + n, out->len - n)))
        hocket__buf_drop(out, n);
    else
        hocket__buf_cut(out, n);
    return 1;
}

/* Work is bounded by the text's length: a text of opening brackets would be read from each of them
 * to its end. */
void hocket__lenient_init(struct hocket__lenient *l, struct hocket__str text)
{
    size_t work = text.n > SIZE_MAX / WORK_PER_BYTE ? SIZE_MAX : text.n * WORK_PER_BYTE;
    *l = (struct hocket__lenient){ .text = text,
        .work = work < WORK_AT_LEAST ? WORK_AT_LEAST : work,
        .phase = HOCKET__LENIENT_WHOLE };
}

static int whole(struct hocket__lenient *l, struct hocket__buf *out)
{
    l->phase = HOCKET__LENIENT_FENCES;
    return hocket__lenient_whole(l->text, out);
}

static int fenced(struct hocket__lenient *l, struct hocket__buf *out)
{
    const char *p = l->text.p + l->at, *end = l->text.p + l->text.n;
    struct hocket__str inside;
    if (l->text.n == 0 || !next_fence(&p, end, &inside)) {
        l->phase = HOCKET__LENIENT_ANYWHERE;
        l->at = 0;
        return 0;
    }
    l->at = (size_t) (p - l->text.p);
    inside = trim(inside);
    return inside.n > 0 ? read_all(inside.p, inside.p + inside.n, out) : 0;
}

/* An object or array from the next bracket on, or from one behind it, while there is work left. */
static int anywhere(struct hocket__lenient *l, struct hocket__buf *out)
{
    const char *end = l->text.p + l->text.n;
    for (; l->at < l->text.n && l->work > 0; l->at++) {
        const char *from = l->text.p + l->at;
        if (*from != '{' && *from != '[')
            continue;
        struct pass s = { from, end, out, 0, true, false };
        hocket__buf_reset(out);
        value(&s);
        size_t seen = (size_t) (s.p - from) + 1;
        l->work -= seen < l->work ? seen : l->work;
        int rc = outcome(&s, from);
        if (rc == 0 && s.p >= end && s.begun)
            break; /* cut: the whole parts of it are not what was meant */
        if (rc == 0)
            continue;
        l->at += seen - 1;
        return rc;
    }
    l->at = l->text.n;
    return 0;
}

/* From what was most likely meant to what may have been: all of the text, then each fence, then any
 * bracket in it. */
int hocket__lenient_next(struct hocket__lenient *l, struct hocket__buf *out)
{
    int rc = 0;
    do {
        hocket__buf_reset(out);
        if (l->phase == HOCKET__LENIENT_WHOLE)
            rc = whole(l, out);
        else if (l->phase == HOCKET__LENIENT_FENCES)
            rc = fenced(l, out);
        else
            return anywhere(l, out);
    } while (rc == 0);
    return rc;
}
