/* Wall-clock time as text: "2026-11-21T09:00:00.123Z". By arithmetic alone, so
 * that neither the process's locale nor its time zone has a say. */
#pragma once

#include <stdint.h>

#define HOCKET__ISOTIME_SIZE 25 /* with the NUL */

/* Milliseconds since 1970, UTC. What lies outside the years 0 to 9999 becomes
 * the first or the last moment that has this form. */
void hocket__isotime(int64_t ms, char out[HOCKET__ISOTIME_SIZE]);
