/* Arguments that come in pieces: {"jsonPath":"$.items[0].name","stringValue":"ab",
 * "willContinue":true}, one leaf after the other, strings in several pieces.
 *
 * The text is built at its end alone: r->scratch holds the path of the last leaf, and what the
 * next path does not share with it is closed. So a long string costs its own bytes. */
#include "net/protocol/gemini/gemini.h"

#define MAX_DEPTH 64

struct segment {
    bool is_key;
    struct hocket__str name;
    int64_t index;
};

struct leaf {
    struct hocket__piece path, string;
    struct hocket__str scalar;
};

/* ---- Paths: $.name[0]['odd name'] ---- */

static size_t name_length(struct hocket__str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] != '.' && s.p[n] != '[')
        n++;
    return n;
}

static bool take_index(struct hocket__str inside, struct segment *out)
{
    out->index = 0;
    for (size_t i = 0; i < inside.n; i++) {
        if (inside.p[i] < '0' || inside.p[i] > '9' || out->index > 100000000)
            return false;
        out->index = out->index * 10 + (inside.p[i] - '0');
    }
    return inside.n > 0;
}

static bool take_bracket(struct hocket__str *path, struct segment *out)
{
    char quote = path->n > 1 ? path->p[1] : 0;
    out->is_key = quote == '\'' || quote == '"';
    size_t from = out->is_key ? 2 : 1, i = from;
    while (i < path->n
           && !(out->is_key ? path->p[i] == quote && i + 1 < path->n && path->p[i + 1] == ']'
                            : path->p[i] == ']'))
        i++;
    if (i >= path->n)
        return false;
    out->name = hocket__str(path->p + from, i - from);
    if (!out->is_key && !take_index(out->name, out))
        return false;
    size_t end = out->is_key ? i + 2 : i + 1;
    *path = hocket__str(path->p + end, path->n - end);
    return true;
}

/* False at the end of the path, and when it is malformed: then path->n is not 0. */
static bool next_segment(struct hocket__str *path, struct segment *out)
{
    *out = (struct segment){ .is_key = true };
    if (path->n == 0)
        return false;
    if (path->p[0] == '[')
        return take_bracket(path, out);
    if (path->p[0] != '.')
        return false;
    size_t n = name_length(hocket__str(path->p + 1, path->n - 1));
    out->name = hocket__str(path->p + 1, n);
    if (n > 0)
        *path = hocket__str(path->p + 1 + n, path->n - 1 - n);
    return n > 0;
}

static bool same_segment(const struct segment *a, const struct segment *b)
{
    return a->is_key == b->is_key
           && (a->is_key ? hocket__str_eq(a->name, b->name) : a->index == b->index);
}

/* ---- Writing ---- */

/* Closes the containers that the segments of `path` are in, the innermost first. */
static bool close_all(struct hocket__buf *b, struct hocket__str path)
{
    char closers[MAX_DEPTH];
    size_t n = 0;
    struct segment s;
    while (next_segment(&path, &s)) {
        if (n == MAX_DEPTH)
            return false;
        closers[n++] = s.is_key ? '}' : ']';
    }
    while (n > 0)
        hocket__buf_addc(b, closers[--n]);
    return true;
}

static bool open_all(struct hocket__buf *b, struct hocket__str path)
{
    struct segment s;
    for (int depth = 0; next_segment(&path, &s); depth++) {
        if (depth == MAX_DEPTH || (!s.is_key && s.index != 0))
            return false;
        hocket__buf_addc(b, s.is_key ? '{' : '[');
        if (s.is_key)
            hocket__jw_keystr(b, s.name);
    }
    return path.n == 0;
}

/* Goes from the last leaf to the next one, whose value is then to be written. */
static bool move(struct hocket__buf *b, struct hocket__str from, struct hocket__str to)
{
    struct segment a, z;
    if (from.n == 0) {
        struct hocket__str rest = to;
        return next_segment(&rest, &z) && z.is_key && open_all(b, to); /* an object */
    }
    do {
        if (!next_segment(&from, &a) || !next_segment(&to, &z))
            return false; /* a leaf inside a leaf */
    } while (same_segment(&a, &z));
    /* Leaves come in the order of the text, so an index grows by one: a gap would have to be
     * filled with something that the model did not say. */
    if (a.is_key != z.is_key || (!z.is_key && z.index != a.index + 1) || !close_all(b, from))
        return false;
    hocket__buf_addc(b, ',');
    if (z.is_key)
        hocket__jw_keystr(b, z.name);
    return open_all(b, to);
}

