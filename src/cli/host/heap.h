/* The program's heap, made for a long run. */
#pragma once

#include <stdint.h>

/* Once, at the start, before a host is opened. What the machine refuses stays as it is by itself, and
 * whoever has set GLIBC_TUNABLES keeps what was chosen there. */
void cli_heap_prepare(void);

/* For cli_heap_saw. */
extern uintptr_t cli_heap_watched;
void cli_heap_grew(uintptr_t end);

/* Notes each block that was allocated, by its end. */
static inline void cli_heap_saw(uintptr_t end)
{
    if (end > cli_heap_watched)
        cli_heap_grew(end);
}
