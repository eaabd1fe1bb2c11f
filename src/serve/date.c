#include "serve/date.h"

#include <stdio.h>

#include "base/isotime.h"

#define DAY      INT64_C(86400)
#define FIRST    INT64_C(-62167219200) /* 0000-01-01 00:00:00 */
#define LAST     INT64_C(253402300799) /* 9999-12-31 23:59:59 */
#define THURSDAY 4                     /* of the first day of 1970 */

static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
    "Oct", "Nov", "Dec" };

const char *hocket__server_date(struct hocket__server_date *last, int64_t second)
{
    char t[HOCKET__ISOTIME_SIZE]; /* 2026-11-21T09:00:00.000Z */
    int64_t day = (second >= 0 ? second : second - DAY + 1) / DAY;
    if (last->text[0] && last->second == second)
        return last->text;
    last->text[0] = 0;
    if (second < FIRST || second > LAST)
        return NULL;
    hocket__isotime(second * 1000, t);
    last->second = second;
    int month = (t[5] - '0') * 10 + t[6] - '0';
    snprintf(last->text, sizeof(last->text), "%s, %.2s %s %.4s %.8s GMT",
        days[((day + THURSDAY) % 7 + 7) % 7], t + 8, months[month - 1], t, t + 11);
    return last->text;
}
