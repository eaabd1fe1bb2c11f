/* Identifiers and references: $id, $anchor, $dynamicAnchor, $ref, $dynamicRef.
 *
 * A resource is a schema with a URI, and what lies below it up to the next one.
 * Names and JSON pointers are looked up in it. References are resolved after all
 * identifiers of a document are known. */
#include "core/schema/build_impl.h"

/* Resolves URI references (RFC 3986, section 5): split, choose the parts from base and reference,
 * remove dots, join. No look-ups, no normalisation beyond what the RFC asks for: identifiers of
 * schemas are compared as texts. */

/* The parts of a reference; an absent part has a NULL pointer. */
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

/* Resolves `ref` against `base` (a URI without fragment, or ""). *uri, in the
 * arena, comes without fragment; *fragment is a slice of `ref`, still encoded,
 * empty when there is none. 0 or HOCKET_ENOMEM. */
static int uri_resolve(struct hocket__arena *m, struct hocket__str base_uri,
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

/* Whether the URI begins with a scheme. */
static bool uri_is_absolute(struct hocket__str uri)
{
    return scheme_length(uri) > 0;
}

/* Decodes %XX, into the arena. */
static int uri_decode(struct hocket__arena *m, struct hocket__str s, struct hocket__str *out)
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
        bool coded = s.p[i] == '%' && s.n - i > 2 && hocket__hex_value(s.p[i + 1]) >= 0
                     && hocket__hex_value(s.p[i + 2]) >= 0;
        to[n++] = coded
                      ? (char) (hocket__hex_value(s.p[i + 1]) * 16 + hocket__hex_value(s.p[i + 2]))
                      : s.p[i];
        i += coded ? 2 : 0;
    }
    *out = hocket__str(to, n);
    return 0;
}

/* Of $id and anchors, which are looked up one by one. */
#define NAMES_MAX 1000

/* ---- Resources */

/* A list is enough: the number of identifiers is bounded, and schemas have a few. */
static int add_uri(
    struct hocket__schema_build *b, struct hocket__str uri, struct hocket__schema_res *res)
{
    for (struct hocket__schema_uri *u = b->uris; u; u = u->next)
        if (hocket__str_eq(u->uri, uri))
            return u->res == res ? 0
                                 : hocket__schema_fail(b, HOCKET_EINVAL,
                                     "the identifier %.*s is taken by another schema",
                                     HOCKET__SCHEMA_SHOW(uri));
    struct hocket__schema_uri *u = hocket__schema_alloc(b, 1, sizeof(*u));
    if (!u)
        return HOCKET_ENOMEM;
    if (b->name_count++ >= NAMES_MAX)
        return hocket__schema_fail(b, HOCKET_ELIMIT, "more than %d identifiers", NAMES_MAX);
    *u = (struct hocket__schema_uri){ b->uris, uri, res };
    b->uris = u;
    return 0;
}

int hocket__schema_add_res(struct hocket__schema_build *b, const hocket_json *tree,
    struct hocket__str uri, const struct hocket__schema_dialect *d, struct hocket__schema_res **out)
{
    struct hocket__schema_res *res = hocket__schema_alloc(b, 1, sizeof(*res));
    if (!res)
        return HOCKET_ENOMEM;
    *res = (struct hocket__schema_res){ .uri = uri, .tree = tree, .dialect = *d };
    *out = res;
    return add_uri(b, uri, res);
}

const struct hocket__schema_anchor *hocket__schema_anchor_find(
    const struct hocket__schema_res *res, struct hocket__str name, bool dynamic_only)
{
    for (const struct hocket__schema_anchor *x = res->anchors; x; x = x->next)
        if (hocket__str_eq(x->name, name) && (x->dynamic || !dynamic_only))
            return x;
    return NULL;
}

