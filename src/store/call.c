/* Questions: each a block with its texts behind it, on its way to the backend and back.
 *
 * A question and all its texts are one block, so that it can go to another thread, come back with
 * rows, and be freed in one place however it ends. */
#include "store/draw.h"
#include "store/store_impl.h"

struct question {
    enum hocket__store_call_kind kind;
    struct hocket__str key, parent, message_id, json, vector, before;
    uint64_t from;
    bool of_parent;
    unsigned states;
    int64_t updated_before_ms, at_ms;
    size_t limit;
};

/* Texts lie one behind the other; no NUL, as all of them have a length. */
static struct hocket__str copy(char **at, struct hocket__str s)
{
    struct hocket__str out = hocket__str(*at, s.n);
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return out;
}

static struct hocket__store_call *make(struct hocket__store *s, const struct question *q)
{
    size_t size = sizeof(struct hocket__store_call) + q->key.n + q->parent.n + q->message_id.n
                  + q->json.n + q->vector.n;
    struct hocket__store_call *c = hocket__zero(s->o.alloc, size);
    if (!c)
        return NULL;
    c->size = size;
    c->kind = q->kind;
    char *at = c->texts;
    c->key = copy(&at, q->key);
    c->parent = copy(&at, q->parent);
    c->message_id = copy(&at, q->message_id);
    c->json = copy(&at, q->json);
    c->vector = copy(&at, q->vector);
    c->from = q->from;
    c->of_parent = q->of_parent;
    c->states = q->states;
    c->updated_before_ms = q->updated_before_ms;
    c->at_ms = q->at_ms;
    c->limit = q->limit;
    if (q->before.n > 0)
        memcpy(c->before, q->before.p, q->before.n);
    return c;
}

static int ask(struct hocket__store *s, const struct question *q,
    const struct hocket__store_reply *reply, struct hocket__store_call **out)
{
    if (s->closing)
        return HOCKET_ECLOSED;
    struct hocket__store_call *c = make(s, q);
    if (!c)
        return HOCKET_ENOMEM;
    c->reply = *reply;
    hocket__store_enqueue(s, c);
    if (out)
        *out = c;
    return 0;
}

/* A whole id or none: what could never be a run's is no question for the backend. */
static int ask_of_run(struct hocket__store *s, const struct question *q,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    return hocket__store_is_id(q->key) ? ask(s, q, reply, call) : HOCKET_EINVAL;
}

/* People type the start of an id, in either case; ids have capitals only. */
int hocket__store_find(struct hocket__store *s, struct hocket__str prefix,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    char upper[HOCKET__STORE_ID];
    if (prefix.n == 0 || prefix.n > sizeof(upper))
        return HOCKET_EINVAL;
    for (size_t i = 0; i < prefix.n; i++)
        upper[i] =
            (char) (prefix.p[i] >= 'a' && prefix.p[i] <= 'z' ? prefix.p[i] - 32 : prefix.p[i]);
    struct question q = { .kind = HOCKET__STORE_FIND, .key = hocket__str(upper, prefix.n) };
    return ask(s, &q, reply, call);
}

int hocket__store_take(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_TAKE, .key = id };
    return ask_of_run(s, &q, reply, call);
}

/* Only commas are no pool. */
int hocket__store_take_next(struct hocket__store *s, struct hocket__str pools, size_t most,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_TAKE_NEXT,
        .key = pools,
        .limit = most < HOCKET__STORE_TAKES ? most : HOCKET__STORE_TAKES };
    bool is_one = most > 0 && hocket__store_next_pool(&pools).n > 0;
    return is_one ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_spoken(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_SPOKEN };
    return ask(s, &q, reply, call);
}

int hocket__store_pools(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_POOLS };
    return ask(s, &q, reply, call);
}

int hocket__store_blocked(struct hocket__store *s, size_t limit,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_BLOCKED, .limit = limit };
    return limit > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_runs(struct hocket__store *s, const struct hocket__store_filter *filter,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_RUNS,
        .parent = filter->parent,
        .key = filter->caller,
        .message_id = filter->pool,
        .json = filter->project,
        .before = filter->before,
        .states = filter->states,
        .updated_before_ms = filter->updated_before_ms,
        .limit = filter->limit };
    if ((q.before.n > 0 && !hocket__store_is_id(q.before))
        || (q.parent.n > 0 && !hocket__store_is_id(q.parent))
        || (q.key.n > 0 && !hocket__store_is_id(q.key)))
        return HOCKET_EINVAL;
    return ask(s, &q, reply, call);
}

int hocket__store_entries(struct hocket__store *s, struct hocket__str id, uint64_t from_n,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_ENTRIES, .key = id, .from = from_n };
    return ask_of_run(s, &q, reply, call);
}

int hocket__store_past(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_ENTRIES, .key = id, .from = 1, .of_parent = true };
    return ask_of_run(s, &q, reply, call);
}

int hocket__store_records(struct hocket__store *s, struct hocket__str id, uint64_t from_seq,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_RECORDS, .key = id, .from = from_seq };
    return ask_of_run(s, &q, reply, call);
}

int hocket__store_files(struct hocket__store *s, struct hocket__str generation,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_FILES, .key = generation };
    return ask(s, &q, reply, call);
}

