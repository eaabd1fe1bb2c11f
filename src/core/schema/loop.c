/* Schemas that apply themselves to the same instance again, before anything of
 * it was gone into: {"$ref": "#"}. Validating with them would not end, so they
 * are refused. What a $dynamicRef leads to is known only when validating, and
 * there max_depth ends it.
 *
 * A search in depth over the schemas that are applied in place, with a stack of
 * its own: chains may be as long as there are schemas. */
#include "core/schema/build_impl.h"

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

int hocket__schema_check_loops(struct hocket__schema_build *b)
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
