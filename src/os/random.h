/* Random bytes of the system, fit for secrets. */
#pragma once

#include <uv.h>

/* Fills n bytes: 0, or a negative code of libuv's. Blocks only where a machine has just been started. */
static inline int hocket__random(void *out, size_t n)
{
    return uv_random(NULL, NULL, out, n, 0, NULL);
}
