/* Members that a person wants in a body beside ours, merged as RFC 7396 has it: objects member by
 * member, null takes a member away, anything else stands in the place of ours. First the
 * provider's (traits), then the request's, which win.
 *
 * What a body begins with is written as ever and then, where there is something to merge, once
 * more: nothing else has to know of it, and who has no such members pays nothing. */
#include "net/protocol/protocol_impl.h"

#define MAX_DEPTH 32 /* of objects in each other; what is deeper replaces ours whole */

bool hocket__proto_says(
    const struct hocket__llm_request *q, const char *name, struct hocket__str *value)
{
    return hocket__json_find(q->extra, name, value)
           || hocket__json_find(hocket__proto_traits_of(q)->body, name, value);
}

static bool is_object(struct hocket__str v)
{
    return v.n > 0 && v.p[0] == '{';
}

/* An object will be merged into ours, so that ours is written. */
bool hocket__proto_key(const struct hocket__llm_request *q, struct hocket__buf *b, const char *name)
{
    struct hocket__str theirs;
    if (hocket__proto_says(q, name, &theirs) && !is_object(theirs))
        return false;
    hocket__jw_key(b, name);
    return true;
}

/* ---- Merging ---- */

static void merge(
    struct hocket__buf *b, struct hocket__str ours, struct hocket__str theirs, int depth);

/* The conversation is ours alone, in whichever protocol. */
static bool is_history(const struct hocket__piece *key)
{
    return hocket__piece_is(key, "messages") || hocket__piece_is(key, "contents")
           || hocket__piece_is(key, "input");
}

/* A member: what they say in the place of ours, or merged into it. */
static void put_member(struct hocket__buf *b, const struct hocket__piece *key,
    struct hocket__str ours, struct hocket__str theirs, int depth)
{
    if (hocket__str_is(theirs, "null") || (depth == 0 && is_history(key)))
        return;
    hocket__buf_adds(b, b->len > 0 && b->data[b->len - 1] != '{' ? "," : "");
    hocket__piece_write(key, b);
    hocket__buf_addc(b, ':');
    if (is_object(theirs) && depth < MAX_DEPTH)
        merge(b, is_object(ours) ? ours : HOCKET__STR("{}"), theirs, depth + 1);
    else
        hocket__buf_addstr(b, theirs.n > 0 ? theirs : ours);
}

/* Of each member of `object` the name as it is spelt, its plain name and its value. */
static bool next_member(struct hocket__json *j, struct hocket__piece *key, struct hocket__buf *name,
    struct hocket__str *value)
{
    if (!hocket__json_key(j))
        return false;
    *key = hocket__piece_of(j);
    hocket__buf_cut(name, 0);
    hocket__piece_add(key, name);
    hocket__buf_addc(name, 0);
    return name->status == 0 && hocket__json_skip(j, value) == 0;
}

/* Theirs come behind ours, each where it stands first. */
static void merge(
    struct hocket__buf *b, struct hocket__str ours, struct hocket__str theirs, int depth)
{
    struct hocket__json j;
    struct hocket__piece key;
    struct hocket__buf name;
    struct hocket__str value, also;
    hocket__buf_init(&name, b->a, 0);
    hocket__buf_addc(b, '{');
    hocket__json_init(&j, ours);
    hocket__json_next(&j);
    while (next_member(&j, &key, &name, &value))
        put_member(b, &key, value,
            hocket__json_find(theirs, name.data, &also) ? also : hocket__str("", 0), depth);
    hocket__json_init(&j, theirs);
    hocket__json_next(&j);
    while (next_member(&j, &key, &name, &value))
        if (!hocket__json_find(ours, name.data, NULL))
            put_member(b, &key, hocket__str("", 0), value, depth);
    hocket__buf_addc(b, '}');
    if (name.status < 0 && b->status == 0)
        b->status = name.status;
    hocket__buf_deinit(&name);
}

/* `ours` is an object without its end. */
static void apply(struct hocket__buf *b, size_t from, struct hocket__str theirs)
{
    struct hocket__buf ours;
    if (theirs.n == 0)
        return;
    hocket__buf_init(&ours, b->a, 0);
    hocket__buf_add(&ours, b->data + from, b->len - from);
    hocket__buf_addc(&ours, '}');
    hocket__buf_cut(b, from);
    if (ours.status == 0)
        merge(b, hocket__buf_str(&ours), theirs, 0);
    else if (b->status == 0)
        b->status = ours.status;
    if (b->status == 0)
        hocket__buf_cut(b, b->len - 1);
    hocket__buf_deinit(&ours);
}

void hocket__proto_extra(const struct hocket__llm_request *q, struct hocket__buf *b, size_t from)
{
    if (b->status < 0)
        return;
    apply(b, from, hocket__proto_traits_of(q)->body);
    apply(b, from, q->extra);
}
