/* Progress and log events. The last few of each job are in a ring that is made with the first one. A
 * reader has a cursor (the last seq that it saw), so any number of readers costs nothing. */
#include "core/broker/broker_impl.h"

struct note {
    int64_t time_ms;
    enum hocket__broker_note kind;
    size_t len;
    char *text; /* NULL when len is 0 */
};

struct hocket__notes {
    uint64_t last; /* seq of the newest */
    size_t cap;
    struct note ring[]; /* seq s is at s % cap */
};

static size_t notes_size(size_t cap)
{
    return sizeof(struct hocket__notes) + cap * sizeof(struct note);
}

static void put(struct hocket__broker *b, struct hocket__notes *notes, struct note note)
{
    struct note *at = &notes->ring[++notes->last % notes->cap];
    hocket__free(b->a, at->text, at->len);
    *at = note;
}

static int keep(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms,
    enum hocket__broker_note kind, struct hocket__str text)
{
    if (b->options.max_events == 0)
        return 0;
    if (!n->notes && !(n->notes = hocket__zero(b->a, notes_size(b->options.max_events))))
        return HOCKET_ENOMEM;
    /* in the notes themselves: freeing them must not depend on options */
    n->notes->cap = b->options.max_events;
    struct note note = { now_ms, kind, text.n, NULL };
    if (text.n > 0) {
        if (!(note.text = hocket__new(b->a, text.n)))
            return HOCKET_ENOMEM;
        memcpy(note.text, text.p, text.n);
    }
    put(b, n->notes, note);
    return 0;
}

int hocket__broker_note(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    enum hocket__broker_note kind, struct hocket__str text, struct hocket_error *err)
{
    int rc;
    struct hocket__node *n = hocket__node_of_attempt(b, id, fence, &rc, err);
    if (!n)
        return rc;
    if (text.n > b->options.max_event_bytes)
        return hocket__error(
            err, HOCKET_ELIMIT, "an event of more than %zu bytes", b->options.max_event_bytes);
    if (keep(b, n, now_ms, kind, text) < 0)
        return hocket__error_nomem(err);
    hocket__node_emit(b, n, kind == HOCKET__NOTE_LOG ? HOCKET__EVENT_LOG : HOCKET__EVENT_PROGRESS,
        text, HOCKET__STR(""));
    return 0;
}

size_t hocket__broker_notes(const struct hocket__broker *b, uint64_t id, uint64_t after,
    struct hocket__broker_noted *out, size_t max)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n || !n->notes)
        return 0;
    const struct hocket__notes *notes = n->notes;
    size_t count = 0;
    uint64_t seq = notes->last > notes->cap ? notes->last - notes->cap + 1 : 1;
    if (after >= notes->last)
        return 0;
    if (seq <= after)
        seq = after + 1;
    for (; seq <= notes->last && count < max; seq++) {
        const struct note *note = &notes->ring[seq % notes->cap];
        out[count++] = (struct hocket__broker_noted){ seq, note->time_ms, note->kind,
            hocket__str(note->text ? note->text : "", note->len) };
    }
    return count;
}

void hocket__notes_free(struct hocket__broker *b, struct hocket__node *n)
{
    if (!n->notes)
        return;
    for (size_t i = 0; i < n->notes->cap; i++)
        hocket__free(b->a, n->notes->ring[i].text, n->notes->ring[i].len);
    hocket__free(b->a, n->notes, notes_size(n->notes->cap));
    n->notes = NULL;
}