int hocket__store_messages(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_MESSAGES, .key = id };
    return ask_of_run(s, &q, reply, call);
}

int hocket__store_message(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_message *message, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_MESSAGE,
        .key = id,
        .message_id = message->id,
        .json = message->json,
        .at_ms = message->at_ms };
    return message->id.n > 0 ? ask_of_run(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_remove(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_REMOVE, .key = id };
    return ask_of_run(s, &q, reply, call);
}

int hocket__store_stats(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_STATS };
    return ask(s, &q, reply, call);
}

int hocket__store_care(struct hocket__store *s, const struct hocket__store_care_of *care,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_CARE,
        .key = care->worker,
        .parent = care->reader,
        .states = care->what,
        .at_ms = care->max_age_ms };
    return ask(s, &q, reply, call);
}

/* With what comes along, as bytes. */
static int ask_along(struct hocket__store *s, struct question *q,
    const struct hocket__store_run *run, struct hocket__str files,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__buf packed;
    hocket__buf_init(&packed, s->o.alloc, 0);
    int rc = hocket__store_pack_along(s, run, files, &packed);
    q->vector = hocket__buf_str(&packed);
    if (rc == 0)
        rc = ask(s, q, reply, call);
    hocket__buf_deinit(&packed);
    return rc;
}

int hocket__store_submit(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__str files, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_SUBMIT, .key = hocket__cstr(run->id) };
    return ask_along(s, &q, run, files, reply, call);
}

int hocket__store_item_put(struct hocket__store *s, const struct hocket__store_item *item,
    int64_t expected, const struct hocket__store_run *run, struct hocket__str files,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_ITEM_PUT,
        .key = item->kind,
        .message_id = item->id,
        .json = item->json,
        .parent = item->generation,
        .at_ms = item->due_ms,
        .from = (uint64_t) expected };
    if (item->kind.n == 0 || item->id.n == 0 || item->due_ms < 0 || expected < HOCKET__STORE_ANY)
        return HOCKET_EINVAL;
    return ask_along(s, &q, run, files, reply, call);
}

int hocket__store_item_del(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    int64_t expected, const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = {
        .kind = HOCKET__STORE_ITEM_DEL, .key = kind, .message_id = id, .from = (uint64_t) expected
    };
    return kind.n > 0 && id.n > 0 && expected != 0 && expected >= HOCKET__STORE_ANY
               ? ask(s, &q, reply, call)
               : HOCKET_EINVAL;
}

int hocket__store_items(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_ITEMS, .key = kind, .message_id = id };
    return kind.n > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_items_due(struct hocket__store *s, struct hocket__str kind, int64_t ahead_ms,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = {
        .kind = HOCKET__STORE_ITEMS, .key = kind, .states = 1, .from = 1, .at_ms = ahead_ms
    };
    return kind.n > 0 && ahead_ms >= 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_go_on_behind(struct hocket__store_call *c, struct hocket__str last)
{
    if (!c->after.a)
        hocket__buf_init(&c->after, &hocket__malloc, 0);
    hocket__buf_reset(&c->after);
    return hocket__buf_addstr(&c->after, last);
}

int hocket__store_item_behind(struct hocket__store_call *c, const struct hocket__store_item *last)
{
    c->from = (uint64_t) last->due_ms;
    return hocket__store_go_on_behind(c, last->id);
}

int64_t hocket__store_items_until(const struct hocket__store_call *c, int64_t now_ms)
{
    return c->states && c->at_ms < INT64_MAX - now_ms ? now_ms + c->at_ms : INT64_MAX;
}

int hocket__store_note_put(struct hocket__store *s, const struct hocket__store_note *note,
    uint64_t max_notes, uint64_t max_bytes, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_NOTE_PUT,
        .key = note->memory,
        .message_id = note->id,
        .parent = note->text,
        .json = note->meta,
        .vector = note->vector,
        .states = (unsigned) note->labels,
        .at_ms = note->updated_ms,
        .limit = (size_t) max_notes,
        .from = max_bytes };
    return note->memory.n > 0 && note->id.n > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_note_del(struct hocket__store *s, struct hocket__str memory,
    struct hocket__str id, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_NOTE_DEL, .key = memory, .message_id = id };
    return memory.n > 0 && id.n > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_draw(struct hocket__store *s, const struct hocket__store_draw *draw,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_DRAW,
        .key = draw->name,
        .parent = draw->holder,
        .json = hocket__str((const char *) draw, sizeof(*draw)) };
    return hocket__store_draw_is_good(draw) ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

struct hocket__store_draw hocket__store_call_draw(const struct hocket__store_call *c)
{
    struct hocket__store_draw draw;
    memcpy(&draw, c->json.p, sizeof(draw));
    draw.name = c->key;
    draw.holder = c->parent;
    return draw;
}

int hocket__store_notes(struct hocket__store *s, const struct hocket__store_note_query *query,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct question q = { .kind = HOCKET__STORE_NOTES,
        .key = query->memory,
        .message_id = query->id,
        .parent = query->query,
        .vector = query->vector,
        .from = query->from,
        .limit = query->limit };
    return ask(s, &q, reply, call);
}
