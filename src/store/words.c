/* What stores say to people. */
#include "store/store_impl.h"

#include <stdio.h>

#include "base/isotime.h"
#include "base/json/json.h"

void hocket__store_refusal(
    enum hocket__store_command_kind kind, const char *id, int status, struct hocket_error *err)
{
    if (status == HOCKET_ESTATE)
        hocket__error(err, status, "another process has run %s now", id);
    else if (kind == HOCKET__STORE_PUT && status == HOCKET_EEXIST)
        hocket__error(err, status, "there is a run %s already", id);
    else if (kind == HOCKET__STORE_PUT && status == HOCKET_ENOTFOUND)
        hocket__error(err, status, "the run that %s is a fork of is not there", id);
    else if (status == HOCKET_ENOTFOUND)
        hocket__error(err, status, "run %s is not there any more", id);
    else if (status == HOCKET_EDENIED)
        hocket__error(err, status, "%s cannot be kept: this role may only look at the store", id);
    else
        hocket__error(err, status, "an entry of run %s does not follow the one before", id);
}

int hocket__store_not_found(struct hocket__store_call *c, struct hocket__str id)
{
    return hocket__error(&c->error, HOCKET_ENOTFOUND,
        "there is no run %.*s (hocket runs lists them)", (int) id.n, id.p);
}

int hocket__store_altered(
    struct hocket__store_call *c, const char *what, int64_t n, struct hocket__str id)
{
    char number[32] = "";
    if (n > 0)
        snprintf(number, sizeof(number), " %lld", (long long) n);
    return hocket__error(&c->error, HOCKET_EPARSE,
        "%s%s%srun %.*s is damaged in the store: it is not what was written. `hocket store check` "
        "lists what else is",
        what ? what : "", number, what ? " of " : "", (int) id.n, id.p);
}

int hocket__store_no_parent(struct hocket__store_call *c)
{
    return hocket__error(&c->error, HOCKET_ENOTFOUND,
        "the run that %.*s was forked from is not in this store", (int) c->q.log.id.n,
        c->q.log.id.p);
}

int hocket__store_ambiguous(struct hocket__store_call *c, const char *one, const char *other)
{
    return hocket__error(&c->error, HOCKET_EINVAL, "%.*s may be %s or %s: write more of it",
        (int) c->q.find.prefix.n, c->q.find.prefix.p, one, other);
}

int hocket__store_has_message(struct hocket__store_call *c)
{
    return hocket__error(&c->error, HOCKET_EEXIST, "run %.*s has had the message %.*s already",
        (int) c->q.message.run.n, c->q.message.run.p, (int) c->q.message.said.id.n,
        c->q.message.said.id.p);
}

int hocket__store_already_claimed(
    struct hocket__store_call *c, const struct hocket__store_owner *owner)
{
    char since[HOCKET__ISOTIME_SIZE];
    hocket__isotime(owner->since_ms, since);
    return hocket__error(&c->error, HOCKET_ESTATE, "process %lld on %.*s has run %.*s since %.19sZ",
        (long long) owner->pid, (int) owner->host.n, owner->host.p, (int) c->q.run.id.n,
        c->q.run.id.p, since);
}

int hocket__store_has_calls(
    struct hocket__store_call *c, struct hocket__str caller, struct hocket__str called)
{
    if (caller.n > 0)
        return hocket__error(&c->error, HOCKET_ESTATE,
            "run %.*s was called by run %.*s, which has not ended: it stays until that has, or is "
            "cancelled",
            (int) c->q.run.id.n, c->q.run.id.p, (int) caller.n, caller.p);
    if (called.n > 0)
        return hocket__error(&c->error, HOCKET_ESTATE,
            "run %.*s has called run %.*s, and neither has ended: cancel it first",
            (int) c->q.run.id.n, c->q.run.id.p, (int) called.n, called.p);
    return 0;
}

