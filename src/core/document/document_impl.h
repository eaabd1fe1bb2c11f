/* Inside of the document: how entries lie, and the one change that exists.
 * Operations (document.c), records (record.c) and renderings
 * (render.c) meet here. */
#pragma once

#include "base/list.h"
#include "core/document/document.h"

/* An entry in its slot. The order of a slot is that of `rank`: the version that brought
 * the entry, or, for a merged one, the version that it was made from, so that it stands
 * before what it did not replace. */
struct hocket__doc_node {
    struct hocket__entry e;
    int64_t rank;
    struct hocket__list all, live; /* in the slot's lists */
    size_t size;                   /* of this allocation; agent and content follow the struct */
};

/* A slot that ever had an entry. */
struct hocket__doc_slot {
    struct hocket__slot key;
    struct hocket__list all;  /* every entry it ever had, by rank: what renderings walk */
    struct hocket__list live; /* those alive, by birth: what a consolidation takes off its front */
};

struct hocket__document {
    const struct hocket_allocator *a;
    struct hocket__slots schema;
    struct hocket__doc_slot **slots; /* in document order */
    size_t slot_count, slot_cap;
    struct hocket__doc_node **versions; /* versions[v - 1] is what version v brought */
    size_t version_count, version_cap;
    size_t live, bytes;
    size_t max_entry, max_bytes, max_slots, max_entries, max_versions;
    struct hocket__emitter emitter;
    bool places;                /* its records say where their slot stands among all */
    struct hocket__buf payload; /* the record in the making */
};

/* What is to be written. Borrowed, valid text. */
struct hocket__doc_change {
    struct hocket__slot slot;
    struct hocket__str agent, content;
    int64_t base_version; /* -1: an append */
    int64_t at_ms;
    const struct hocket__versions
        *only; /* of a consolidation: what is replaced; NULL: by base_version */
};

/* Records the change (unless `record` is false: it was read from a record) and applies it, or
 * changes nothing. The caller has checked it. */
int hocket__document_apply(struct hocket__document *d, const struct hocket__doc_change *c,
    bool record, struct hocket_error *err);

/* The slot, or NULL; *at is where it is or belongs in `slots`. */
struct hocket__doc_slot *hocket__document_find(
    const struct hocket__document *d, const struct hocket__slot *key, size_t *at);

/* The payload of the entry's record. */
void hocket__document_write(
    const struct hocket__document *d, const struct hocket__entry *e, struct hocket__buf *out);

/* The member "document", where the document has a number. */
void hocket__document_write_number(const struct hocket__document *d, struct hocket__buf *out);

/* Appends what an entry did. */
void hocket__document_report(
    const struct hocket__document *d, const struct hocket__entry *e, struct hocket__buf *out);

/* The entry of a slot that follows `last` (NULL: the first) at a version; NULL at the end. */
const struct hocket__entry *hocket__document_walk(
    const struct hocket__doc_slot *slot, int64_t version, const struct hocket__entry *last);
