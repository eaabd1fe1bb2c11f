/* A wire protocol: how a request is written and an answer is read, and nothing
 * else: no sockets, no retries, no clock, no Lua. One file per protocol fills one such table.
 *
 *   history ──write──> body ─ ─ ─ http ─ ─ ─> bytes ──framing──> events ──read──> reply
 */
#pragma once

#include "net/protocol/history.h"
#include "net/protocol/reasoning.h"
#include "net/protocol/reply/reply.h"
#include "net/protocol/text_calls.h"

struct hocket__neutral;
struct hocket__prepared;

enum hocket__framing {
    HOCKET__FRAMING_SSE,         /* server-sent events (a JSON body is recognised as such) */
    HOCKET__FRAMING_NDJSON,      /* one JSON object a line */
    HOCKET__FRAMING_EVENTSTREAM, /* binary messages, as AWS has them (eventstream.h) */
};

/* What one provider wants differently from the protocol's own rule; filled from the
 * provider table in Lua. All zero is the protocol's rule. */
struct hocket__proto_traits {
    const char *provider;         /* "openai", "mistral", …: for messages */
    const char *max_tokens_field; /* NULL: the protocol's own */
    const char *system_role;      /* NULL: "system" */
    bool no_stream_usage;         /* leave stream_options out */
    bool no_parallel_field;       /* leave parallel_tool_calls out */
    bool no_seed;
    bool top_k;          /* top_k is known there (where the protocol itself has none) */
    bool no_json_schema; /* response_format json_schema is not known there */
    bool
        reasoning_back; /* reasoning text goes back with the assistant's message; of calls also when
                                  * there is none */
    const char *reasoning_field; /* "reasoning_content" (the default) or "reasoning" */
    int call_id_length;          /* ids are mapped to so many [A-Za-z0-9]; 0: kept */
    bool strict_tools;           /* send strict:true with tools */
    bool vertex; /* Claude at Vertex AI: the model stands in the path, the version in the body */
    bool no_finish_reason;   /* its answers do not say how they ended: whole ones are good */
    struct hocket__str body; /* JSON object that is merged into all bodies; may be empty */
    unsigned
        fields; /* bits of enum hocket__field that are sent, with HOCKET__FIELD_LIST; 0: every field of the protocol */
};

/* What a request may say beside its messages, for servers that refuse what they do not know. */
enum hocket__field {
    HOCKET__FIELD_LIST = 1, /* there is a list; it may be empty */
    HOCKET__FIELD_TEMPERATURE = 2,
    HOCKET__FIELD_TOP_P = 4,
    HOCKET__FIELD_TOP_K = 8,
    HOCKET__FIELD_MAX_TOKENS = 16,
    HOCKET__FIELD_SEED = 32,
    HOCKET__FIELD_STOP = 64,
    HOCKET__FIELD_REASONING = 128,
};
/* The bit of a field's name in Lua; 0 when there is none. */
unsigned hocket__field_bit(const char *name);

/* One request. Texts are borrowed. Optional numbers: NaN (or -1 for integers) is "not set". */
struct hocket__llm_request {
    const char *model;
    struct hocket__history *history;
    struct hocket__str system; /* put before the history; may be empty */
    struct hocket__str
        tools; /* JSON array of {name, description, parameters, strict?}; may be empty */
    struct hocket__str server_tools; /* JSON array of the provider's own, as the protocol has them;
                                      * may be empty */
    const char *tool_choice;         /* NULL, "auto", "none", "required", or a tool's name */
    bool no_parallel_calls;
    bool stream;
    double temperature, top_p;
    int64_t top_k, max_tokens, seed;
    struct hocket__str stop; /* JSON array of strings; may be empty */
    const char
        *reasoning; /* NULL, "none", "minimal", "low", "medium", "high", or a number of tokens */
    struct hocket__str schema; /* JSON Schema of the answer; may be empty */
    const char *schema_name;
    struct hocket__str extra; /* JSON object that is merged into the body (extra.c); may be empty */
    const struct hocket__proto_traits *traits; /* NULL: all zero */
    bool
        cache_mark; /* the system prompt ends with a mark for the provider's cache; Responses only */
    /* Where the beginning of the body is kept for the next call (protocol.h); NULL: nowhere. Then
     * nothing above may change from call to call but model, history and traits. */
    struct hocket__prepared *prepared;
};

