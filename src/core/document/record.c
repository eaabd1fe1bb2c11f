/* The document's record: writing it, and reading it back.
 *
 * The record has the whole of what changed and nothing of what stayed. It is written by the same
 * functions that say the change to people, so a journal can be read without this program. */
#include "core/document/document.h"

#include <inttypes.h>

#include "base/json/json.h"
#include "core/document/document_impl.h"
#include "core/replay.h"
#include "core/text.h"

static void write_description(
    const struct hocket__document *d, const struct hocket__entry *e, struct hocket__buf *out)
{
    struct hocket__buf text = hocket__buf(d->a, 0);
    hocket__document_report(d, e, &text);
    hocket__jw_key_string(out, "change_description", hocket__buf_str(&text));
    if (text.status < 0 && out->status == 0)
        out->status = text.status;
    hocket__buf_deinit(&text);
}

void hocket__document_write_number(const struct hocket__document *d, struct hocket__buf *out)
{
    if (d->emitter.number > 0)
        hocket__jw_key_int(out, "document", d->emitter.number);
}

static void write_replaced(const struct hocket__versions *list, struct hocket__buf *out)
{
    hocket__jw_key_open(out, "replaces", '[');
    for (size_t i = 0; i < list->n; i++)
        hocket__jw_int(out, list->v[i]);
    hocket__jw_close(out, ']');
}

/* For each dimension the number, or the name's index among the declared names. */
static void write_place(
    const struct hocket__document *d, const struct hocket__slot *slot, struct hocket__buf *out)
{
    hocket__jw_key_open(out, "place", '[');
    for (size_t i = 0; i < d->schema.count; i++)
        hocket__jw_int(out, slot->v[i]);
    hocket__jw_close(out, ']');
}

static void write_members(
    const struct hocket__document *d, const struct hocket__entry *e, struct hocket__buf *out)
{
    bool merged = e->base_version >= 0;
    hocket__document_write_number(d, out);
    hocket__jw_key_int(out, "version", e->born);
    hocket__jw_key_string(out, "author", e->agent);
    hocket__jw_key_string(out, "content", e->content);
    write_description(d, e, out);
    hocket__jw_key_cstring(out, "change", merged ? "consolidate" : "append");
    hocket__jw_key_open(out, "slot", '{');
    hocket__slots_write(&d->schema, &e->slot, out);
    hocket__jw_close(out, '}');
    if (d->places)
        write_place(d, &e->slot, out);
    if (merged)
        hocket__jw_key_int(out, "base_version", e->base_version);
    if (e->listed.v)
        write_replaced(&e->listed, out);
    hocket__jw_key_int(out, "at", e->at_ms);
}

void hocket__document_write(
    const struct hocket__document *d, const struct hocket__entry *e, struct hocket__buf *out)
{
    hocket__jw_open(out, '{');
    write_members(d, e, out);
    hocket__jw_close(out, '}');
}

int hocket__document_record(
    const struct hocket__document *d, int64_t version, struct hocket__buf *out)
{
    const struct hocket__entry *e = hocket__document_entry(d, version);
    if (!e)
        return HOCKET_ENOTFOUND;
    hocket__jw_open(out, '{');
    hocket__jw_key_cstring(out, "type", "document_updated");
    write_members(d, e, out);
    hocket__jw_close(out, '}');
    return out->status;
}

/* ---- Reading back -------------------------------------------------------- */

struct record {
    const struct hocket_allocator *a;
    struct hocket__doc_change c;
    struct hocket__str change, slot;
    int64_t version, number;
    int64_t *replaces; /* freed by who reads */
    size_t n, cap;
    bool lists;
};

