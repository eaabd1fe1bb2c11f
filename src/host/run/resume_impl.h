/* A run of the store that goes on, as the files about it see it. */
#pragma once

#include "host/run/stored.h"

struct hocket__resuming {
    struct hocket__stored *stored;
    struct hocket__run *run;
    struct hocket__buf name, options;                  /* as asked for */
    struct hocket__buf target, input, own, generation; /* of its row: own are its options */
    uint8_t seed[HOCKET__STORE_SEED];
    bool has_input;
    uint64_t fence;            /* it is ours already, by this claim; 0: it has to be taken */
    size_t generations;        /* bytes of `generation` that are still to be asked for */
    bool latest;               /* it remembers its parent, and is made anew where it is another */
    bool forked;               /* and has not gone on since */
    bool replay;               /* from its log alone */
    bool own_read;             /* its own files */
    bool lazy;                 /* it may sleep until it has a message */
    bool spoken_to;            /* it has one */
    struct hocket_error wrong; /* of its log, 0: nothing */
    struct hocket__kept *kept;
};

static inline struct hocket__str hocket__resuming_id(const struct hocket__resuming *g)
{
    return hocket__cstr(g->run->name);
}
