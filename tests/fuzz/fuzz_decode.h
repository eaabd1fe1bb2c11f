/* Any bytes as a provider's answer. What must hold: however the input is cut, status and reply
 * are the same; the reply prints as valid JSON, and as a neutral message that the
 * history accepts and the protocol renders; `complete` is never set beside a failure. */
#pragma once

#include "base/json/json.h"
#include "net/protocol/protocol.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_MAX ((size_t) 1 << 20)

static inline void expect(bool holds)
{
    if (!holds)
        abort();
}

/* The wire form is the same whether it is made when the answer is added, or later from its text. */
static inline void check_message(const struct hocket__proto *proto, const struct hocket__reply *r)
{
    struct hocket__history h, at_once;
    struct hocket__buf b;
    uint64_t next = 1;
    hocket__buf_init(&b, &hocket__malloc, 0);
    hocket__history_init(&h, &hocket__malloc, 0);
    hocket__history_init(&at_once, &hocket__malloc, 0);
    expect(
        hocket__reply_place(r, proto->name, &next, &b, &(struct hocket__reply_places){ 0 }) == 0);
    expect(hocket__history_add(&h, hocket__buf_str(&b), NULL) == 0);
    expect(hocket__history_render(&h, proto, NULL, NULL) == 0);
    expect(hocket__history_render(&at_once, proto, NULL, NULL) == 0);
    expect(hocket__history_add_reply(&at_once, r, proto->name, NULL) == 0);
    expect(r->n_calls == 0 || at_once.wired == at_once.messages.len);
    expect(hocket__history_render(&at_once, proto, NULL, NULL) == 0);
    expect(hocket__str_eq(hocket__buf_str(&h.messages), hocket__buf_str(&at_once.messages)));
    expect(hocket__str_eq(hocket__buf_str(&h.wire), hocket__buf_str(&at_once.wire)));
    hocket__buf_reset(&b);
    hocket__buf_addc(&b, '[');
    hocket__buf_addstr(&b, hocket__buf_str(&h.wire));
    hocket__buf_addc(&b, ']');
    expect(hocket__json_check(hocket__buf_str(&b), NULL) == 0);
    hocket__history_deinit(&h);
    hocket__history_deinit(&at_once);
    hocket__buf_deinit(&b);
}

static inline int fuzz_run(const struct hocket__proto *proto, const char *p, size_t n, size_t step,
    struct hocket__buf *out)
{
    struct hocket__reply reply;
    struct hocket__decoder *d;
    struct hocket_error err;
    hocket__reply_init(&reply, &hocket__malloc, FUZZ_MAX);
    hocket__buf_init(out, &hocket__malloc, 0);
    if (hocket__decoder_new(&hocket__malloc, proto, FUZZ_MAX, &reply, NULL, NULL, &d) < 0)
        abort();
    hocket__decoder_head(d, 200, true);
    int status = 0;
    for (size_t at = 0; at < n && status == 0; at += step)
        status = hocket__decoder_feed(d, p + at, step < n - at ? step : n - at, &err);
    if (status == 0)
        status = hocket__decoder_end(d, &err);
    expect(!reply.complete || (status == 0 && !reply.error.where));
    expect(hocket__reply_ended(&reply, false, &err) < 0 || reply.finish_raw.len > 0);
    expect(hocket__reply_print(&reply, out) == 0);
    expect(hocket__json_check(hocket__buf_str(out), NULL) == 0);
    if (reply.complete)
        check_message(proto, &reply);
    hocket__decoder_free(d);
    hocket__reply_deinit(&reply);
    return status;
}

static inline int fuzz_decode(const struct hocket__proto *proto, const uint8_t *data, size_t size)
{
    static const size_t steps[] = { 1, 5, 64 };
    struct hocket__buf whole, pieces;
    int status = fuzz_run(proto, (const char *) data, size, size ? size : 1, &whole);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        expect(fuzz_run(proto, (const char *) data, size, steps[i], &pieces) == status);
        expect(hocket__str_eq(hocket__buf_str(&whole), hocket__buf_str(&pieces)));
        hocket__buf_deinit(&pieces);
    }
    hocket__buf_deinit(&whole);
    return 0;
}
