/* An intrusive doubly linked list. A head is a node that links to itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hocket__list {
    struct hocket__list *prev, *next;
};

#define hocket__container_of(ptr, type, member)                                                    \
    ((type *) (void *) ((char *) (ptr) -offsetof(type, member)))

static inline void hocket__list_init(struct hocket__list *l)
{
    l->prev = l->next = l;
}

static inline bool hocket__list_empty(const struct hocket__list *l)
{
    return l->next == l;
}

/* Puts `node` before `at`; with a head this appends. */
static inline void hocket__list_add(struct hocket__list *at, struct hocket__list *node)
{
    node->prev = at->prev;
    node->next = at;
    at->prev->next = node;
    at->prev = node;
}

/* Unlinks; a node that is unlinked already (linked to itself) may be given. */
static inline void hocket__list_del(struct hocket__list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = node->next = node;
}

/* Puts `node`, which is in a list, before `at`, another one. */
static inline void hocket__list_move(struct hocket__list *at, struct hocket__list *node)
{
    hocket__list_del(node);
    hocket__list_add(at, node);
}
