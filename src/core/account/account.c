/* The tree of accounts, in one array. An id is a number in it and a generation, so that one
 * which was merged is not mistaken for its successor. Children are a list through `previous`
 * and `next`; free numbers are one through `next` alone.
 *
 * Totals are kept, not computed: what is used goes up to the root when it is added. So an
 * account may be merged into the one above by forgetting it. */
#include "core/account/account_impl.h"

#include <string.h>

#include "base/status.h"

/* ---- Making ------------------------------------------------------------------- */

static void free_account(struct hocket__accounts *s, struct hocket__account *n)
{
    hocket__free(s->a, n->names, n->names_size);
    hocket__free(s->a, n->limits, sizeof(*n->limits));
}

void hocket__accounts_free(struct hocket__accounts *s)
{
    if (!s)
        return;
    for (size_t i = 1; i <= s->used; i++)
        if (s->list[i].used)
            free_account(s, &s->list[i]);
    hocket__free(s->a, s->list, s->cap * sizeof(*s->list));
    hocket__free(s->a, s->holds, s->holds_cap * sizeof(*s->holds));
    hocket__free(s->a, s, sizeof(*s));
}

int hocket__accounts_new(
    const struct hocket_allocator *a, size_t keep, int64_t now_ms, struct hocket__accounts **out)
{
    struct hocket__accounts *s = hocket__zero(a, sizeof(*s));
    const struct hocket__account_names names = { { "", 0 }, { "", 0 }, { "", 0 } };
    if (!s)
        return HOCKET_ENOMEM;
    s->a = a;
    s->keep = keep ? keep : 1;
    if (!hocket__account_open(s, 0, &names, now_ms)) {
        hocket__accounts_free(s);
        return HOCKET_ENOMEM;
    }
    *out = s;
    return 0;
}

/* ---- Opening -------------------------------------------------------------------- */

/* A number that is free, or 0. */
static uint32_t take_number(struct hocket__accounts *s)
{
    uint32_t n = s->free;
    if (n) {
        s->free = s->list[n].next;
        return n;
    }
    if (s->used >= UINT32_MAX - 1
        || hocket__grow(s->a, &s->list, &s->cap, s->used + 2, sizeof(*s->list)) < 0)
        return 0;
    n = (uint32_t) ++s->used;
    memset(&s->list[n], 0, sizeof(s->list[n]));
    return n;
}

static char *put(char *at, struct hocket__str text)
{
    if (text.n > 0)
        memcpy(at, text.p, text.n);
    at[text.n] = 0;
    return at + text.n + 1;
}

static bool set_names(struct hocket__accounts *s, struct hocket__account *n,
    const struct hocket__account_names *names)
{
    n->names_size = names->op.n + names->agent.n + names->trigger.n + 3;
    n->names = hocket__new(s->a, n->names_size);
    if (!n->names)
        return false;
    char *agent = put(n->names, names->op), *trigger = put(agent, names->agent);
    put(trigger, names->trigger);
    n->agent_at = (size_t) (agent - n->names);
    n->trigger_at = (size_t) (trigger - n->names);
    return true;
}

static void link_below(struct hocket__accounts *s, uint32_t n, uint32_t parent)
{
    struct hocket__account *p = &s->list[parent], *c = &s->list[n];
    c->parent = parent;
    c->previous = p->last;
    *(p->last ? &s->list[p->last].next : &p->first) = n;
    p->last = n;
    p->kept_children++;
    c->limited = p->limited;
}

uint64_t hocket__account_open(struct hocket__accounts *s, uint64_t parent,
    const struct hocket__account_names *names, int64_t now_ms)
{
    /* take_number may move the list: no pointer into it is held across this */
    uint32_t n = take_number(s), below = hocket__account_find(s, parent);
    if (!n)
        return 0;
    struct hocket__account fresh = {
        .generation = s->list[n].generation, .used = true, .open = true, .opened_ms = now_ms
    };
    s->list[n] = fresh;
    if (!set_names(s, &s->list[n], names)) {
        s->list[n] = (struct hocket__account){ .generation = fresh.generation, .next = s->free };
        s->free = n;
        return 0;
    }
    if (n > 1)
        link_below(s, n, below ? below : 1);
    s->count++;
    return hocket__account_id(s, n);
}