/* Ascending, as they are written. */
static void read_replaced(struct hocket__replay *p, struct record *rec)
{
    rec->lists = true;
    hocket__replay_array(p);
    while (hocket__replay_element(p)) {
        int64_t version = 0;
        if (p->r.token != HOCKET__JSON_NUMBER || !hocket__json_int(&p->r, &version)
            || version <= (rec->n > 0 ? rec->replaces[rec->n - 1] : 0)) {
            hocket__replay_bad(p);
            return;
        }
        if (hocket__grow(rec->a, &rec->replaces, &rec->cap, rec->n + 1, sizeof(*rec->replaces))
            < 0) {
            p->status = HOCKET_ENOMEM;
            return;
        }
        rec->replaces[rec->n++] = version;
    }
}

static void read_members(struct hocket__replay *p, struct record *rec)
{
    while (hocket__replay_key(p)) {
        if (hocket__replay_at(p, "version"))
            rec->version = hocket__replay_int(p);
        else if (hocket__replay_at(p, "document"))
            rec->number = hocket__replay_int(p);
        else if (hocket__replay_at(p, "author"))
            rec->c.agent = hocket__replay_string(p);
        else if (hocket__replay_at(p, "content"))
            rec->c.content = hocket__replay_string(p);
        else if (hocket__replay_at(p, "change"))
            rec->change = hocket__replay_string(p);
        else if (hocket__replay_at(p, "slot"))
            rec->slot = hocket__replay_raw(p);
        else if (hocket__replay_at(p, "base_version"))
            rec->c.base_version = hocket__replay_int(p);
        else if (hocket__replay_at(p, "replaces") && !rec->lists)
            read_replaced(p, rec);
        else if (hocket__replay_at(p, "at"))
            rec->c.at_ms = hocket__replay_int(p);
        else
            hocket__replay_raw(p);
    }
    bool merged = hocket__str_is(rec->change, "consolidate");
    if (rec->c.content.n == 0 || hocket__text_name(rec->c.agent, "", NULL) < 0
        || (!merged && !hocket__str_is(rec->change, "append"))
        || merged != (rec->c.base_version >= 0) || (rec->lists && !merged))
        hocket__replay_bad(p);
}

/* Applies what was read. */
static int take_record(struct hocket__document *d, struct record *r, struct hocket_error *err)
{
    const struct hocket__versions only = { r->replaces, r->n };
    struct record rec = *r;
    int status = hocket__slots_parse(&d->schema, rec.slot, &rec.c.slot, err);
    if (status < 0)
        return status;
    rec.c.only = rec.lists ? &only : NULL;
    int64_t latest = hocket__document_version(d);
    /* A record that does not follow was lost with others, or belongs to another document: to
     * go on would show a text that nobody has written. */
    if (rec.version != latest + 1 || rec.c.base_version > latest)
        return hocket__error(err, HOCKET_ESTATE,
            "the journal's record brings version %" PRId64 " of the document, but %" PRId64
            " is the latest",
            rec.version, latest);
    status = hocket__document_apply(d, &rec.c, false, err);
    if (status < 0)
        return status;
    if (rec.number > 0) /* what has no number is from now on the one whose record it was */
        d->emitter.number = rec.number;
    return 1;
}

static int replay_record(
    struct hocket__document *d, struct hocket__replay *p, struct hocket_error *err)
{
    struct record rec = { .a = d->a, .c = { .base_version = -1 }, .slot = { "", 0 } };
    read_members(p, &rec);
    int status = hocket__replay_end(p, err);
    if (status == 0 && hocket__emitter_is_about(&d->emitter, rec.number))
        status = take_record(d, &rec, err);
    hocket__free(d->a, rec.replaces, rec.cap * sizeof(*rec.replaces));
    return status;
}

int hocket__document_replay(
    struct hocket__document *d, struct hocket__str record, struct hocket_error *err)
{
    if (!hocket__replay_is(record, "document_updated"))
        return 0;
    int status = hocket__emitter_check(&d->emitter, err);
    if (status < 0)
        return status;
    struct hocket__replay p;
    hocket__replay_init(&p, d->a, record);
    status = replay_record(d, &p, err);
    hocket__replay_deinit(&p);
    return status;
}
