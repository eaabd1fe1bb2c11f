/* The document as text for models and people, and as JSON for everybody else,
 * at any version: entries know when they were born and died, so nothing is
 * replayed. */
#include "core/document/document.h"

#include <inttypes.h>

#include "base/json/json.h"
#include "core/document/document_impl.h"
#include "base/isotime.h"
#include "core/text.h"

/* Makes 0 the latest; EINVAL for what is out of range. */
static int check_version(
    const struct hocket__document *d, int64_t *version, struct hocket_error *err)
{
    int64_t latest = hocket__document_version(d);
    if (*version < 0 || *version > latest)
        return hocket__error(err, HOCKET_EINVAL,
            "version %" PRId64 " of the document does not exist: the latest is %" PRId64, *version,
            latest);
    if (*version == 0)
        *version = latest;
    return 0;
}

int hocket__document_each(const struct hocket__document *d, const struct hocket__slot *slot,
    int64_t version, bool (*cb)(const struct hocket__entry *entry, void *ud), void *ud,
    struct hocket_error *err)
{
    size_t at;
    int status = check_version(d, &version, err);
    if (status == 0)
        status = hocket__slots_check(&d->schema, slot, err);
    const struct hocket__doc_slot *found = status == 0 ? hocket__document_find(d, slot, &at) : NULL;
    const struct hocket__entry *e = NULL;
    while (found && (e = hocket__document_walk(found, version, e)) && cb(e, ud))
        continue;
    return status;
}

/* ---- What changed ----------------------------------------------------------- */

void hocket__document_report(
    const struct hocket__document *d, const struct hocket__entry *e, struct hocket__buf *out)
{
    if (e->base_version < 0)
        hocket__buf_adds(out, "added to ");
    else
        hocket__buf_addf(out, "merged %" PRId64 " %s into ", e->replaced,
            e->replaced == 1 ? "entry" : "entries");
    hocket__slots_heading(&d->schema, &e->slot, out);
}

static int write_version(
    const struct hocket__document *d, const struct hocket__entry *e, struct hocket__buf *out)
{
    char time[HOCKET__ISOTIME_SIZE];
    struct hocket__buf text = hocket__buf(d->a, 0);
    hocket__document_report(d, e, &text);
    hocket__isotime(e->at_ms, time);
    hocket__jw_open(out, '{');
    hocket__jw_key_int(out, "version", e->born);
    hocket__jw_key_string(out, "author", e->agent);
    hocket__jw_key_string(out, "change_description", hocket__buf_str(&text));
    hocket__jw_key_cstring(out, "time", time);
    hocket__document_write_number(d, out);
    hocket__jw_close(out, '}');
    int status = text.status;
    hocket__buf_deinit(&text);
    return status;
}

/* Versions from 1 whatever `after` is: a negative number is what a caller has that has seen none. */
int hocket__document_history(
    const struct hocket__document *d, int64_t after, size_t count, struct hocket__buf *out)
{
    int status = 0;
    hocket__jw_open(out, '[');
    for (int64_t v = after < 0 ? 1 : after + 1; count > 0 && status == 0; v++, count--) {
        const struct hocket__entry *e = hocket__document_entry(d, v);
        if (!e)
            break;
        status = write_version(d, e, out);
    }
    hocket__jw_close(out, ']');
    return status < 0 || out->status < 0 ? HOCKET_ENOMEM : 0;
}

/* ---- Text ------------------------------------------------------------------- */

/* Further lines are indented: none begins like a tag or a heading of ours. */
static void add_indented(struct hocket__buf *out, struct hocket__str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.n; i++) {
        /* the text is trimmed: a '\r' is never its last byte */
        bool ends = text.p[i] == '\n' || (text.p[i] == '\r' && text.p[i + 1] != '\n');
        if (ends) {
            hocket__buf_add(out, text.p + from, i + 1 - from);
            hocket__buf_adds(out, "  ");
            from = i + 1;
        }
    }
    hocket__buf_add(out, text.p + from, text.n - from);
}

static void add_tagged(const struct hocket__entry *e, struct hocket__buf *out)
{
    hocket__buf_addc(out, '[');
    hocket__buf_addstr(out, e->agent);
    hocket__buf_adds(out, "] ");
    add_indented(out, hocket__text_trim(e->content));
}

