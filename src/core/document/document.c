/* How entries are kept and changed. Two orders of the same nodes: `versions` by the version
 * that brought each, `slots` by their place in the document, each with its entries. Nothing is
 * ever taken out of either, so an entry's address is good for the document's whole life.
 *
 * A change is checked (check_change), built, recorded, and only then linked in. Linking cannot
 * fail: what may allocate comes before the record, since a record that is out cannot be taken
 * back. */
#include "core/document/document.h"

#include <inttypes.h>
#include <stdint.h>

#include "core/document/document_impl.h"
#include "core/text.h"

#define PAYLOAD_KEPT 65536 /* bytes of the work buffer that stay between changes */

struct hocket__document_options hocket__document_options_default(void)
{
    return (struct hocket__document_options){ .max_entry = 256 << 10,
        .max_bytes = (size_t) 64 << 20,
        .max_slots = 4096,
        .max_entries = 4096,
        .max_versions = 65536 };
}

int hocket__document_new(const struct hocket_allocator *a,
    const struct hocket__document_options *options, struct hocket__document **out,
    struct hocket_error *err)
{
    struct hocket__document *d = hocket__zero(a, sizeof(*d));
    if (!d)
        return hocket__error_nomem(err);
    int status = hocket__slots_init(&d->schema, a, options->dims, options->dim_count, err);
    if (status < 0) {
        hocket__free(a, d, sizeof(*d));
        return status;
    }
    d->a = a;
    d->max_entry = options->max_entry;
    d->max_bytes = options->max_bytes;
    d->max_slots = options->max_slots;
    d->max_entries = options->max_entries;
    d->max_versions = options->max_versions;
    d->emitter = (struct hocket__emitter){ .cb = options->emit, .ud = options->ud };
    hocket__buf_init(&d->payload, a, 0);
    *out = d;
    return 0;
}

void hocket__document_free(struct hocket__document *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->version_count; i++)
        hocket__free(d->a, d->versions[i], d->versions[i]->size);
    for (size_t i = 0; i < d->slot_count; i++)
        hocket__free(d->a, d->slots[i], sizeof(*d->slots[i]));
    hocket__free(d->a, d->versions, d->version_cap * sizeof(*d->versions));
    hocket__free(d->a, d->slots, d->slot_cap * sizeof(*d->slots));
    hocket__buf_deinit(&d->payload);
    hocket__slots_deinit(&d->schema);
    hocket__free(d->a, d, sizeof(*d));
}

void hocket__document_set_number(struct hocket__document *d, int64_t number)
{
    d->emitter.number = number;
}

void hocket__document_tell_places(struct hocket__document *d, bool tell)
{
    d->places = tell;
}

int64_t hocket__document_number(const struct hocket__document *d)
{
    return d->emitter.number;
}

const struct hocket__slots *hocket__document_schema(const struct hocket__document *d)
{
    return &d->schema;
}

int64_t hocket__document_version(const struct hocket__document *d)
{
    return (int64_t) d->version_count;
}

size_t hocket__document_entries(const struct hocket__document *d)
{
    return d->live;
}

size_t hocket__document_bytes(const struct hocket__document *d)
{
    return d->bytes;
}

const struct hocket__entry *hocket__document_entry(
    const struct hocket__document *d, int64_t version)
{
    if (version < 1 || (uint64_t) version > d->version_count)
        return NULL;
    return &d->versions[version - 1]->e;
}

/* By bisection. *at is where the slot is, or would be put: the order of slots is that of the
 * rendering. */
struct hocket__doc_slot *hocket__document_find(
    const struct hocket__document *d, const struct hocket__slot *key, size_t *at)
{
    size_t low = 0, high = d->slot_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = hocket__slots_compare(&d->schema, key, &d->slots[middle]->key);
        if (order == 0) {
            *at = middle;
            return d->slots[middle];
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    *at = low;
    return NULL;
}

/* ---- The lists of a slot --------------------------------------------------- */

/* A slot has two lists of the same nodes: `live`, what it has now, for consolidations; and `all`,
 * in the order of ranks, for renderings of every version. */
static struct hocket__doc_node *in_live(struct hocket__list *l)
{
    return hocket__container_of(l, struct hocket__doc_node, live);
}

static struct hocket__doc_node *in_all(struct hocket__list *l)
{
    return hocket__container_of(l, struct hocket__doc_node, all);
}

static bool has_version(const struct hocket__versions *list, int64_t version)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->v[middle] == version)
            return true;
        if (list->v[middle] < version)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* What a consolidation takes the place of: what its author says, else what it had read, and what it merged
 * itself from nothing later. */
