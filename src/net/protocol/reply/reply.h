/* A model's answer in one normalised form, whatever protocol it came by, and the
 * deltas while it comes. Filled by a protocol's reader; see protocol.h. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

enum hocket__finish {
    HOCKET__FINISH_NONE, /* the wire had none */
    HOCKET__FINISH_STOP,
    HOCKET__FINISH_LENGTH,
    HOCKET__FINISH_CALLS,
    HOCKET__FINISH_FILTER,
    HOCKET__FINISH_ERROR,
};
/* "stop", "length", "tool_calls", "content_filter", "error"; NULL for none. */
const char *hocket__finish_word(enum hocket__finish f);

/* Counts as the provider gave them, -1 where it gave none. No arithmetic is done: whether input
 * holds what was cached, and output the reasoning, differs between providers. */
struct hocket__usage {
    int64_t input, output, cached, cache_write, reasoning;
};

/* A tool call that the caller has to run. */
struct hocket__call {
    struct hocket__buf id; /* as on the wire; empty when it had none */
    bool has_id;           /* the wire had one, though it may be ""; implied by a text in id */
    struct hocket__buf name;
    struct hocket__buf arguments; /* the joined text; an object given as JSON is kept as its text */
    struct hocket__buf extra;     /* JSON that the protocol wants back with this call, or empty */
    bool has_raw;                 /* the wire carried text, not an object */
    bool free_form;               /* arguments are plain text by definition, not JSON */
    int64_t index;                /* the wire's slot, -1 without */
};

struct hocket__reply_error {
    const char *where; /* "http", "stream", "response", "body_200"; NULL: no error */
    int status;        /* HTTP status, 0 when not by it */
    struct hocket__buf type, code, message;
    struct hocket__buf detail; /* a relay's error from the provider behind it; a model's own text */
    bool code_is_number;       /* how `code` stood on the wire */
    bool malformed;            /* the server could not read what the model wrote */
    int64_t retry_after_ms;    /* from the body, or -1 */
};

struct hocket__reply {
    const struct hocket_allocator *a;
    size_t max; /* bytes of each text */
    struct hocket__buf text, reasoning, refusal;
    bool has_refusal;
    bool in_tags; /* some of the reasoning stood in tags of the text */
    struct hocket__call *calls;
    size_t n_calls, cap_calls;
    bool as_text; /* the calls were written as text (text_calls.h), which is still there */
    bool
        surplus; /* there were more calls than are kept: they are not run, and the model gets an error for them */
    /* What this protocol wants back unchanged in the next request in place of text and
     * calls (signatures, encrypted reasoning): one JSON value of the protocol's own form;
     * empty when the normalised parts say it all. */
    struct hocket__buf replay;
    struct hocket__buf server_items; /* JSON array of strings */
    /* What an answer has beside words and calls, as it came: citations, what was searched, pictures that
     * were made. JSON objects with commas between. */
    struct hocket__buf found;
    enum hocket__finish finish;
    struct hocket__buf finish_raw;
    bool
        has_finish_raw; /* the wire had one, though it may be ""; implied by a text in finish_raw */
    struct hocket__usage usage;
    struct hocket__buf usage_raw; /* JSON object, or empty */
    struct hocket__buf id, model;
    struct hocket__reply_error error;
    bool complete; /* the protocol's own end was seen */
};

void hocket__reply_init(struct hocket__reply *r, const struct hocket_allocator *a, size_t max);
void hocket__reply_deinit(struct hocket__reply *r);
#define HOCKET__REPLY_MAX_CALLS 128
/* A new call at the end, or NULL when memory or the limit is out. */
struct hocket__call *hocket__reply_add_call(struct hocket__reply *r);
void hocket__call_deinit(struct hocket__call *c);
/* As if there never had been any. */
void hocket__reply_drop_calls(struct hocket__reply *r);
/* Calls without an id, or with one that stands in the reply already, get "call_<n>", n counted by
 * *next_id, that no call of the reply has, nor any of `history`, the messages before it. So do short
 * ids that stand in the history, unless something else goes back with them: some servers count anew in each
 * answer, and others refuse such a conversation. What would go back with an id that was changed
 * is dropped. 0 or ENOMEM. */
int hocket__reply_name_calls(
    struct hocket__reply *r, struct hocket__str history, uint64_t *next_id);
/* The arguments to run a call with: `{}` where the wire had none, blank text or null. Not
 * checked: what the model wrote may be no JSON. */
struct hocket__str hocket__call_arguments(const struct hocket__call *c);
/* 0, or ENOMEM/ELIMIT when any of the texts could not be kept. */
int hocket__reply_status(const struct hocket__reply *r);

/* Appends the reply as the JSON object that `hocket decode` prints. */
int hocket__reply_print(const struct hocket__reply *r, struct hocket__buf *out);

/* The first appends a successful reply as bytes (pack.c); the second reads them into a new reply: 0,
 * EPARSE for other bytes, ENOMEM, ELIMIT. */
void hocket__reply_pack(const struct hocket__reply *r, struct hocket__buf *out);
int hocket__reply_unpack(struct hocket__str from, struct hocket__reply *r);

/* Where the values of a message's members stand in the buffer, texts without their quotes; both 0:
 * there is no such member. */
struct hocket__span {
    size_t from, to;
};
struct hocket__reply_places {
    struct hocket__span text, reasoning, calls, replay;
};
/* Appends the assistant message in the neutral form of history.h. `protocol` tags the
 * replay value. Calls without an id get "call_<n>", n counted by *next_id. The places are
 * for a caller that continues with them. */
int hocket__reply_place(const struct hocket__reply *r, const char *protocol, uint64_t *next_id,
    struct hocket__buf *out, struct hocket__reply_places *places);

enum hocket__delta_kind { HOCKET__DELTA_TEXT, HOCKET__DELTA_REASONING, HOCKET__DELTA_CALL };
/* `call` is the call's position for HOCKET__DELTA_CALL, else 0. */
typedef void (*hocket__delta_cb)(
    void *ud, enum hocket__delta_kind kind, size_t call, struct hocket__str text);
