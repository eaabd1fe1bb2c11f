/* YAML as front matter has it, made JSON: a subset on purpose. Anchors, aliases and tags are
 * refused (a kilobyte of them can stand for gigabytes), so are keys that stand twice, which
 * libyaml lets pass; size and depth are bounded, as libyaml is quadratic in nesting. `places`
 * says of each value where it stands, so that an error in an agent's file names line and
 * column. */
#include "base/yaml/yaml.h"

#include <math.h>
#include <yaml.h>

#include "base/json/json.h"
#include "base/num/num.h"

/* One open mapping or sequence: where its path ends in the path buffer. */
struct level {
    bool is_map, at_value;
    size_t path_len;  /* without the current key or index */
    size_t keys_from; /* into `keys`: the names seen in this mapping, each ended by NUL */
    size_t index;
};

struct reader {
    yaml_parser_t parser;
    struct hocket__buf *json, *places;
    struct hocket__buf path, keys;
    struct level levels[HOCKET__YAML_DEPTH];
    int depth, first_line;
    bool has_root;
    struct hocket_error *err;
};

static int fail(struct reader *r, int status, yaml_mark_t mark, const char *what)
{
    return hocket__error(
        r->err, status, "%d:%d: %s", (int) mark.line + r->first_line, (int) mark.column + 1, what);
}

/* ---- Places ------------------------------------------------------------------- */

static void add_segment(struct hocket__buf *path, struct hocket__str s)
{
    hocket__buf_addc(path, '/');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '~' || s.p[i] == '/')
            hocket__buf_adds(path, s.p[i] == '~' ? "~0" : "~1");
        else
            hocket__buf_addc(path, s.p[i]);
    }
}

static void note_place(struct reader *r, const char *prefix, yaml_mark_t mark)
{
    size_t at = r->path.len;
    struct hocket__buf name = hocket__buf(r->json->a, 0);
    hocket__buf_adds(&name, prefix);
    hocket__buf_add(&name, r->path.data ? r->path.data : "", at);
    hocket__jw_keystr(r->places, hocket__buf_str(&name));
    hocket__jw_open(r->places, '[');
    hocket__jw_int(r->places, (int64_t) mark.line + r->first_line);
    hocket__jw_int(r->places, (int64_t) mark.column + 1);
    hocket__jw_close(r->places, ']');
    if (name.status < 0)
        r->places->status = name.status;
    hocket__buf_deinit(&name);
}

/* ---- Scalars --------------------------------------------------------------------- */

static bool one_of(struct hocket__str s, const char *const words[])
{
    for (size_t i = 0; words[i]; i++)
        if (hocket__str_is(s, words[i]))
            return true;
    return false;
}

static bool is_finite(struct hocket__str number)
{
    bool is_int;
    int64_t i;
    double d = 0;
    hocket__num_read(number, &is_int, &i, &d);
    return is_int || isfinite(d);
}

static int write_plain(struct reader *r, struct hocket__str s, yaml_mark_t mark)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const yes[] = { "true", "True", "TRUE", NULL };
    static const char *const no[] = { "false", "False", "FALSE", NULL };
    struct hocket__buf *out = r->json;
    struct hocket__str number = s;
    if (number.n > 1 && number.p[0] == '+')
        number = hocket__str(s.p + 1, s.n - 1);
    if (one_of(s, nulls))
        hocket__jw_null(out);
    else if (one_of(s, yes) || one_of(s, no))
        hocket__jw_bool(out, one_of(s, yes));
    else if (!strchr("-0123456789", number.p[0]) || hocket__json_check(number, NULL) < 0)
        hocket__jw_string(out, s);
    else if (is_finite(number))
        hocket__jw_raw(out, number);
    else
        return fail(r, HOCKET_EPARSE, mark,
            "the number is too large: put quotes around it when it is meant as text");
    return 0;
}

/* ---- Structure --------------------------------------------------------------------- */