/* A place in a chunk where the next one may have something else. */
struct hocket__twin_hole {
    enum hocket__twin_kind { HOCKET__TWIN_TEXT, HOCKET__TWIN_STRING, HOCKET__TWIN_NUMBER } kind;
    struct hocket__str was; /* in the event's bytes, while that is read */
    size_t gap, n;          /* bytes since the hole before, or the beginning, and its own */
};
#define HOCKET__TWIN_HOLES 3

/* The chunk that was read last, as a pattern for the next (twin.h). */
struct hocket__twin {
    struct hocket__buf last;
    struct hocket__twin_hole holes[HOCKET__TWIN_HOLES];
    size_t n_holes;    /* 0: nothing is kept */
    size_t tail;       /* bytes behind the last of them */
    size_t head, foot; /* bytes of the frame before and behind the event; head 0: it has none */
    enum hocket__delta_kind kind; /* what its text is appended to … */
    size_t call;                  /* … and of which call */
    bool state;                   /* and as it stands to the reader's state */
    /* Of the event under way: */
    struct hocket__twin_hole seen[HOCKET__TWIN_HOLES]; /* the text first */
    size_t n_seen;
    int pieces; /* texts that it has appended */
    bool unlike;
};

/* Leaves out what its traits do not list. */
void hocket__llm_request_restrict(struct hocket__llm_request *q);

/* Reads one answer, streamed or whole. The struct is the reader's common part. */
struct hocket__reader {
    const struct hocket__proto *proto;
    struct hocket__reply *reply;
    hocket__delta_cb on_delta; /* may be NULL */
    void *ud;
    bool done;                /* the protocol's terminal event was read: what follows is not */
    bool over;                /* the answer is whole, and yet what follows is read */
    bool fault;               /* the event under way is an error by its frame */
    struct hocket__str frame; /* the event with its framing; empty: not known */
    struct hocket__twin twin;
    int64_t slot; /* protocol's own state … */
    uint32_t flags;
    uint64_t mask;
    struct hocket__buf scratch, state;
    struct hocket__half {
        uint32_t
            code; /* the first of two surrogates, whose second may begin the next piece; 0: none */
        size_t slot; /* of which text (util.c) */
        size_t at;   /* where it belongs there */
    } half;
    struct hocket__buf head; /* what an event began with that others may (twin.h) */
};

struct hocket__proto {
    const char
        *name; /* "openai_chat", "openai_responses", "anthropic", "gemini", "ollama", "bedrock" */
    enum hocket__framing framing;

