/* Questions: each a block with its texts behind it, on its way to the backend and back.
 *
 * A question and all its texts are one block, so that it can go to another thread, come back with
 * rows, and be freed in one place however it ends. */
#include "store/draw.h"
#include "store/store_impl.h"

#define TEXT_AT(member) offsetof(struct hocket__store_question, member)

/* The texts of each kind of question, 0 behind the last. */
static const size_t texts[HOCKET__STORE_CALLS][6] = {
    [HOCKET__STORE_FIND] = { TEXT_AT(find.prefix) },
    [HOCKET__STORE_TAKE] = { TEXT_AT(run.id) },
    [HOCKET__STORE_REMOVE] = { TEXT_AT(run.id) },
    [HOCKET__STORE_MESSAGES] = { TEXT_AT(run.id) },
    [HOCKET__STORE_TAKE_NEXT] = { TEXT_AT(take_next.pools) },
    [HOCKET__STORE_RUNS] = { TEXT_AT(runs.before), TEXT_AT(runs.parent), TEXT_AT(runs.caller),
        TEXT_AT(runs.pool), TEXT_AT(runs.project) },
    [HOCKET__STORE_ENTRIES] = { TEXT_AT(log.id) },
    [HOCKET__STORE_RECORDS] = { TEXT_AT(log.id) },
    [HOCKET__STORE_FILES] = { TEXT_AT(files.generation) },
    [HOCKET__STORE_MESSAGE] = { TEXT_AT(message.run), TEXT_AT(message.said.id),
        TEXT_AT(message.said.json) },
    [HOCKET__STORE_SUBMIT] = { TEXT_AT(submit.id), TEXT_AT(submit.bundle) },
    [HOCKET__STORE_NOTE_PUT] = { TEXT_AT(note_put.note.memory), TEXT_AT(note_put.note.id),
        TEXT_AT(note_put.note.text), TEXT_AT(note_put.note.meta), TEXT_AT(note_put.note.vector) },
    [HOCKET__STORE_NOTE_DEL] = { TEXT_AT(notes.memory), TEXT_AT(notes.id) },
    [HOCKET__STORE_NOTES] = { TEXT_AT(notes.memory), TEXT_AT(notes.id), TEXT_AT(notes.query),
        TEXT_AT(notes.vector) },
    [HOCKET__STORE_ITEM_PUT] = { TEXT_AT(item.item.kind), TEXT_AT(item.item.id),
        TEXT_AT(item.item.generation), TEXT_AT(item.item.json), TEXT_AT(item.bundle) },
    [HOCKET__STORE_ITEM_DEL] = { TEXT_AT(item.item.kind), TEXT_AT(item.item.id) },
    [HOCKET__STORE_ITEMS] = { TEXT_AT(items.kind), TEXT_AT(items.id) },
    [HOCKET__STORE_DRAW] = { TEXT_AT(draw.name), TEXT_AT(draw.holder) },
    [HOCKET__STORE_MAINTAIN] = { TEXT_AT(maintenance.worker), TEXT_AT(maintenance.reader) },
};

static struct hocket__str *text_at(struct hocket__store_question *q, size_t offset)
{
    return (struct hocket__str *) (void *) ((char *) q + offset);
}

/* Texts lie one behind the other; no NUL, as all of them have a length. */
static void copy(char **at, struct hocket__str *s)
{
    if (s->n > 0)
        memcpy(*at, s->p, s->n);
    *s = hocket__str(*at, s->n);
    *at += s->n;
}

static struct hocket__store_call *make(struct hocket__store *s, struct hocket__store_question q)
{
    const size_t *text = texts[q.kind];
    size_t size = sizeof(struct hocket__store_call);
    for (size_t i = 0; text[i]; i++)
        size += text_at(&q, text[i])->n;
    struct hocket__store_call *c = hocket__zero(s->o.alloc, size);
    if (!c)
        return NULL;
    c->size = size;
    c->q = q;
    char *at = c->texts;
    for (size_t i = 0; text[i]; i++)
        copy(&at, text_at(&c->q, text[i]));
    return c;
}