static bool seen(struct reader *r, const struct level *l, struct hocket__str key)
{
    for (size_t at = l->keys_from; at < r->keys.len;) {
        size_t n = strlen(r->keys.data + at);
        if (n == key.n && memcmp(r->keys.data + at, key.p, n) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

static int take_key(struct reader *r, struct level *l, const yaml_event_t *e)
{
    struct hocket__str key =
        hocket__str((const char *) e->data.scalar.value, e->data.scalar.length);
    if (memchr(key.p, 0, key.n))
        return fail(r, HOCKET_EPARSE, e->start_mark, "a key must not contain NUL");
    if (seen(r, l, key)) {
        char what[160];
        snprintf(
            what, sizeof(what), "the key '%.100s' stands here a second time: remove one", key.p);
        return fail(r, HOCKET_EPARSE, e->start_mark, what);
    }
    hocket__buf_addstr(&r->keys, key);
    hocket__buf_addc(&r->keys, 0);
    hocket__buf_cut(&r->path, l->path_len);
    add_segment(&r->path, key);
    note_place(r, "#", e->start_mark);
    hocket__jw_keystr(r->json, key);
    l->at_value = true;
    return 0;
}

/* What goes before any value: its place in the level it stands in. */
static int begin_value(struct reader *r, const yaml_event_t *e)
{
    struct level *l = r->depth ? &r->levels[r->depth - 1] : NULL;
    if (!l) {
        if (r->has_root)
            return fail(r, HOCKET_EPARSE, e->start_mark, "a second document: only one is read");
        r->has_root = true;
        return 0;
    }
    if (!l->is_map) {
        char index[24];
        int n = snprintf(index, sizeof(index), "%zu", l->index++);
        hocket__buf_cut(&r->path, l->path_len);
        add_segment(&r->path, hocket__str(index, (size_t) n));
    }
    note_place(r, "", e->start_mark);
    l->at_value = false;
    return 0;
}

static bool wants_key(const struct reader *r)
{
    return r->depth && r->levels[r->depth - 1].is_map && !r->levels[r->depth - 1].at_value;
}

static int open_level(struct reader *r, const yaml_event_t *e, bool is_map)
{
    if (wants_key(r))
        return fail(r, HOCKET_EPARSE, e->start_mark, "a key must be a plain word or a quoted text");
    if (r->depth == HOCKET__YAML_DEPTH)
        return fail(r, HOCKET_ELIMIT, e->start_mark, "nested more than 32 levels deep");
    int rc = begin_value(r, e);
    if (rc < 0)
        return rc;
    hocket__jw_open(r->json, is_map ? '{' : '[');
    r->levels[r->depth++] =
        (struct level){ .is_map = is_map, .path_len = r->path.len, .keys_from = r->keys.len };
    return 0;
}

static void close_level(struct reader *r)
{
    struct level *l = &r->levels[--r->depth];
    hocket__jw_close(r->json, l->is_map ? '}' : ']');
    hocket__buf_cut(&r->path, l->path_len);
    hocket__buf_cut(&r->keys, l->keys_from);
}

static int scalar(struct reader *r, const yaml_event_t *e)
{
    struct hocket__str s = hocket__str((const char *) e->data.scalar.value, e->data.scalar.length);
    if (wants_key(r))
        return take_key(r, &r->levels[r->depth - 1], e);
    int rc = begin_value(r, e);
    if (rc == 0 && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return write_plain(r, s, e->start_mark);
    if (rc == 0)
        hocket__jw_string(r->json, s);
    return rc;
}

static int refuse_extras(struct reader *r, const yaml_event_t *e)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (e->type == YAML_SCALAR_EVENT) {
        anchor = e->data.scalar.anchor;
        tag = e->data.scalar.tag;
    } else if (e->type == YAML_MAPPING_START_EVENT) {
        anchor = e->data.mapping_start.anchor;
        tag = e->data.mapping_start.tag;
    } else if (e->type == YAML_SEQUENCE_START_EVENT) {
        anchor = e->data.sequence_start.anchor;
        tag = e->data.sequence_start.tag;
    }
    if (anchor)
        return fail(r, HOCKET_EPARSE, e->start_mark,
            "anchors (&name) are not supported: write the value out");
    if (tag)
        return fail(r, HOCKET_EPARSE, e->start_mark, "tags (!type) are not supported");
    return 0;
}

static int take(struct reader *r, const yaml_event_t *e)
{
    int rc = refuse_extras(r, e);
    if (rc < 0)
        return rc;
    switch (e->type) {
    case YAML_ALIAS_EVENT:
        return fail(r, HOCKET_EPARSE, e->start_mark,
            "aliases (*name) are not supported: write the value out, "
            "or put quotes around it");
    case YAML_SCALAR_EVENT: return scalar(r, e);
    case YAML_MAPPING_START_EVENT: return open_level(r, e, true);
    case YAML_SEQUENCE_START_EVENT: return open_level(r, e, false);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: close_level(r); return 0;
    default: return 0;
    }
}

/* What is not closed is noticed far behind it; and who writes "a: b: c" means a text. */
static int syntax_error(struct reader *r)
{
    yaml_parser_t *p = &r->parser;
    char what[240];
    snprintf(what, sizeof(what), "%s%s%s", p->problem ? p->problem : "malformed YAML",
        p->context ? ", " : "", p->context ? p->context : "");
    size_t n = strlen(what); /* it may have been cut */
    if (p->context && p->context_mark.line < p->problem_mark.line)
        snprintf(what + n, sizeof(what) - n, " from %d:%d on",
            (int) p->context_mark.line + r->first_line, (int) p->context_mark.column + 1);
    else if (strncmp(what, "mapping values", 14) == 0)
        snprintf(what + n, sizeof(what) - n, ": a text with ': ' in it needs quotes");
    return fail(
        r, p->error == YAML_MEMORY_ERROR ? HOCKET_ENOMEM : HOCKET_EPARSE, p->problem_mark, what);
}

/* Every event is freed by its own call, whatever came of it. */
static int read_all(struct reader *r)
{
    for (int rc = 0, last = 0; !last;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e))
            return syntax_error(r);
        last = e.type == YAML_STREAM_END_EVENT;
        rc = take(r, &e);
        yaml_event_delete(&e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int hocket__yaml_to_json(struct hocket__str text, int first_line, struct hocket__buf *json,
    struct hocket__buf *places, struct hocket_error *err)
{
    struct hocket_error unused;
    struct reader r = {
        .json = json, .places = places, .first_line = first_line, .err = err ? err : &unused
    };
    if (text.n > HOCKET__YAML_MAX)
        return hocket__error(err, HOCKET_ELIMIT, "%d:1: more than 64 KB", first_line);
    if (!yaml_parser_initialize(&r.parser))
        return hocket__error_nomem(err);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *) text.p, text.n);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    hocket__buf_init(&r.path, json->a, 0);
    hocket__buf_init(&r.keys, json->a, 0);
    hocket__jw_open(places, '{');
    int rc = read_all(&r);
    hocket__jw_close(places, '}');
    if (rc == 0 && !r.has_root)
        hocket__buf_adds(json, "{}");
    if (rc == 0
        && (json->status < 0 || places->status < 0 || r.path.status < 0 || r.keys.status < 0))
        rc = hocket__error_nomem(err);
    hocket__buf_deinit(&r.path);
    hocket__buf_deinit(&r.keys);
    yaml_parser_delete(&r.parser);
    return rc;
}
