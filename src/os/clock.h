/* The system's clocks, in milliseconds. */
#pragma once

#include <stdint.h>

/* Since 1970, UTC: people and other machines set it. */
int64_t hocket__wall_ms(void);
/* Never goes back, from an unknown beginning; it may stand still while the machine sleeps. */
int64_t hocket__monotonic_ms(void);
/* The same, and continues while the machine sleeps. */
int64_t hocket__boot_ms(void);
