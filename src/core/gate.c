#include "core/gate.h"

void hocket__gate_confirm(struct hocket__gate *g, uint64_t stored)
{
    g->claimed = true;
    if (stored > g->stored)
        g->stored = stored;
}

bool hocket__gate_is_open(const struct hocket__gate *g, uint64_t intent, bool world)
{
    return g->claimed && (!world || (intent > 0 && g->stored >= intent));
}
