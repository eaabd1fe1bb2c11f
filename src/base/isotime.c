/* Times as text by arithmetic alone: gmtime and strftime look at the process's time zone and
 * locale, which belong to the embedder. Journals write one for each record, so the text of the last
 * second is kept and only its milliseconds are written anew (hocket__isotime_next). */
#include "base/isotime.h"

#define DAY_MS    INT64_C(86400000)
#define FIRST_MS  INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define LAST_MS   INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */
#define EPOCH_DAY INT64_C(719468)          /* days from 0000-03-01 to 1970-01-01 */

static void put(char *out, int width, int64_t value)
{
    while (width-- > 0) {
        out[width] = (char) ('0' + value % 10);
        value /= 10;
    }
}

/* Years begin in March here, so that the leap day is the last of its year and
 * the month's start is a line: 153 days per five months. 146097 days are 400
 * years. The first two months of year 0 belong to year -1, hence the shift by
 * one whole cycle. */
static void put_date(char *out, int64_t days)
{
    days += EPOCH_DAY + 146097;
    int64_t cycle = days / 146097, day = days % 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    put(out + 8, 2, day_of_year - (153 * month + 2) / 5 + 1);
    put(out + 5, 2, month < 10 ? month + 3 : month - 9);
    put(out, 4, (cycle - 1) * 400 + year + (month >= 10));
    out[4] = out[7] = '-';
}

static void put_time(char *out, int64_t ms)
{
    put(out, 2, ms / 3600000);
    put(out + 3, 2, ms / 60000 % 60);
    put(out + 6, 2, ms / 1000 % 60);
    put(out + 9, 3, ms % 1000);
    out[2] = out[5] = ':';
    out[8] = '.';
}

void hocket__isotime(int64_t ms, char out[HOCKET__ISOTIME_SIZE])
{
    if (ms < FIRST_MS)
        ms = FIRST_MS;
    if (ms > LAST_MS)
        ms = LAST_MS;
    int64_t of_day = (ms % DAY_MS + DAY_MS) % DAY_MS;
    put_date(out, (ms - of_day) / DAY_MS);
    out[10] = 'T';
    put_time(out + 11, of_day);
    out[23] = 'Z';
    out[24] = 0;
}

/* -1 as the second: what was out of range was put right to an end of the range, and its text is of
 * no second that could come again. */
const char *hocket__isotime_next(struct hocket__isotime *last, int64_t ms)
{
    if (last->text[0] && ms >= 0 && ms <= LAST_MS && ms / 1000 == last->second) {
        put(last->text + 20, 3, ms % 1000);
        return last->text;
    }
    hocket__isotime(ms, last->text);
    last->second = ms >= 0 && ms <= LAST_MS ? ms / 1000 : -1;
    return last->text;
}
