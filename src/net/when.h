/* Points in time and durations as servers write them in headers. Pure text to
 * milliseconds: no clock, no locale, no time zone. What is none, is negative, or lies past
 * HOCKET__WHEN_MAX_MS gives -1. */
#pragma once

#include "base/str.h"

#include <stdint.h>

#define HOCKET__WHEN_MAX_MS (INT64_C(24) * 3600 * 1000) /* of durations: a day */

/* "2", "17.399999999": seconds. With `unit_ms` 1: milliseconds. */
int64_t hocket__when_number(struct hocket__str text, int64_t unit_ms);
/* Go's form: "12ms", "17.3s", "6m0s", "1h2m3.5s", "250us". */
int64_t hocket__when_duration(struct hocket__str text);
/* How long a sentence of a server says to wait: "Please try again in 3s.", "retry after 3 seconds", "Please retry in
 * 1m20.5s"; a number alone is of seconds. -1: it does not say so. */
int64_t hocket__when_sentence(struct hocket__str text);

/* Since 1970, UTC: "2026-08-19T14:34:57Z", "…57.123+02:00". */
int64_t hocket__when_rfc3339(struct hocket__str text);
/* RFC 9110's three forms: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
 * "Sun Nov  6 08:49:37 1994". */
int64_t hocket__when_http_date(struct hocket__str text);
/* "1741305600000" or "1741305600": milliseconds from 10^12 on, seconds from 10^9 on; less is
 * no point in time. */
int64_t hocket__when_epoch(struct hocket__str text);
