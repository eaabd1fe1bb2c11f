/* A host over a store, and what the store holds of a run. */
#pragma once

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bind/store/store.h"
#include "host/host.h"

static inline const char *variables(const char *name, void *ud)
{
    const char *lease = ud; /* NULL: as long as usual */
    return strcmp(name, "HOCKET_MODEL") == 0   ? "sim/default"
           : strcmp(name, "HOCKET_TRUST") == 0 ? "1"
           : strcmp(name, "HOCKET_LEASE") == 0 ? lease
                                               : NULL;
}

static inline hocket_host *open_with(struct hocket_options *o)
{
    struct hocket_error err;
    hocket_host *h = NULL;
    if (hocket_open(o, &h, &err) < 0 || hocket_serve_attach(h, &err) < 0)
        fail_msg("%s", err.message);
    return h;
}

static inline hocket_host *open_over(const char *store, const char *lease)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    o.getenv_cb = variables;
    o.getenv_ud = (void *) lease;
    o.store = store;
    return open_with(&o);
}

static inline struct hocket__store *store_of(hocket_host *h)
{
    return hocket__runtime_store(h->rt, NULL);
}

/* ---- What the store holds ------------------------------------------------------------------- */

struct seen {
    struct hocket__store_run run;
    char waiting[2048];
    int rows, done, status;
};

static inline int on_row(void *ud, const struct hocket__store_row *row)
{
    struct seen *s = ud;
    if (row->kind == HOCKET__STORE_ROW_RUN) {
        s->run = row->run;
        snprintf(s->waiting, sizeof(s->waiting), "%.*s", (int) row->run.waiting_for.n,
            row->run.waiting_for.p);
    }
    s->rows++;
    return 0;
}

static inline void on_rows(void *ud, int status, const struct hocket_error *err)
{
    struct seen *s = ud;
    (void) err;
    s->done = 1;
    s->status = status;
}

static inline struct hocket__store_reply reply_to(struct seen *s)
{
    *s = (struct seen){ 0 };
    return (struct hocket__store_reply){ on_row, on_rows, s };
}

/* `rc` is what asking returned. */
static inline void until_seen(hocket_host *h, const struct seen *s, int rc)
{
    assert_int_equal(rc, 0);
    for (int i = 0; i < 3000 && !s->done; i++)
        hocket_wait(h, 10);
    assert_true(s->done);
}

static inline struct seen look(hocket_host *h, const char *name)
{
    struct seen s;
    struct hocket__store_reply reply = reply_to(&s);
    until_seen(h, &s, hocket__store_find(store_of(h), hocket__cstr(name), &reply, NULL));
    return s;
}

static inline void submit_run(hocket_host *h, const struct hocket__store_run *run)
{
    struct seen s;
    struct hocket__store_reply reply = reply_to(&s);
    until_seen(h, &s, hocket__store_submit(store_of(h), run, HOCKET__STR(""), &reply, NULL));
    assert_int_equal(s.status, 0);
}

static inline void send_message(hocket_host *h, const char *name, const char *id, const char *json)
{
    struct seen s;
    struct hocket__store_reply reply = reply_to(&s);
    struct hocket__store_message m = { hocket__cstr(id), 1, hocket__cstr(json) };
    until_seen(h, &s, hocket__store_message(store_of(h), hocket__cstr(name), &m, &reply, NULL));
    assert_int_equal(s.status, 0);
}
