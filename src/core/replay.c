/* Reading records back: what every reader of them needs, with one status for all of its steps.
 * Records come from disk, so nothing is taken on trust; but they were written by this program,
 * so what is odd is refused and not repaired. */
#include "core/replay.h"

/* Looks no further than the type, which our records have in front of the payload. */
bool hocket__replay_is(struct hocket__str record, const char *type)
{
    struct hocket__json r;
    hocket__json_init(&r, record);
    if (hocket__json_next(&r) != HOCKET__JSON_OBJECT)
        return false;
    while (hocket__json_key(&r)) {
        if (hocket__json_is(&r, "type"))
            return hocket__json_want(&r, HOCKET__JSON_STRING) && hocket__json_is(&r, type);
        hocket__json_skip(&r, NULL);
    }
    return false;
}

void hocket__replay_bad(struct hocket__replay *p)
{
    if (p->status == 0)
        p->status = HOCKET_EPARSE;
}

void hocket__replay_init(
    struct hocket__replay *p, const struct hocket_allocator *a, struct hocket__str record)
{
    hocket__json_init(&p->r, record);
    hocket__buf_init(&p->arena, a, 0);
    /* Strings are decoded one after the other into the arena, which must not move: decoded
     * they are never longer than they stood there. */
    p->status = hocket__buf_reserve(&p->arena, record.n);
    if (hocket__json_next(&p->r) != HOCKET__JSON_OBJECT)
        hocket__replay_bad(p);
}

void hocket__replay_deinit(struct hocket__replay *p)
{
    hocket__buf_deinit(&p->arena);
}

/* Where something was wrong the loops of a reader end here, so that they need no test of their own. */
bool hocket__replay_key(struct hocket__replay *p)
{
    return p->status == 0 && hocket__json_key(&p->r);
}

bool hocket__replay_element(struct hocket__replay *p)
{
    return p->status == 0 && hocket__json_element(&p->r);
}

bool hocket__replay_at(const struct hocket__replay *p, const char *key)
{
    return hocket__json_is(&p->r, key);
}

struct hocket__str hocket__replay_string(struct hocket__replay *p)
{
    size_t from = p->arena.len;
    if (hocket__json_next(&p->r) != HOCKET__JSON_STRING)
        hocket__replay_bad(p);
    else if (hocket__json_decode(&p->r, &p->arena) < 0)
        p->status = HOCKET_ENOMEM;
    if (p->status < 0)
        return hocket__str("", 0);
    return hocket__str(p->arena.data + from, p->arena.len - from);
}

int64_t hocket__replay_int(struct hocket__replay *p)
{
    int64_t value = 0;
    if (hocket__json_next(&p->r) != HOCKET__JSON_NUMBER || !hocket__json_int(&p->r, &value))
        hocket__replay_bad(p);
    return value;
}

/* A value that is passed over is still read: what is wrong within it is a fault of the whole
 * record. */
struct hocket__str hocket__replay_raw(struct hocket__replay *p)
{
    struct hocket__str value = { "", 0 };
    if (hocket__json_skip(&p->r, &value) < 0)
        hocket__replay_bad(p);
    return value;
}

void hocket__replay_array(struct hocket__replay *p)
{
    if (hocket__json_next(&p->r) != HOCKET__JSON_ARRAY)
        hocket__replay_bad(p);
}

int hocket__replay_end(struct hocket__replay *p, struct hocket_error *err)
{
    if (p->status == HOCKET_ENOMEM)
        return hocket__error_nomem(err);
    if (p->status < 0)
        return hocket__error(err, p->status, "a record of the journal lacks what it needs");
    return hocket__json_end(&p->r, err);
}
