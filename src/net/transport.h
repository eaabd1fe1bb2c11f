/* What HTTP requests go through: a stack, in which each layer passes requests down and events up.
 *
 *     start, cancel ──> recording (net/cassette) ──> HTTP (net/http)
 *     events        <──────────────────────────────────┘
 *
 *     start, cancel ──> replay (net/cassette): answers by itself
 *
 * Each layer keeps the contract of net/http/http.h: callbacks run from the loop only, on_done once,
 * and never after a cancel. So whoever makes a request does not know what answers it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hocket_error;
struct hocket__http_handler;
struct hocket__http_spec;
struct hocket__transport;

struct hocket__transport_ops {
    /* As hocket__http_start. */
    int64_t (*start)(struct hocket__transport *t, const struct hocket__http_spec *spec,
        const struct hocket__http_handler *handler, void *ud, struct hocket_error *err);
    /* As hocket__http_cancel; also when what is below has gone already. */
    void (*cancel)(struct hocket__transport *t, int64_t id);
    /* As hocket__http_multiplexed. */
    bool (*multiplexed)(const struct hocket__transport *t, int64_t id);
};

struct hocket__transport {
    const struct hocket__transport_ops *ops;
    /* Nothing goes out: what is answered, and how often, was decided before. So neither a missing
     * network nor a provider's limits hold a request back. */
    bool offline;
    /* If offline: whether the request that was started as `id` has one more answer. */
    bool (*again)(const struct hocket__transport *t, int64_t id);
};
