/* Globs: what permissions know of texts. */
#include <stdint.h>

#include "base/utf8.h"
#include "core/permission/permission.h"

/* ---- Globs ------------------------------------------------------------------------ */

static size_t step(struct hocket__str text, size_t at)
{
    int n = hocket__utf8_sequence(text.p + at, text.n - at);
    return n > 0 ? (size_t) n : 1;
}

/* Backtracks to the last star only, which is enough: what an earlier star took could as well have
 * been taken by the last one. */
bool hocket__permission_glob(struct hocket__str glob, struct hocket__str text)
{
    size_t g = 0, t = 0, star = SIZE_MAX, from = 0;
    while (t < text.n) {
        if (g < glob.n && glob.p[g] == '*') {
            star = g++;
            from = t;
            continue;
        }
        bool escaped = g + 1 < glob.n && glob.p[g] == '\\';
        if (!escaped && g < glob.n && glob.p[g] == '?') {
            g++;
            t += step(text, t);
        } else if (g < glob.n && glob.p[g + escaped] == text.p[t]) {
            g += 1 + (size_t) escaped;
            t++;
        } else if (star != SIZE_MAX) {
            g = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (g < glob.n && glob.p[g] == '*')
        g++;
    return g == glob.n;
}
