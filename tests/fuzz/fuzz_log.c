/* Any bytes as entries of a log: each is refused, or gives the same bytes again; and those that follow
 * each other can be fed, and are gone through to the end. */
#include "core/log/log.h"
#include "support/log_bytes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct hocket__log_entry *e, struct hocket__str bytes)
{
    struct hocket__log_entry r;
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    log_bytes_put(e, &out);
    int64_t n = log_bytes_take(hocket__buf_str(&out), &r);
    if (n < 0 || (size_t) n != out.len || r.n != e->n || !hocket__str_eq(r.value, e->value)
        || out.len > bytes.n + 40)
        abort();
    hocket__buf_deinit(&out);
}

static void go_through(struct hocket__log *log)
{
    struct hocket_error err;
    for (int i = 0; i < 100000 && hocket__log_replays(log); i++) {
        const struct hocket__log_entry *e = hocket__log_due(log);
        if (e)
            hocket__log_advance(log);
        else if (hocket__log_is_before_next(log))
            hocket__log_step(log);
        else
            hocket__log_read_clock(log, 7);
        if (e)
            hocket__log_forget(log, e->n);
    }
    struct hocket__log_entry is = { .kind = HOCKET__LOG_BEGIN };
    if (!hocket__log_replays(log) && hocket__log_match(log, &is, &err))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hocket__str rest = hocket__str((const char *) data, size);
    struct hocket__log *log = hocket__log_new(&hocket__malloc, NULL);
    struct hocket__log_entry e;
    int64_t n;
    while ((n = log_bytes_take(rest, &e)) > 0) {
        if ((size_t) n > rest.n)
            abort();
        check_again(&e, hocket__str(rest.p, (size_t) n));
        hocket__log_feed(log, &e, NULL);
        rest = hocket__str(rest.p + n, rest.n - (size_t) n);
    }
    go_through(log);
    hocket__log_free(log);
    return 0;
}
