/* Why an answer ended, in every provider's words. A word that is not known is an error and not
 * a stop: an answer that ended for a reason nobody here has heard of must not be taken for
 * whole. */
#include "net/protocol/finish.h"

#include "base/utf8.h"
#include "net/protocol/protocol.h"

#define SHOWN 60 /* bytes of a word in a message */

static const struct {
    const char *word;
    enum hocket__finish finish;
} words[] = {
    { "stop", HOCKET__FINISH_STOP }, /* the two of nearly all answers come first */
    { "tool_calls", HOCKET__FINISH_CALLS },
    { "eos", HOCKET__FINISH_STOP },
    { "eos_token", HOCKET__FINISH_STOP },
    { "end_turn", HOCKET__FINISH_STOP },
    { "stop_sequence", HOCKET__FINISH_STOP },
    { "pause_turn", HOCKET__FINISH_STOP }, /* whoever goes on sees it in the reply */
    { "compaction", HOCKET__FINISH_STOP },
    { "completed", HOCKET__FINISH_STOP },
    { "tool_call", HOCKET__FINISH_CALLS },
    { "function_call", HOCKET__FINISH_CALLS },
    { "tool_use", HOCKET__FINISH_CALLS },
    { "length", HOCKET__FINISH_LENGTH },
    { "max_tokens", HOCKET__FINISH_LENGTH },
    { "model_length", HOCKET__FINISH_LENGTH },
    { "max_output_tokens", HOCKET__FINISH_LENGTH },
    { "model_context_window_exceeded", HOCKET__FINISH_LENGTH },
    { "content_filter", HOCKET__FINISH_FILTER },
    { "refusal", HOCKET__FINISH_FILTER },
    { "sensitive", HOCKET__FINISH_FILTER },
    { "safety", HOCKET__FINISH_FILTER },
    { "recitation", HOCKET__FINISH_FILTER },
    { "language", HOCKET__FINISH_FILTER },
    { "blocklist", HOCKET__FINISH_FILTER },
    { "prohibited_content", HOCKET__FINISH_FILTER },
    { "spii", HOCKET__FINISH_FILTER },
    { "content_filtered", HOCKET__FINISH_FILTER },
    { "guardrail_intervened", HOCKET__FINISH_FILTER },
    { "image_safety", HOCKET__FINISH_FILTER },
    { "image_prohibited_content", HOCKET__FINISH_FILTER },
    { "image_recitation", HOCKET__FINISH_FILTER },
    { "model_armor", HOCKET__FINISH_FILTER },
    { "finish_reason_unspecified", HOCKET__FINISH_NONE },
};

/* `word` is in small letters. Not by the host's locale, in which an I may be no i. */
static bool is_word(struct hocket__str s, const char *word)
{
    for (size_t i = 0; i < s.n; i++, word++)
        if (!*word || *word != hocket__lower(s.p[i]))
            return false;
    return *word == 0;
}

enum hocket__finish hocket__finish_of(struct hocket__str word)
{
    if (word.n == 0)
        return HOCKET__FINISH_NONE;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_word(word, words[i].word))
            return words[i].finish;
    return HOCKET__FINISH_ERROR;
}

static int badness(enum hocket__finish f)
{
    switch (f) {
    case HOCKET__FINISH_NONE: return 0;
    case HOCKET__FINISH_STOP:
    case HOCKET__FINISH_CALLS: return 1;
    case HOCKET__FINISH_LENGTH: return 2;
    case HOCKET__FINISH_FILTER: return 3;
    default: return 4;
    }
}

bool hocket__finish_covers(enum hocket__finish a, enum hocket__finish b)
{
    return badness(a) >= badness(b);
}

/* The same conversation gets the same answer to what it lacks; the rest is chance. */
static bool may_pass(struct hocket__str word)
{
    return !is_word(word, "missing_thought_signature");
}

/* Calls that the provider could not read, or would not take: the model's mistake (Gemini). */
static bool is_malformed(struct hocket__str word)
{
    return is_word(word, "malformed_function_call") || is_word(word, "unexpected_tool_call")
           || is_word(word, "malformed_response");
}

/* "tool_calls" and no call; "queued" as the end. */
bool hocket__reply_is_none(const struct hocket__reply *r)
{
    struct hocket__str word = hocket__buf_str(&r->finish_raw);
    bool no_call = r->n_calls == 0 && !r->surplus && r->finish == HOCKET__FINISH_STOP
                   && hocket__finish_of(word) == HOCKET__FINISH_CALLS;
    return !r->error.where && (no_call || is_word(word, "queued"));
}

static int broken_off(
    const struct hocket__reply *r, struct hocket__str word, struct hocket_error *err)
{
    int status = is_malformed(word) ? HOCKET_EMODEL : HOCKET_EPROVIDER;
    const char *how = is_malformed(word)         ? "the provider could not read the answer"
                      : hocket__reply_is_none(r) ? "the provider ended without an answer"
                                                 : "the provider broke the answer off";
    hocket__error(err, status, "%s (%.*s)", how,
        (int) hocket__utf8_cut(word.p, word.n < SHOWN ? word.n : SHOWN), word.p);
    if (err)
        err->retryable = may_pass(word);
    return status;
}

int hocket__reply_ended(const struct hocket__reply *r, bool silent, struct hocket_error *err)
{
    struct hocket__str word = hocket__buf_str(&r->finish_raw);
    if (r->finish == HOCKET__FINISH_ERROR || hocket__reply_is_none(r))
        return broken_off(r, word, err);
    if (!silent && hocket__finish_of(word) == HOCKET__FINISH_NONE)
        return hocket__error(err, HOCKET_ETRUNCATED,
            "the answer ended, and nothing says that it is whole (no finish reason)");
    return 0;
}
