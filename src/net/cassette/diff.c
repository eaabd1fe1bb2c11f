/* What is different: the recorded request that is most like the one at hand, and the first
 * place where they part.
 *
 * Likeness counts equal members, so that the message compares with the recorded request that was meant. It shows
 * only the first difference, shortened around it: the rest mostly follows from it. */

#include "base/json/json.h"
#include "base/utf8.h"
#include "net/cassette/cassette_impl.h"

#include <stdio.h>

#define SHOWN 60 /* bytes of a value */

/* ---- The nearest ------------------------------------------------------------------------ */

/* How much of two texts is the same at their beginnings and ends, from 0 to 1. */
static double likeness(struct hocket__str a, struct hocket__str b)
{
    size_t n = a.n < b.n ? a.n : b.n, head = 0, tail = 0;
    while (head < n && a.p[head] == b.p[head])
        head++;
    while (tail < n - head && a.p[a.n - 1 - tail] == b.p[b.n - 1 - tail])
        tail++;
    return a.n + b.n ? (double) (head + tail) * 2 / (double) (a.n + b.n) : 1;
}

static struct hocket__exchange *most_like(
    struct hocket__cassette *c, struct hocket__str identity, bool unasked_only)
{
    struct hocket__exchange *best = NULL;
    double most = -1;
    for (size_t i = 0; i < c->n_exchanges; i++) {
        struct hocket__exchange *x = &c->exchanges[i];
        if (unasked_only && x->state != HOCKET__UNASKED)
            continue;
        double like = likeness(x->identity, identity);
        if (like > most) {
            most = like;
            best = x;
        }
    }
    return best;
}

/* ---- The first difference --------------------------------------------------------------- */

struct difference {
    char path[160];
    char recorded[SHOWN * 2 + 32], now[SHOWN * 2 + 32];
};

/* One line of printable text with its middle at `at`. */
static void show_text(struct hocket__str s, size_t at, char *out, size_t size)
{
    size_t from = at > SHOWN / 3 ? at - SHOWN / 3 : 0;
    from = hocket__utf8_cut(s.p, from);
    size_t n = s.n - from < SHOWN ? s.n - from : hocket__utf8_cut(s.p + from, SHOWN);
    char *end = out + size - 12;
    out += snprintf(out, size, "\"%s", from > 0 ? "…" : "");
    for (size_t i = 0; i < n && out < end; i++) {
        unsigned char c = (unsigned char) s.p[from + i];
        *out++ = c < ' ' || c == 127 ? ' ' : (char) c;
    }
    snprintf(out, 12, "%s\"", from + n < s.n ? "…" : "");
}

static void show(
    struct hocket__cassette *c, const hocket_json *v, size_t at, char *out, size_t size)
{
    struct hocket__buf b;
    if (!v) {
        snprintf(out, size, "nothing");
        return;
    }
    if (hocket__tree_type(v) == HOCKET__TREE_STRING) {
        show_text(hocket__tree_str(v), at, out, size);
        return;
    }
    hocket__buf_init(&b, c->a, 0);
    hocket__tree_print(v, &b);
    struct hocket__str s = hocket__buf_str(&b);
    bool cut = s.n > SHOWN;
    snprintf(
        out, size, "%.*s%s", (int) (cut ? hocket__utf8_cut(s.p, SHOWN) : s.n), s.p, cut ? "…" : "");
    hocket__buf_deinit(&b);
}

static size_t common(struct hocket__str a, struct hocket__str b)
{
    size_t i = 0;
    while (i < a.n && i < b.n && a.p[i] == b.p[i])
        i++;
    return i;
}

static void differ(struct hocket__cassette *c, const hocket_json *recorded, const hocket_json *now,
    struct difference *d)
{
    size_t at = common(hocket__tree_str(recorded), hocket__tree_str(now));
    show(c, recorded, at, d->recorded, sizeof(d->recorded));
    show(c, now, at, d->now, sizeof(d->now));
}

/* Goes on behind `path` (of n bytes) with a member's name or an element's index. */
static size_t extend(struct difference *d, size_t n, struct hocket__str name, size_t index)
{
    size_t room = sizeof(d->path) - n;
    int added = name.p ? snprintf(d->path + n, room, "%s%.*s", n ? "." : "",
                    (int) (name.n < 60 ? name.n : 60), name.p)
                       : snprintf(d->path + n, room, "[%zu]", index);
    return added < 0                              ? n
           : n + (size_t) added < sizeof(d->path) ? n + (size_t) added
                                                  : sizeof(d->path) - 1;
}

static bool find_difference(struct hocket__cassette *c, const hocket_json *a, const hocket_json *b,
    size_t n, struct difference *d);

static bool differs_below(struct hocket__cassette *c, const hocket_json *a, const hocket_json *b,
    size_t n, struct hocket__str name, size_t index, struct difference *d)
{
    if (a && b && hocket__tree_equal(a, b))
        return false;
    return find_difference(c, a, b, extend(d, n, name, index), d);
}

