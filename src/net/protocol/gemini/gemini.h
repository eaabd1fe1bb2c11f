/* Google's Gemini API: POST /v1beta/models/M:generateContent and :streamGenerateContent,
 * also as Vertex AI has it (a base URL that ends with …/publishers/google).
 *
 * Decided here, where the protocol leaves a choice:
 * - A stream has no end mark: it is whole when a finishReason (or a blocked prompt) was seen and its
 *   connection ends, or says nothing for as long as may be between two events. Waiting less was
 *   rejected: models and gateways there are that put a finishReason into every chunk.
 * - An answer with a call, a signature or a part that the server made goes back as it
 *   came, part for part; summaries of thoughts without a signature do not go back.
 * - Results of one step are one user turn. They are paired by name and order; an id is sent
 *   when the calls before it had one.
 * - Calls of another provider's model have no signature, which Gemini 3 wants on the first call
 *   of a step: the value that Google names for this is sent.
 * - Arguments that come in pieces (Vertex AI) are put together as text; they come in the order
 *   of the text, and a path that goes back is an error.
 * - Reasoning: words are levels for Gemini 3 and later, and budgets for Gemini 2; numbers
 *   are budgets. Thoughts are asked for with it. */
#pragma once

#include "net/protocol/blocks.h"

int hocket__gemini_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__gemini_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err);

int hocket__gemini_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err);
int hocket__gemini_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err);
int hocket__gemini_end(struct hocket__reader *r, struct hocket_error *err);

/* r->flags */
enum hocket__gemini_flags {
    HOCKET__GEMINI_CALL = 1,   /* a call whose arguments come in pieces is open */
    HOCKET__GEMINI_STRING = 2, /* … inside a string; its path is in r->scratch */
    HOCKET__GEMINI_KEPT = 4,   /* parts are kept in r->state, for the replay */
    HOCKET__GEMINI_TEXT = 8,   /* … where a part of plain text is open */
};

/* One part of an answer, and its functionCall. */
struct hocket__part {
    struct hocket__piece text, kind; /* kind: the name of a member that is neither text nor call */
    bool thought, is_call, has_signature;
    struct hocket__piece name, id;
    struct hocket__str args, partial; /* JSON, or empty */
    bool goes_on;
    struct hocket__str call, whole; /* the functionCall and the part as they came */
};

/* ---- replay.c ---- */

/* To be called before the part goes into the reply. */
void hocket__gemini_replay_part(struct hocket__reader *r, const struct hocket__part *p);
/* The call whose arguments came in pieces is whole. */
void hocket__gemini_replay_close(struct hocket__reader *r);
void hocket__gemini_replay_end(struct hocket__reader *r);

/* ---- args.c: arguments in pieces ---- */

/* Adds a list of partialArgs to the last call. */
int hocket__gemini_args_add(
    struct hocket__reader *r, struct hocket__str list, struct hocket_error *err);
void hocket__gemini_args_close(struct hocket__reader *r);
