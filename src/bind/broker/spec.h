/* A table that describes a job , for submit.c. */
#pragma once

#include "core/broker/broker.h"

#include <lua.h>

struct hocket__clock;

struct hocket__job_reading {
    struct hocket__job_spec *spec;
    const struct hocket__clock *clock; /* the broker's */
    unsigned kept;                     /* bit n: the job's user value n is given */
    bool has_run, deps, needs, after, detached, parent, background;
};

/* Reads the table at idx into *r and its spec, but for what the table says of data, parent and
 * run. What the spec borrows belongs to the table, or stays on the stack. Raises what is wrong
 * with it. */
void hocket__job_read(lua_State *L, int idx, struct hocket__job_reading *r);

/* Puts what is `kept` of the table at idx into the user values of the job at `job`. */
void hocket__job_keep(lua_State *L, int idx, unsigned kept, int job);