static bool is_replaced(const struct hocket__entry *e, const struct hocket__doc_change *c)
{
    if (c->only)
        return has_version(c->only, e->born);
    /* what the author had read */
    if (e->born <= c->base_version)
        return true;
    return e->base_version >= 0 && e->base_version <= c->base_version
           && hocket__str_eq(e->agent, c->agent);
}

static int64_t count_replaced(
    const struct hocket__doc_slot *slot, const struct hocket__doc_change *c)
{
    int64_t n = 0;
    for (struct hocket__list *l = slot->live.next; l != &slot->live; l = l->next)
        n += is_replaced(&in_live(l)->e, c);
    return n;
}

/* Whether a reader of the record can tell from base_version alone what is replaced. */
static bool is_plain(const struct hocket__doc_slot *slot, const struct hocket__doc_change *c)
{
    const struct hocket__doc_change by_version = { .base_version = c->base_version,
        .agent = c->agent };
    for (struct hocket__list *l = slot->live.next; l != &slot->live; l = l->next) {
        const struct hocket__entry *e = &in_live(l)->e;
        bool replaced = is_replaced(e, c);
        if (replaced != (e->born <= c->base_version) || replaced != is_replaced(e, &by_version))
            return false;
    }
    return true;
}

static void list_replaced(
    const struct hocket__doc_slot *slot, const struct hocket__doc_change *c, int64_t *out)
{
    for (struct hocket__list *l = slot->live.next; l != &slot->live; l = l->next)
        if (is_replaced(&in_live(l)->e, c))
            *out++ = in_live(l)->e.born;
}

/* "Killed" is a number in the node and nothing else: the entry stays in `all`, and is seen by
 * renderings of the versions before. */
static void kill_replaced(
    struct hocket__doc_slot *slot, const struct hocket__doc_change *c, int64_t version)
{
    struct hocket__list *next;
    for (struct hocket__list *l = slot->live.next; l != &slot->live; l = next) {
        struct hocket__doc_node *node = in_live(l);
        next = l->next;
        if (!is_replaced(&node->e, c))
            continue;
        node->e.died = version;
        hocket__list_del(&node->live);
    }
}

/* Before the first whose rank is higher: for an append that is the end. */
static void put_in_order(struct hocket__doc_slot *slot, struct hocket__doc_node *node)
{
    struct hocket__list *l = &slot->all;
    while (l->prev != &slot->all && in_all(l->prev)->rank > node->rank)
        l = l->prev;
    hocket__list_add(l, &node->all);
    hocket__list_add(&slot->live, &node->live);
}

/* The list is in the order of ranks, and a rank is never above the version that brought its entry:
 * behind the first that is above `version` there is nothing to see. */
const struct hocket__entry *hocket__document_walk(
    const struct hocket__doc_slot *slot, int64_t version, const struct hocket__entry *last)
{
    const struct hocket__list *l = &slot->all;
    if (last)
        l = &hocket__container_of(last, struct hocket__doc_node, e)->all;
    for (l = l->next; l != &slot->all; l = l->next) {
        const struct hocket__doc_node *node = in_all((struct hocket__list *) l);
        if (node->rank > version)
            break;
        if (node->e.born <= version && (node->e.died == 0 || node->e.died > version))
            return &node->e;
    }
    return NULL;
}

/* ---- One change ------------------------------------------------------------ */

static struct hocket__doc_slot *slot_new(
    const struct hocket_allocator *a, const struct hocket__slot *key)
{
    struct hocket__doc_slot *slot = hocket__new(a, sizeof(*slot));
    if (slot) {
        slot->key = *key;
        hocket__list_init(&slot->all);
        hocket__list_init(&slot->live);
    }
    return slot;
}

/* `rank` puts a merged text where the newest of what it replaced stood, so that what came behind
 * that version stays behind it. */
