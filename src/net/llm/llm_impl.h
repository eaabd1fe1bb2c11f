/* A model call from inside: what llm.c and remote.c share. */
#pragma once

#include "net/protocol/protocol.h"
#include "net/http/http.h"
#include "net/llm/llm.h"
#include "net/transport.h"

struct hocket__llm_remote;

/* What each piece of an answer needs comes first, as in a request of net/http/request.h. */
struct hocket__llm_call {
    struct hocket__decoder *decoder;
    uint64_t events;            /* decoded when progress was last reported */
    void (*on_chunk)(void *ud); /* after each piece of the body; may be NULL */
    void *ud;
    bool stream;
    bool head_done; /* the headers have come, and were told of */
    bool enough;    /* the stream has said its end, or an error */
    bool silent;    /* whole answers need not say how they ended */
    int http_status;

    const struct hocket_allocator *a;
    struct hocket__transport *transport; /* NULL: not launched */
    int64_t id, last_id;                 /* id 0: not under way */
    const struct hocket__proto *proto;
    struct hocket__llm_remote *remote;         /* NULL: it runs on the host's thread */
    struct hocket__buf key;                    /* which no recording must show */
    struct hocket__buf url, lines, pool, body; /* the request, until it is launched */
    struct hocket__http_spec spec;
    struct hocket__history *history; /* gets the body back; NULL: on another thread */
    struct hocket__history_mark mark;
    struct hocket__reply reply;
    struct hocket__think_splitter parting; /* of its deltas, where somebody wants them */
    struct hocket__advice advice;
    char location[200]; /* where a redirect points to, which is not followed */
    struct hocket__llm_timing timing;
    void (*on_head)(void *ud, int status, const struct hocket__advice *advice);
    void (*on_done)(void *ud, const struct hocket_error *err);
};

/* Writes the request into a call that has not begun. Everything in it is its own. */
int hocket__llm_prepare(const struct hocket_allocator *a, const struct hocket__llm_spec *spec,
    struct hocket__llm_call **out, struct hocket_error *err);
/* Sends it, on the thread that the transport works on. */
int hocket__llm_launch(
    struct hocket__llm_call *c, struct hocket__transport *t, struct hocket_error *err);
/* Frees a call that is not under way. */
void hocket__llm_dispose(struct hocket__llm_call *c);

/* The same over a relay (remote.c). */
int hocket__llm_start_remote(struct hocket__relay *relay, const struct hocket_allocator *a,
    const struct hocket__llm_spec *spec, struct hocket__llm_call **out, struct hocket_error *err);
void hocket__llm_remote_cancel(struct hocket__llm_remote *m);
bool hocket__llm_remote_multiplexed(const struct hocket__llm_remote *m);
/* Frees it, and returns true when the call can be disposed of now; otherwise that is done when
 * the other thread has let go of it. */
bool hocket__llm_remote_free(struct hocket__llm_remote *m);