int hocket__document_render_entry(
    const struct hocket__document *d, int64_t version, struct hocket__buf *out)
{
    const struct hocket__entry *e = hocket__document_entry(d, version);
    if (!e || e->died > 0)
        return HOCKET_ENOTFOUND;
    add_tagged(e, out);
    return out->status;
}

static void add_entry(
    const struct hocket__entry *e, enum hocket__rendering how, bool first, struct hocket__buf *out)
{
    if (how == HOCKET__RENDER_CLEAN) {
        if (!first)
            hocket__buf_addc(out, '\n');
        hocket__buf_addstr(out, hocket__text_trim(e->content));
    } else {
        add_tagged(e, out);
    }
    hocket__buf_addc(out, '\n');
}

static void add_heading(
    const struct hocket__document *d, const struct hocket__doc_slot *slot, struct hocket__buf *out)
{
    hocket__buf_adds(out, "## ");
    hocket__slots_heading(&d->schema, &slot->key, out);
    hocket__buf_adds(out, "\n\n");
}

/* Slots without an entry at that version leave no trace, not even a heading: a model takes an empty
 * section for something that it has to fill. */
int hocket__document_render(const struct hocket__document *d, int64_t version,
    enum hocket__rendering how, struct hocket__buf *out, struct hocket_error *err)
{
    int status = check_version(d, &version, err);
    bool any = false;
    for (size_t i = 0; i < d->slot_count && status == 0; i++) {
        const struct hocket__entry *e = NULL, *first = NULL;
        while ((e = hocket__document_walk(d->slots[i], version, e))) {
            if (!first && any)
                hocket__buf_addc(out, '\n');
            if (!first)
                add_heading(d, d->slots[i], out);
            add_entry(e, how, !first, out);
            first = first ? first : e;
            any = true;
        }
    }
    if (status < 0)
        return status;
    return out->status < 0 ? hocket__error_nomem(err) : 0;
}

/* ---- JSON ------------------------------------------------------------------- */

static void write_entry(const struct hocket__entry *e, struct hocket__buf *out)
{
    hocket__jw_open(out, '{');
    hocket__jw_key_int(out, "version", e->born);
    hocket__jw_key_string(out, "agent", e->agent);
    hocket__jw_key_string(out, "content", e->content);
    hocket__jw_key_bool(out, "merged", e->base_version >= 0);
    hocket__jw_key_int(out, "at", e->at_ms);
    hocket__jw_close(out, '}');
}

static int write_head(
    const struct hocket__document *d, const struct hocket__doc_slot *slot, struct hocket__buf *out)
{
    struct hocket__buf heading = hocket__buf(d->a, 0);
    hocket__slots_heading(&d->schema, &slot->key, &heading);
    hocket__jw_open(out, '{');
    hocket__jw_key_open(out, "slot", '{');
    hocket__slots_write(&d->schema, &slot->key, out);
    hocket__jw_close(out, '}');
    hocket__jw_key_string(out, "heading", hocket__buf_str(&heading));
    hocket__jw_key_open(out, "entries", '[');
    int status = heading.status;
    hocket__buf_deinit(&heading);
    return status < 0 ? status : out->status;
}

/* As for the rendering: a slot that had no entry yet at that version is not in the list. */
static int write_slot(const struct hocket__document *d, const struct hocket__doc_slot *slot,
    int64_t version, struct hocket__buf *out)
{
    const struct hocket__entry *e = hocket__document_walk(slot, version, NULL);
    int status = e ? write_head(d, slot, out) : 0;
    if (!e || status < 0)
        return status;
    for (; e; e = hocket__document_walk(slot, version, e))
        write_entry(e, out);
    hocket__jw_close(out, ']');
    hocket__jw_close(out, '}');
    return out->status;
}

int hocket__document_read(const struct hocket__document *d, int64_t version,
    struct hocket__buf *out, struct hocket_error *err)
{
    int status = check_version(d, &version, err);
    if (status < 0)
        return status;
    hocket__jw_open(out, '[');
    for (size_t i = 0; i < d->slot_count && status == 0; i++)
        status = write_slot(d, d->slots[i], version, out);
    hocket__jw_close(out, ']');
    return status < 0 || out->status < 0 ? hocket__error_nomem(err) : 0;
}
