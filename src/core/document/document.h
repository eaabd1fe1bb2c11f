/* The shared document: a scratchpad of slots that agents append to and a
 * facilitator consolidates.
 *
 * An append puts one entry at the end of a slot. A consolidation puts one merged entry in the place of
 * the entries that the slot had at `base_version`, the version that its author had read. An entry that
 * came later was not read and stays, behind it. The author's own earlier merge, from nothing later, is
 * replaced too: the author knows it without reading. An author that has not read all of a version says
 * which entries it has read.
 *
 *     version        1   2   3   4   5
 *     [food]  tapas  ├───────────┤           consolidate(base 2) at version 4:
 *     [logi]  tram       ├───────┤           replaces what was there at 2,
 *     [food]  fado           ├────────▶      keeps what came at 3
 *     [faci]  merged             ├────▶
 *
 * Each change is one version and bears one entry. An entry knows the version it was born in and the one
 * it died in, so that any version can be rendered as it was. A write touches nothing but its slot: it
 * costs a binary search over the slots. A slot's first entry also moves at most max_slots pointers, and
 * a consolidation touches the entries that live in the slot.
 * Nothing is ever taken out: when a limit of the history is reached, changes are refused.
 *
 * Every change is one record (see core/change.h) of type document_updated
 *     {"version":4,"author":"facilitator","content":"merged",
 *      "change_description":"merged 2 entries into Day 1 — Morning",
 *      "change":"consolidate","slot":{"day":1,"time_slot":"morning"},
 *      "base_version":2,"at":1795251600123}
 * The change "append" has no base_version; `at` is in ms. A document with a number adds "document":2.
 * "replaces":[1,3] has the versions of the replaced entries, where they differ from the slot's entries
 * up to base_version. The document is the fold over the records with its number.
 *
 * Text is borrowed for the call and copied; what is not UTF-8 is repaired (U+FFFD). A
 * failing operation changes nothing. */
#pragma once

#include "base/buf.h"
#include "core/change.h"
#include "core/document/slots.h"

struct hocket__document;

struct hocket__document_options {
    const struct hocket__dimension *dims;
    size_t dim_count;
    size_t max_entry;     /* bytes of one content */
    size_t max_bytes;     /* of all contents, history included */
    size_t max_slots;     /* that ever had an entry */
    size_t max_entries;   /* alive at a time, in all slots together */
    size_t max_versions;  /* changes in all */
    hocket__emit_cb emit; /* may be NULL */
    void *ud;
};

/* No dimensions (they have to be set), 256 KiB, 64 MiB, 4096 slots, 4096 entries, 65536
 * versions, no emit. A limit of 0 is none left, not unlimited. */
struct hocket__document_options hocket__document_options_default(void);

/* EINVAL (the schema; see core/document/slots.h) or ENOMEM. Free with hocket__document_free
 * (NULL is fine). The allocator has to outlive the document. */
int hocket__document_new(const struct hocket_allocator *a,
    const struct hocket__document_options *options, struct hocket__document **out,
    struct hocket_error *err);
void hocket__document_free(struct hocket__document *d);

/* The document's number in its run, from 1, which marks its records. 0: none. */
void hocket__document_set_number(struct hocket__document *d, int64_t number);
int64_t hocket__document_number(const struct hocket__document *d);

/* Whether its records have `place`: where the slot stands among all, one integer for each dimension, so that whoever reads them can
 * put slots into the order of the schema. Records of older runs have none. */
void hocket__document_tell_places(struct hocket__document *d, bool tell);

/* To make slots with: hocket__slots_parse. */
const struct hocket__slots *hocket__document_schema(const struct hocket__document *d);

/* ---- Changing ---------------------------------------------------------- */

/* Both return the new version (from 1), or an error: EINVAL (no slot of the schema, empty content, no
 * agent's name), ELIMIT (the message says which limit, and what to do) or ENOMEM. Errors of emit come
 * through, and a call from inside emit is ESTATE. */

int64_t hocket__document_append(struct hocket__document *d, const struct hocket__slot *slot,
    struct hocket__str agent, struct hocket__str content, int64_t now_ms, struct hocket_error *err);

/* Entries by the versions that brought them, ascending. */
struct hocket__versions {
    const int64_t *v;
    size_t n;
};

