/* Resolves URI references (RFC 3986, section 5): split, choose the parts from base and reference,
 * remove dots, join. No look-ups, no normalisation beyond what the RFC asks for: identifiers of
 * schemas are compared as texts. */
#include "core/schema/uri.h"

/* The parts of a reference; one that is absent has a NULL pointer. */
struct parts {
    struct hocket__str scheme, authority, path, query, fragment;
};

static const struct hocket__str absent = { NULL, 0 };

static struct hocket__str behind(struct hocket__str s, size_t n)
{
    return hocket__str(s.p + n, s.n - n);
}

/* Up to the first byte of `set`. A NUL is no end here: texts come from JSON, which may hold
 * some. */
static size_t find(struct hocket__str s, const char *set)
{
    size_t i = 0;
    while (i < s.n && (s.p[i] == 0 || !strchr(set, s.p[i])))
        i++;
    return i;
}

static size_t scheme_length(struct hocket__str s)
{
    size_t n = find(s, ":/?#");
    bool letter = s.n > 0 && ((*s.p | 0x20) >= 'a' && (*s.p | 0x20) <= 'z');
    return letter && n < s.n && s.p[n] == ':' ? n : 0;
}

/* Cuts the part off that begins with `mark`. */
static struct hocket__str cut(struct hocket__str *s, char mark)
{
    const char set[] = { mark, 0 };
    size_t n = find(*s, set);
    struct hocket__str part = n < s->n ? behind(*s, n + 1) : absent;
    s->n = n;
    return part;
}

static struct parts split(struct hocket__str s)
{
    struct parts p = { .scheme = absent, .authority = absent };
    if (s.n == 0)
        s.p = "";
    p.fragment = cut(&s, '#');
    p.query = cut(&s, '?');
    size_t n = scheme_length(s);
    if (n > 0) {
        p.scheme = hocket__str(s.p, n);
        s = behind(s, n + 1);
    }
    if (s.n >= 2 && s.p[0] == '/' && s.p[1] == '/') {
        s = behind(s, 2);
        n = find(s, "/");
        p.authority = hocket__str(s.p, n);
        s = behind(s, n);
    }
    p.path = s;
    return p;
}

/* Takes "." and ".." out of a path, in place; returns the new length. */
static size_t remove_dots(char *p, size_t n)
{
    size_t out = 0, i = 0;
    while (i < n) {
        size_t stop = i + 1; /* of the segment with its '/' in front */
        while (stop < n && p[stop] != '/')
            stop++;
        size_t from = i + (p[i] == '/'), len = stop - from;
        bool dot = len == 1 && p[from] == '.';
        bool dots = len == 2 && p[from] == '.' && p[from + 1] == '.';
        if (dots)
            while (out > 0 && p[--out] != '/')
                ;
        if ((dot || dots) && stop == n)
            p[out++] = '/';
        if (!dot && !dots) {
            memmove(p + out, p + i, stop - i);
            out += stop - i;
        }
        i = stop;
    }
    return out;
}

static char *put(char *to, struct hocket__str s)
{
    if (s.n > 0)
        memcpy(to, s.p, s.n);
    return to + s.n;
}

static char *put_path(char *to, const struct parts *base, struct hocket__str path, bool merge)
{
    char *start = to;
    if (merge) {
        size_t dir = base->path.n;
        while (dir > 0 && base->path.p[dir - 1] != '/')
            dir--;
        if (dir == 0 && base->authority.p)
            *to++ = '/';
        to = put(to, hocket__str(base->path.p, dir));
    }
    to = put(to, path);
    /* removing ".." from a relative path can leave a slash in front that it did not have */
    bool rooted = to > start && *start == '/';
    size_t n = remove_dots(start, (size_t) (to - start));
    if (!rooted && n > 0 && *start == '/')
        memmove(start, start + 1, --n);
    return start + n;
}

/* RFC 3986, 5.2.2. */
static struct parts choose(const struct parts *base, const struct parts *ref, bool *merge)
{
    struct parts t = *ref;
    *merge = false;
    if (ref->scheme.p)
        return t;
    t.scheme = base->scheme;
    if (ref->authority.p)
        return t;
    t.authority = base->authority;
    if (ref->path.n == 0) {
        t.path = base->path;
        t.query = ref->query.p ? ref->query : base->query;
    } else {
        *merge = ref->path.p[0] != '/';
    }
    return t;
}

int hocket__schema_uri_resolve(struct hocket__arena *m, struct hocket__str base_uri,
    struct hocket__str ref_uri, struct hocket__str *uri, struct hocket__str *fragment)
{
    struct parts base = split(base_uri), ref = split(ref_uri);
    bool merge;
    struct parts t = choose(&base, &ref, &merge);
    /* Nothing of both is written twice; 8 is for what stands between the parts. */
    char *start = hocket__arena_zero(m, base_uri.n + ref_uri.n + 8), *to = start;
    if (!start)
        return HOCKET_ENOMEM;
    if (t.scheme.p) {
        to = put(to, t.scheme);
        *to++ = ':';
    }
    if (t.authority.p) {
        to = put(to, HOCKET__STR("//"));
        to = put(to, t.authority);
    }
    to = put_path(to, &base, t.path, merge);
    if (t.query.p) {
        *to++ = '?';
        to = put(to, t.query);
    }
    *uri = hocket__str(start, (size_t) (to - start));
    *fragment = ref.fragment.p ? ref.fragment : HOCKET__STR("");
    return 0;
}

bool hocket__schema_uri_is_absolute(struct hocket__str uri)
{
    return scheme_length(uri) > 0;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hocket__schema_uri_decode(
    struct hocket__arena *m, struct hocket__str s, struct hocket__str *out)
{
    size_t n = 0;
    if (!memchr(s.n ? s.p : "", '%', s.n)) {
        *out = s;
        return 0;
    }
    char *to = hocket__arena_zero(m, s.n);
    if (!to)
        return HOCKET_ENOMEM;
    for (size_t i = 0; i < s.n; i++) {
        bool coded = s.p[i] == '%' && s.n - i > 2 && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0;
        to[n++] = coded ? (char) (hex(s.p[i + 1]) * 16 + hex(s.p[i + 2])) : s.p[i];
        i += coded ? 2 : 0;
    }
    *out = hocket__str(to, n);
    return 0;
}