static int add_anchor(struct hocket__schema_build *b, const struct hocket__schema_node *n,
    struct hocket__str name, bool dynamic)
{
    const struct hocket__schema_anchor *old = hocket__schema_anchor_find(b->res, name, false);
    if (old && old->node != n)
        return hocket__schema_fail(
            b, HOCKET_EINVAL, "the anchor %.*s is taken", HOCKET__SCHEMA_SHOW(name));
    struct hocket__schema_anchor *x = hocket__schema_alloc(b, 1, sizeof(*x));
    if (!x)
        return HOCKET_ENOMEM;
    if (b->name_count++ >= NAMES_MAX)
        return hocket__schema_fail(b, HOCKET_ELIMIT, "more than %d identifiers", NAMES_MAX);
    *x = (struct hocket__schema_anchor){ b->res->anchors, name, n, dynamic };
    b->res->anchors = x;
    return 0;
}

/* ---- What a schema says about itself */

/* The string of a keyword; 0 with *out empty when it is absent. */
static int read_text(struct hocket__schema_build *b, const hocket_json *schema, const char *name,
    struct hocket__str *out)
{
    const hocket_json *v = hocket__tree_get(schema, hocket__cstr(name));
    *out = HOCKET__STR("");
    if (v && hocket__tree_type(v) != HOCKET__TREE_STRING)
        return hocket__schema_fail(b, HOCKET_EINVAL, "%s: expected a string", name);
    if (v)
        *out = hocket__tree_str(v);
    return 0;
}

/* A new URI opens a resource, or names the document that is just opened.
 * The document itself is a resource already; an $id at its top gives it another name. */
static int enter_res(struct hocket__schema_build *b, const hocket_json *schema,
    struct hocket__str uri, const struct hocket__schema_dialect *d)
{
    if (schema != b->res->tree)
        return hocket__schema_add_res(b, schema, uri, d, &b->res);
    b->res->uri = uri;
    return add_uri(b, uri, b->res);
}

static int read_id(struct hocket__schema_build *b, const struct hocket__schema_node *n,
    const hocket_json *schema, const struct hocket__schema_dialect *d)
{
    struct hocket__str id, uri, fragment;
    int rc = read_text(b, schema, "$id", &id);
    if (rc < 0 || id.n == 0)
        return rc;
    if (uri_resolve(&b->schema->arena, b->res->uri, id, &uri, &fragment) < 0)
        return hocket__error_nomem(b->err);
    /* "#name" is how drafts up to 7 wrote an anchor */
    if (id.p[0] != '#')
        rc = enter_res(b, schema, uri, d);
    if (rc < 0 || fragment.n == 0)
        return rc;
    if (d->draft != HOCKET__SCHEMA_DRAFT_7)
        return hocket__schema_fail(b, HOCKET_EINVAL, "$id: a fragment is not allowed");
    /* a pointer in an $id names nothing that could not be pointed to anyway */
    return fragment.p[0] == '/' ? 0 : add_anchor(b, n, fragment, false);
}

static int read_anchor(struct hocket__schema_build *b, const struct hocket__schema_node *n,
    const hocket_json *schema, const char *keyword, bool dynamic)
{
    struct hocket__str name;
    int rc = read_text(b, schema, keyword, &name);
    return rc < 0 || name.n == 0 ? rc : add_anchor(b, n, name, dynamic);
}

/* $schema counts where a resource begins. Beside a $ref of draft 7, $id is none. */
int hocket__schema_identify(
    struct hocket__schema_build *b, struct hocket__schema_node *n, const hocket_json *schema)
{
    struct hocket__schema_dialect d = b->res->dialect;
    bool top = schema == b->res->tree;
    int rc = top || hocket__tree_get(schema, HOCKET__STR("$id"))
                 ? hocket__schema_read_dialect(b, schema, &d)
                 : 0;
    if (top)
        b->res->dialect = d;
    bool draft_7 = d.draft == HOCKET__SCHEMA_DRAFT_7;
    if (rc < 0 || (draft_7 && hocket__tree_get(schema, HOCKET__STR("$ref"))))
        return rc;
    rc = read_id(b, n, schema, &d);
    if (rc < 0 || draft_7)
        return rc;
    rc = read_anchor(b, n, schema, "$anchor", false);
    return rc < 0 ? rc : read_anchor(b, n, schema, "$dynamicAnchor", true);
}

