#include "support/alloc.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x68636b74u

/* In front of each block; as aligned as malloc's own. */
struct header {
    _Alignas(max_align_t) size_t size;
    size_t magic;
};

/* The allocator of a host in thread mode is called from both threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void release(struct test_alloc *t, void *ptr, size_t old_size)
{
    struct header *h = (struct header *) ptr - 1;
    if (h->magic != MAGIC)
        fail_msg("%p was not allocated here", ptr);
    if (h->size != old_size)
        fail_msg("a block of %zu bytes was given back as %zu", h->size, old_size);
    t->blocks--;
    t->bytes -= old_size;
    memset(h, 0xDD, sizeof(*h) + old_size);
    free(h);
}

static void *resize_locked(struct test_alloc *t, void *ptr, size_t old_size, size_t new_size)
{
    void *p = NULL;
    if (new_size > 0) {
        bool counts = t->only == 0 || (!ptr && new_size == t->only);
        t->calls += counts;
        if (counts && t->fail_at && t->calls >= t->fail_at
            && (t->fail_rest || t->calls - t->fail_at <= t->fail_more)) {
            t->failed = true;
            return NULL;
        }
        struct header *h = malloc(sizeof(*h) + new_size);
        assert_non_null(h);
        *h = (struct header){ .size = new_size, .magic = MAGIC };
        p = h + 1;
        memset(p, 0xCC, new_size);
        t->blocks++;
        t->bytes += new_size;
    }
    if (ptr) {
        if (p)
            memcpy(p, ptr, old_size < new_size ? old_size : new_size);
        release(t, ptr, old_size);
    }
    return p;
}

static void *resize(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    pthread_mutex_lock(&lock);
    void *p = resize_locked(ud, ptr, old_size, new_size);
    pthread_mutex_unlock(&lock);
    return p;
}

void test_alloc_init(struct test_alloc *t)
{
    *t = (struct test_alloc){ .a = { resize, t } };
}

void test_alloc_check(const struct test_alloc *t)
{
    if (t->blocks > 0)
        fail_msg("%zu blocks with %zu bytes are left", t->blocks, t->bytes);
}

size_t test_alloc_each(void (*body)(struct test_alloc *t, void *ud), void *ud)
{
    struct test_alloc t = { .failed = true };
    for (size_t n = 1; t.failed; n++)
        for (int rest = 1; rest >= 0; rest--) {
            test_alloc_init(&t);
            t.fail_at = n;
            t.fail_rest = rest;
            body(&t, ud);
            test_alloc_check(&t);
        }
    return t.calls;
}