/* `place`: where it begins, or NULL. */
static int ask_from(struct hocket__store *s, const struct hocket__store_question *q,
    const struct hocket__store_place *place, const struct hocket__store_reply *reply,
    struct hocket__store_call **out)
{
    if (s->closing)
        return HOCKET_ECLOSED;
    struct hocket__store_call *c = make(s, *q);
    if (!c)
        return HOCKET_ENOMEM;
    if (place)
        c->place = *place;
    c->reply = *reply;
    hocket__store_enqueue(s, c);
    if (out)
        *out = c;
    return 0;
}

static int ask(struct hocket__store *s, const struct hocket__store_question *q,
    const struct hocket__store_reply *reply, struct hocket__store_call **out)
{
    return ask_from(s, q, NULL, reply, out);
}

/* A whole id or none: what could never be a run's is no question for the backend. */
static int ask_of_run(struct hocket__store *s, enum hocket__store_call_kind kind,
    struct hocket__str id, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = kind, .run = { id } };
    return hocket__store_is_id(id) ? ask(s, &q, reply, call) : HOCKET_EINVAL;
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
    struct hocket__store_question q = { .kind = HOCKET__STORE_FIND,
        .find = { hocket__str(upper, prefix.n) } };
    return ask(s, &q, reply, call);
}

int hocket__store_take(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    return ask_of_run(s, HOCKET__STORE_TAKE, id, reply, call);
}

/* Only commas are no pool. */
int hocket__store_take_next(struct hocket__store *s, struct hocket__str pools, size_t most,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_TAKE_NEXT,
        .take_next = { pools, most < HOCKET__STORE_TAKES ? most : HOCKET__STORE_TAKES } };
    bool is_one = most > 0 && hocket__store_next_pool(&pools).n > 0;
    return is_one ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_spoken(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_SPOKEN };
    return ask(s, &q, reply, call);
}

int hocket__store_pools(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_POOLS };
    return ask(s, &q, reply, call);
}

int hocket__store_blocked(struct hocket__store *s, size_t limit,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_BLOCKED, .blocked = { limit } };
    return limit > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

static bool is_id_or_empty(struct hocket__str s)
{
    return s.n == 0 || hocket__store_is_id(s);
}

int hocket__store_runs(struct hocket__store *s, const struct hocket__store_filter *filter,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_RUNS, .runs = *filter };
    struct hocket__store_place place = { .left = filter->limit };
    if (!is_id_or_empty(filter->before) || !is_id_or_empty(filter->parent)
        || !is_id_or_empty(filter->caller))
        return HOCKET_EINVAL;
    if (filter->before.n > 0)
        memcpy(place.before, filter->before.p, filter->before.n);
    return ask_from(s, &q, &place, reply, call);
}

static int ask_log(struct hocket__store *s, const struct hocket__store_question *q,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_place place = { .from = q->log.from };
    return hocket__store_is_id(q->log.id) ? ask_from(s, q, &place, reply, call) : HOCKET_EINVAL;
}

int hocket__store_entries(struct hocket__store *s, struct hocket__str id, uint64_t from_n,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_ENTRIES,
        .log = { .id = id, .from = from_n } };
    return ask_log(s, &q, reply, call);
}

int hocket__store_past(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_ENTRIES,
        .log = { .id = id, .from = 1, .of_parent = true } };
    return ask_log(s, &q, reply, call);
}

int hocket__store_records(struct hocket__store *s, struct hocket__str id, uint64_t from_seq,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_RECORDS,
        .log = { .id = id, .from = from_seq } };
    return ask_log(s, &q, reply, call);
}

int hocket__store_files(struct hocket__store *s, struct hocket__str generation,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_FILES, .files = { generation } };
    return ask(s, &q, reply, call);
}

int hocket__store_messages(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    return ask_of_run(s, HOCKET__STORE_MESSAGES, id, reply, call);
}

int hocket__store_message(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_message *message, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_MESSAGE,
        .message = { id, *message } };
    return message->id.n > 0 && hocket__store_is_id(id) ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_remove(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    return ask_of_run(s, HOCKET__STORE_REMOVE, id, reply, call);
}

int hocket__store_stats(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_STATS };
    return ask(s, &q, reply, call);
}

int hocket__store_maintain(struct hocket__store *s, const struct hocket__store_maintenance *what,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_MAINTAIN, .maintenance = *what };
    return ask(s, &q, reply, call);
}

