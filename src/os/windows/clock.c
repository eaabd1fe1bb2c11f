#include "os/clock.h"

#include <uv.h>

#define TO_1970 INT64_C(116444736000000000) /* in steps of 100 ns, since 1601 */

int64_t hocket__wall_ms(void)
{
    FILETIME t;
    GetSystemTimePreciseAsFileTime(&t);
    return (((int64_t) t.dwHighDateTime << 32 | t.dwLowDateTime) - TO_1970) / 10000;
}

int64_t hocket__monotonic_ms(void)
{
    return (int64_t) (uv_hrtime() / 1000000);
}

/* It counts sleep as well. */
int64_t hocket__boot_ms(void)
{
    return (int64_t) GetTickCount64();
}
