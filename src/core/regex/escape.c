/* Escapes and classes of patterns.
 *
 * What \d, \w and \s stand for is ECMA-262's, without the flag u: ASCII for the first two, and the
 * spaces of Unicode for the third. */
#include "core/regex/parser_impl.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(struct hocket__regex_parser *ps, int digits, uint32_t *out)
{
    const char *p = ps->p;
    uint32_t v = 0;
    for (int i = 0; i < digits; i++, p++) {
        if (p >= ps->end || hex_value(*p) < 0)
            return false;
        v = v * 16 + (uint32_t) hex_value(*p);
    }
    ps->p = p;
    *out = v;
    return true;
}

static bool read_braced_code(struct hocket__regex_parser *ps, uint32_t *out)
{
    uint32_t v = 0;
    const char *p = ps->p;
    for (; p < ps->end && hex_value(*p) >= 0 && v <= 0x10ffff; p++)
        v = v * 16 + (uint32_t) hex_value(*p);
    if (p == ps->p || p >= ps->end || *p != '}' || v > 0x10ffff)
        return false;
    ps->p = p + 1;
    *out = v;
    return true;
}

/* Behind \u: {…}, or four digits, of which two in a row may be a pair. */
static bool read_unicode_escape(struct hocket__regex_parser *ps, uint32_t *out)
{
    if (hocket__regex_accept(ps, "{"))
        return read_braced_code(ps, out);
    if (!read_hex(ps, 4, out))
        return false;
    const char *back = ps->p;
    uint32_t low;
    /* half a pair alone stays what it is, and matches nothing: no UTF-8 holds one */
    if (*out >= 0xd800 && *out < 0xdc00 && hocket__regex_accept(ps, "\\u")) {
        if (read_hex(ps, 4, &low) && low >= 0xdc00 && low < 0xe000)
            *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
        else
            ps->p = back;
    }
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int control_escape(struct hocket__regex_parser *ps, uint32_t *out)
{
    if (ps->p >= ps->end || !is_letter(*ps->p))
        return hocket__regex_fail(ps, HOCKET_EPARSE, "\\c is followed by a letter");
    *out = (uint32_t) *ps->p++ & 31;
    return 0;
}

/* An escape that stands for one character; ps->p is behind the backslash. */
static int char_escape(struct hocket__regex_parser *ps, uint32_t *out)
{
    static const char names[] = "tnrvf", values[] = "\t\n\r\v\f";
    char c = *ps->p;
    const char *simple = strchr(names, c);
    if (c != 0 && simple) {
        *out = (uint32_t) values[simple - names];
    } else if (c == '0') {
        *out = 0;
        if (ps->p + 1 < ps->end && is_digit(ps->p[1]))
            return hocket__regex_fail(ps, HOCKET_EUNSUPPORTED, "octal escapes are not supported");
    } else if (is_digit(c) || c == 'k') {
        return hocket__regex_fail(ps, HOCKET_EUNSUPPORTED, "back-references are not supported");
    } else if (c == 'x' || c == 'u' || c == 'c') {
        ps->p++;
        if (c == 'c')
            return control_escape(ps, out);
        if (c == 'x' ? read_hex(ps, 2, out) : read_unicode_escape(ps, out))
            return 0;
        return hocket__regex_fail(ps, HOCKET_EPARSE, "hexadecimal digits expected");
    } else if (is_letter(c)) {
        return hocket__regex_fail(ps, HOCKET_EPARSE, "this escape does not exist in ECMA-262");
    } else {
        *out = hocket__regex_read(&ps->p, ps->end);
        return 0;
    }
    ps->p++;
    return 0;
}

/* Behind \p or \P: {L}, {Letter}, {gc=L}, {General_Category=L}. */
static int property(struct hocket__regex_parser *ps, struct hocket__regex_class *c, bool negated)
{
    if (!hocket__regex_accept(ps, "{"))
        return hocket__regex_fail(ps, HOCKET_EPARSE, "\\p is followed by a name in braces");
    if (!hocket__regex_accept(ps, "General_Category="))
        (void) hocket__regex_accept(ps, "gc=");
    const char *stop = memchr(ps->p, '}', (size_t) (ps->end - ps->p));
    if (!stop)
        return hocket__regex_fail(ps, HOCKET_EPARSE, "the } of \\p{…} is missing");
    struct hocket__str name = hocket__str(ps->p, (size_t) (stop - ps->p));
    uint32_t mask = hocket__unicode_category_mask(name);
    bool ascii = hocket__str_is(name, "ASCII");
    if (mask == 0 && !ascii)
        return hocket__regex_fail(
            ps, HOCKET_EUNSUPPORTED, "only general categories are supported in \\p{…}");
    ps->p = stop + 1;
    if (ascii)
        return hocket__regex_class_add(ps->re->a, c, negated ? 128 : 0, negated ? 0x10ffff : 127);
    c->categories |= negated ? ~mask & HOCKET__UNICODE_ALL : mask;
    return 0;
}

/* An escape that stands for a set, if it is one: 1, 0 when not, or negative. */
static int set_escape(struct hocket__regex_parser *ps, struct hocket__regex_class *c)
{
    char letter = *ps->p;
    if (letter == 0 || !strchr("dDwWsSpP", letter))
        return 0;
    ps->p++;
    int rc = letter == 'p' || letter == 'P' ? property(ps, c, letter == 'P')
                                            : hocket__regex_class_add_escape(ps->re->a, c, letter);
    return rc < 0 ? rc : 1;
}

/* ---- Classes */

static int new_class(struct hocket__regex_parser *ps, struct hocket__regex_class **out)
{
    struct hocket__regex *re = ps->re;
    if (hocket__grow(re->a, &re->classes, &re->class_cap, re->class_count + 1, sizeof(*re->classes))
        < 0)
        return hocket__error_nomem(ps->err);
    *out = &re->classes[re->class_count++];
    memset(*out, 0, sizeof(**out));
    return hocket__regex_emit(ps, HOCKET__RE_CLASS, (int32_t) re->class_count - 1);
}

/* One end of a range: 1 when it was a set (which is added), 0 with a character
 * in *code, or negative. */
static int class_item(
    struct hocket__regex_parser *ps, struct hocket__regex_class *c, uint32_t *code)
{
    if (!hocket__regex_at(ps, '\\')) {
        *code = hocket__regex_read(&ps->p, ps->end);
        return 0;
    }
    if (++ps->p >= ps->end)
        return hocket__regex_fail(ps, HOCKET_EPARSE, "the pattern ends with a backslash");
    if (hocket__regex_accept(ps, "b")) {
        *code = '\b';
        return 0;
    }
    int rc = set_escape(ps, c);
    return rc != 0 ? rc : char_escape(ps, code);
}

static int add(
    struct hocket__regex_parser *ps, struct hocket__regex_class *c, uint32_t first, uint32_t last)
{
    if (first > last)
        return hocket__regex_fail(ps, HOCKET_EPARSE, "the range ends before it begins");
    return hocket__regex_class_add(ps->re->a, c, first, last);
}

/* A character, a set, or a range. Next to a set a '-' is itself: [\w-.]. */
static int class_range(struct hocket__regex_parser *ps, struct hocket__regex_class *c)
{
    uint32_t first, last;
    int set = class_item(ps, c, &first);
    if (set < 0)
        return set;
    if (set || !hocket__regex_at(ps, '-') || ps->p + 1 >= ps->end || ps->p[1] == ']')
        return set ? 0 : add(ps, c, first, first);
    ps->p++;
    int set_too = class_item(ps, c, &last);
    if (set_too < 0)
        return set_too;
    if (!set_too)
        return add(ps, c, first, last);
    int rc = add(ps, c, first, first);
    return rc < 0 ? rc : add(ps, c, '-', '-');
}

int hocket__regex_parse_class(struct hocket__regex_parser *ps)
{
    struct hocket__regex_class *c;
    int rc = new_class(ps, &c);
    if (rc < 0)
        return rc;
    c->negated = hocket__regex_accept(ps, "^");
    while (!hocket__regex_at(ps, ']')) {
        if (ps->p >= ps->end)
            return hocket__regex_fail(ps, HOCKET_EPARSE, "the ] of a class is missing");
        rc = class_range(ps, c);
        if (rc < 0)
            return rc == HOCKET_ENOMEM ? hocket__error_nomem(ps->err) : rc;
    }
    ps->p++;
    hocket__regex_class_close(c);
    return 0;
}

/* ---- Outside of classes */

int hocket__regex_parse_escape(struct hocket__regex_parser *ps, bool *repeatable)
{
    if (ps->p >= ps->end)
        return hocket__regex_fail(ps, HOCKET_EPARSE, "the pattern ends with a backslash");
    if (hocket__regex_at(ps, 'b') || hocket__regex_at(ps, 'B')) {
        *repeatable = false;
        return hocket__regex_emit(ps, *ps->p++ == 'b' ? HOCKET__RE_WORD : HOCKET__RE_NOT_WORD, 0);
    }
    if (*ps->p != 0 && strchr("dDwWsSpP", *ps->p)) {
        struct hocket__regex_class *c;
        int rc = new_class(ps, &c);
        if (rc == 0)
            rc = set_escape(ps, c);
        if (rc < 0)
            return rc == HOCKET_ENOMEM ? hocket__error_nomem(ps->err) : rc;
        hocket__regex_class_close(c);
        return 0;
    }
    uint32_t code;
    int rc = char_escape(ps, &code);
    return rc < 0 ? rc : hocket__regex_emit(ps, HOCKET__RE_CHAR, (int32_t) code);
}