static void end_string(struct hocket__reader *r, struct hocket__buf *b)
{
    if (r->flags & HOCKET__GEMINI_STRING)
        hocket__buf_addc(b, '"');
    r->flags &= ~(uint32_t) HOCKET__GEMINI_STRING;
}

/* ---- Leaves ---- */

static void read_leaf(struct hocket__json *j, struct leaf *l)
{
    *l = (struct leaf){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    while (hocket__json_key(j)) {
        if (hocket__json_is(j, "jsonPath"))
            hocket__piece_read(j, &l->path);
        else if (hocket__json_is(j, "stringValue"))
            hocket__piece_read(j, &l->string);
        else if (hocket__json_is(j, "numberValue") || hocket__json_is(j, "boolValue"))
            l->scalar = hocket__json_value(j);
        else if (hocket__json_is(j, "nullValue"))
            l->scalar = HOCKET__STR("null");
    }
}

static struct hocket__str inside(struct hocket__str path)
{
    return path.n > 0 && path.p[0] == '$' ? hocket__str(path.p + 1, path.n - 1) : path;
}

static bool add_value(struct hocket__reader *r, struct hocket__buf *b, const struct leaf *l)
{
    /* a list or an object is no leaf, and a string under this name would not go on */
    bool scalar = l->scalar.n > 0 && !strchr("{[\"", l->scalar.p[0]);
    if (!l->string.set)
        return scalar && hocket__buf_addstr(b, l->scalar) <= 0;
    hocket__buf_addc(b, '"');
    hocket__buf_addstr(b, l->string.inside);
    r->flags |= HOCKET__GEMINI_STRING;
    return true;
}

static bool add_leaf(struct hocket__reader *r, struct hocket__buf *b, const struct leaf *l)
{
    size_t old = r->scratch.len;
    if (hocket__piece_add(&l->path, &r->scratch) < 0)
        return true; /* memory: the buffer says so */
    struct hocket__str from = hocket__str(r->scratch.data, old);
    struct hocket__str to = hocket__str(r->scratch.data + old, r->scratch.len - old);
    if (hocket__str_eq(from, to)) {
        hocket__buf_cut(&r->scratch, old);
        if (l->string.set && (r->flags & HOCKET__GEMINI_STRING))
            hocket__buf_addstr(b, l->string.inside);
        return true;
    }
    end_string(r, b);
    bool fine = move(b, inside(from), inside(to));
    hocket__buf_drop(&r->scratch, old);
    return fine && add_value(r, b, l);
}

static void report(struct hocket__reader *r, size_t pos, size_t from)
{
    struct hocket__str all = hocket__buf_str(&r->reply->calls[pos].arguments);
    if (r->on_delta && all.n > from)
        r->on_delta(r->ud, HOCKET__DELTA_CALL, pos, hocket__str(all.p + from, all.n - from));
}

int hocket__gemini_args_add(
    struct hocket__reader *r, struct hocket__str list, struct hocket_error *err)
{
    struct hocket__json j;
    struct leaf l;
    size_t pos = r->reply->n_calls - 1;
    struct hocket__buf *b = &r->reply->calls[pos].arguments;
    size_t from = b->len;
    hocket__json_init(&j, list);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    while (hocket__json_element(&j)) {
        read_leaf(&j, &l);
        if (l.path.set && !add_leaf(r, b, &l))
            return hocket__error(err, HOCKET_EPROTOCOL, "partial arguments do not fit together");
    }
    report(r, pos, from);
    return r->scratch.status < 0
               ? hocket__error(err, r->scratch.status, "%s", hocket_status_text(r->scratch.status))
               : 0;
}

void hocket__gemini_args_close(struct hocket__reader *r)
{
    size_t pos = r->reply->n_calls - 1;
    struct hocket__buf *b = &r->reply->calls[pos].arguments;
    size_t from = b->len;
    end_string(r, b);
    close_all(b, inside(hocket__buf_str(&r->scratch)));
    hocket__buf_cut(&r->scratch, 0);
    report(r, pos, from);
}
