/* What belongs to one process: a forked child finds none of it. The kernel empties the page that
 * holds it (madvise(2), MADV_WIPEONFORK, Linux 4.14), so that to ask costs no system call; where
 * it does not, the process's number is compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct hocket__own {
    struct hocket__own_page *page; /* NULL: none could be had */
    int pid;                       /* the process that opened it, or took it over */
};

void hocket__own_open(struct hocket__own *o);
void hocket__own_close(struct hocket__own *o);

/* Whether this process is a child of the one that opened it or took it over. */
bool hocket__own_is_forked(const struct hocket__own *o);
/* It is this process's from now on. */
void hocket__own_take_over(struct hocket__own *o);

/* n bytes of the kernel's generator, fit for secrets; many of few bytes each cost one system call
 * together. No two processes get the same ones. 0, or HOCKET_EIO. */
int hocket__own_random(struct hocket__own *o, void *out, size_t n);

/* Random bytes of the system, fit for secrets. Fills n bytes: 0, or a negative code of libuv's. Blocks only where a machine has just been started. */
static inline int hocket__random(void *out, size_t n)
{
    return uv_random(NULL, NULL, out, n, 0, NULL);
}