/* ---- References */

/* Only noted: what it leads to may stand further below, or in a document that is not loaded yet.
 * The place is kept as text, since the walk's own places are gone by then. */
int hocket__schema_add_ref(struct hocket__schema_build *b, struct hocket__schema_node *n,
    struct hocket__str text, bool dynamic)
{
    char where[HOCKET__WHERE_MAX];
    struct hocket__schema_pending *p = hocket__schema_alloc(b, 1, sizeof(*p));
    if (!p)
        return HOCKET_ENOMEM;
    hocket__schema_where_text(b->where, where);
    struct hocket__arena *m = &b->schema->arena;
    p->node = n;
    p->text = text;
    p->dynamic = dynamic;
    p->where = hocket__arena_copy(m, hocket__cstr(where));
    if (!p->where || uri_resolve(m, b->res->uri, text, &p->uri, &p->fragment) < 0
        || uri_decode(m, p->fragment, &p->fragment) < 0)
        return hocket__error_nomem(b->err);
    n->where = p->where;
    p->next = b->pending;
    b->pending = p;
    return 0;
}

static int fail_ref(
    struct hocket__schema_build *b, const struct hocket__schema_pending *p, const char *why)
{
    const struct hocket__schema_where here = { NULL, hocket__cstr(p->where), 0,
        HOCKET__WHERE_POINTER };
    b->where = &here;
    int rc = hocket__schema_fail(b, HOCKET_EINVAL, "the reference %.*s leads nowhere: %s",
        HOCKET__SCHEMA_SHOW(p->text), why);
    b->where = NULL;
    return rc;
}

static struct hocket__schema_res *find_res(
    const struct hocket__schema_build *b, struct hocket__str uri)
{
    for (struct hocket__schema_uri *u = b->uris; u; u = u->next)
        if (hocket__str_eq(u->uri, uri))
            return u->res;
    return NULL;
}

/* A document is loaded once, and compiled whole under the dialect of whoever refers to it, unless
 * it names its own. */
static int find_document(struct hocket__schema_build *b, const struct hocket__schema_pending *p,
    struct hocket__schema_res **out)
{
    const hocket_json *tree;
    const struct hocket__schema_node *root;
    *out = find_res(b, p->uri);
    if (*out)
        return 0;
    int rc = uri_is_absolute(p->uri) ? hocket__schema_load(b, p->uri, &tree) : HOCKET_ENOTFOUND;
    if (rc == HOCKET_ENOTFOUND)
        return fail_ref(b, p, "there is no such document");
    if (rc == 0)
        rc = hocket__schema_build_document(b, tree, p->uri, &p->node->res->dialect, &root);
    *out = find_res(b, p->uri);
    return rc;
}

/* One step of a JSON pointer, unescaped in place: ~1 is '/', ~0 is '~'. */
static struct hocket__str unescape(char *p, size_t n)
{
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        bool escaped = p[i] == '~' && i + 1 < n && (p[i + 1] == '0' || p[i + 1] == '1');
        p[out++] = !escaped ? p[i] : p[i + 1] == '1' ? '/' : '~';
        i += escaped;
    }
    return hocket__str(p, out);
}

/* An index has no zeros in front (RFC 6901): "01" names nothing. */
static const hocket_json *element(const hocket_json *array, struct hocket__str index)
{
    size_t n = 0;
    if (index.n == 0 || index.n > 9 || (index.n > 1 && index.p[0] == '0'))
        return NULL;
    for (size_t i = 0; i < index.n; i++) {
        if (index.p[i] < '0' || index.p[i] > '9')
            return NULL;
        n = n * 10 + (size_t) (index.p[i] - '0');
    }
    return hocket_json_at(array, n);
}