/* base_version is that of the rendering which `content` was made from: 0 is the empty document
 * (so nothing is replaced), one after the latest is EINVAL. When another author's consolidation
 * came in between, its merged entry was not read and stays too: a conflict, which is reported. The author's own
 * merge from a later version stays likewise. `only`, unless NULL: exactly these entries of the slot are replaced;
 * unknown ones are ignored. */
int64_t hocket__document_consolidate(struct hocket__document *d, const struct hocket__slot *slot,
    struct hocket__str author, struct hocket__str content, int64_t base_version,
    const struct hocket__versions *only, int64_t now_ms, struct hocket_error *err);

/* ---- Reading ----------------------------------------------------------- */

/* The latest version; 0 is the empty document. */
int64_t hocket__document_version(const struct hocket__document *d);
size_t hocket__document_entries(const struct hocket__document *d); /* alive */
size_t hocket__document_bytes(const struct hocket__document *d);   /* of max_bytes */

struct hocket__entry {
    int64_t born;         /* the version that brought it */
    int64_t died;         /* the version that replaced it, or 0 */
    int64_t base_version; /* of a merged entry, otherwise -1 */
    int64_t replaced;     /* how many entries a merged one has replaced */
    struct hocket__versions
        listed; /* these, where it is not those up to base_version; else v is NULL */
    int64_t at_ms;
    struct hocket__slot slot;
    struct hocket__str agent, content;
};

/* The entry that a version brought, and with it who changed what, and when. NULL: no such
 * version. Entries stay where they are until the document is freed. */
const struct hocket__entry *hocket__document_entry(
    const struct hocket__document *d, int64_t version);

/* The entries of one slot in their order at a version (0: the latest): calls `cb` for each
 * until it returns false. EINVAL for a version that does not exist yet. */
int hocket__document_each(const struct hocket__document *d, const struct hocket__slot *slot,
    int64_t version, bool (*cb)(const struct hocket__entry *entry, void *ud), void *ud,
    struct hocket_error *err);

/* Appends one entry as HOCKET__RENDER_TAGGED shows it: "[agent] text", without a line end. ENOTFOUND (no such version,
 * or it is replaced), or the buffer's status. */
int hocket__document_render_entry(
    const struct hocket__document *d, int64_t version, struct hocket__buf *out);

enum hocket__rendering {
    /* "## Day 1 — Morning", a blank line, then each entry's text, blank lines between. */
    HOCKET__RENDER_CLEAN,
    /* Each entry begins with "[agent] "; its further lines are indented by two spaces, so
     * that a line which begins with "[" or "#" is never an entry's own doing. */
    HOCKET__RENDER_TAGGED,
};

/* Appends the document as it was at a version (0: the latest), slots in the schema's order,
 * those without entries left out, white space around entries too. An empty document is
 * empty text. EINVAL for a version that does not exist yet, or the buffer's status. */
int hocket__document_render(const struct hocket__document *d, int64_t version,
    enum hocket__rendering how, struct hocket__buf *out, struct hocket_error *err);

/* Appends the same as JSON: [{"slot":{"day":1,"time_slot":"morning"},"heading":"Day 1 — Morning",
 * "entries":[{"version":1,"agent":"food","content":"…","merged":false,"at":1795251600123}]}] */
int hocket__document_read(const struct hocket__document *d, int64_t version,
    struct hocket__buf *out, struct hocket_error *err);

/* Appends the versions after `after`, at most `count`, as JSON, without contents:
 * [{"version":1,"author":"food","change_description":"…","time":"2026-11-21T09:00:00.123Z"}] */
int hocket__document_history(
    const struct hocket__document *d, int64_t after, size_t count, struct hocket__buf *out);

/* ---- Replaying --------------------------------------------------------- */

/* Applies one record, a line of the journal, and emits nothing. 1 when it was
 * applied, 0 when it is of another type or another document's, EPARSE when it is malformed, EINVAL when its slot is
 * not in the schema, ESTATE when it does not follow from the state, ENOMEM. It checks no limits: the record's
 * change has happened. */
int hocket__document_replay(
    struct hocket__document *d, struct hocket__str record, struct hocket_error *err);

/* Appends the record that brought a version, as it is read back. ENOTFOUND, or the buffer's status. */
int hocket__document_record(
    const struct hocket__document *d, int64_t version, struct hocket__buf *out);