void hocket__store_add_row(struct hocket__store_call *c, const char *name, const char *fmt, ...)
{
    struct hocket__buf b;
    va_list ap;
    hocket__buf_init(&b, c->rows.a, 0);
    va_start(ap, fmt);
    hocket__buf_vaddf(&b, fmt, ap);
    va_end(ap);
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
    row.message =
        (struct hocket__store_message){ .id = hocket__cstr(name), .json = hocket__buf_str(&b) };
    c->rows.status |= b.status;
    hocket__store_pack(&c->rows, &row);
    hocket__buf_deinit(&b);
}

int hocket__store_unsupported(struct hocket__store_call *c, const char *why)
{
    return hocket__error(&c->error, HOCKET_EUNSUPPORTED, "%s", why);
}

bool hocket__store_next_generation(struct hocket__str *rest, struct hocket__str *name)
{
    const char *end = rest->n > 0 ? memchr(rest->p, ',', rest->n) : NULL;
    size_t n = end ? (size_t) (end - rest->p) : rest->n, gone = end ? n + 1 : n;
    *name = hocket__str(rest->p, n);
    *rest = hocket__str(rest->p + gone, rest->n - gone);
    return name->n > 0;
}

bool hocket__store_is_new(const struct hocket__store_run *run)
{
    struct hocket__str parent = hocket__cstr(run->parent), caller = hocket__cstr(run->caller);
    return hocket__store_is_id(hocket__cstr(run->id))
           && (parent.n == 0 || hocket__store_is_id(parent))
           && (caller.n == 0 || hocket__store_is_id(caller)) && hocket__store_is_pool(run->pool);
}

bool hocket__store_is_pool(struct hocket__str name)
{
    return name.n == 0 || !memchr(name.p, ',', name.n);
}

struct hocket__str hocket__store_next_pool(struct hocket__str *names)
{
    struct hocket__str name;
    while (names->n > 0 && names->p[0] == ',')
        *names = hocket__str(names->p + 1, names->n - 1);
    hocket__store_next_generation(names, &name);
    return name;
}

void hocket__store_write_why(struct hocket__buf *b, const struct hocket_error *why)
{
    hocket__jw_open(b, '[');
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "kind", "worker");
    hocket__jw_key_cstring(b, "code", hocket_status_word(why->status));
    hocket__jw_key_cstring(b, "why", why->message);
    hocket__jw_close(b, '}');
    hocket__jw_close(b, ']');
}

/* The form in which host/run receives signals. */
struct hocket__store_message hocket__store_ended(
    const char *id, enum hocket__store_state state, int64_t at_ms, char to[HOCKET__STORE_ENDED])
{
    int n = snprintf(to, HOCKET__STORE_ENDED, "ended %s", id) + 1;
    snprintf(to + n, (size_t) (HOCKET__STORE_ENDED - n),
        "{\"wish\":\"signal\",\"name\":\"run %s\",\"value\":{\"ended\":\"%s\"}}", id,
        hocket__store_state_word(state));
    return (struct hocket__store_message){ hocket__cstr(to), at_ms, hocket__cstr(to + n) };
}

/* ---- Items ------------------------------------------------------------------------------------- */

int hocket__store_item_refuse(struct hocket__store_call *c, int status)
{
    const struct hocket__store_item *item = &c->q.item.item;
    const char *why = status == HOCKET_ESTATE      ? "another has changed it meanwhile"
                      : status == HOCKET_ENOTFOUND ? "it is not there"
                                                   : "its run is there already";
    return hocket__error(&c->error, status, "the %.*s %.*s: %s", (int) item->kind.n, item->kind.p,
        (int) (item->id.n < 100 ? item->id.n : 100), item->id.p, why);
}

int hocket__store_item_check(struct hocket__store_call *c, int64_t version)
{
    int64_t expected = c->q.item.expected;
    if (expected == version || (expected == HOCKET__STORE_ANY && version > 0)
        || (expected == HOCKET__STORE_ANY && c->q.kind == HOCKET__STORE_ITEM_PUT))
        return 0;
    return hocket__store_item_refuse(c, version == 0 ? HOCKET_ENOTFOUND : HOCKET_ESTATE);
}

