/* Who a process is to others, and whether those are alive: a number alone says little, since numbers are used again, and mean
 * something in their own pid namespace only. */
#pragma once

#include "base/str.h"

#include <stdint.h>

/* Who this process is to others. */
struct hocket__self {
    int64_t pid, start, store;
    char host[256],
        place[400]; /* place: machine, boot and namespace in which pid means something */
};

/* The number of the user in whose name this process acts. */
int64_t hocket__self_user(void);
/* A variable of the environment; NULL also where the program runs with more rights than its user has. */
const char *hocket__self_getenv(const char *name);

/* *self is zero before. */
void hocket__self_init(struct hocket__self *self);
/* Whether the process of this number, of that start, has ended: asked where the number means something (the same
 * machine, boot and pid namespace); false elsewhere, where only its lease tells. */
bool hocket__self_knows_ended(
    const struct hocket__self *self, struct hocket__str place, int64_t pid, int64_t start);