static struct hocket__doc_node *node_new(struct hocket__document *d,
    const struct hocket__doc_change *c, const struct hocket__doc_slot *slot)
{
    bool merged = c->base_version >= 0;
    int64_t version = (int64_t) d->version_count + 1,
            replaced = merged ? count_replaced(slot, c) : 0;
    bool lists = merged && !is_plain(slot, c);
    size_t list_size = lists ? (size_t) replaced * sizeof(int64_t) : 0;
    size_t size = sizeof(struct hocket__doc_node) + list_size + c->agent.n + c->content.n;
    struct hocket__doc_node *node = hocket__new(d->a, size);
    if (!node)
        return NULL;
    /* List and text lie behind the node in the same block: an entry is one allocation. */
    int64_t *list = (int64_t *) (node + 1);
    char *agent = (char *) list + list_size, *content = agent + c->agent.n;
    memcpy(agent, c->agent.p, c->agent.n);
    memcpy(content, c->content.p, c->content.n);
    if (lists)
        list_replaced(slot, c, list);
    *node = (struct hocket__doc_node){
        .e = { .born = version,
            .base_version = merged ? c->base_version : -1,
            .replaced = replaced,
            .listed = { lists ? list : NULL, lists ? (size_t) replaced : 0 },
            .at_ms = c->at_ms,
            .slot = c->slot,
            .agent = hocket__str(agent, c->agent.n),
            .content = hocket__str(content, c->content.n) },
        .rank = merged ? c->base_version : version,
        .size = size,
    };
    hocket__list_init(&node->all);
    hocket__list_init(&node->live);
    return node;
}

/* Room in both arrays, also where the slot is known: which of them will be needed is not worth a
 * branch, and what was reserved is used by the next change. */
static int reserve(struct hocket__document *d)
{
    if (hocket__grow(
            d->a, &d->versions, &d->version_cap, d->version_count + 1, sizeof(*d->versions))
        < 0)
        return HOCKET_ENOMEM;
    return hocket__grow(d->a, &d->slots, &d->slot_cap, d->slot_count + 1, sizeof(*d->slots));
}

/* A document without a run has nobody to tell: then nothing is written at all. The work buffer
 * stays for the next change unless one entry made it large. */
static int record_change(
    struct hocket__document *d, const struct hocket__entry *e, struct hocket_error *err)
{
    if (!d->emitter.cb)
        return 0;
    hocket__buf_reset(&d->payload);
    hocket__document_write(d, e, &d->payload);
    int status = hocket__emitter_send(&d->emitter, "document_updated", e->agent, &d->payload, err);
    if (d->payload.cap > PAYLOAD_KEPT)
        hocket__buf_deinit(&d->payload);
    return status;
}

static void insert_slot(struct hocket__document *d, struct hocket__doc_slot *slot, size_t at)
{
    memmove(d->slots + at + 1, d->slots + at, (d->slot_count - at) * sizeof(*d->slots));
    d->slots[at] = slot;
    d->slot_count++;
}

static void insert_node(struct hocket__document *d, const struct hocket__doc_change *c,
    struct hocket__doc_slot *slot, struct hocket__doc_node *node)
{
    if (c->base_version >= 0)
        kill_replaced(slot, c, node->e.born);
    put_in_order(slot, node);
    d->versions[d->version_count++] = node;
    d->bytes += node->e.content.n;
    /* unsigned, and right where more was replaced than came: it wraps back */
    d->live += 1 - (size_t) node->e.replaced;
}

int hocket__document_apply(struct hocket__document *d, const struct hocket__doc_change *c,
    bool record, struct hocket_error *err)
{
    size_t at;
    struct hocket__doc_slot *known = hocket__document_find(d, &c->slot, &at), *slot = known;
    struct hocket__doc_node *node = NULL;
    int status = reserve(d);
    if (status == 0 && !slot)
        slot = slot_new(d->a, &c->slot);
    if (status == 0 && slot)
        node = node_new(d, c, slot);
    status = node ? 0 : hocket__error_nomem(err);
    if (status == 0 && record)
        status = record_change(d, &node->e, err);
    if (status < 0) {
        if (node)
            hocket__free(d->a, node, node->size);
        if (!known)
            hocket__free(d->a, slot, sizeof(*slot));
        return status;
    }
    if (!known)
        insert_slot(d, slot, at);
    insert_node(d, c, slot, node);
    return 0;
}

/* ---- Operations ------------------------------------------------------------ */

