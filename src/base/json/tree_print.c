/* A tree as text, whole or in part, and the places in it.
 *
 * Members come out in the order in which they were read. "Without" leaves one member out at the
 * top: what a digest is compared by has no place for what differs each time. */
#include "base/json/tree.h"
#include "base/json/write.h"

/* ---- Writing -------------------------------------------------------------------------------- */

struct parts {
    const hocket_json *const *left_out;
    size_t n;
};

static bool is_left_out(const hocket_json *v, const struct parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->left_out[i] == v)
            return true;
    return false;
}

static void print(const hocket_json *v, const struct parts *p, struct hocket__buf *out);

static void print_children(
    const hocket_json *v, const struct parts *p, struct hocket__buf *out, bool object)
{
    hocket__jw_open(out, object ? '{' : '[');
    for (const hocket_json *c = hocket__tree_first(v); c; c = hocket__tree_next(c)) {
        if (object && is_left_out(c, p))
            continue;
        if (object)
            hocket__jw_keystr(out, hocket__tree_name(c));
        print(c, p, out);
    }
    hocket__jw_close(out, object ? '}' : ']');
}

static void print(const hocket_json *v, const struct parts *p, struct hocket__buf *out)
{
    switch (hocket__tree_type(v)) {
    case HOCKET__TREE_NULL: hocket__jw_null(out); break;
    case HOCKET__TREE_BOOL: hocket__jw_bool(out, hocket__tree_bool(v)); break;
    case HOCKET__TREE_NUMBER: hocket__jw_raw(out, hocket__tree_number_text(v)); break;
    case HOCKET__TREE_STRING: hocket__jw_string(out, hocket__tree_str(v)); break;
    case HOCKET__TREE_ARRAY: print_children(v, p, out, false); break;
    case HOCKET__TREE_OBJECT: print_children(v, p, out, true); break;
    }
}

int hocket__tree_print_without(
    const hocket_json *v, const hocket_json *const *left_out, size_t n, struct hocket__buf *out)
{
    struct parts p = { left_out, n };
    print(v, &p, out);
    return out->status;
}

int hocket__tree_print(const hocket_json *v, struct hocket__buf *out)
{
    return hocket__tree_print_without(v, NULL, 0, out);
}

/* ---- Places ------------------------------------------------------------------------------------ */

/* Whether a pointer's segment of n bytes, with its escapes, is this name. */
static bool is_named(const char *segment, size_t n, struct hocket__str name)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++, at++) {
        bool escaped = segment[i] == '~' && i + 1 < n;
        char c = !escaped ? segment[i] : segment[++i] == '1' ? '/' : '~';
        if (at >= name.n || name.p[at] != c)
            return false;
    }
    return at == name.n;
}

static const hocket_json *member(const hocket_json *v, const char *segment, size_t n)
{
    const hocket_json *c = hocket__tree_first(v);
    while (c && !is_named(segment, n, hocket__tree_name(c)))
        c = hocket__tree_next(c);
    return c;
}

static const hocket_json *element(const hocket_json *v, const char *segment, size_t n)
{
    size_t index = 0;
    for (size_t i = 0; i < n && i < 9; i++)
        index = index * 10 + (size_t) (segment[i] - '0');
    const hocket_json *c = hocket__tree_first(v);
    while (c && index-- > 0)
        c = hocket__tree_next(c);
    return c;
}

const hocket_json *hocket__tree_at(const hocket_json *v, const char *pointer)
{
    while (v && *pointer == '/') {
        const char *segment = ++pointer;
        size_t n = strcspn(segment, "/");
        pointer += n;
        if (hocket__tree_type(v) == HOCKET__TREE_OBJECT)
            v = member(v, segment, n);
        else if (hocket__tree_type(v) == HOCKET__TREE_ARRAY && n > 0
                 && strspn(segment, "0123456789") >= n)
            v = element(v, segment, n);
        else
            v = NULL;
    }
    return *pointer == '\0' ? v : NULL;
}