/* ---- Closing ---------------------------------------------------------------------- */

static void unlink_account(struct hocket__accounts *s, uint32_t n)
{
    struct hocket__account *c = &s->list[n], *p = &s->list[c->parent];
    *(c->previous ? &s->list[c->previous].next : &p->first) = c->next;
    *(c->next ? &s->list[c->next].previous : &p->last) = c->previous;
    p->kept_children--;
}

/* Its sums are in those of the one above already. */
static void merge(struct hocket__accounts *s, uint32_t n)
{
    struct hocket__account *c = &s->list[n];
    s->list[c->parent].merged += c->merged + 1;
    unlink_account(s, n);
    free_account(s, c);
    *c = (struct hocket__account){ .generation = c->generation + 1, .next = s->free };
    s->free = n;
    s->count--;
}

/* Held amounts point to it, and children would lose their parent: it goes when both are gone. */
static bool is_over(const struct hocket__account *c)
{
    return c->used && !c->open && c->kept_children == 0 && c->holds == 0;
}

void hocket__account_tidy(struct hocket__accounts *s, uint32_t n)
{
    while (n > 1 && s->count > s->keep && is_over(&s->list[n])) {
        uint32_t parent = s->list[n].parent;
        merge(s, n);
        n = parent;
    }
}

void hocket__account_close(struct hocket__accounts *s, uint64_t id, int64_t now_ms)
{
    uint32_t n = hocket__account_find(s, id);
    if (!n || !s->list[n].open)
        return;
    hocket__budget_return(s, n);
    s->list[n].open = false;
    s->list[n].closed_ms = now_ms;
    hocket__account_tidy(s, n);
}

/* ---- Using ------------------------------------------------------------------------- */

void hocket__account_add(
    struct hocket__accounts *s, uint64_t id, const struct hocket__usage_sum *used)
{
    uint32_t n = hocket__account_find(s, id);
    struct hocket__account *own = &s->list[n ? n : 1];
    hocket__usage_sum_add(&own->own, used);
    for (uint32_t i = n ? n : 1; i; i = s->list[i].parent)
        hocket__usage_sum_add(&s->list[i].total, used);
    if (own->limited)
        hocket__budget_use(s, n ? n : 1, used);
    if (used->calls > 0) {
        own->last_guess = own->asked_guess;
        own->last_tokens =
            (used->input > 0 ? used->input : 0) + (used->output > 0 ? used->output : 0);
        if (used->output > own->most_output)
            own->most_output = used->output;
    }
}

/* ---- Looking ------------------------------------------------------------------------ */

bool hocket__account_get(
    const struct hocket__accounts *s, uint64_t id, struct hocket__account_info *out)
{
    uint32_t n = hocket__account_find(s, id);
    const struct hocket__account *c = &s->list[n];
    if (!n)
        return false;
    *out = (struct hocket__account_info){ id, hocket__account_id(s, c->parent), c->names,
        c->names + c->agent_at, c->names + c->trigger_at, c->own, c->total, c->opened_ms,
        c->open ? 0 : c->closed_ms, c->merged };
    return true;
}

uint64_t hocket__account_first(const struct hocket__accounts *s, uint64_t id)
{
    uint32_t n = hocket__account_find(s, id);
    return n ? hocket__account_id(s, s->list[n].first) : 0;
}

uint64_t hocket__account_next(const struct hocket__accounts *s, uint64_t id)
{
    uint32_t n = hocket__account_find(s, id);
    return n ? hocket__account_id(s, s->list[n].next) : 0;
}

size_t hocket__account_count(const struct hocket__accounts *s)
{
    return s->count;
}