static bool objects_differ(struct hocket__cassette *c, const hocket_json *a, const hocket_json *b,
    size_t n, struct difference *d)
{
    for (const hocket_json *m = hocket__tree_first(a); m; m = hocket__tree_next(m)) {
        struct hocket__str name = hocket__tree_name(m);
        if (differs_below(c, m, hocket__tree_get(b, name), n, name, 0, d))
            return true;
    }
    for (const hocket_json *m = hocket__tree_first(b); m; m = hocket__tree_next(m)) {
        struct hocket__str name = hocket__tree_name(m);
        if (!hocket__tree_get(a, name) && differs_below(c, NULL, m, n, name, 0, d))
            return true;
    }
    return false;
}

static bool arrays_differ(struct hocket__cassette *c, const hocket_json *a, const hocket_json *b,
    size_t n, struct difference *d)
{
    const hocket_json *x = hocket__tree_first(a), *y = hocket__tree_first(b);
    for (size_t i = 0; x || y; i++) {
        if (differs_below(c, x, y, n, hocket__str(NULL, 0), i, d))
            return true;
        x = x ? hocket__tree_next(x) : NULL;
        y = y ? hocket__tree_next(y) : NULL;
    }
    return false;
}

/* Depth is bounded by the reader's. */
static bool find_difference(struct hocket__cassette *c, const hocket_json *a, const hocket_json *b,
    size_t n, struct difference *d)
{
    enum hocket__tree_type type = hocket__tree_type(a);
    d->path[n] = 0;
    if (a && b && type == hocket__tree_type(b)) {
        if (type == HOCKET__TREE_OBJECT)
            return objects_differ(c, a, b, n, d);
        if (type == HOCKET__TREE_ARRAY)
            return arrays_differ(c, a, b, n, d);
        if (hocket__tree_equal(a, b))
            return false;
    }
    differ(c, a, b, d);
    return true;
}

/* Of the members that tell a request: whom it goes to, and what it says. */
static bool requests_differ(
    struct hocket__cassette *c, const hocket_json *a, const hocket_json *b, struct difference *d)
{
    static const char *const names[] = { "to", "method", "path", "body" };
    for (size_t i = 0; i < 4; i++) {
        struct hocket__str name = hocket__cstr(names[i]);
        bool body = i == 3; /* whose members are named without it */
        size_t n = body ? 0 : extend(d, 0, name, 0);
        if (find_difference(c, hocket__tree_get(a, name), hocket__tree_get(b, name), n, d)) {
            if (d->path[0] == 0)
                snprintf(d->path, sizeof(d->path), "body");
            return true;
        }
    }
    return false;
}

/* ---- In words ---------------------------------------------------------------------------- */

static size_t count_equal(const struct hocket__cassette *c, struct hocket__str identity)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_exchanges; i++)
        n += hocket__str_eq(c->exchanges[i].identity, identity);
    return n;
}

static int say(struct hocket__cassette *c, const struct hocket__exchange *x,
    const struct difference *d, struct hocket_error *err)
{
    return hocket__error(err, HOCKET_EREPLAY,
        "a request that was not recorded in %s%s: the nearest is request %llu, where %s was %s and "
        "is now %s",
        c->name, c->cut_off ? " (which was broken off)" : "", (unsigned long long) x->number,
        d->path, d->recorded, d->now);
}

static int say_once_more(struct hocket__cassette *c, size_t times, struct hocket_error *err)
{
    return hocket__error(err, HOCKET_EREPLAY,
        "a request that was recorded %zu time%s in %s%s is made once more", times,
        times == 1 ? "" : "s", c->name, c->cut_off ? " (which was broken off)" : "");
}

static hocket_json *tree_of(struct hocket__cassette *c, struct hocket__str text, bool braces)
{
    struct hocket__buf b = hocket__buf(c->a, 0);
    hocket__buf_adds(&b, braces ? "{" : "");
    hocket__buf_addstr(&b, text);
    hocket__buf_adds(&b, braces ? "}" : "");
    hocket_json *tree = b.status < 0 ? NULL : hocket__tree_new(c->a, hocket__buf_str(&b), 0, NULL);
    hocket__buf_deinit(&b);
    return tree;
}

/* Whether they are the same after all; with *err filled when not. */
static bool compare(struct hocket__cassette *c, struct hocket__exchange *x, const hocket_json *now,
    struct hocket_error *err)
{
    struct difference d = { .path = "" };
    hocket_json *recorded = tree_of(c, x->line, false);
    bool same = false;
    if (!recorded)
        hocket__error_nomem(err);
    else if (!(same = !requests_differ(c, recorded, now, &d)))
        say(c, x, &d, err);
    hocket_json_free(recorded);
    return same;
}

struct hocket__exchange *hocket__cassette_nearest(
    struct hocket__cassette *c, struct hocket__str identity, struct hocket_error *err)
{
    size_t times = count_equal(c, identity);
    struct hocket__exchange *x = most_like(c, identity, true);
    if (!x)
        x = most_like(c, identity, false);
    if (times > 0 || !x) {
        if (times > 0)
            say_once_more(c, times, err);
        else
            hocket__error(err, HOCKET_EREPLAY, "a request, and none was recorded in %s", c->name);
        return NULL;
    }
    hocket_json *now = tree_of(c, identity, true);
    if (!now) {
        hocket__error_nomem(err);
        return NULL;
    }
    bool same = compare(c, x, now, err);
    hocket_json_free(now);
    if (same && x->state == HOCKET__UNASKED)
        return x;
    if (same)
        say_once_more(c, 1, err);
    return NULL;
}
