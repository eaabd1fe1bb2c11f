/* What permission.c keeps and decide.c reads. */
#pragma once

#include "core/permission/permission.h"

/* A piece of the texts of all rules. */
struct hocket__span {
    size_t at, n;
};

/* A rule (name: the tool's glob), or with the verdict SILENT a condition of the rule before it
 * (name: the argument, or empty for the subject). */
struct hocket__permission_rule {
    enum hocket__verdict verdict;
    struct hocket__span name, glob;
};

struct hocket__permission_layer {
    enum hocket__layer kind;
    enum hocket__verdict mode;
    struct hocket__span name;
    size_t first, count; /* of the rules */
};

struct hocket__permissions {
    const struct hocket_allocator *a;
    struct hocket__buf text;
    struct hocket__permission_layer *layers;
    struct hocket__permission_rule *rules;
    struct hocket__span *places, *grants;
    size_t n_layers, cap_layers, n_rules, cap_rules, n_places, cap_places, n_grants, cap_grants;
};

static inline struct hocket__str hocket__permission_text(
    const struct hocket__permissions *d, struct hocket__span s)
{
    return hocket__str(d->text.data ? d->text.data + s.at : "", s.n);
}
