/* The travel plan's schema, for tests and benchmarks of the document. */
#pragma once

#include "core/document/document.h"

static const struct hocket__str travel_times[] = { HOCKET__STR("general"), HOCKET__STR("morning"),
    HOCKET__STR("afternoon"), HOCKET__STR("evening"), HOCKET__STR("night") };

static const struct hocket__dimension travel_dims[] = {
    { .name = HOCKET__STR("day"), .kind = HOCKET__DIMENSION_INTEGER },
    { .name = HOCKET__STR("time_slot"),
        .kind = HOCKET__DIMENSION_NAME,
        .values = travel_times,
        .value_count = 5 },
};

static inline struct hocket__document_options travel_options(void)
{
    struct hocket__document_options o = hocket__document_options_default();
    o.dims = travel_dims;
    o.dim_count = 2;
    return o;
}
