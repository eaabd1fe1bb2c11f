/* Compares addresses with globs part by part (url.h): a glob over the whole text would let
 * "https://good.example*" fit "https://good.example.evil.test". What servers and readers of URLs
 * take in different ways is covered by no rule. */
#include "core/permission/url.h"

#include "core/permission/permission.h"

#include <string.h>
#include <strings.h>

#define MAX_URL 8192

struct parts {
    struct hocket__str scheme, host, port, path;
};

/* ---- Taking apart -------------------------------------------------------------------------- */

static struct hocket__str cut(struct hocket__str *rest, size_t n, size_t skip)
{
    struct hocket__str head = hocket__str(rest->p, n);
    *rest = hocket__str(rest->p + n + skip, rest->n - n - skip);
    return head;
}

static size_t find(struct hocket__str s, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.p + i, text, n) == 0)
            return i;
    return s.n;
}

/* The port stands behind the last colon that is not within an address of version 6. */
static void cut_port(struct parts *p)
{
    for (size_t i = p->host.n; i > 0 && p->host.p[i - 1] != ']'; i--)
        if (p->host.p[i - 1] == ':') {
            p->port = hocket__str(p->host.p + i, p->host.n - i);
            p->host.n = i - 1;
            return;
        }
}

/* Of a glob a question mark is one character, of an address the query. */
static bool take_apart(struct hocket__str text, bool glob, struct parts *out)
{
    size_t at = find(text, "://");
    if (at == 0 || at == text.n)
        return false;
    *out = (struct parts){ .scheme = cut(&text, at, 3) };
    size_t n = 0;
    while (n < text.n && text.p[n] != '/' && (glob || (text.p[n] != '?' && text.p[n] != '#')))
        n++;
    out->host = cut(&text, n, 0);
    out->path = text;
    cut_port(out);
    return out->host.n > 0;
}

static bool is_one_of(struct hocket__str s, const char *more)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (c == 0 || !strchr(more, c)))
            return false;
    }
    return true;
}

/* Characters that others could take apart in another way. */
static bool is_plain(const struct parts *p)
{
    for (size_t i = 0; i < p->path.n; i++)
        if ((unsigned char) p->path.p[i] <= ' ' || p->path.p[i] == 0x7F)
            return false;
    return is_one_of(p->scheme, "+.-") && is_one_of(p->port, "")
           && (is_one_of(p->host, ".-_")
               || (p->host.p[0] == '[' && p->host.p[p->host.n - 1] == ']'
                   && is_one_of(p->host, "[]:.")));
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool fits_in_any_case(struct hocket__str glob, struct hocket__str text)
{
    char g[MAX_URL], t[MAX_URL];
    if (glob.n > MAX_URL || text.n > MAX_URL)
        return false;
    for (size_t i = 0; i < glob.n; i++)
        g[i] = hocket__lower(glob.p[i]);
    for (size_t i = 0; i < text.n; i++)
        t[i] = hocket__lower(text.p[i]);
    return hocket__permission_glob(hocket__str(g, glob.n), hocket__str(t, text.n));
}

static struct hocket__str port_of(const struct parts *p, struct hocket__str scheme)
{
    if (p->port.n)
        return p->port;
    return scheme.n == 5 && strncasecmp(scheme.p, "https", 5) == 0 ? HOCKET__STR("443")
                                                                   : HOCKET__STR("80");
}

static bool may_climb(struct hocket__str path)
{
    return find(path, "/.") < path.n || find(path, "%2e") < path.n || find(path, "%2E") < path.n
           || find(path, "%2f") < path.n || find(path, "%2F") < path.n || find(path, "\\") < path.n
           || find(path, "%5c") < path.n || find(path, "%5C") < path.n;
}

static bool path_fits(struct hocket__str glob, struct hocket__str path)
{
    if (glob.n == 0)
        glob = HOCKET__STR("/");
    if (path.n == 0 || path.p[0] != '/') /* "?query" right behind the host */
        return path.n == 0 ? hocket__permission_glob(glob, HOCKET__STR("/"))
                           : hocket__str_is(glob, "/*");
    bool any = hocket__str_is(glob, "/*");
    return any || (!may_climb(path) && hocket__permission_glob(glob, path));
}

static struct hocket__str without_root(struct hocket__str host)
{
    return host.n > 1 && host.p[host.n - 1] == '.' ? hocket__str(host.p, host.n - 1) : host;
}

bool hocket__url_covers(struct hocket__str glob, struct hocket__str url)
{
    struct parts g, u;
    if (hocket__str_is(glob, "*"))
        return true;
    if (!take_apart(glob, true, &g) || !take_apart(url, false, &u) || !is_plain(&u))
        return false;
    return fits_in_any_case(g.scheme, u.scheme) && fits_in_any_case(g.host, without_root(u.host))
           && hocket__permission_glob(port_of(&g, u.scheme), port_of(&u, u.scheme))
           && path_fits(g.path, u.path);
}

bool hocket__url_has(struct hocket__str glob, struct hocket__str url)
{
    struct parts u;
    return hocket__url_covers(glob, url) || fits_in_any_case(glob, url)
           || (take_apart(url, false, &u) && fits_in_any_case(glob, without_root(u.host)));
}
