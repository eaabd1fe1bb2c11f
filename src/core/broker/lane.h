/* Who limits what: names (of agents, providers and groups) with their limits
 * and slots in use, and lanes, the pairs of agent and provider that jobs have.
 * A name lives while a lane or cell refers to it or it has a limit to remember;
 * a lane while a cell refers to it. */
#pragma once

#include "base/list.h"
#include "base/str.h"
#include "core/broker/index.h"

#include <stdbool.h>

enum hocket__limit_kind {
    HOCKET__LIMIT_AGENT,
    HOCKET__LIMIT_PROVIDER,
    HOCKET__LIMIT_GROUP, /* any other name: the tasks of one plan, a shared tool … */
};

#define HOCKET__LIMIT_KINDS 3
#define HOCKET__UNLIMITED   (-1)

/* A set of lanes, by their numbers, that counts how often each is in it. */
struct hocket__laneset {
    uint64_t *bits;
    uint32_t *counts;
    size_t words;
};

int hocket__laneset_reserve(
    struct hocket__laneset *s, const struct hocket_allocator *a, size_t lane); /* 0 or ENOMEM */
void hocket__laneset_deinit(struct hocket__laneset *s, const struct hocket_allocator *a);
/* True when the lane was not in it before, or is not any more. */
bool hocket__laneset_add(struct hocket__laneset *s, size_t lane);
bool hocket__laneset_del(struct hocket__laneset *s, size_t lane);

static inline bool hocket__laneset_intersects(
    const struct hocket__laneset *x, const struct hocket__laneset *y)
{
    size_t words = x->words < y->words ? x->words : y->words;
    for (size_t i = 0; i < words; i++)
        if (x->bits[i] & y->bits[i])
            return true;
    return false;
}

struct hocket__name {
    struct hocket__index_node node;
    struct hocket__list lanes;  /* an agent's or provider's */
    struct hocket__list parked; /* a full group's cells */
    int64_t limit;
    size_t running, refs, len;
    enum hocket__limit_kind kind;
    bool full;
    char text[];
};

struct hocket__lane {
    struct hocket__index_node node;
    struct hocket__list at_agent, at_provider;
    struct hocket__name *agent, *provider;
    size_t number, refs;
    unsigned closed; /* how many of the two are full */
};

struct hocket__lanes {
    struct hocket__index names, lanes;
    struct hocket__laneset used, open;
    const struct hocket_allocator *a;
};

void hocket__lanes_init(struct hocket__lanes *ls, const struct hocket_allocator *a);
void hocket__lanes_deinit(struct hocket__lanes *ls); /* no lane is left */

/* Both NULL when memory is out. unref takes NULL. */
struct hocket__name *hocket__name_ref(
    struct hocket__lanes *ls, enum hocket__limit_kind kind, struct hocket__str text);
void hocket__name_unref(struct hocket__lanes *ls, struct hocket__name *n);
struct hocket__lane *hocket__lane_ref(
    struct hocket__lanes *ls, struct hocket__str agent, struct hocket__str provider);
void hocket__lane_unref(struct hocket__lanes *ls, struct hocket__lane *l);

/* One slot more or less in use (by = 1, -1), or the limit has changed (0). Lanes
 * open and close. True: a slot is free now that was not before. */
bool hocket__name_use(struct hocket__lanes *ls, struct hocket__name *n, int by);
