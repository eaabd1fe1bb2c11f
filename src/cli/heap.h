/* The program's heap, made for a long run. */
#pragma once

/* Once, at the start, before a host is opened. What the machine refuses stays as it is by itself, and
 * whoever has set GLIBC_TUNABLES keeps what was chosen there. */
void cli_heap_prepare(void);
