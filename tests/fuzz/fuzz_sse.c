/* Any bytes as an event stream. What must hold: however the input is cut, the events are the
 * same; their data is valid UTF-8; nothing fails but by the limit. */
#include "base/utf8.h"
#include "net/sse.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_event(void *ud, const struct hocket__sse_event *e)
{
    struct hocket__buf *log = ud;
    if (hocket__utf8_valid(e->data.p, e->data.n) != e->data.n)
        abort();
    hocket__buf_addf(log, "%d %zu %zu %zu|", e->at_end, e->type.n, e->data.n, e->id.n);
    hocket__buf_addstr(log, e->type);
    hocket__buf_addstr(log, e->data);
    hocket__buf_addstr(log, e->id);
    return 0;
}

static int run(const char *p, size_t n, size_t step, struct hocket__buf *log)
{
    struct hocket__sse s;
    int status = 0;
    hocket__buf_init(log, &hocket__malloc, 0);
    hocket__sse_init(&s, &hocket__malloc, 1 << 20, on_event, log);
    for (size_t at = 0; at < n && status == 0; at += step)
        status = hocket__sse_feed(&s, p + at, step < n - at ? step : n - at);
    if (status == 0)
        status = hocket__sse_finish(&s);
    hocket__sse_deinit(&s);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = { 1, 2, 3, 7 };
    struct hocket__buf whole, pieces;
    int status = run((const char *) data, size, size ? size : 1, &whole);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (run((const char *) data, size, steps[i], &pieces) != status
            || !hocket__str_eq(hocket__buf_str(&whole), hocket__buf_str(&pieces)))
            abort();
        hocket__buf_deinit(&pieces);
    }
    hocket__buf_deinit(&whole);
    return 0;
}