/* With a bundle, as bytes. */
static int ask_along(struct hocket__store *s, struct hocket__store_question *q,
    struct hocket__str *bundle, const struct hocket__store_run *run, struct hocket__str files,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__buf packed = hocket__buf(s->o.alloc, 0);
    int rc = hocket__store_pack_bundle(s, run, files, &packed);
    *bundle = hocket__buf_str(&packed);
    if (rc == 0)
        rc = ask(s, q, reply, call);
    hocket__buf_deinit(&packed);
    return rc;
}

int hocket__store_submit(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__str files, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_SUBMIT };
    q.submit.id = hocket__cstr(run->id);
    return ask_along(s, &q, &q.submit.bundle, run, files, reply, call);
}

int hocket__store_item_put(struct hocket__store *s, const struct hocket__store_item *item,
    int64_t expected, const struct hocket__store_run *run, struct hocket__str files,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_ITEM_PUT,
        .item = { .item = *item, .expected = expected } };
    if (item->kind.n == 0 || item->id.n == 0 || item->due_ms < 0 || expected < HOCKET__STORE_ANY)
        return HOCKET_EINVAL;
    return ask_along(s, &q, &q.item.bundle, run, files, reply, call);
}

int hocket__store_item_del(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    int64_t expected, const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_ITEM_DEL,
        .item = { .item = { .kind = kind, .id = id }, .expected = expected } };
    return kind.n > 0 && id.n > 0 && expected != 0 && expected >= HOCKET__STORE_ANY
               ? ask(s, &q, reply, call)
               : HOCKET_EINVAL;
}

int hocket__store_items(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_ITEMS,
        .items = { .kind = kind, .id = id } };
    return kind.n > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_items_due(struct hocket__store *s, struct hocket__str kind, int64_t ahead_ms,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_ITEMS,
        .items = { .kind = kind, .due_only = true, .ahead_ms = ahead_ms } };
    struct hocket__store_place place = { .from = 1 }; /* 0 is never */
    return kind.n > 0 && ahead_ms >= 0 ? ask_from(s, &q, &place, reply, call) : HOCKET_EINVAL;
}

int hocket__store_continue_after(struct hocket__store_call *c, struct hocket__str last)
{
    if (!c->after.a)
        hocket__buf_init(&c->after, &hocket__malloc, 0);
    hocket__buf_reset(&c->after);
    return hocket__buf_addstr(&c->after, last);
}

int hocket__store_item_continue_after(
    struct hocket__store_call *c, const struct hocket__store_item *last)
{
    c->place.from = (uint64_t) last->due_ms;
    return hocket__store_continue_after(c, last->id);
}

int64_t hocket__store_items_until(const struct hocket__store_call *c, int64_t now_ms)
{
    int64_t ahead_ms = c->q.items.ahead_ms;
    return c->q.items.due_only && ahead_ms < INT64_MAX - now_ms ? now_ms + ahead_ms : INT64_MAX;
}

int hocket__store_note_put(struct hocket__store *s, const struct hocket__store_note *note,
    uint64_t max_notes, uint64_t max_bytes, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_NOTE_PUT,
        .note_put = { *note, max_notes, max_bytes } };
    return note->memory.n > 0 && note->id.n > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_note_del(struct hocket__store *s, struct hocket__str memory,
    struct hocket__str id, const struct hocket__store_reply *reply,
    struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_NOTE_DEL,
        .notes = { .memory = memory, .id = id } };
    return memory.n > 0 && id.n > 0 ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}

int hocket__store_notes(struct hocket__store *s, const struct hocket__store_note_query *query,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_NOTES, .notes = *query };
    struct hocket__store_place place = { .from = query->from, .left = query->limit };
    return ask_from(s, &q, &place, reply, call);
}

int hocket__store_draw(struct hocket__store *s, const struct hocket__store_draw *draw,
    const struct hocket__store_reply *reply, struct hocket__store_call **call)
{
    struct hocket__store_question q = { .kind = HOCKET__STORE_DRAW, .draw = *draw };
    return hocket__store_draw_is_good(draw) ? ask(s, &q, reply, call) : HOCKET_EINVAL;
}
