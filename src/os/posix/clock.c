#include "os/clock.h"

#include <time.h>

#ifndef CLOCK_BOOTTIME /* macOS: its monotonic clock counts sleep */
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t hocket__wall_ms(void)
{
    return now(CLOCK_REALTIME);
}

int64_t hocket__monotonic_ms(void)
{
    return now(CLOCK_MONOTONIC);
}

int64_t hocket__boot_ms(void)
{
    return now(CLOCK_BOOTTIME);
}
