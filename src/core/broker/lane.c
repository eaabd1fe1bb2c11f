/* Names, lanes and their sets. A lane's number is its bit in every set; numbers are used
 * again, the lowest free one first, so that sets stay as short as there are lanes at one time.
 *
 * References: a cell holds its lane and its group, a lane its two names. A limit that was
 * given keeps its name alive without a reference: it is to hold for jobs that come later. */
#include "core/broker/lane.h"

/* ---- Sets of lanes --------------------------------------------------------- */

static size_t set_size(size_t words)
{
    return words * (sizeof(uint64_t) + 64 * sizeof(uint32_t));
}

int hocket__laneset_reserve(
    struct hocket__laneset *s, const struct hocket_allocator *a, size_t lane)
{
    size_t words = s->words ? s->words : 1;
    while (lane / 64 >= words)
        words *= 2;
    if (words == s->words)
        return 0;
    uint64_t *bits = hocket__zero(a, set_size(words));
    if (!bits)
        return HOCKET_ENOMEM;
    uint32_t *counts = (uint32_t *) (void *) (bits + words);
    if (s->words > 0) {
        memcpy(bits, s->bits, s->words * sizeof(uint64_t));
        memcpy(counts, s->counts, s->words * 64 * sizeof(uint32_t));
    }
    hocket__free(a, s->bits, set_size(s->words));
    *s = (struct hocket__laneset){ bits, counts, words };
    return 0;
}

void hocket__laneset_deinit(struct hocket__laneset *s, const struct hocket_allocator *a)
{
    hocket__free(a, s->bits, set_size(s->words));
    *s = (struct hocket__laneset){ 0 };
}

bool hocket__laneset_add(struct hocket__laneset *s, size_t lane)
{
    s->bits[lane / 64] |= (uint64_t) 1 << lane % 64;
    return s->counts[lane]++ == 0;
}

bool hocket__laneset_del(struct hocket__laneset *s, size_t lane)
{
    if (--s->counts[lane] > 0)
        return false;
    s->bits[lane / 64] &= ~((uint64_t) 1 << lane % 64);
    return true;
}

/* The lowest number that is not in it; it may lie behind the end. */
static size_t lowest_free(const struct hocket__laneset *s)
{
    size_t i = 0;
    while (i < s->words && s->bits[i] == UINT64_MAX)
        i++;
    size_t lane = i * 64;
    while (i < s->words && (s->bits[i] >> lane % 64 & 1))
        lane++;
    return lane;
}

/* ---- Names -------------------------------------------------------------------- */

static struct hocket__name *name_find(const struct hocket__lanes *ls, enum hocket__limit_kind kind,
    struct hocket__str text, uint64_t hash)
{
    struct hocket__index_node *i = hocket__index_first(&ls->names, hash);
    for (; i; i = hocket__index_next(i)) {
        struct hocket__name *n = hocket__container_of(i, struct hocket__name, node);
        if (n->kind == kind && hocket__str_eq(text, hocket__str(n->text, n->len)))
            return n;
    }
    return NULL;
}

static void name_free(struct hocket__lanes *ls, struct hocket__name *n)
{
    hocket__free(ls->a, n, sizeof(*n) + n->len);
}

void hocket__name_unref(struct hocket__lanes *ls, struct hocket__name *n)
{
    if (!n || --n->refs > 0 || n->limit >= 0)
        return;
    hocket__index_del(&ls->names, &n->node);
    name_free(ls, n);
}

struct hocket__name *hocket__name_ref(
    struct hocket__lanes *ls, enum hocket__limit_kind kind, struct hocket__str text)
{
    uint64_t hash = hocket__index_text((uint64_t) kind + 1, text.p, text.n);
    struct hocket__name *n = name_find(ls, kind, text, hash);
    if (!n) {
        if (hocket__index_reserve(&ls->names, ls->names.count + 1) < 0
            || !(n = hocket__zero(ls->a, sizeof(*n) + text.n)))
            return NULL;
        n->kind = kind;
        n->limit = HOCKET__UNLIMITED;
        n->len = text.n;
        if (text.n > 0)
            memcpy(n->text, text.p, text.n);
        hocket__list_init(&n->lanes);
        hocket__list_init(&n->parked);
        hocket__index_add(&ls->names, &n->node, hash);
    }
    n->refs++;
    return n;
}

static void lane_close(struct hocket__lanes *ls, struct hocket__lane *l, bool full)
{
    if (full && l->closed++ == 0)
        hocket__laneset_del(&ls->open, l->number);
    else if (!full && --l->closed == 0)
        hocket__laneset_add(&ls->open, l->number);
}

