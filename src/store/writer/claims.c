/* The claims of a store, by the ids of their runs, and what is to be told of them.
 *
 * What a claim says of its run is good for one transaction: it is read anew in each (hocket__writer_touch), so that nothing
 * of one that failed is believed. */
#include "store/writer/thread.h"

/* 0 is no key of the map. */
static uint64_t hash(const char *id)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a: ids are random already */
    for (int i = 0; i < HOCKET__STORE_ID; i++)
        h = (h ^ (unsigned char) id[i]) * 0x100000001b3u;
    return h ? h : 1;
}

/* Ids are compared as well: the map knows hashes alone, and two ids may have the same. */
struct hocket__claimed *hocket__claims_get(struct hocket__writer *w, const char *id)
{
    struct hocket__claimed *c = hocket__map_get(&w->claimed, hash(id));
    while (c && memcmp(c->id, id, HOCKET__STORE_ID) != 0)
        c = c->next_same;
    return c;
}

struct hocket__claimed *hocket__claims_need(struct hocket__writer *w, const char *id)
{
    struct hocket__claimed *c = hocket__claims_get(w, id);
    if (c)
        return c;
    c = hocket__zero(&hocket__malloc, sizeof(*c));
    if (!c)
        return NULL;
    memcpy(c->id, id, HOCKET__STORE_ID);
    c->next_same = hocket__map_get(&w->claimed, hash(id));
    if (hocket__map_set(&w->claimed, hash(id), c) < 0) {
        hocket__free(&hocket__malloc, c, sizeof(*c));
        return NULL;
    }
    hocket__list_init(&c->touched);
    hocket__list_add(&w->claims, &c->link);
    return c;
}

static void drop(struct hocket__writer *w, struct hocket__claimed *c)
{
    struct hocket__claimed *first = hocket__map_get(&w->claimed, hash(c->id));
    if (first == c) {
        if (c->next_same)
            hocket__map_set(&w->claimed, hash(c->id), c->next_same);
        else
            hocket__map_del(&w->claimed, hash(c->id));
    } else {
        while (first->next_same != c)
            first = first->next_same;
        first->next_same = c->next_same;
    }
    hocket__list_del(&c->link);
    hocket__list_del(&c->touched);
    hocket__free(&hocket__malloc, c, sizeof(*c));
}

void hocket__claims_free(struct hocket__writer *w)
{
    while (!hocket__list_empty(&w->claims))
        drop(w, hocket__container_of(w->claims.next, struct hocket__claimed, link));
    hocket__map_deinit(&w->claimed);
}

int hocket__claims_ids(struct hocket__writer *w, struct hocket__buf *out)
{
    for (struct hocket__list *l = w->claims.next; l != &w->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (hocket__claims_is_ours(c))
            hocket__buf_addf(out, "%s%s", out->len ? "," : "", c->id);
    }
    return out->status < 0 ? hocket__error_nomem(w->error) : 0;
}

/* ---- What a transaction knows of them -------------------------------------------------------- */

void hocket__writer_refuse(struct hocket__writer *w, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status)
{
    c->refusal = status;
    c->known = false;
    c->refused_kind = kind;
    c->told = false;
    w->has_refusals = true;
}

/* The claims of a transaction that failed are in `touched` still. */
void hocket__writer_begun(struct hocket__writer *w)
{
    w->transaction++;
    w->has_left = false;
    while (!hocket__list_empty(&w->touched))
        hocket__list_del(w->touched.next);
}

/* `told` is of refusals that the loop has heard of: those stay, whatever becomes of the transaction. */
bool hocket__writer_touch(struct hocket__writer *w, struct hocket__claimed *c)
{
    if (c->transaction == w->transaction)
        return false;
    c->transaction = w->transaction;
    c->dirty = c->released = c->changed = c->is_new = false;
    c->parent = 0;
    c->set = 0;
    if (!c->told)
        c->refusal = 0; /* of a transaction that was not written */
    hocket__list_move(&w->touched, &c->touched);
    return true;
}

void hocket__writer_settled(struct hocket__writer *w)
{
    for (struct hocket__list *l = w->touched.next, *next; l != &w->touched; l = next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, touched);
        next = l->next;
        hocket__list_del(l);
        if (c->released && !c->refusal)
            drop(w, c);
    }
}

/* To let go of it is the last word of a claim: nothing comes that has to be known as its. */
bool hocket__writer_passes(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_command *cmd)
{
    if (c->refusal && cmd->kind == HOCKET__STORE_RELEASE && cmd->fence >= c->lost_below)
        c->released = w->has_left = true;
    return c->refusal != 0;
}

int hocket__writer_deny(struct hocket__writer *w, struct hocket__str work)
{
    struct hocket__store_command cmd;
    hocket__writer_begun(w);
    while (hocket__store_command_next(&work, &cmd)) {
        if (cmd.kind == HOCKET__STORE_FILE)
            continue;
        struct hocket__claimed *c = hocket__claims_need(w, cmd.id);
        if (!c)
            return hocket__error_nomem(w->error);
        if (hocket__writer_touch(w, c) && !c->refusal)
            hocket__writer_refuse(w, c, cmd.kind, HOCKET_EDENIED);
        hocket__writer_passes(w, c, &cmd);
    }
    hocket__writer_settled(w);
    return 0;
}

void hocket__writer_forget(struct hocket__writer *w)
{
    if (!w->has_left)
        return;
    w->has_left = false;
    for (struct hocket__list *l = w->claims.next, *next; l != &w->claims; l = next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        next = l->next;
        if (c->refusal && c->told && c->released && c->transaction == w->transaction)
            drop(w, c);
    }
}

void hocket__writer_note(struct hocket__writer *w, const struct hocket__claimed *c,
    const struct hocket__store_command *cmd)
{
    const struct hocket__store_run *r = &cmd->row.run;
    bool says = cmd->kind == HOCKET__STORE_UPDATE && (cmd->set & HOCKET__STORE_SET_STATE);
    w->hint |= (cmd->kind == HOCKET__STORE_PUT && r->pool.n > 0)
               || (says && r->state == HOCKET__STORE_QUEUED)
               || (says && c->called && hocket__store_has_ended(r->state));
}

uint64_t hocket__claims_fence_of(const struct hocket__store_call *call)
{
    struct hocket__str rows = hocket__buf_str(&call->rows);
    struct hocket__store_row row;
    return call->status == 0 && hocket__store_unpack(&rows, &row) == 1 ? row.run.fence : 0;
}

void hocket__claims_taken(struct hocket__writer *w, struct hocket__claimed *c, uint64_t fence)
{
    if (fence) {
        if (c->refusal)
            c->lost_below = fence;
        c->refusal = 0;
        c->told = false;
        c->transaction = 0;
        c->known = false;
        c->fence = fence;
    } else if (c->fence == 0 && !c->refusal) {
        drop(w, c);
    }
}
