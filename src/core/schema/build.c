/* Compiles a schema: walks its tree, makes a node for each place that is a schema, and lets each
 * keyword's own function read its value (tables in assert.c and apply.c). Then references are
 * resolved (ref.c) and loops are looked for: only then is the schema whole.
 *
 * Everything that is made lies in the arena of the schema, so that a failure anywhere frees it in one
 * place. Numbers of nodes, documents, patterns and depth have limits: schemas come from servers of
 * strangers. */
#include "core/schema/build_impl.h"

#include <stdarg.h>
#include <stdio.h>

/* Schemas that apply themselves to the same instance again, before anything of
 * it was gone into: {"$ref": "#"}. Validating with them would not end, so they
 * are refused. What a $dynamicRef leads to is known only when validating, and
 * there max_depth ends it.
 *
 * A search in depth over the schemas that are applied in place, with a stack of
 * its own: chains may be as long as there are schemas. */

enum { WHITE, GREY, BLACK }; /* not seen; on the way here; done */

struct frame {
    const struct hocket__schema_node *node;
    size_t next; /* child to go to */
};

static const struct hocket__schema_node *of_list(const struct hocket__schema_list *l, size_t *i)
{
    if (*i < l->count)
        return l->at[*i];
    *i -= l->count;
    return NULL;
}

/* The i-th schema that is applied in place; false behind the last. *out may be NULL. */
static bool child(
    const struct hocket__schema_node *n, size_t i, const struct hocket__schema_node **out)
{
    static const struct hocket__schema_logic none;
    const struct hocket__schema_logic *l = n->logic ? n->logic : &none;
    const struct hocket__schema_node *const single[] = { n->ref, l->no, l->when,
        l->when ? l->then : NULL, l->when ? l->otherwise : NULL };
    size_t singles = sizeof(single) / sizeof(single[0]);
    if (i < singles) {
        *out = single[i];
        return true;
    }
    i -= singles;
    *out = of_list(&l->all, &i);
    if (!*out)
        *out = of_list(&l->any, &i);
    if (!*out)
        *out = of_list(&l->one, &i);
    return *out != NULL;
}

static int fail(struct hocket__schema_build *b, const struct frame *stack, size_t depth)
{
    const char *where = "the top";
    for (size_t i = depth; i-- > 0;)
        if (stack[i].node->ref) {
            where = stack[i].node->where;
            break;
        }
    return hocket__error(b->err, HOCKET_EINVAL, "at %s: the reference leads back to itself", where);
}

struct search {
    struct hocket__schema_build *b;
    uint8_t *colors; /* by the node's index */
    struct frame *stack;
    size_t depth, cap;
};

static int push(struct search *s, const struct hocket__schema_node *n)
{
    if (hocket__grow(s->b->a, &s->stack, &s->cap, s->depth + 1, sizeof(*s->stack)) < 0)
        return hocket__error_nomem(s->b->err);
    s->stack[s->depth++] = (struct frame){ n, 0 };
    s->colors[n->index] = GREY;
    return 0;
}

static int search_from(struct search *s, const struct hocket__schema_node *start)
{
    int rc = push(s, start);
    while (s->depth > 0 && rc == 0) {
        struct frame *f = &s->stack[s->depth - 1];
        const struct hocket__schema_node *next;
        if (!child(f->node, f->next++, &next)) {
            s->colors[f->node->index] = BLACK;
            s->depth--;
        } else if (next && s->colors[next->index] == GREY) {
            rc = fail(s->b, s->stack, s->depth);
        } else if (next && s->colors[next->index] == WHITE) {
            rc = push(s, next);
        }
    }
    return rc;
}

/* HOCKET_EINVAL when a schema applies itself to the same instance again. */
static int check_loops(struct hocket__schema_build *b)
{
    struct search s = { .b = b };
    int rc = 0;
    s.colors = hocket__zero(b->a, b->node_count);
    if (!s.colors)
        return hocket__error_nomem(b->err);
    for (const struct hocket__schema_node *n = b->schema->nodes; n && rc == 0; n = n->next)
        if (s.colors[n->index] == WHITE)
            rc = search_from(&s, n);
    hocket__free(b->a, s.stack, s.cap * sizeof(*s.stack));
    hocket__free(b->a, s.colors, b->node_count);
    return rc;
}

#define DEPTH_MAX 128 /* of schemas inside each other; also of the walk's recursion */

/* ---- Errors, memory */

/* Where something is wrong, as a JSON pointer, in a text of fixed size: it is cut and not grown. */
struct text {
    char p[HOCKET__WHERE_MAX];
    size_t n;
};

