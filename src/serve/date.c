#include "serve/date.h"

#include <stdio.h>
#include <time.h>

static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
    "Oct", "Nov", "Dec" };

const char *hocket__server_date(struct hocket__server_date *last, int64_t second)
{
    time_t at = (time_t) second;
    struct tm t;
    if (last->text[0] && last->second == second)
        return last->text;
    last->text[0] = 0;
    if (!gmtime_r(&at, &t) || t.tm_year < -1900 || t.tm_year > 9999 - 1900)
        return NULL;
    last->second = second;
    snprintf(last->text, sizeof(last->text), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday],
        t.tm_mday, months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
    return last->text;
}