bool hocket__name_use(struct hocket__lanes *ls, struct hocket__name *n, int by)
{
    /* by may be -1: unsigned arithmetic wraps back to the right number */
    n->running += (size_t) by;
    bool full = n->limit >= 0 && n->running >= (uint64_t) n->limit;
    if (full == n->full)
        return false;
    n->full = full;
    for (struct hocket__list *l = n->lanes.next; l != &n->lanes; l = l->next)
        lane_close(ls,
            n->kind == HOCKET__LIMIT_AGENT
                ? hocket__container_of(l, struct hocket__lane, at_agent)
                : hocket__container_of(l, struct hocket__lane, at_provider),
            full);
    return !full;
}

/* ---- Lanes ------------------------------------------------------------------------ */

static struct hocket__lane *lane_find(const struct hocket__lanes *ls,
    const struct hocket__name *agent, const struct hocket__name *provider, uint64_t hash)
{
    struct hocket__index_node *i = hocket__index_first(&ls->lanes, hash);
    for (; i; i = hocket__index_next(i)) {
        struct hocket__lane *l = hocket__container_of(i, struct hocket__lane, node);
        if (l->agent == agent && l->provider == provider)
            return l;
    }
    return NULL;
}

/* Takes over the references to both names. */
static struct hocket__lane *lane_new(struct hocket__lanes *ls, struct hocket__name *agent,
    struct hocket__name *provider, uint64_t hash)
{
    size_t number = lowest_free(&ls->used);
    struct hocket__lane *l;
    if (hocket__index_reserve(&ls->lanes, ls->lanes.count + 1) < 0
        || hocket__laneset_reserve(&ls->used, ls->a, number) < 0
        || hocket__laneset_reserve(&ls->open, ls->a, number) < 0
        || !(l = hocket__zero(ls->a, sizeof(*l))))
        return NULL;
    l->agent = agent;
    l->provider = provider;
    l->number = number;
    l->closed = (unsigned) agent->full + (unsigned) provider->full;
    hocket__list_add(&agent->lanes, &l->at_agent);
    hocket__list_add(&provider->lanes, &l->at_provider);
    hocket__laneset_add(&ls->used, number);
    if (!l->closed)
        hocket__laneset_add(&ls->open, number);
    hocket__index_add(&ls->lanes, &l->node, hash);
    return l;
}

struct hocket__lane *hocket__lane_ref(
    struct hocket__lanes *ls, struct hocket__str agent, struct hocket__str provider)
{
    struct hocket__name *a = hocket__name_ref(ls, HOCKET__LIMIT_AGENT, agent);
    struct hocket__name *p = hocket__name_ref(ls, HOCKET__LIMIT_PROVIDER, provider);
    struct hocket__lane *l = NULL, *made = NULL;
    if (a && p) {
        uint64_t hash = hocket__index_mix(a->node.hash, p->node.hash);
        l = lane_find(ls, a, p, hash);
        if (!l)
            l = made = lane_new(ls, a, p, hash);
    }
    /* A lane that existed has references of its own; so has nobody when it failed. */
    if (!made) {
        hocket__name_unref(ls, a);
        hocket__name_unref(ls, p);
    }
    if (l)
        l->refs++;
    return l;
}

void hocket__lane_unref(struct hocket__lanes *ls, struct hocket__lane *l)
{
    if (--l->refs > 0)
        return;
    if (!l->closed)
        hocket__laneset_del(&ls->open, l->number);
    hocket__laneset_del(&ls->used, l->number);
    hocket__list_del(&l->at_agent);
    hocket__list_del(&l->at_provider);
    hocket__index_del(&ls->lanes, &l->node);
    hocket__name_unref(ls, l->agent);
    hocket__name_unref(ls, l->provider);
    hocket__free(ls->a, l, sizeof(*l));
}

void hocket__lanes_init(struct hocket__lanes *ls, const struct hocket_allocator *a)
{
    *ls = (struct hocket__lanes){ .a = a };
    hocket__index_init(&ls->names, a);
    hocket__index_init(&ls->lanes, a);
}

/* What is left are the names that only have a limit. */
void hocket__lanes_deinit(struct hocket__lanes *ls)
{
    for (size_t i = 0; i < ls->names.cap; i++)
        for (struct hocket__index_node *n = ls->names.buckets[i], *next; n; n = next) {
            next = n->next;
            name_free(ls, hocket__container_of(n, struct hocket__name, node));
        }
    hocket__index_deinit(&ls->names);
    hocket__index_deinit(&ls->lanes);
    hocket__laneset_deinit(&ls->used, ls->a);
    hocket__laneset_deinit(&ls->open, ls->a);
}
