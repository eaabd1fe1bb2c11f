/* Edit distance with swaps: two letters in the wrong order are one slip and not two. */
#include "cli/args/args.h"

#include <string.h>

#define MAX_WORD 64

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t cli_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b), d[MAX_WORD + 1][MAX_WORD + 1];
    if (na > MAX_WORD || nb > MAX_WORD)
        return (size_t) -1;
    for (size_t i = 0; i <= na; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= na; i++)
        for (size_t j = 1; j <= nb; j++) {
            size_t changed = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = min(changed, min(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[na][nb];
}

int cli_is_slip(size_t distance, const char *word)
{
    size_t allowed = strlen(word) / 2;
    return distance <= (allowed < 1 ? 1 : min(allowed, 3));
}
