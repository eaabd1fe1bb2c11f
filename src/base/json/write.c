/* Commas are placed by looking at the byte before: no state is kept, and whoever appends a raw
 * member in between cannot break it.
 *
 * Texts that need no escape, which most do not, are copied in one piece; in others each byte is
 * checked, and bytes that are not UTF-8 become replacement characters. So every reader accepts the
 * output. */
#include "base/json/write.h"

#include "base/json/scan.h"
#include "base/num/num.h"
#include "base/utf8.h"

static bool needs_comma(const struct hocket__buf *b)
{
    if (b->len == 0)
        return false;
    char last = b->data[b->len - 1];
    return last != '[' && last != '{' && last != ':' && last != ',' && !hocket__is_space(last);
}

static void comma(struct hocket__buf *b)
{
    if (needs_comma(b))
        hocket__buf_addc(b, ',');
}

void hocket__jw_open(struct hocket__buf *b, char bracket)
{
    comma(b);
    hocket__buf_addc(b, bracket);
}

void hocket__jw_close(struct hocket__buf *b, char bracket)
{
    hocket__buf_addc(b, bracket);
}

/* The escape of a byte of ASCII: how long it is. */
static size_t escape_byte(unsigned char c, char out[6])
{
    static const char hex[] = "0123456789abcdef";
    static const char letter[] = { ['\b'] = 'b',
        ['\f'] = 'f',
        ['\n'] = 'n',
        ['\r'] = 'r',
        ['\t'] = 't',
        ['"'] = '"',
        ['\\'] = '\\' };
    out[0] = '\\';
    out[1] = c < sizeof(letter) && letter[c] ? letter[c] : 'u';
    if (out[1] != 'u')
        return 2;
    memcpy(out + 2, "00", 2);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

static bool has_room(struct hocket__buf *b, size_t n)
{
    return hocket__buf_has_room(b, n) || hocket__buf_reserve(b, n) == 0;
}

/* What is not ASCII, a sequence after the other. Returns where it ends. */
static const char *add_sequences(struct hocket__buf *b, const char *p, const char *end)
{
    for (int n; p < end && (unsigned char) *p >= 0x80; p += n < 0 ? -n : n) {
        n = hocket__utf8_sequence(p, (size_t) (end - p));
        if (n < 0)
            hocket__utf8_add(b, 0xFFFD);
        else
            hocket__buf_add(b, p, (size_t) n);
    }
    return p;
}

#define LONGEST 6 /* an escape */

/* Up to what is not ASCII, or as far as there is room for the rest and an escape. Returns where
 * that is. */
static const char *add_ascii(struct hocket__buf *b, const char *p, const char *end)
{
    char *out = b->data + b->len;
    size_t spare = b->cap - b->len - (size_t) (end - p) - 1;
    while (p < end && spare >= LONGEST - 1) {
        size_t n = hocket__json_copy_plain(out, p, end);
        out += n;
        p += n;
        if (p == end || (unsigned char) *p >= 0x80)
            break;
        n = escape_byte((unsigned char) *p++, out);
        out += n;
        spare -= n - 1;
    }
    *out = 0;
    b->len = (size_t) (out - b->data);
    return p;
}

/* Texts have a line end every few bytes, JSON inside of a text a quote: plain bytes are copied
 * while they are scanned, and the buffer's room is checked seldom. */
void hocket__jw_escape(struct hocket__buf *b, struct hocket__str s)
{
    if (s.n == 0) /* its pointer may be NULL */
        return;
    const char *p = s.p, *end = p + s.n;
    while (p < end && has_room(b, (size_t) (end - p) + LONGEST - 1))
        p = add_sequences(b, add_ascii(b, p, end), end);
}

/* The comma, the text in quotes, and for a name its colon. Most texts need no escape: they go in
 * with one step. */
static bool quote_plain(struct hocket__buf *b, struct hocket__str s, bool is_name)
{
    if (!hocket__json_all_plain(s.p, s.n))
        return false;
    bool lead = needs_comma(b);
    size_t more = s.n + 2 + lead + is_name;
    if (!hocket__buf_has_room(b, more) && hocket__buf_reserve(b, more) < 0)
        return true; /* the status says so */
    char *out = b->data + b->len;
    if (lead)
        *out++ = ',';
    *out++ = '"';
    if (s.n > 0)
        memcpy(out, s.p, s.n);
    out += s.n;
    *out++ = '"';
    if (is_name)
        *out++ = ':';
    *out = 0;
    b->len = (size_t) (out - b->data);
    return true;
}

static void quote(struct hocket__buf *b, struct hocket__str s)
{
    comma(b);
    hocket__buf_addc(b, '"');
    hocket__jw_escape(b, s);
    hocket__buf_addc(b, '"');
}

void hocket__jw_keystr(struct hocket__buf *b, struct hocket__str name)
{
    if (quote_plain(b, name, true))
        return;
    quote(b, name);
    hocket__buf_addc(b, ':');
}

void hocket__jw_key(struct hocket__buf *b, const char *name)
{
    hocket__jw_keystr(b, hocket__cstr(name));
}

void hocket__jw_string(struct hocket__buf *b, struct hocket__str s)
{
    if (!quote_plain(b, s, false))
        quote(b, s);
}

void hocket__jw_cstring(struct hocket__buf *b, const char *s)
{
    hocket__jw_string(b, hocket__cstr(s));
}

static void word(struct hocket__buf *b, const char *p, size_t n)
{
    comma(b);
    hocket__buf_add(b, p, n);
}

void hocket__jw_int(struct hocket__buf *b, int64_t v)
{
    char text[HOCKET__NUM_MAX];
    word(b, text, hocket__num_print_int(v, text));
}

void hocket__jw_double(struct hocket__buf *b, double v)
{
    char text[HOCKET__NUM_MAX];
    size_t n = hocket__num_print(v, text);
    if (n == 0)
        hocket__jw_null(b);
    else
        word(b, text, n);
}

void hocket__jw_bool(struct hocket__buf *b, bool v)
{
    word(b, v ? "true" : "false", v ? 4 : 5);
}

void hocket__jw_null(struct hocket__buf *b)
{
    word(b, "null", 4);
}

void hocket__jw_raw(struct hocket__buf *b, struct hocket__str json)
{
    while (json.n > 0 && hocket__is_space(json.p[json.n - 1]))
        json.n--;
    while (json.n > 0 && hocket__is_space(json.p[0]))
        json = hocket__str(json.p + 1, json.n - 1);
    word(b, json.p, json.n);
}

void hocket__jw_key_open(struct hocket__buf *b, const char *name, char bracket)
{
    hocket__jw_key(b, name);
    hocket__jw_open(b, bracket);
}

void hocket__jw_key_string(struct hocket__buf *b, const char *name, struct hocket__str s)
{
    hocket__jw_key(b, name);
    hocket__jw_string(b, s);
}

void hocket__jw_key_cstring(struct hocket__buf *b, const char *name, const char *s)
{
    hocket__jw_key(b, name);
    hocket__jw_cstring(b, s);
}

void hocket__jw_key_int(struct hocket__buf *b, const char *name, int64_t v)
{
    hocket__jw_key(b, name);
    hocket__jw_int(b, v);
}

void hocket__jw_key_bool(struct hocket__buf *b, const char *name, bool v)
{
    hocket__jw_key(b, name);
    hocket__jw_bool(b, v);
}

void hocket__jw_key_raw(struct hocket__buf *b, const char *name, struct hocket__str json)
{
    hocket__jw_key(b, name);
    hocket__jw_raw(b, json);
}
