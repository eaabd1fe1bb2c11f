/* The memory store: rows as the bytes that were handed over, in order. It takes a batch at once, so
 * what was handed over is kept at the end of the turn; out of memory it takes a part of it, and the rest when it is given again.
 * Here is what a backend is asked for; the rows are in rows.c, what is done to
 * them in apply.c, questions about them in ask.c. */
#include "store/memory/memory_impl.h"

#include <uv.h>

static struct hocket__memory *of(struct hocket__store_backend *b)
{
    return hocket__container_of(b, struct hocket__memory, base);
}

/* For who hands a run in and works at it, too: there is nobody else. */
static void give_hint(struct hocket__memory *m)
{
    bool told = m->hint && m->base.store->watchers > 0;
    m->hint = false;
    if (told)
        hocket__store_report(m->base.store, HOCKET__STORE_CHANGED, NULL, NULL);
}

/* A command that had no memory has done nothing, and is done again: so what its refusal takes is there before. */
static int apply(struct hocket__memory *m, const struct hocket__store_command *c)
{
    if (!m->spare)
        m->spare = hocket__store_refused_new(m->a, "");
    int rc = m->spare ? hocket__memory_apply(m, c) : HOCKET_ENOMEM;
    struct hocket__store_refused *r = m->spare;
    if (rc == 0 || rc == HOCKET_ENOMEM)
        return rc;
    m->spare = NULL;
    memcpy(r->id, c->id, sizeof(r->id));
    hocket__store_refusal(c->kind, c->id, rc, &r->error);
    hocket__store_refuse(m->base.store, r);
    if (c->kind == HOCKET__STORE_RELEASE)
        hocket__store_released(m->base.store, c->id);
    return 0;
}

/* What was refused is said before that the batch is kept, as other stores do: whoever waits for the
 * batch sees the refusal first. */
static int memory_submit(struct hocket__store_backend *b, struct hocket__buf *batch, uint64_t seq)
{
    struct hocket__memory *m = of(b);
    struct hocket__str in = hocket__buf_str(batch), rest = in;
    struct hocket__store_command c;
    for (; hocket__store_command_next(&in, &c); rest = in)
        if (apply(m, &c) < 0) {
            hocket__buf_drop(batch, batch->len - rest.n);
            return HOCKET_ENOMEM;
        }
    m->commits++;
    hocket__store_kept(b->store, seq, seq);
    give_hint(m);
    return 0;
}

static void memory_ask(struct hocket__store_backend *b, struct hocket__store_call *c)
{
    hocket__memory_answer(of(b), c);
    hocket__store_answer(b->store, c);
    give_hint(of(b));
}

/* ---- Life -------------------------------------------------------------------------------------- */

/* Nobody waits for longer than a turn. */
static void memory_want(struct hocket__store_backend *b, uint64_t seq, enum hocket__store_kept kept)
{
    (void) b, (void) seq, (void) kept;
}

static void memory_switch(struct hocket__store_backend *b, bool on)
{
    (void) b, (void) on;
}

static void memory_close(struct hocket__store_backend *b)
{
    struct hocket__memory *m = of(b);
    struct hocket__store *s = b->store;
    while (m->n_runs > 0)
        hocket__memory_free_run(m, m->runs[m->n_runs - 1]);
    hocket__free(m->a, m->runs, m->cap * sizeof(*m->runs));
    hocket__memory_free_blocks(m, &m->files);
    hocket__memory_free_blocks(m, &m->items);
    hocket__memory_free_blocks(m, &m->notes);
    hocket__memory_free_limits(m);
    hocket__free(m->a, m->spare, sizeof(*m->spare));
    hocket__free(m->a, m, sizeof(*m));
    hocket__store_closed(s);
}

static const struct hocket__store_backend_ops memory_ops = {
    .name = "memory",
    .submit = memory_submit,
    .want = memory_want,
    .ask = memory_ask,
    .hold = memory_switch,
    .watch = memory_switch,
    .close = memory_close,
};

int hocket__store_memory_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct hocket__memory *m = hocket__zero(o->alloc, sizeof(*m));
    if (!m)
        return hocket__error_nomem(err);
    int rc = hocket__store_new(o, out, err);
    if (rc < 0) {
        hocket__free(o->alloc, m, sizeof(*m));
        return rc;
    }
    m->base = (struct hocket__store_backend){ &memory_ops, *out };
    m->a = o->alloc;
    uv_os_gethostname(m->host, &(size_t){ sizeof(m->host) });
    (*out)->backend = &m->base;
    hocket__store_opened(*out);
    return 0;
}
