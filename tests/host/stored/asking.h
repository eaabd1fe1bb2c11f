/* The questions of one kind that a host puts to its store: some of them fail as while a server is away, or are held until a
 * test lets them go. One host at a time. */
#pragma once

#include "bind/store/store.h"
#include "host/host.h"
#include "store/store_impl.h"

static struct {
    const struct hocket__store_backend_ops *real;
    struct hocket__store_backend_ops ops;
    struct hocket__store_backend *backend;
    enum hocket__store_call_kind kind;
    int fails, failed; /* how many are to, and how many have */
    bool holds;
    struct hocket__store_call *held;
} asking;

static void asking_ask(struct hocket__store_backend *b, struct hocket__store_call *c)
{
    if (c->q.kind == asking.kind && asking.holds && !asking.held) {
        asking.held = c;
        return;
    }
    if (c->q.kind != asking.kind || asking.failed == asking.fails) {
        asking.real->ask(b, c);
        return;
    }
    asking.failed++;
    c->status = hocket__error(&c->error, HOCKET_EIO, "the server does not answer");
    c->error.retryable = true;
    hocket__store_answer(b->store, c);
}

static inline void asking_begin(hocket_host *h, enum hocket__store_call_kind kind)
{
    struct hocket__store *s = hocket__runtime_store(h->rt, NULL);
    asking.backend = s->backend;
    asking.real = s->backend->ops;
    asking.ops = *asking.real;
    asking.ops.ask = asking_ask;
    asking.kind = kind;
    asking.fails = asking.failed = 0;
    asking.holds = false;
    asking.held = NULL;
    s->backend->ops = &asking.ops;
}

/* What is held is asked now. Nothing is held or fails any more. */
static inline void asking_end(void)
{
    struct hocket__store_call *held = asking.held;
    asking.backend->ops = asking.real;
    asking.held = NULL;
    if (held)
        asking.real->ask(asking.backend, held);
}
