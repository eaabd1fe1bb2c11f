/* What every store has to do. A kind of store runs all of it:
 *
 *     int main(void) { static const struct store_kind kind = { … }; return conformance(&kind); } */
#pragma once

#include "store/fixture.h"

int conformance(const struct store_kind *kind);
/* The part about workers, which the other one runs as well. */
int conformance_queue(const struct store_kind *kind);
/* … about runs that are handed in … */
int conformance_submit(const struct store_kind *kind);
/* … about leases that nobody could renew … */
int conformance_leases(const struct store_kind *kind);
/* … and about limits for all. */
int conformance_draw(const struct store_kind *kind);