    /* Appends the URL for base (no trailing slash) + model. */
    int (*url)(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out);
    /* Name of the header that carries the key, and what stands before it ("Bearer "). */
    const char *key_header, *key_prefix;
    /* Fixed further headers as "name: value" strings, NULL at the end. */
    const char *const *headers;
    /* Appends the body. */
    int (*write)(
        const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
    /* Appends one neutral message (protocol_impl.h) in wire form to `wire`, with a comma in front
     * when `wire` is not empty; may append nothing. */
    int (*message)(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
        struct hocket__buf *wire, struct hocket_error *err);

    /* One streamed event. 0, or a negative code when it cannot be read. An error that the
     * provider reports goes into reply->error and returns 0. */
    int (*event)(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
        struct hocket_error *err);
    /* One whole body, of any status: fills the reply, or reply->error. */
    int (*body)(struct hocket__reader *r, int http_status, struct hocket__str body,
        struct hocket_error *err);
    /* The input is at its end: 0 when that is a good end, ETRUNCATED otherwise. Normalises
     * `finish`. */
    int (*end)(struct hocket__reader *r, struct hocket_error *err);
};

extern const struct hocket__proto hocket__proto_openai_chat;
extern const struct hocket__proto hocket__proto_openai_responses;
extern const struct hocket__proto hocket__proto_anthropic;
extern const struct hocket__proto hocket__proto_bedrock;
extern const struct hocket__proto hocket__proto_gemini;
extern const struct hocket__proto hocket__proto_ollama;

/* By name; NULL when unknown. */
const struct hocket__proto *hocket__proto_find(const char *name);

/* ---- decode.c: framing and reader together ---------------------------------- */

/* Reads an answer from bytes in pieces: chooses by status and the first byte between a
 * stream and a whole body, frames, reads. */
struct hocket__decoder;
int hocket__decoder_new(const struct hocket_allocator *a, const struct hocket__proto *proto,
    size_t max_message, struct hocket__reply *reply, hocket__delta_cb on_delta, void *ud,
    struct hocket__decoder **out);
void hocket__decoder_free(struct hocket__decoder *d);
/* Must be called before the first feed. `stream`: the request asked for one. */
void hocket__decoder_head(struct hocket__decoder *d, int http_status, bool stream);
int hocket__decoder_feed(
    struct hocket__decoder *d, const char *p, size_t n, struct hocket_error *err);
/* Events decoded so far: what counts as progress. */
uint64_t hocket__decoder_events(const struct hocket__decoder *d);
/* Whether a stream of events is read, and no whole body. */
bool hocket__decoder_streams(const struct hocket__decoder *d);
/* Whether a stream's answer is whole, or failed: more may come, but need not be waited for. */
bool hocket__decoder_done(const struct hocket__decoder *d);
/* The end of the body. 0: reply is whole (it may still hold reply->error, which the
 * caller turns into a status with hocket__reply_failed); ETRUNCATED, EPROTOCOL, … */
int hocket__decoder_end(struct hocket__decoder *d, struct hocket_error *err);

/* Turns reply->error into a status and message (EAUTH, EPROVIDER, EMODEL, EHTTP; retryable and
 * retry_after_ms set by the providers' rules); 0 when there is none. */
int hocket__reply_failed(const struct hocket__reply *r, struct hocket_error *err);
/* Whether an answer that was read to its end has ended well enough to be one: 0, also where a limit
 * or a filter ended it, which its finish says; EPROVIDER when the provider broke it off, EMODEL when the provider
 * could not read what the model wrote, ETRUNCATED
 * when nothing was said of its end, unless the server never does (`silent`). */
int hocket__reply_ended(const struct hocket__reply *r, bool silent, struct hocket_error *err);
/* Whether an answer has an end and is none: it says that it calls tools and calls none, or that it waits in a queue. */
bool hocket__reply_is_none(const struct hocket__reply *r);
/* Whether an answer that began well (with a status below 400) holds the error of a rate limit. */
bool hocket__reply_limited(const struct hocket__reply *r);

/* ---- fitter.c: schemas in the form that a server takes ----------------------- */

enum hocket__fit {
    HOCKET__FIT_ALL = 1,     /* what any of them refuses */
    HOCKET__FIT_NAMES = 2,   /* names of members as Claude's servers take them */
    HOCKET__FIT_GRAMMAR = 4, /* patterns and bounds as grammars are made of them */
    HOCKET__FIT_SCHEMA =
        8, /* an answer's schema goes there as it is; of Claude's see claude/claude.h */
};
unsigned hocket__fit_rules(const struct hocket__proto *proto, const struct hocket__proto_traits *t);
/* Appends the list of tools (of a request) with parameters that fit, and what these cannot say in the descriptions;
 * nothing where all fit as they are. 0, ENOMEM or ELIMIT. */
int hocket__fit_tools(unsigned rules, struct hocket__str tools, struct hocket__buf *out);
/* The same for the schema of an answer. One of something else than an object is left as it is. */
int hocket__fit_schema(unsigned rules, struct hocket__str schema, struct hocket__buf *out);

/* ---- prepared.c: what a request begins with ----------------------------------- */

/* What a request's body begins with, up to the history, kept from call to call: model, options,
 * tools and system prompt are the same in all turns of a conversation, and for all conversations
 * that begin with the same request.
 *
 *   {"model":"m","stream":true,"tools":[…],"messages":[{"role":"system",…}   kept
 *                                              ,{"role":"user",…}, …]}       the history's
 *
 * For protocols that put the history last. */
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
