/* A broker over a memory store, with its events and wakes recorded, and short
 * words for what every test does. The clock is f.now. */
#pragma once

#include "core/broker/broker.h"
#include "support/alloc.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

struct fixture {
    struct test_alloc t;
    struct hocket__broker *b;
    struct hocket_error err;
    int64_t now;
    size_t events[8], wakes, drops;
    void *last_dropped;
    uint64_t last_event_id, last_wake;
    char last_payload[256], last_usage[64];
};

static inline void fixture_event(const struct hocket__broker_event *e, void *ud)
{
    struct fixture *f = ud;
    f->events[e->type]++;
    f->last_event_id = e->job->id;
    snprintf(f->last_payload, sizeof(f->last_payload), "%.*s", (int) e->payload.n, e->payload.p);
    snprintf(f->last_usage, sizeof(f->last_usage), "%.*s", (int) e->usage.n, e->usage.p);
}

static inline void fixture_wake(uint64_t token, void *ud)
{
    struct fixture *f = ud;
    f->wakes++;
    f->last_wake = token;
}

static inline void fixture_drop(void *job_ud, void *ud)
{
    struct fixture *f = ud;
    f->drops++;
    f->last_dropped = job_ud;
}

static inline int fixture_broker(
    struct fixture *f, const struct hocket_allocator *a, const struct hocket__broker_options *o)
{
    struct hocket__broker_hooks hooks = { fixture_event, fixture_wake, f, fixture_drop };
    return hocket__broker_new(a, o, &hooks, &f->b);
}

static inline void fixture_open(struct fixture *f, const struct hocket__broker_options *o)
{
    *f = (struct fixture){ .now = 1000 };
    test_alloc_init(&f->t);
    assert_int_equal(fixture_broker(f, &f->t.a, o), 0);
}

static inline void fixture_close(struct fixture *f)
{
    hocket__broker_free(f->b);
    test_alloc_check(&f->t);
}

static inline struct hocket__job_spec spec_in(uint64_t run)
{
    struct hocket__job_spec s = hocket__job_spec_default();
    s.run = run;
    s.agent = HOCKET__STR("writer");
    s.data = HOCKET__STR("{\"prompt\":\"hello\"}");
    return s;
}

static inline uint64_t submit(struct fixture *f, const struct hocket__job_spec *s)
{
    uint64_t id = 0;
    assert_int_equal(hocket__broker_submit(f->b, s, 1, f->now, &id, &f->err), 0);
    return id;
}

static inline uint64_t submit_plain(struct fixture *f)
{
    struct hocket__job_spec s = spec_in(1);
    return submit(f, &s);
}

/* The next job, or 0. */
static inline uint64_t next(struct fixture *f)
{
    struct hocket__claim c;
    return hocket__broker_next(f->b, f->now, &c) ? c.job->id : 0;
}

static inline uint64_t fence_of(struct fixture *f, uint64_t id)
{
    return hocket__broker_get(f->b, id)->fence;
}

static inline enum hocket__job_state state_of(struct fixture *f, uint64_t id)
{
    return hocket__broker_get(f->b, id)->state;
}

static inline int complete(struct fixture *f, uint64_t id)
{
    return hocket__broker_complete(f->b, id, fence_of(f, id), f->now, HOCKET__STR("\"done\""),
        HOCKET__STR("{\"calls\":1}"), &f->err);
}

static inline int fail_job(struct fixture *f, uint64_t id, uint64_t random, bool no_retry)
{
    struct hocket__job_outcome o = { .status = HOCKET_EPROVIDER,
        .error = HOCKET__STR("overloaded"),
        .usage = HOCKET__STR("{\"calls\":2}"),
        .no_retry = no_retry };
    return hocket__broker_fail(f->b, id, fence_of(f, id), f->now, random, &o, &f->err);
}

static inline int park(struct fixture *f, uint64_t id)
{
    return hocket__broker_park(f->b, id, fence_of(f, id), &f->err);
}

static inline int unpark(struct fixture *f, uint64_t id)
{
    return hocket__broker_unpark(f->b, id, fence_of(f, id), &f->err);
}

static inline int cancel(struct fixture *f, uint64_t id)
{
    return hocket__broker_cancel(f->b, id, f->now, &f->err);
}

static inline struct hocket__job_spec spec_below(struct fixture *f, uint64_t parent)
{
    struct hocket__job_spec s = spec_in(0);
    s.parent = parent;
    s.parent_fence = fence_of(f, parent);
    return s;
}