static int check_size(const struct hocket__document *d, size_t n, struct hocket_error *err)
{
    if (n > d->max_entry)
        return hocket__error(err, HOCKET_ELIMIT,
            "the text is %zu bytes long, but an entry has at most %zu: shorten it or split it up",
            n, d->max_entry);
    if (n > d->max_bytes || d->bytes > d->max_bytes - n)
        return hocket__error(err, HOCKET_ELIMIT,
            "the document with its history holds %zu bytes and cannot take %zu more: its limit "
            "is %zu",
            d->bytes, n, d->max_bytes);
    return 0;
}

/* History counts, too: versions are never dropped, so their number has a limit of its own, and at
 * that limit reading goes on. */
static int check_counts(
    const struct hocket__document *d, const struct hocket__doc_change *c, struct hocket_error *err)
{
    size_t at, replaced = 0;
    const struct hocket__doc_slot *slot = hocket__document_find(d, &c->slot, &at);
    if (slot && c->base_version >= 0)
        replaced = (size_t) count_replaced(slot, c);
    if (d->version_count >= d->max_versions)
        return hocket__error(err, HOCKET_ELIMIT,
            "the document has had %zu changes, which is the limit of its history: it can be "
            "read, but not changed any more",
            d->version_count);
    if (!slot && d->slot_count >= d->max_slots)
        return hocket__error(err, HOCKET_ELIMIT,
            "the document has %zu slots in use, its limit: write into one of these", d->slot_count);
    /* a consolidation that replaces something never makes more of them, so it is the way out
     * of a full document */
    if (replaced == 0 && d->live >= d->max_entries)
        return hocket__error(err, HOCKET_ELIMIT,
            "the document holds %zu entries, its limit: consolidate slots with several entries "
            "first",
            d->live);
    return 0;
}

static int check_change(
    const struct hocket__document *d, const struct hocket__doc_change *c, struct hocket_error *err)
{
    int status = hocket__emitter_check(&d->emitter, err);
    if (status == 0)
        status = hocket__slots_check(&d->schema, &c->slot, err);
    if (status == 0)
        status = hocket__text_name(c->agent, "the author of a change", err);
    if (status == 0 && c->base_version > (int64_t) d->version_count)
        status = hocket__error(err, HOCKET_EINVAL,
            "base_version %" PRId64 " does not exist yet: the latest is %zu", c->base_version,
            d->version_count);
    if (status == 0)
        status = check_size(d, c->content.n, err);
    if (status == 0 && hocket__text_trim(c->content).n == 0)
        status = hocket__error(err, HOCKET_EINVAL, "the content is empty");
    return status == 0 ? check_counts(d, c, err) : status;
}

/* Size is checked before the repair and after it: a text at the limit with invalid bytes grows,
 * three bytes for each. */
static int64_t change(
    struct hocket__document *d, struct hocket__doc_change *c, struct hocket_error *err)
{
    struct hocket__buf repaired = hocket__buf(d->a, 0);
    int status = check_change(d, c, err);
    if (status == 0 && hocket__text_repair(&repaired, &c->content) < 0)
        status = hocket__error_nomem(err);
    if (status == 0)
        status = check_size(d, c->content.n, err); /* a repair may have made it longer */
    if (status == 0)
        status = hocket__document_apply(d, c, true, err);
    hocket__buf_deinit(&repaired);
    return status < 0 ? status : (int64_t) d->version_count;
}

int64_t hocket__document_append(struct hocket__document *d, const struct hocket__slot *slot,
    struct hocket__str agent, struct hocket__str content, int64_t now_ms, struct hocket_error *err)
{
    struct hocket__doc_change c = {
        .slot = *slot, .agent = agent, .content = content, .base_version = -1, .at_ms = now_ms
    };
    return change(d, &c, err);
}

int64_t hocket__document_consolidate(struct hocket__document *d, const struct hocket__slot *slot,
    struct hocket__str author, struct hocket__str content, int64_t base_version,
    const struct hocket__versions *only, int64_t now_ms, struct hocket_error *err)
{
    struct hocket__doc_change c = { .slot = *slot,
        .agent = author,
        .content = content,
        .base_version = base_version,
        .at_ms = now_ms,
        .only = only };
    if (base_version < 0)
        return hocket__error(err, HOCKET_EINVAL,
            "base_version has to be the version that was read, not %" PRId64, base_version);
    return change(d, &c, err);
}
