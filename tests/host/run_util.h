/* What tests of the C interface share: scripts in files, a host, what its runs told. */
#pragma once

#include <hocket/hocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/alloc.h"
#include "support/temp.h"

struct outcome {
    int done, status, events;
    char text[1024], error[512];
};

static inline void keep_outcome(
    hocket_host *h, uint64_t run, const struct hocket_result *r, void *ud)
{
    struct outcome *o = ud;
    (void) h;
    (void) run;
    o->done++;
    o->status = r->status;
    snprintf(o->text, sizeof(o->text), "%s", r->text);
    snprintf(o->error, sizeof(o->error), "%s", r->error ? r->error->message : "");
}

/* A file that is gone when drop_file is called; one at a time. */
static char file_path[TEST_TEMP_PATH];

static inline const char *file_with(const char *text)
{
    assert_true(test_temp_file(file_path, ".lua", text));
    return file_path;
}

static inline int drop_file(void **state)
{
    (void) state;
    if (file_path[0])
        unlink(file_path);
    file_path[0] = 0;
    return 0;
}

static inline hocket_host *host_with(struct test_alloc *t, struct hocket_options *o)
{
    struct hocket_error e = { 0 };
    hocket_host *h = NULL;
    if (t) {
        test_alloc_init(t);
        o->allocator = t->a;
    }
    if (hocket_open(o, &h, &e) < 0 || hocket_serve_attach(h, &e) < 0)
        fail_msg("%s", e.message);
    return h;
}

static inline void wait_for(hocket_host *h, struct outcome *o)
{
    for (int i = 0; i < 2000 && !o->done; i++)
        hocket_wait(h, 10);
    assert_int_equal(o->done, 1);
}
