/* Globs as git matches them (wildmatch): "*" stops at slashes, "**" between them does not. The
 * results that end a search early, and a budget of steps, keep patterns with many stars from
 * taking exponential time: they come from models. */
#include "os/search/wild.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* Beside match and no match: nothing further right can match either (ABORT), or only a "**" further
 * left can still help (TO_STARS). This is what keeps many stars from taking exponential time. */
enum result { MATCH, NO_MATCH, ABORT, TO_STARS };

/* Steps of one match, in all. */
#define BUDGET 1000000

struct run {
    const char *pattern;
    unsigned left;
};

static enum result go(struct run *run, const char *p, const char *text);

/* ---- Classes ------------------------------------------------------------------------ */

struct class {
    const char *name;
    int (*holds)(int c);
};

static bool in_named(const char *name, size_t n, unsigned char c, bool *known)
{
    static const struct class classes[] = { { "alnum", isalnum }, { "alpha", isalpha },
        { "blank", isblank }, { "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
        { "lower", islower }, { "print", isprint }, { "punct", ispunct }, { "space", isspace },
        { "upper", isupper }, { "xdigit", isxdigit } };
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strlen(classes[i].name) == n && memcmp(classes[i].name, name, n) == 0)
            return c < 0x80 && classes[i].holds(c);
    *known = false;
    return false;
}

/* *p stands behind "["; moves it to the closing bracket. False also when there is none. */
static bool in_class(const char **p_ptr, unsigned char c, bool *closed)
{
    const char *p = *p_ptr;
    bool negated = *p == '!' || *p == '^', found = false, known = true;
    unsigned char before = 0;
    p += negated;
    const char *first = p;
    *closed = false;
    for (;; p++) {
        unsigned char low = (unsigned char) *p;
        if (!low)
            return false;
        if (low == ']' && p > first)
            break;
        if (low == '-' && before && p[1] && p[1] != ']') {
            p += p[1] == '\\' && p[2] ? 2 : 1;
            found = found || (c >= before && c <= (unsigned char) *p);
            before = 0;
        } else if (low == '[' && p[1] == ':') {
            const char *end = strstr(p + 2, ":]");
            if (!end)
                return false;
            found = in_named(p + 2, (size_t) (end - p - 2), c, &known) || found;
            p = end + 1;
            before = 0;
        } else {
            if (low == '\\' && !(low = (unsigned char) *++p))
                return false;
            found = found || c == low;
            before = low;
        }
    }
    *p_ptr = p;
    *closed = true;
    return known && found != negated && c != '/';
}

/* ---- Stars ---------------------------------------------------------------------------- */

static bool is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

/* What follows a star, at every place that it may end at. */
static enum result after_star(struct run *run, const char *p, const char *text, bool slashes)
{
    for (; *text; text++) {
        if (!is_special(*p)) {
            while (*text && *text != *p && (slashes || *text != '/'))
                text++;
            if (*text != *p)
                return *text ? TO_STARS : ABORT;
        }
        enum result r = go(run, p, text);
        if (r == ABORT || r == MATCH || (r == TO_STARS && !slashes))
            return r;
        if (!slashes && *text == '/')
            return TO_STARS;
    }
    return ABORT;
}

/* p stands behind the first star. */
static enum result star(struct run *run, const char *p, const char *text)
{
    bool slashes = false;
    if (*p == '*') {
        bool opens = p - 1 == run->pattern || p[-2] == '/';
        while (*p == '*')
            p++;
        bool closes = !*p || *p == '/' || (p[0] == '\\' && p[1] == '/');
        slashes = opens && closes;
        if (slashes && *p == '/' && go(run, p + 1, text) == MATCH)
            return MATCH; /* it stands for no directory */
    }
    if (!*p)
        return slashes || !strchr(text, '/') ? MATCH : TO_STARS;
    if (!slashes && *p == '/') {
        const char *slash = strchr(text, '/');
        return slash ? go(run, p, slash) : ABORT;
    }
    return after_star(run, p, text, slashes);
}

/* ---- All ------------------------------------------------------------------------------- */

static enum result go(struct run *run, const char *p, const char *text)
{
    for (; *p; p++, text++) {
        bool closed;
        if (run->left == 0)
            return ABORT;
        run->left--;
        if (*p == '*')
            return star(run, p + 1, text);
        if (!*text)
            return ABORT;
        if (*p == '?') {
            if (*text == '/')
                return NO_MATCH;
        } else if (*p == '[') {
            p++;
            bool in = in_class(&p, (unsigned char) *text, &closed);
            if (!closed)
                return ABORT;
            if (!in)
                return NO_MATCH;
        } else {
            if (*p == '\\' && !*++p)
                return ABORT;
            if (*p != *text)
                return NO_MATCH;
        }
    }
    return *text ? NO_MATCH : MATCH;
}

bool hocket__wildmatch(const char *pattern, const char *text)
{
    struct run run = { pattern, BUDGET };
    return go(&run, pattern, text) == MATCH;
}
