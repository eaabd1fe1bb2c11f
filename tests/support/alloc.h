/* An allocator for tests: checks that every size given back is exact, moves every block
 * that is resized (stale pointers show under asan), counts what lives, and can fail.
 *
 *     struct test_alloc t;
 *     test_alloc_init(&t);
 *     … &t.a …
 *     test_alloc_check(&t);          // nothing is left */
#pragma once

#include <hocket/hocket.h>

struct test_alloc {
    struct hocket_allocator a;
    size_t blocks, bytes; /* alive */
    size_t calls;         /* allocations and resizes so far, failed ones too */
    size_t fail_at;       /* the n-th call fails, from 1; 0: none */
    bool fail_rest;       /* and all calls after it */
    size_t fail_more;     /* and so many calls after it */
    size_t only;          /* calls are those for a new block of so many bytes; 0: all */
    bool failed;          /* a call was made to fail */
};

/* In place: the allocator points to it. */
void test_alloc_init(struct test_alloc *t);

/* Fails the test when anything is still allocated. */
void test_alloc_check(const struct test_alloc *t);

/* Runs `body` again and again: with the first allocation failing, with the second, …
 * until one run gets by without a failure, alone and with all that follow failing
 * too; checks after each that nothing is left. `body` looks at t->failed to know what to expect:
 * without a failure it must succeed; it may succeed in spite of one. Returns the number of
 * allocations that a whole run makes. */
size_t test_alloc_each(void (*body)(struct test_alloc *t, void *ud), void *ud);
