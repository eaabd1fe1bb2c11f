/* Errors that a model understands: what was expected, what came, and where. The
 * texts have a fixed size, so that reporting cannot fail; what does not fit
 * ends in "…". Values are shown as JSON, escaped, so that nothing in an
 * instance can break out of its line. */
#include "core/schema/run_impl.h"

#include <stdarg.h>
#include <stdio.h>

#define SHOWN        48 /* bytes of a string that are shown */
#define ALTERNATIVES 4  /* that are explained */

struct text {
    char *p;
    size_t cap, len; /* the NUL has its byte in cap */
    bool cut;
};

static struct text text_of(char *p, size_t cap)
{
    p[0] = 0;
    return (struct text){ .p = p, .cap = cap };
}

/* Cuts in front of a sequence that does not fit whole, and says so once. */
static void add(struct text *t, const char *s, size_t n)
{
    static const char dots[] = "\xe2\x80\xa6";
    size_t room = t->cap - t->len - sizeof(dots);
    if (t->cut)
        return;
    if (n > room) {
        for (n = room; n > 0 && ((unsigned char) s[n] & 0xc0) == 0x80; n--)
            ;
        t->cut = true;
    }
    memcpy(t->p + t->len, s, n);
    t->len += n;
    if (t->cut) {
        memcpy(t->p + t->len, dots, sizeof(dots) - 1);
        t->len += sizeof(dots) - 1;
    }
    t->p[t->len] = 0;
}

static void adds(struct text *t, const char *s)
{
    add(t, s, strlen(s));
}

static void addf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The result is made plain afterwards, so that what a format inserts of foreign text is made
 * visible with the rest. */
