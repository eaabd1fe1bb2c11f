/* A conversation: neutral messages, and beside them the same messages already
 * serialised for the protocol in use. Both are append-only, so that turn 200
 * costs what its own bytes cost, and the prefix stays the same byte for byte
 * (which is what providers' prompt caches need).
 *
 * A neutral message is one JSON object:
 *   {"role":"system","text":"…"}
 *   {"role":"user","text":"…"}
 *   {"role":"user","parts":[{"text":"…"},{"image":{"mime":"image/png","data":"<base64>"}},
 *                           {"image":{"url":"https://…"}},
 *                           {"audio":{"mime":"audio/wav","data":"<base64>"}},
 *                           {"file":{"mime":"application/pdf","data":"<base64>","name":"a.pdf"}}]}
 *   {"role":"assistant","text":"…","reasoning":"…",
 *    "calls":[{"id":"…","name":"…","arguments":"<text>"}],
 *    "replay":{"protocol":"anthropic","value":…}}
 *   {"role":"tool","id":"…","name":"…","text":"…","error":true}
 * Absent members are simply absent. A call's `arguments` is always the text, as the model wrote it; servers get
 * what was read of it (arguments.c).
 *
 * From the first text on that came from elsewhere messages have a further member, "labels":["web"],
 * which no model is shown: so the labels are kept wherever messages are, and come back with them. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

struct hocket__proto;
struct hocket__proto_traits;
struct hocket__reply;

/* A count past that is no count. */
#define HOCKET__TOKENS_MAX (INT64_C(1) << 40)

struct hocket__history {
    struct hocket__buf messages; /* neutral, one a line */
    size_t count;
    unsigned labels;                   /* enum hocket__label: what further messages are given */
    const struct hocket__proto *proto; /* whose form `wire` has; NULL: none yet */
    const struct hocket__proto_traits *traits;
    struct hocket__buf wire; /* the protocol's array elements, with commas between */
    size_t wired;            /* bytes of `messages` that `wire` covers */
    unsigned epoch;          /* of `wire`: when it begins anew, that is another */
    /* The last request's body: the next one mostly is it with more at its end. */
    struct hocket__buf body;
    size_t body_wire;   /* bytes of `wire` that it has */
    uint64_t next_call; /* for calls without an id */
    uint64_t digest; /* of the first `digested` bytes of `messages`; see hocket__history_digest */
    size_t digested;
    /* What the last answer's provider has counted, 0: nothing, and how many bytes of `messages` that was for. */
    int64_t counted;
    size_t counted_at;
    size_t guess, guessed_at; /* of the first bytes of `messages`, in parts of a token … */
    size_t known, known_at;   /* … and as it was up to `counted_at` */
};

/* Tokens of a conversation. A guess is about a third off; what a provider has counted is true. */
struct hocket__history_tokens {
    int64_t counted; /* by the provider: tokens of its last request and answer; 0: nothing yet */
    int64_t known;   /* the guess for the messages among that */
    int64_t rest;    /* the guess for the messages behind it */
};

/* What a body was written of, for when it comes back. */
struct hocket__history_mark {
    size_t wire;
    unsigned epoch;
};

void hocket__history_init(struct hocket__history *h, const struct hocket_allocator *a, size_t max);
void hocket__history_deinit(struct hocket__history *h);
/* A number that another history has too when the same was added to it, and it was asked for at the same lengths. It
 * costs what was added since. */
uint64_t hocket__history_digest(struct hocket__history *h);

/* An answer has just been appended, and so many tokens are what was sent and what came (without what does not stay). */
void hocket__history_count(struct hocket__history *h, int64_t tokens);
/* It costs what was added since it was last asked. */
struct hocket__history_tokens hocket__history_tokens(struct hocket__history *h);
/* A guess at the tokens of any text. */
int64_t hocket__tokens_guess(struct hocket__str text);

/* Appends one neutral message (checked: strict JSON, a known role, the members above).
 * On failure nothing is appended. */
int hocket__history_add(
    struct hocket__history *h, struct hocket__str message, struct hocket_error *err);
/* Appends an answer as the assistant's message; what it wants back goes with the protocol's name.
 */
int hocket__history_add_reply(struct hocket__history *h, const struct hocket__reply *r,
    const char *protocol, struct hocket_error *err);
int hocket__history_add_text(struct hocket__history *h, const char *role, struct hocket__str text);
/* The same of a text that is a JSON string already, with its quotes, from our own writer. */
int hocket__history_add_quoted(
    struct hocket__history *h, const char *role, struct hocket__str text);
int hocket__history_add_result(struct hocket__history *h, struct hocket__str id,
    struct hocket__str name, struct hocket__str text, bool is_error);

/* Takes back all messages behind the first `count`, which have `len` bytes: the end of a turn that could not
 * be kept whole. */
void hocket__history_cut(struct hocket__history *h, size_t len, size_t count);

/* Has the messages of another one from now on, which is empty then; labels are never lost. */
void hocket__history_become(struct hocket__history *h, struct hocket__history *other);

/* Brings `wire` up to date for this protocol and these traits; starts it anew when they
 * differ from the last ones (their address identifies traits, so they have to live as long as the history; NULL:
 * none). */
int hocket__history_render(struct hocket__history *h, const struct hocket__proto *proto,
    const struct hocket__proto_traits *traits, struct hocket_error *err);

/* The history as it is rendered now. */
struct hocket__history_mark hocket__history_mark(const struct hocket__history *h);
/* Keeps the body that was written at the mark: `head`, the wire form, and a tail. Its content is
 * taken, or freed where it is of no use any more. */
void hocket__history_keep_body(
    struct hocket__history *h, struct hocket__history_mark mark, struct hocket__buf *body);
/* Writes head and wire form into `out`, which is empty: the kept body without its tail of so many
 * bytes, and what has come since, if it begins with this head. Otherwise false, and nothing. */
bool hocket__history_resume(
    struct hocket__history *h, struct hocket__str head, size_t tail, struct hocket__buf *out);

/* Forgets the wire form to save memory; the next render makes it again. */
void hocket__history_unwire(struct hocket__history *h);
