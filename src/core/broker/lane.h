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
