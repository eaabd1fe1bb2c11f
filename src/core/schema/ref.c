/* Identifiers and references: $id, $anchor, $dynamicAnchor, $ref, $dynamicRef.
 *
 * A resource is a schema with a URI, and what lies below it up to the next one.
 * Names and JSON pointers are looked up in it. References are resolved after all
 * identifiers of a document are known. */
#include "core/schema/build_impl.h"

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
    if (hocket__schema_uri_resolve(&b->schema->arena, b->res->uri, id, &uri, &fragment) < 0)
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
    if (!p->where || hocket__schema_uri_resolve(m, b->res->uri, text, &p->uri, &p->fragment) < 0
        || hocket__schema_uri_decode(m, p->fragment, &p->fragment) < 0)
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
    int rc = hocket__schema_uri_is_absolute(p->uri) ? hocket__schema_load(b, p->uri, &tree)
                                                    : HOCKET_ENOTFOUND;
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
