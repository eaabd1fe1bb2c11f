/* Wall-clock time as text: "2026-11-21T09:00:00.123Z". By arithmetic alone, so
 * that neither the process's locale nor its time zone has a say. */
#pragma once

#include <stdint.h>

#define HOCKET__ISOTIME_SIZE 25 /* with the NUL */

/* Milliseconds since 1970, UTC. What lies outside the years 0 to 9999 becomes
 * the first or the last moment that has this form. */
void hocket__isotime(int64_t ms, char out[HOCKET__ISOTIME_SIZE]);

/* The same for times that come one after another: the text of the last one is kept, and of one in
 * the same second only the milliseconds are written anew. Starts as {0}. */
struct hocket__isotime {
    int64_t second; /* that the text is of */
    char text[HOCKET__ISOTIME_SIZE];
};
const char *hocket__isotime_next(struct hocket__isotime *last, int64_t ms);
