/* Long answers in pieces: how many rows fit into one is decided by the server, which knows how long they are. */
#pragma once

#include "store/postgres/db.h"

/* The rows of `inner` (in its order, with the length of each as `size`) that fill a piece, and how many there would be. */
#define HOCKET__PG_PIECE(columns, order, inner)                                                    \
    "SELECT " columns ", all_of FROM (SELECT *, sum(size) OVER (ORDER BY " order                   \
    ") AS total, count(*) OVER () AS all_of FROM (" inner ") i) p"                                 \
    " WHERE total - size < 262144 ORDER BY " order
#define HOCKET__PG_AT_ONCE "1000"
enum { HOCKET__PG_ROWS_AT_ONCE = 1000 };

/* Whether there are more than were given; all_of is the last column. */
static inline bool hocket__pg_is_cut(const struct hocket__pg *d, int of)
{
    int n = hocket__pg_rows(d);
    return n > 0 && (hocket__pg_int_of(d, 0, of) > n || n == HOCKET__PG_ROWS_AT_ONCE);
}
