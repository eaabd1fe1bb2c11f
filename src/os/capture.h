/* What is kept of an output of any length: its head and its tail. */
#pragma once

#include "base/buf.h"

struct hocket__capture {
    struct hocket__buf head;
    struct hocket__buf tail; /* between tail_max and twice that while more comes */
    size_t tail_max;
    uint64_t total; /* bytes that came */
};

void hocket__capture_init(
    struct hocket__capture *c, const struct hocket_allocator *a, size_t head_max, size_t tail_max);
void hocket__capture_deinit(struct hocket__capture *c);

/* Without memory what comes counts as left out. */
void hocket__capture_add(struct hocket__capture *c, const char *p, size_t n);

/* The bytes between head and tail that were left out. Cuts the tail to its length. */
uint64_t hocket__capture_finish(struct hocket__capture *c);
