/* Holds the rules (permission.h): all their texts in one block, with places instead of pointers
 * since it grows, and the rules of each layer in order. Rules are added when an agent begins to
 * work; deciding (decide.c) only reads. */
#include "core/permission/permission.h"

#include "core/permission/permission_impl.h"

#define MAX_LAYERS 64
#define MAX_RULES  4096
#define MAX_TEXT   ((size_t) 1 << 20)

struct hocket__permissions *hocket__permission_new(const struct hocket_allocator *a)
{
    struct hocket__permissions *d = hocket__zero(a, sizeof(*d));
    if (!d)
        return NULL;
    d->a = a;
    hocket__buf_init(&d->text, a, MAX_TEXT);
    return d;
}

void hocket__permission_free(struct hocket__permissions *d)
{
    if (!d)
        return;
    hocket__free(d->a, d->layers, d->cap_layers * sizeof(*d->layers));
    hocket__free(d->a, d->rules, d->cap_rules * sizeof(*d->rules));
    hocket__free(d->a, d->places, d->cap_places * sizeof(*d->places));
    hocket__free(d->a, d->grants, d->cap_grants * sizeof(*d->grants));
    hocket__buf_deinit(&d->text);
    hocket__free(d->a, d, sizeof(*d));
}

static int keep(struct hocket__permissions *d, struct hocket__str s, struct hocket__span *out)
{
    *out = (struct hocket__span){ d->text.len, s.n };
    return s.n ? hocket__buf_addstr(&d->text, s) : 0;
}

int hocket__permission_layer(struct hocket__permissions *d, enum hocket__layer kind,
    struct hocket__str name, enum hocket__verdict mode)
{
    struct hocket__permission_layer l = { .kind = kind, .mode = mode, .first = d->n_rules };
    if (d->n_layers >= MAX_LAYERS)
        return HOCKET_ELIMIT;
    int rc = keep(d, name, &l.name);
    if (rc == 0)
        rc = hocket__grow(d->a, &d->layers, &d->cap_layers, d->n_layers + 1, sizeof(l));
    if (rc < 0)
        return rc;
    d->layers[d->n_layers++] = l;
    return 0;
}

/* A condition is kept as a rule without a verdict behind its rule: one array, no lists. */
static int add(struct hocket__permissions *d, enum hocket__verdict verdict, struct hocket__str name,
    struct hocket__str glob)
{
    struct hocket__permission_rule r = { .verdict = verdict };
    if (d->n_layers == 0)
        return HOCKET_EINVAL;
    if (d->n_rules >= MAX_RULES)
        return HOCKET_ELIMIT;
    int rc = keep(d, name, &r.name);
    if (rc == 0)
        rc = keep(d, glob, &r.glob);
    if (rc == 0)
        rc = hocket__grow(d->a, &d->rules, &d->cap_rules, d->n_rules + 1, sizeof(r));
    if (rc < 0)
        return rc;
    d->rules[d->n_rules++] = r;
    d->layers[d->n_layers - 1].count++;
    return 0;
}

int hocket__permission_rule(
    struct hocket__permissions *d, enum hocket__verdict verdict, struct hocket__str tool)
{
    if (verdict < HOCKET__ALLOW || verdict > HOCKET__DENY)
        return HOCKET_EINVAL;
    return add(d, verdict, tool, hocket__str("", 0));
}

int hocket__permission_when(
    struct hocket__permissions *d, struct hocket__str name, struct hocket__str glob)
{
    if (d->n_layers == 0 || d->layers[d->n_layers - 1].count == 0)
        return HOCKET_EINVAL;
    return add(d, HOCKET__SILENT, name, glob);
}

static int keep_path(struct hocket__permissions *d, struct hocket__str path,
    struct hocket__span **list, size_t *n, size_t *cap)
{
    struct hocket__span s;
    if (*n >= MAX_RULES)
        return HOCKET_ELIMIT;
    int rc = keep(d, path, &s);
    if (rc == 0)
        rc = hocket__grow(d->a, list, cap, *n + 1, sizeof(s));
    if (rc < 0)
        return rc;
    (*list)[(*n)++] = s;
    return 0;
}

int hocket__permission_protect(struct hocket__permissions *d, struct hocket__str path)
{
    return keep_path(d, path, &d->places, &d->n_places, &d->cap_places);
}

int hocket__permission_grant(struct hocket__permissions *d, struct hocket__str path)
{
    return keep_path(d, path, &d->grants, &d->n_grants, &d->cap_grants);
}
