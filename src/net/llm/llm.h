/* Model calls: one request to one provider, from the serialised history to the
 * normalised reply. An actor like http.h underneath it: start and cancel go in,
 * on_done comes out, from the loop.
 *
 * One call is one attempt. What is tried again, and when, is decided above. */
#pragma once

#include "net/advice.h"
#include "net/protocol/protocol.h"
#include "net/secrets.h"

struct hocket__relay;
struct hocket__transport;

#define HOCKET__LLM_MAX_HEADERS 32 /* of a provider's own */

/* Where a provider is and how it is spoken to. Copied from the Lua table of
 * providers; the key is kept here and shown nowhere. */
struct hocket__provider {
    const struct hocket_allocator *a;
    const struct hocket__proto *proto;
    struct hocket__proto_traits traits; /* its texts belong to `texts` */
    struct hocket__buf base;            /* "https://api.openai.com/v1", no slash at the end */
    struct hocket__buf query;           /* behind the path; empty: none */
    struct hocket__buf key;             /* empty: none is sent */
    struct hocket__buf region;          /* requests are signed for this region of AWS; empty: not */
    struct hocket__buf key_id, token;   /* what the key has beside it there */
    struct hocket__buf key_header;      /* what stands before it: "api-key: " */
    struct hocket__buf headers;         /* further ones: "name: value" lines, each ended by a NUL */
    struct hocket__buf pool;            /* connections are shared within it */
    struct hocket__secrets secrets;     /* what its answers must not show */
    struct hocket__buf texts;
};

struct hocket__llm_timing {
    uint64_t first_us; /* to the first decoded event; 0: none came */
    uint64_t total_us;
    bool sent; /* there was a connection that it could go to */
};

struct hocket__llm_spec {
    const struct hocket__provider *provider;   /* has to outlive the call */
    const struct hocket__llm_request *request; /* borrowed for the start, its history until the
                                                  * call has ended or was cancelled */
    struct hocket__str
        trace; /* header lines as "name: value" that say which trace it is part of, each ended by a NUL; may be empty */
    int connect_ms, first_ms, idle_ms, total_ms; /* as in http.h; 0: 10 s, 10 min, 10 min, none */
    size_t max_message;        /* bytes of one event and of each text; 0: 32 MiB */
    hocket__delta_cb on_delta; /* may be NULL */
    /* The answer's status and what its headers advise (resolved), once, before any delta. May
     * be NULL. */
    void (*on_head)(void *ud, int status, const struct hocket__advice *advice);
    /* err is NULL on success; its message may quote the key. The reply belongs to the call and
     * is valid until it is freed; on failure it holds what had come. */
    void (*on_done)(void *ud, const struct hocket_error *err);
    void *ud;
    struct hocket__relay *relay; /* NULL: on this thread. Otherwise on the relay's, with deltas that
                                  * are gathered; callbacks still run from the host's loop */
};

struct hocket__llm_call;

/* Writes the request and starts it. On success *out is set; free it with
 * hocket__llm_free, which also cancels. `t` has to outlive the call; with a relay it is not used.
 * Fails with ENOMEM, EINVAL, ELIMIT, and as the transport does. */
int hocket__llm_start(struct hocket__transport *t, const struct hocket_allocator *a,
    const struct hocket__llm_spec *spec, struct hocket__llm_call **out, struct hocket_error *err);
/* A call that has ended, with a reply that hocket__reply_pack wrote: it was made by another process, or before.
 * 0, EPARSE, ENOMEM, ELIMIT. */
int hocket__llm_from_packed(const struct hocket_allocator *a,
    const struct hocket__provider *provider, size_t max_message, struct hocket__llm_timing timing,
    struct hocket__str packed, struct hocket__llm_call **out, struct hocket_error *err);
const struct hocket__reply *hocket__llm_reply(const struct hocket__llm_call *c);
/* Puts stars in the place of secrets in all texts of a reply that has come. */
void hocket__llm_mask(struct hocket__llm_call *c, const struct hocket__secrets *secrets);
/* Whether its host takes many requests on one connection, as far as that is known. */
bool hocket__llm_multiplexed(const struct hocket__llm_call *c);
const char *hocket__llm_protocol(const struct hocket__llm_call *c);
/* What the answer's headers advise; NULL when none came. */
const struct hocket__advice *hocket__llm_advice(const struct hocket__llm_call *c);
struct hocket__llm_timing hocket__llm_timing(const struct hocket__llm_call *c);
/* Whether the transport, which is offline, has one more answer for this very request. */
bool hocket__llm_has_another_recording(const struct hocket__llm_call *c);
/* Closes the socket when it is under way (on a relay's thread: soon); no callback runs after it. */
void hocket__llm_cancel(struct hocket__llm_call *c);
void hocket__llm_free(struct hocket__llm_call *c);
