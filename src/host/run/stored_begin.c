/* A run that was just started is put into the host's store, with its options and where it works. */
#include <string.h>

#include "base/json/json.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "host/run/consent.h"

/* Of a JSON object's text the inside; empty where it has no members. */
static struct hocket__str inside(struct hocket__str object)
{
    const char *from = memchr(object.p, '{', object.n), *to = object.p + object.n;
    while (to > from && *--to != '}')
        ;
    for (from++; from < to && strchr(" \t\r\n", *from); from++)
        ;
    return hocket__str(from, (size_t) (to - from));
}

/* The run's options, with what the spec says beside them, and where it works. */
static void write_options(
    struct hocket__buf *b, const struct hocket_run_spec *spec, struct hocket__str options)
{
    char cwd[4096];
    size_t n = sizeof(cwd);
    struct hocket__str rest = inside(options);
    hocket__jw_open(b, '{');
    if (rest.n > 0)
        hocket__buf_addstr(b, rest);
    if (!hocket__json_find(options, "edition", NULL)) {
        hocket__jw_key(b, "edition");
        hocket__jw_int(b, HOCKET__EDITION);
    }
    if (uv_cwd(cwd, &n) == 0) {
        hocket__jw_key(b, "cwd");
        hocket__jw_string(b, hocket__str(cwd, n));
    }
    if (spec->priority) {
        hocket__jw_key(b, "priority");
        hocket__jw_int(b, spec->priority);
    }
    if (spec->deltas) {
        hocket__jw_key(b, "deltas");
        hocket__jw_bool(b, true);
    }
    hocket__jw_close(b, '}');
}

/* A name, as it stands between its quotes; empty: none, or nothing that is one. */
static struct hocket__str project_of(struct hocket__str options)
{
    struct hocket__str text;
    if (!hocket__json_find(options, "project", &text) || text.n < 3 || text.p[0] != '"'
        || memchr(text.p, '\\', text.n))
        return HOCKET__STR("");
    return hocket__str(text.p + 1, text.n - 2);
}

static struct hocket__str input_of(const struct hocket_run_spec *spec)
{
    return spec->input
               ? hocket__str(spec->input, spec->input_len ? spec->input_len : strlen(spec->input))
               : HOCKET__STR("");
}

static int put(struct hocket__stored *s, const struct hocket_run_spec *spec,
    struct hocket__str options, const uint8_t seed[HOCKET__STORE_SEED])
{
    struct hocket__store_run row = { .target = hocket__cstr(spec->target),
        .options = options,
        .generation = hocket__cstr(s->run->name),
        .project = project_of(options),
        .version = HOCKET__STR(HOCKET_VERSION),
        .state = HOCKET__STORE_RUNNING,
        .cost = -1,
        .tokens = -1,
        .created_ms = hocket__wall_ms() };
    memcpy(row.id, s->run->name, sizeof(row.id));
    memcpy(row.seed, seed, sizeof(row.seed));
    row.input = input_of(spec);
    int rc = hocket__store_put(s->store, &row, &s->claim);
    if (rc == 0)
        hocket__run_claim_on(&s->standing, HOCKET__CLAIM_PUT);
    s->put = hocket__store_handed(s->store);
    return rc;
}

/* It goes on without a store that could not be opened by whoever needed it first, as that one does. */
static int put_if_possible(struct hocket__stored *s, const struct hocket_run_spec *spec,
    struct hocket__str options, const uint8_t *seed, struct hocket_error *err)
{
    int rc = put(s, spec, options, seed);
    bool broken = rc < 0 && rc != HOCKET_ENOMEM && rc != HOCKET_ELIMIT;
    if (broken && hocket__host_may_do_without(s->run->host))
        hocket__run_claim_on(&s->standing, HOCKET__CLAIM_WITHOUT);
    return hocket__stored_taken(s, rc, err);
}

static int begin(struct hocket__stored *s, const struct hocket_run_spec *spec,
    struct hocket__str options, struct hocket_error *err)
{
    struct hocket__buf all;
    uint8_t seed[HOCKET__STORE_SEED];
    int rc = hocket__own_random(&s->run->host->rt->own, seed, sizeof(seed));
    struct hocket__kept *k = rc < 0 ? NULL : hocket__stored_kept(s, seed);
    if (!k)
        return hocket__error_nomem(err);
    hocket__buf_init(&all, &s->run->host->alloc, 0);
    write_options(&all, spec, options);
    rc = all.status < 0 ? hocket__error_nomem(err)
         : hocket__stored_is_off(s)
             ? 0
             : hocket__consent_mark(s->run, hocket__cstr(spec->target), input_of(spec), &all, err);
    if (rc == 0 && !hocket__stored_is_off(s))
        rc = put_if_possible(s, spec, hocket__buf_str(&all), seed, err);
    hocket__buf_deinit(&all);
    if (rc == 0)
        rc = hocket__stored_keep(s, k, err);
    hocket__kept_unref(k);
    return rc;
}

/* A recording is a log of its own, with its own chance. */
static bool is_wanted(struct hocket__str options)
{
    struct hocket__str v;
    if (hocket__json_find(options, "keep", &v) && hocket__str_is(v, "false"))
        return false;
    return !hocket__json_find(options, "record", &v) && !hocket__json_find(options, "replay", &v);
}

int hocket__stored_begin(struct hocket__run *r, const struct hocket_run_spec *spec,
    struct hocket__str options, struct hocket_error *err)
{
    struct hocket__runtime *rt = r->host->rt;
    struct hocket__str keep;
    if (!hocket__runtime_has_store(rt) || !is_wanted(options))
        return 0;
    struct hocket__store *store = hocket__runtime_store(rt, err);
    if (!store && !r->host->store_optional)
        return err->status;
    if (!store)
        hocket__host_warn_store(r->host, err);
    r->stored = hocket__stored_new(r, store);
    if (!r->stored)
        return hocket__error_nomem(err);
    if (!store)
        hocket__run_claim_on(&r->stored->standing, HOCKET__CLAIM_WITHOUT);
    if (hocket__json_find(options, "park", &keep) && hocket__str_is(keep, "true"))
        r->stored->parks = HOCKET__PARKS;
    return begin(r->stored, spec, options, err);
}