int64_t hocket__store_item_version(int64_t version, int64_t now_ms)
{
    return version > 0 ? version + 1 : now_ms > 1 ? now_ms : 1;
}

struct hocket__store_item hocket__store_item_of(
    const struct hocket__store_call *c, int64_t version, int64_t now_ms)
{
    struct hocket__store_item item = c->q.item.item;
    item.version = version;
    item.at_ms = now_ms;
    item.now_ms = 0;
    return item;
}

void hocket__store_item_answer(struct hocket__store_call *c, int64_t version)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM };
    row.item = (struct hocket__store_item){ .kind = c->q.item.item.kind,
        .id = c->q.item.item.id,
        .version = version,
        .generation = HOCKET__STR(""),
        .json = HOCKET__STR("") };
    hocket__store_pack(&c->rows, &row);
}

/* ---- Notes ------------------------------------------------------------------------------------- */

int hocket__store_note_missing(struct hocket__store_call *c)
{
    return hocket__error(&c->error, HOCKET_ENOTFOUND, "there is no note '%.*s' in the memory",
        (int) (c->q.notes.id.n < 100 ? c->q.notes.id.n : 100), c->q.notes.id.p);
}

int hocket__store_note_room(struct hocket__store_call *c, uint64_t notes, uint64_t bytes)
{
    if (notes >= c->q.note_put.max_notes)
        return hocket__error(&c->error, HOCKET_ELIMIT,
            "the memory has %llu notes, and no more fit: some have to be forgotten first",
            (unsigned long long) notes);
    if (bytes + c->q.note_put.note.text.n + c->q.note_put.note.meta.n > c->q.note_put.max_bytes)
        return hocket__error(&c->error, HOCKET_ELIMIT,
            "the memory has %llu bytes of %llu: some notes have to be forgotten first",
            (unsigned long long) bytes, (unsigned long long) c->q.note_put.max_bytes);
    return 0;
}

static bool is_word(unsigned char c)
{
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct hocket__str hocket__store_note_word(struct hocket__str *query)
{
    size_t at = 0, end;
    while (at < query->n && !is_word((unsigned char) query->p[at]))
        at++;
    for (end = at; end < query->n && is_word((unsigned char) query->p[end]); end++)
        ;
    struct hocket__str word = hocket__str(query->p + at, end - at);
    *query = hocket__str(query->p + end, query->n - end);
    return word;
}

/* Of two that are near at once the one that came first. */
static void take_near(struct hocket__store_near *nearest, float score, int64_t what)
{
    size_t i = nearest->n < HOCKET__STORE_NEAR ? nearest->n++ : HOCKET__STORE_NEAR;
    for (; i > 0 && nearest->best[i - 1].score < score; i--)
        if (i < HOCKET__STORE_NEAR)
            nearest->best[i] = nearest->best[i - 1];
    if (i < HOCKET__STORE_NEAR) {
        nearest->best[i].score = score;
        nearest->best[i].what = what;
    }
}

/* Vectors come from files, and lie where they lie. */
static float float_at(struct hocket__str s, size_t at)
{
    float f;
    memcpy(&f, s.p + at, sizeof(f));
    return f;
}

void hocket__store_compare(struct hocket__store_near *nearest, struct hocket__str vector,
    struct hocket__str with, int64_t what)
{
    float score = 0;
    if (vector.n != with.n || vector.n <= HOCKET__STORE_VECTOR_OF
        || (vector.n - HOCKET__STORE_VECTOR_OF) % sizeof(float) != 0
        || memcmp(vector.p, with.p, HOCKET__STORE_VECTOR_OF) != 0)
        return;
    for (size_t at = HOCKET__STORE_VECTOR_OF; at < vector.n; at += sizeof(float))
        score += float_at(vector, at) * float_at(with, at);
    if (score == score) /* a damaged one is near to nothing */
        take_near(nearest, score, what);
}
