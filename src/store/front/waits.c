/* Who waits until something is kept, and the runs whose writes were refused: their waits fail, and no others. */
#include "store/front/front_impl.h"

#include <stdio.h>
#include <string.h>

/* ---- Refused runs ------------------------------------------------------------------------ */

static struct hocket__store_refused *refused_of(struct hocket__store *s, const char *id)
{
    for (struct hocket__list *l = s->refused.next; l != &s->refused; l = l->next) {
        struct hocket__store_refused *r =
            hocket__container_of(l, struct hocket__store_refused, link);
        if (memcmp(r->id, id, HOCKET__STORE_ID) == 0)
            return r;
    }
    return NULL;
}

static void drop(struct hocket__store_refused *r)
{
    hocket__list_del(&r->link);
    hocket__free(r->a, r, sizeof(*r));
}

/* The run was claimed anew: what was refused under an older claim is settled. */
void hocket__front_forgive(struct hocket__store *s, const char *id)
{
    struct hocket__store_refused *r = refused_of(s, id);
    if (r)
        drop(r);
}

/* Waits that were begun before may be under way. */
void hocket__store_released(struct hocket__store *s, const char *id)
{
    struct hocket__store_refused *r = refused_of(s, id);
    if (r)
        r->left = s->handed;
}

static void drop_left(struct hocket__store *s)
{
    for (struct hocket__list *l = s->refused.next, *next; l != &s->refused; l = next) {
        struct hocket__store_refused *r =
            hocket__container_of(l, struct hocket__store_refused, link);
        next = l->next;
        if (r->left && r->left <= s->written)
            drop(r);
    }
}

struct hocket__store_refused *hocket__store_refused_new(
    const struct hocket_allocator *a, const char *id)
{
    struct hocket__store_refused *r = hocket__zero(a, sizeof(*r));
    if (!r)
        return NULL;
    r->a = a;
    hocket__list_init(&r->link);
    snprintf(r->id, sizeof(r->id), "%s", id);
    return r;
}

bool hocket__front_refuse(struct hocket__store *s, struct hocket__store_refused *r)
{
    bool news = !refused_of(s, r->id);
    if (news)
        hocket__list_add(&s->refused, &r->link);
    else
        drop(r);
    return news;
}

bool hocket__front_is_refused(struct hocket__store *s, const char *id)
{
    return refused_of(s, id) != NULL;
}

void hocket__front_forgive_all(struct hocket__store *s)
{
    while (!hocket__list_empty(&s->refused))
        drop(hocket__container_of(s->refused.next, struct hocket__store_refused, link));
}

/* ---- Waits ------------------------------------------------------------------------------- */

void hocket__store_commit(struct hocket__store *s, const struct hocket__store_claim *claim,
    enum hocket__store_kept kept, struct hocket__store_wait *w)
{
    w->seq = s->handed;
    w->kept = kept;
    w->id[0] = 0;
    if (claim)
        memcpy(w->id, claim->id, sizeof(w->id));
    hocket__list_add(&s->waits, &w->link);
    hocket__store_next_turn(s);
}

uint64_t hocket__store_handed(const struct hocket__store *s)
{
    return s->handed;
}

bool hocket__store_has(const struct hocket__store *s, uint64_t place)
{
    return place <= s->written;
}

/* Also for a wait that was never begun, or is over: its link is empty then. */
void hocket__store_forget(struct hocket__store_wait *w)
{
    if (w->link.next)
        hocket__list_del(&w->link);
}

/* Nothing is due before the file is open, also where nothing was handed over: "kept" would be said
 * of a store that may turn out to be no store. */
static bool is_kept(const struct hocket__store *s, const struct hocket__store_wait *w)
{
    return s->ready && w->seq <= (w->kept == HOCKET__STORE_SYNCED ? s->synced : s->written);
}

static bool is_due(const struct hocket__store *s, const struct hocket__store_wait *w)
{
    return s->broken || (s->paused && w->no_pause) || is_kept(s, w);
}

/* Why it ends without having been kept; NULL: it was. */
static const struct hocket_error *reason(
    const struct hocket__store *s, const struct hocket__store_wait *w)
{
    return s->broken ? &s->error : is_kept(s, w) ? NULL : &s->pause;
}

/* A run that was refused fails its own waits; others that were in the same batch are not touched by
 * it. */
static void finish_wait(struct hocket__store *s, struct hocket__store_wait *w)
{
    struct hocket__store_refused *r = w->id[0] ? refused_of(s, w->id) : NULL;
    hocket__list_del(&w->link);
    const struct hocket_error *why = r ? &r->error : reason(s, w);
    w->done(w, why ? why->status : 0, why);
}

/* Due waits go to a list of their own first: `done` may forget others, and add some. */
void hocket__front_finish_waits(struct hocket__store *s)
{
    struct hocket__list due;
    hocket__list_init(&due);
    for (struct hocket__list *l = s->waits.next, *next; l != &s->waits; l = next) {
        struct hocket__store_wait *w = hocket__container_of(l, struct hocket__store_wait, link);
        next = l->next;
        if ((w->seq > s->written || !s->ready) && !s->broken && !s->paused)
            break;
        if (is_due(s, w))
            hocket__list_move(&due, l);
    }
    while (!hocket__list_empty(&due))
        finish_wait(s, hocket__container_of(due.next, struct hocket__store_wait, link));
    drop_left(s);
    hocket__front_hold(s);
}

void hocket__store_kept(struct hocket__store *s, uint64_t written, uint64_t synced)
{
    s->written = written;
    s->synced = synced;
    hocket__front_finish_waits(s);
}

/* The strongest need of the waits: every write handed over before the last wait. */
void hocket__front_want(struct hocket__store *s)
{
    uint64_t seq[2] = { 0, 0 };
    for (struct hocket__list *l = s->waits.prev; l != &s->waits; l = l->prev) {
        struct hocket__store_wait *w = hocket__container_of(l, struct hocket__store_wait, link);
        if (w->seq > seq[w->kept])
            seq[w->kept] = w->seq;
        if (seq[0] && seq[1])
            break;
    }
    if (seq[HOCKET__STORE_WRITTEN] > s->written)
        s->backend->ops->want(s->backend, seq[HOCKET__STORE_WRITTEN], HOCKET__STORE_WRITTEN);
    if (seq[HOCKET__STORE_SYNCED] > s->synced)
        s->backend->ops->want(s->backend, seq[HOCKET__STORE_SYNCED], HOCKET__STORE_SYNCED);
}

void hocket__front_end_waits(struct hocket__store *s)
{
    while (!hocket__list_empty(&s->waits))
        finish_wait(s, hocket__container_of(s->waits.next, struct hocket__store_wait, link));
}