static const hocket_json *step(const hocket_json *v, struct hocket__str name)
{
    if (hocket__tree_type(v) == HOCKET__TREE_OBJECT)
        return hocket__tree_get(v, name);
    return hocket__tree_type(v) == HOCKET__TREE_ARRAY ? element(v, name) : NULL;
}

/* Follows a pointer; *res follows too, where it crosses into another resource. */
static int follow(struct hocket__schema_build *b, struct hocket__str pointer,
    struct hocket__schema_res **res, const hocket_json **out)
{
    char *copy = hocket__arena_copy(&b->schema->arena, pointer), *p = copy;
    const hocket_json *v = (*res)->tree;
    if (!copy)
        return hocket__error_nomem(b->err);
    while (v && p < copy + pointer.n) {
        size_t n = 0;
        p++;
        while (p + n < copy + pointer.n && p[n] != '/')
            n++;
        v = step(v, unescape(p, n));
        p += n;
        const struct hocket__schema_node *known =
            hocket__map_get(&b->nodes, (uint64_t) (uintptr_t) v);
        /* a schema with an $id of its own lies on the way: what is below belongs to it */
        if (known && known->res->tree == v)
            *res = known->res;
    }
    *out = v;
    return 0;
}

/* A place that no keyword has led to (below "definitions" of a draft's own, or an unknown member)
 * becomes a node here. */
static int resolve_pointer(struct hocket__schema_build *b, const struct hocket__schema_pending *p,
    struct hocket__schema_res *res, const struct hocket__schema_node **out)
{
    const hocket_json *v = NULL;
    struct hocket__schema_where document = { NULL, p->uri, 0, HOCKET__WHERE_DOCUMENT };
    struct hocket__schema_where here = { p->uri.n > 0 ? &document : NULL, p->fragment, 0,
        HOCKET__WHERE_POINTER };
    int rc = follow(b, p->fragment, &res, &v);
    if (rc < 0)
        return rc;
    if (!v)
        return fail_ref(b, p, "there is nothing at this place");
    b->res = res;
    b->where = &here;
    rc = hocket__schema_build_node(b, v, out);
    b->res = NULL;
    b->where = NULL;
    return rc;
}

static int resolve(struct hocket__schema_build *b, const struct hocket__schema_pending *p)
{
    struct hocket__schema_res *res;
    const struct hocket__schema_node *target;
    const struct hocket__schema_anchor *anchor = NULL;
    int rc = find_document(b, p, &res);
    if (rc < 0)
        return rc;
    if (p->fragment.n == 0 || p->fragment.p[0] == '/') {
        rc = resolve_pointer(b, p, res, &target);
        if (rc < 0)
            return rc;
    } else {
        anchor = hocket__schema_anchor_find(res, p->fragment, false);
        if (!anchor)
            return fail_ref(b, p, "there is no such anchor");
        target = anchor->node;
    }
    if (!p->dynamic)
        p->node->ref = target;
    else
        p->node->dynamic = target;
    /* A $dynamicRef that leads to no $dynamicAnchor is a $ref: only with one is its target
     * looked for again when validating. */
    if (p->dynamic && anchor && hocket__schema_anchor_find(res, p->fragment, true))
        p->node->dynamic_name = p->fragment;
    return 0;
}

/* Resolving may find further references, which are put in front: so the loop is a loop and no
 * recursion, however long a chain of documents is. */
int hocket__schema_resolve_refs(struct hocket__schema_build *b)
{
    int rc = 0;
    while (b->pending && rc == 0) {
        const struct hocket__schema_pending *p = b->pending;
        b->pending = p->next;
        rc = resolve(b, p);
    }
    return rc;
}
