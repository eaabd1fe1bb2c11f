/* The time of an answer, as its head says it (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT". By the tables of the RFC,
 * so that the process's locale has no say. */
#pragma once

#include <stdint.h>

/* The last one, which is made anew when the second has passed. Starts as {0}. */
struct hocket__server_date {
    int64_t second; /* that the text is of */
    char text[64];
};

/* Seconds since 1970; NULL for a year that has no four digits. */
const char *hocket__server_date(struct hocket__server_date *last, int64_t second);
