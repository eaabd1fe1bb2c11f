/* What is drawn of a limit, decided: the same in every store, which has only to read, ask here and write, with nobody
 * between. Pure: time is a parameter. */
#pragma once

#include "store/row.h"
#include "store/store.h"

/* What is used is kept as a whole number of parts: what leaks between two draws is often a small part of one. */
#define HOCKET__STORE_DRAW_UNIT ((double) (1 << 20))

struct hocket__store_level {
    double used;        /* of the capacity, at `at_ms`; leaks */
    int64_t at_ms;      /* 0: nothing was ever drawn */
    int64_t blocked_ms; /* nobody before this time */
};

/* What the other holders have whose leases are not over. */
struct hocket__store_others {
    int64_t n, holders, hungry;
    bool mine; /* the holder itself has something, also where its lease is over */
};

/* Nothing is changed by it. */
bool hocket__store_draw_looks(const struct hocket__store_draw *d);

/* Advances the level, and computes the grant: for a draw with a holder, everything that the holder has from now on.
 * `others` counts only for holders; a draw that only reads reports it. */
void hocket__store_draw_decide(const struct hocket__store_draw *d, int64_t now_ms,
    const struct hocket__store_others *others, struct hocket__store_level *level,
    struct hocket__store_drawn *out);

/* Whether a holder has a lease then: also of nothing, when it wants whatever there is, so that others hear that it is short. */
bool hocket__store_draw_stays(const struct hocket__store_draw *d, int64_t granted);

/* Rows whose at_ms is older are of no use: what leaks has leaked, and a day's budget is over. Swept by whoever makes a row. */
#define HOCKET__STORE_DRAW_OLD_MS (INT64_C(7) * 86400000)

/* As it is kept. */
int64_t hocket__store_draw_parts(const struct hocket__store_level *level);

bool hocket__store_draw_is_good(const struct hocket__store_draw *d);