static void add_char(struct text *t, char c)
{
    if (t->n + 1 < sizeof(t->p))
        t->p[t->n++] = (unsigned char) c < 0x20 || c == 0x7f ? '?' : c;
}

static void add_name(struct text *t, struct hocket__str name, bool escape)
{
    for (size_t i = 0; i < name.n; i++) {
        bool special = escape && (name.p[i] == '~' || name.p[i] == '/');
        add_char(t, special ? '~' : name.p[i]);
        if (special)
            add_char(t, name.p[i] == '~' ? '0' : '1');
    }
}

/* From the top: each place knows the one above it, on the stack of the walk. */
static void add_where(struct text *t, const struct hocket__schema_where *w)
{
    char index[24];
    if (!w)
        return;
    add_where(t, w->up);
    if (w->kind == HOCKET__WHERE_DOCUMENT || w->kind == HOCKET__WHERE_POINTER) {
        add_name(t, w->name, false);
        if (w->kind == HOCKET__WHERE_DOCUMENT)
            add_char(t, '#');
        return;
    }
    add_char(t, '/');
    if (w->kind == HOCKET__WHERE_NAME)
        add_name(t, w->name, true);
    else
        add_name(
            t, hocket__str(index, (size_t) snprintf(index, sizeof(index), "%zu", w->index)), false);
}

/* As JSON pointers write it: ~ and / in names are ~0 and ~1. */
void hocket__schema_where_text(const struct hocket__schema_where *w, char out[HOCKET__WHERE_MAX])
{
    struct text t = { .n = 0 };
    add_where(&t, w);
    if (t.n == 0)
        add_name(&t, HOCKET__STR("the top"), false);
    t.n = hocket__utf8_cut(t.p, t.n);
    memcpy(out, t.p, t.n);
    out[t.n] = 0;
}

