/* What a request's body begins with, up to the history, kept from call to call: model, options,
 * tools and system prompt are the same in all turns of a conversation, and for all conversations
 * that begin with the same request.
 *
 *   {"model":"m","stream":true,"tools":[…],"messages":[{"role":"system",…}   kept
 *                                              ,{"role":"user",…}, …]}       the history's
 *
 * For protocols that put the history last. */
#pragma once

#include "net/protocol/protocol.h"

struct hocket__prepared {
    const struct hocket__proto *proto; /* whose form it has; NULL: nothing is kept */
    const struct hocket__proto_traits *traits;
    struct hocket__buf model, head;
};

void hocket__prepared_init(struct hocket__prepared *p, const struct hocket_allocator *a);
/* Forgets what is kept. Has to be called before the traits that it was made with are freed. */
void hocket__prepared_reset(struct hocket__prepared *p);

/* Whether q->prepared has the beginning for this protocol, and q's model and traits. */
bool hocket__prepared_is(const struct hocket__llm_request *q, const struct hocket__proto *proto);
/* Keeps it; when memory is out it is not kept. Without q->prepared: nothing. */
void hocket__prepared_keep(const struct hocket__llm_request *q, const struct hocket__proto *proto,
    struct hocket__str head);