static void vaddf(struct text *t, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* What names and patterns of a schema hold is foreign too. */
static void add_plain(struct text *t, struct hocket__str s)
{
    for (size_t i = 0, n; i < s.n; i += n) {
        for (n = 1; i + n < s.n && ((unsigned char) s.p[i + n] & 0xc0) == 0x80;)
            n++;
        if ((unsigned char) s.p[i] < 0x20 || s.p[i] == 0x7f)
            addf(t, "\\u%04x", (unsigned char) s.p[i]);
        else
            add(t, s.p + i, n);
    }
}

static void vaddf(struct text *t, const char *fmt, va_list ap)
{
    char line[400];
    int n = vsnprintf(line, sizeof(line), fmt, ap);
    size_t len = n < 0 ? 0 : (size_t) n < sizeof(line) ? (size_t) n : sizeof(line) - 1;
    add_plain(t, hocket__str(line, hocket__utf8_cut(line, len)));
}

static void addf(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vaddf(t, fmt, ap);
    va_end(ap);
}

/* ---- Values */

/* Sequences go in whole, so that `add` never cuts inside of one. */
static void add_string(struct text *t, struct hocket__str s)
{
    size_t i = 0;
    adds(t, "\"");
    while (i < s.n && i < SHOWN) {
        size_t n = 1;
        while (i + n < s.n && ((unsigned char) s.p[i + n] & 0xc0) == 0x80)
            n++;
        if (s.p[i] == '"' || s.p[i] == '\\')
            adds(t, "\\");
        add_plain(t, hocket__str(s.p + i, n));
        i += n;
    }
    adds(t, i < s.n ? "\xe2\x80\xa6\"" : "\"");
}

/* Of containers it only says whether they are empty: their contents have errors of their own. */
static void add_value(struct text *t, const hocket_json *v)
{
    struct hocket__str s;
    switch (hocket__tree_type(v)) {
    case HOCKET__TREE_NULL: adds(t, "null"); return;
    case HOCKET__TREE_BOOL: adds(t, hocket__tree_bool(v) ? "true" : "false"); return;
    case HOCKET__TREE_NUMBER:
        s = hocket__tree_number_text(v);
        add(t, s.p, s.n < SHOWN ? s.n : SHOWN);
        return;
    case HOCKET__TREE_STRING: add_string(t, hocket__tree_str(v)); return;
    case HOCKET__TREE_ARRAY: adds(t, hocket_json_count(v) ? "[\xe2\x80\xa6]" : "[]"); return;
    default: adds(t, hocket_json_count(v) ? "{\xe2\x80\xa6}" : "{}");
    }
}

static void add_number(struct text *t, struct hocket__str s)
{
    struct hocket__decimal d = hocket__decimal_read(s);
    addf(t, "%s %.*s", hocket__decimal_is_integer(&d) ? "integer" : "number",
        (int) (s.n < SHOWN ? s.n : SHOWN), s.p);
}

static void add_inst(struct text *t, const struct hocket__schema_inst *in)
{
    size_t n;
    switch (in->type) {
    case HOCKET__TREE_NUMBER: add_number(t, in->text); return;
    case HOCKET__TREE_STRING:
        adds(t, in->json ? "string " : "the name ");
        add_string(t, in->text);
        return;
    case HOCKET__TREE_ARRAY:
        n = hocket_json_count(in->json);
        addf(t, "array of %zu", n);
        return;
    case HOCKET__TREE_OBJECT:
        n = hocket_json_count(in->json);
        addf(t, "object with %zu member%s", n, n == 1 ? "" : "s");
        return;
    default: add_value(t, in->json);
    }
}

/* ---- Paths */

/* The path of an error is what a model uses to find the place; so it is a JSON pointer exactly. */
static void add_segment(struct text *t, struct hocket__str name)
{
    for (size_t i = 0, n; i < name.n; i += n) {
        for (n = 0; i + n < name.n && name.p[i + n] != '~' && name.p[i + n] != '/';)
            n++;
        add_plain(t, hocket__str(name.p + i, n));
        /* as JSON pointers write them */
        if (i + n < name.n)
            adds(t, name.p[i + n++] == '~' ? "~0" : "~1");
    }
}

static void add_path(struct text *t, const struct hocket__schema_path *path)
{
    if (!path)
        return;
    add_path(t, path->up);
    if (path->is_index) {
        addf(t, "/%zu", path->index);
    } else {
        adds(t, "/");
        add_segment(t, path->name);
    }
}

/* ---- Errors */

/* Opens an error when somebody listens and there is room.
 * Without a sink the evaluation only says yes or no, and no text is made: alternatives are tried
 * so. */
static bool begin(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const char *keyword, struct text *t)
{
    struct hocket__schema_sink *sink = r->sink;
    if (!sink)
        return false;
    if (sink->count == sink->max) {
        sink->more = true;
        return false;
    }
    struct hocket__schema_error *e = &sink->at[sink->count++];
    struct text path = text_of(e->path, sizeof(e->path));
    add_path(&path, in->path);
    e->keyword = keyword;
    *t = text_of(e->message, sizeof(e->message));
    return true;
}

static void got(struct text *t, const struct hocket__schema_inst *in)
{
    adds(t, ", got ");
    add_inst(t, in);
}

__attribute__((format(printf, 5, 0))) static void report(struct hocket__schema_run *r,
    const struct hocket__schema_inst *in, const char *keyword, bool says_got, const char *fmt,
    va_list ap)
{
    struct text t;
    if (!begin(r, in, keyword, &t))
        return;
    vaddf(&t, fmt, ap);
    if (says_got)
        got(&t, in);
}

/* 0 is the verdict "does not fit", so that a caller can return what this does. */
int hocket__schema_report(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const char *keyword, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(r, in, keyword, true, fmt, ap);
    va_end(ap);
    return 0;
}

int hocket__schema_report_plain(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const char *keyword, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(r, in, keyword, false, fmt, ap);
    va_end(ap);
    return 0;
}

int hocket__schema_report_type(
    struct hocket__schema_run *r, const struct hocket__schema_inst *in, uint32_t types)
{
    static const char *const names[] = { "null", "boolean", "number", "string", "array", "object",
        "integer" };
    struct text t;
    if (!begin(r, in, "type", &t))
        return 0;
    const char *before = "expected ";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (types & (1u << i)) {
            addf(&t, "%s%s", before, names[i]);
            before = " or ";
        }
    got(&t, in);
    return 0;
}

/* Leaves room for what came. */
#define LIST_MAX 220

static void add_list(struct text *t, const hocket_json *list)
{
    const char *before = "expected one of ";
    for (const hocket_json *v = hocket__tree_first(list); v; v = hocket__tree_next(v)) {
        adds(t, before);
        if (t->len > LIST_MAX) {
            adds(t, "\xe2\x80\xa6");
            return;
        }
        add_value(t, v);
        before = ", ";
    }
}

int hocket__schema_report_values(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const struct hocket__schema_values *rules)
{
    struct text t;
    if (!begin(r, in, rules->constant ? "const" : "enum", &t))
        return 0;
    if (rules->constant) {
        adds(&t, "expected ");
        add_value(&t, rules->constant);
    } else if (!hocket__tree_first(rules->list)) {
        adds(&t, "no value is allowed here");
    } else {
        add_list(&t, rules->list);
    }
    got(&t, in);
    return 0;
}

int hocket__schema_report_unknown(struct hocket__schema_run *r,
    const struct hocket__schema_inst *in, const struct hocket__schema_props *known)
{
    struct text t;
    if (!begin(r, in, "additionalProperties", &t))
        return 0;
    adds(&t, "unknown member");
    for (size_t i = 0; i < known->count; i++) {
        adds(&t, i == 0 ? ", the known ones are " : ", ");
        if (t.len > LIST_MAX) {
            adds(&t, "\xe2\x80\xa6");
            break;
        }
        add_string(&t, known->at[i].name);
    }
    return 0;
}

/* The first error of one alternative, which is evaluated once more for it. */
static int explain(struct hocket__schema_run *r, const struct hocket__schema_inst *in,
    const struct hocket__schema_node *n, struct hocket__schema_error *e)
{
    struct hocket__schema_sink *outer = r->sink, sink = { .at = e, .max = 1 };
    r->sink = &sink;
    /* Only one level is explained: alternatives of alternatives would be evaluated again for
     * each, and nobody reads that. */
    r->brief = true;
    int rc = hocket__schema_eval(r, n, in, NULL);
    r->brief = false;
    r->sink = outer;
    return rc < 0 ? rc : sink.count > 0;
}

static void add_alternative(
    struct text *t, size_t number, const char *base, const struct hocket__schema_error *e)
{
    size_t n = strlen(base);
    const char *below = strncmp(e->path, base, n) == 0 ? e->path + n : e->path;
    addf(t, "; (%zu) %s%s%s", number, below, *below ? ": " : "", e->message);
}

/* Why each of the first few does not fit: "fits none" alone leaves a model to guess which one it
 * was closest to. */
int hocket__schema_report_alternatives(struct hocket__schema_run *r,
    const struct hocket__schema_inst *in, const char *keyword,
    const struct hocket__schema_list *list)
{
    struct text t;
    if (!begin(r, in, keyword, &t))
        return 0;
    if (list->count == 1)
        adds(&t, "does not fit the one alternative");
    else
        addf(&t, "fits none of the %zu alternatives", list->count);
    if (r->brief)
        return 0;
    /* the error begun above: errors of alternatives are relative to its place */
    const char *base = r->sink->at[r->sink->count - 1].path;
    for (size_t i = 0; i < list->count && i < ALTERNATIVES; i++) {
        struct hocket__schema_error e;
        int rc = explain(r, in, list->at[i], &e);
        if (rc < 0)
            return rc;
        if (rc > 0)
            add_alternative(&t, i + 1, base, &e);
    }
    return 0;
}

/* ---- One text */

static void add_error(struct hocket__buf *out, const struct hocket__schema_error *e)
{
    if (e->path[0])
        hocket__buf_addf(out, "%s: ", e->path);
    hocket__buf_adds(out, e->message);
}

int hocket__schema_explain(
    const struct hocket__schema_errors *errors, const char *what, struct hocket__buf *out)
{
    hocket__buf_addf(out, "%s the schema:", what);
    for (size_t i = 0; i < errors->count; i++) {
        hocket__buf_adds(out, errors->count == 1 ? " " : "\n- ");
        add_error(out, &errors->at[i]);
    }
    if (errors->more)
        hocket__buf_adds(out, "\n- and more");
    return out->status;
}
