/* Timers that only tidy up: they close connections that nobody uses. A program that waits for nothing else need not wake up for
 * them: hocket_backend_timeout passes over a uv_timer_t whose `data` is this. */
#pragma once

#include <stdint.h>

#define HOCKET__UPKEEP ((void *) (uintptr_t) 0x75706b70)