int hocket__schema_fail(struct hocket__schema_build *b, int status, const char *fmt, ...)
{
    char where[HOCKET__WHERE_MAX], what[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    for (char *p = what; *p; p++) /* identifiers are foreign text */
        if ((unsigned char) *p < 0x20 || *p == 0x7f)
            *p = '?';
    hocket__schema_where_text(b->where, where);
    return hocket__error(
        b->err, status, "at %s: %.*s", where, (int) hocket__utf8_cut(what, strlen(what)), what);
}

void *hocket__schema_alloc(struct hocket__schema_build *b, size_t count, size_t size)
{
    void *p = count > SIZE_MAX / size ? NULL : hocket__arena_zero(&b->schema->arena, count * size);
    if (!p)
        hocket__error_nomem(b->err);
    return p;
}

/* ---- Patterns */

static int keep_regex(struct hocket__schema_build *b, struct hocket__regex *regex)
{
    struct hocket__schema_regex *link = hocket__schema_alloc(b, 1, sizeof(*link));
    if (!link)
        return HOCKET_ENOMEM;
    size_t size = hocket__regex_scratch(regex), taken = hocket__regex_size(regex);
    /* The scratch of a validation is as big as its most hungry pattern needs: they are matched
     * one after another. */
    *link = (struct hocket__schema_regex){ b->schema->regexes, regex };
    b->schema->regexes = link;
    if (size > b->schema->scratch)
        b->schema->scratch = size;
    b->regex_left -= taken < b->regex_left ? taken : b->regex_left;
    return 0;
}

int hocket__schema_build_regex(
    struct hocket__schema_build *b, struct hocket__str pattern, const struct hocket__regex **out)
{
    struct hocket_error why;
    struct hocket__regex *regex;
    size_t max = b->o.max_regex < b->regex_left ? b->o.max_regex : b->regex_left;
    int rc = max == 0 ? hocket__error(&why, HOCKET_ELIMIT, "the patterns are too big together")
                      : hocket__regex_new(b->a, pattern, max, &regex, &why);
    if (rc == HOCKET_ENOMEM)
        return hocket__error_nomem(b->err);
    if (rc < 0)
        return hocket__schema_fail(b, rc == HOCKET_EPARSE ? HOCKET_EINVAL : rc, "%s", why.message);
    rc = keep_regex(b, regex);
    if (rc < 0)
        hocket__regex_free(regex);
    *out = regex;
    return rc;
}

/* ---- Nodes */

static const struct hocket__schema_keyword *find_keyword(
    const struct hocket__schema_keyword *rows, struct hocket__str name)
{
    for (; rows->name; rows++)
        if (hocket__str_is(name, rows->name))
            return rows;
    return NULL;
}

static int read_keyword(struct hocket__schema_build *b, struct hocket__schema_node *n,
    const hocket_json *schema, const hocket_json *v, const struct hocket__schema_keyword *row)
{
    const struct hocket__schema_dialect *d = &n->res->dialect;
    if (!(row->drafts & 1u << d->draft) || !(row->vocab & d->vocab))
        return 0;
    struct hocket__schema_where here = { b->where, hocket__tree_name(v), 0, HOCKET__WHERE_NAME };
    b->where = &here;
    int rc = row->read(b, &(struct hocket__schema_met){ n, schema, v, row });
    b->where = here.up;
    return rc;
}

/* Beside a $ref of draft 7 all else is ignored, but definitions can still be
 * referred to. */
static bool counts(struct hocket__str name, bool ref_alone)
{
    return !ref_alone || hocket__str_is(name, "$ref") || hocket__str_is(name, "definitions");
}

static int read_keywords(
    struct hocket__schema_build *b, struct hocket__schema_node *n, const hocket_json *schema)
{
    int rc = 0;
    bool ref_alone = n->res->dialect.draft == HOCKET__SCHEMA_DRAFT_7
                     && hocket__tree_get(schema, HOCKET__STR("$ref"));
    for (const hocket_json *v = hocket__tree_first(schema); v && rc == 0;
         v = hocket__tree_next(v)) {
        struct hocket__str name = hocket__tree_name(v);
        const struct hocket__schema_keyword *row = find_keyword(hocket__schema_assertions, name);
        if (!row)
            row = find_keyword(hocket__schema_applicators, name);
        if (row && counts(name, ref_alone))
            rc = read_keyword(b, n, schema, v, row);
    }
    return rc;
}

static int new_node(
    struct hocket__schema_build *b, const hocket_json *v, struct hocket__schema_node **out)
{
    if (b->node_count >= b->o.max_nodes)
        return hocket__schema_fail(b, HOCKET_ELIMIT, "more than %zu schemas", b->o.max_nodes);
    struct hocket__schema_node *n = hocket__schema_alloc(b, 1, sizeof(*n));
    if (!n)
        return HOCKET_ENOMEM;
    b->node_count++;
    if (hocket__map_set(&b->nodes, (uint64_t) (uintptr_t) v, n) < 0)
        return hocket__error_nomem(b->err);
    n->index = (uint32_t) b->node_count - 1;
    n->next = b->schema->nodes;
    b->schema->nodes = n;
    n->res = b->res;
    *out = n;
    return 0;
}

/* An $id changes what references in and below this node are relative to: b->res is set by
 * hocket__schema_identify and put back here. */
static int fill_node(
    struct hocket__schema_build *b, struct hocket__schema_node *n, const hocket_json *v)
{
    enum hocket__tree_type type = hocket__tree_type(v);
    if (type == HOCKET__TREE_BOOL) {
        n->kind = hocket__tree_bool(v) ? HOCKET__SCHEMA_TRUE : HOCKET__SCHEMA_FALSE;
        return 0;
    }
    if (type != HOCKET__TREE_OBJECT)
        return hocket__schema_fail(b, HOCKET_EINVAL, "expected a schema: an object or a boolean");
    if (b->depth >= DEPTH_MAX)
        return hocket__schema_fail(b, HOCKET_ELIMIT, "schemas nest deeper than %d", DEPTH_MAX);
    struct hocket__schema_res *outer = b->res;
    b->depth++;
    int rc = hocket__schema_identify(b, n, v);
    n->res = b->res;
    if (rc == 0)
        rc = read_keywords(b, n, v);
    b->depth--;
    b->res = outer;
    return rc;
}

int hocket__schema_build_node(
    struct hocket__schema_build *b, const hocket_json *v, const struct hocket__schema_node **out)
{
    /* A place has one node, however often it is referred to: the tree's address is its name.
     * The node is entered before it is filled, so a schema that refers to itself finds it. */
    struct hocket__schema_node *n = hocket__map_get(&b->nodes, (uint64_t) (uintptr_t) v);
    *out = n;
    if (n)
        return 0;
    int rc = new_node(b, v, &n);
    *out = n;
    return rc < 0 ? rc : fill_node(b, n, v);
}

int hocket__schema_build_member(
    struct hocket__schema_build *b, const hocket_json *v, const struct hocket__schema_node **out)
{
    struct hocket__schema_where here = { b->where, hocket__tree_name(v), 0, HOCKET__WHERE_NAME };
    b->where = &here;
    int rc = hocket__schema_build_node(b, v, out);
    b->where = here.up;
    return rc;
}

int hocket__schema_build_element(struct hocket__schema_build *b, const hocket_json *v, size_t index,
    const struct hocket__schema_node **out)
{
    struct hocket__schema_where here = { b->where, HOCKET__STR(""), index, HOCKET__WHERE_INDEX };
    b->where = &here;
    int rc = hocket__schema_build_node(b, v, out);
    b->where = here.up;
    return rc;
}

/* The document's resource comes first, so that its $id is found to be there. */
int hocket__schema_build_document(struct hocket__schema_build *b, const hocket_json *tree,
    struct hocket__str uri, const struct hocket__schema_dialect *d,
    const struct hocket__schema_node **out)
{
    struct hocket__schema_where here = { NULL, uri, 0, HOCKET__WHERE_DOCUMENT };
    const struct hocket__schema_where *outer_where = b->where;
    struct hocket__schema_res *outer = b->res;
    if (uri.n > 0)
        b->where = &here;
    int rc = hocket__schema_add_res(b, tree, uri, d, &b->res);
    if (rc == 0)
        rc = hocket__schema_build_node(b, tree, out);
    b->res = outer;
    b->where = outer_where;
    return rc;
}

/* ---- The whole */

static void fill_defaults(struct hocket__schema_options *o)
{
    o->max_nodes = o->max_nodes ? o->max_nodes : 10000;
    o->max_documents = o->max_documents ? o->max_documents : 32;
    o->max_regex = o->max_regex ? o->max_regex : 10000;
    o->max_depth = o->max_depth > 0 ? o->max_depth : 256;
    o->max_steps = o->max_steps ? o->max_steps : 1000000;
}

/* Loops are checked last, as they go through references. */
static int build(struct hocket__schema_build *b, const hocket_json *tree)
{
    struct hocket__schema_dialect d = { b->o.draft, HOCKET__VOCAB_DEFAULT };
    int rc = hocket__schema_build_document(b, tree, HOCKET__STR(""), &d, &b->schema->root);
    if (rc == 0)
        rc = hocket__schema_resolve_refs(b);
    return rc < 0 ? rc : check_loops(b);
}

static struct hocket__schema *new_schema(const struct hocket_allocator *a)
{
    struct hocket__schema *s = hocket__zero(a, sizeof(*s));
    if (s)
        hocket__arena_init(&s->arena, a);
    return s;
}

static int compile(struct hocket__schema *s, const hocket_json *tree,
    const struct hocket__schema_options *o, struct hocket_error *err)
{
    const struct hocket_allocator *a = s->arena.a;
    struct hocket__schema_build b = { .schema = s, .a = a, .err = err };
    if (o)
        b.o = *o;
    fill_defaults(&b.o);
    /* each pattern has a limit, and all of them together one of twenty times that: a schema
     * may hold ten thousand */
    b.regex_left = 20 * b.o.max_regex;
    s->max_depth = b.o.max_depth;
    s->max_steps = b.o.max_steps;
    hocket__map_init(&b.nodes, a);
    int rc = build(&b, tree);
    hocket__map_deinit(&b.nodes);
    return rc;
}

static int finish(struct hocket__schema *s, int rc, struct hocket__schema **out)
{
    if (rc < 0)
        hocket__schema_free(s);
    else
        *out = s;
    return rc;
}

int hocket__schema_new(const struct hocket_allocator *a, struct hocket__str text,
    const struct hocket__schema_options *o, struct hocket__schema **out, struct hocket_error *err)
{
    struct hocket__schema *s = new_schema(a);
    if (!s)
        return hocket__error_nomem(err);
    struct hocket__schema_doc *doc = hocket__arena_zero(&s->arena, sizeof(*doc));
    if (!doc)
        return finish(s, hocket__error_nomem(err), out);
    int rc = hocket__schema_parse(a, text, &doc->tree, err);
    if (rc < 0)
        return finish(s, rc, out);
    s->docs = doc;
    return finish(s, compile(s, doc->tree, o, err), out);
}

void hocket__schema_free(struct hocket__schema *s)
{
    if (!s)
        return;
    const struct hocket_allocator *a = s->arena.a;
    for (struct hocket__schema_doc *d = s->docs; d; d = d->next)
        hocket_json_free(d->tree);
    for (struct hocket__schema_regex *r = s->regexes; r; r = r->next)
        hocket__regex_free(r->regex);
    hocket__arena_deinit(&s->arena);
    hocket__free(a, s, sizeof(*s));
}
