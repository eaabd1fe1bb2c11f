/* What went wrong, as providers say it: error bodies of every shape into
 * reply->error, and reply->error into a status and the question whether to try
 * again. No shape is assumed: gateways answer with HTML and plain text too. */
#include "net/protocol/protocol_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "net/when.h"

#define MAX_MESSAGE 2000                         /* of a body that is no JSON */
#define MAX_DELAY   ((int64_t) 24 * 3600 * 1000) /* a longer wait is none */
#define SHOWN       400                          /* bytes of a message in an error's text … */
#define SHOWN_MORE  160                          /* … and of what stands behind it */

struct fields {
    struct hocket__piece type, status, code, message, failed_generation;
    struct hocket__str code_number;
    struct hocket__str inner;  /* the value of "error" */
    struct hocket__str detail; /* the value of "detail" */
    struct hocket__str details, metadata;
    struct hocket__str n_ctx; /* llama.cpp's window */
};

static void read_code(struct hocket__json *j, struct fields *f)
{
    if (hocket__json_next(j) == HOCKET__JSON_NUMBER)
        f->code_number = j->text;
    else if (j->token == HOCKET__JSON_STRING)
        f->code = hocket__piece_of(j);
    else
        hocket__json_pass(j);
}

/* All the names that any provider uses, in one pass: which provider it is does not matter, and a
 * gateway may pass on another one's error. */
static void read_fields(struct hocket__str object, struct fields *f)
{
    struct hocket__json j;
    *f = (struct fields){ 0 };
    hocket__json_init(&j, object);
    if (hocket__json_next(&j) != HOCKET__JSON_OBJECT)
        return;
    while (hocket__json_key(&j)) {
        if (hocket__key_is(&j, "type") || hocket__key_is(&j, "__type")) /* the latter is AWS's */
            hocket__piece_read(&j, &f->type);
        else if (hocket__key_is(&j, "status"))
            hocket__piece_read(&j, &f->status);
        else if (hocket__key_is(&j, "code"))
            read_code(&j, f);
        else if (hocket__key_is(&j, "message"))
            hocket__piece_read(&j, &f->message);
        else if (hocket__key_is(&j, "error"))
            f->inner = hocket__json_value(&j);
        else if (hocket__key_is(&j, "detail"))
            f->detail = hocket__json_value(&j);
        else if (hocket__key_is(&j, "details"))
            f->details = hocket__json_value(&j);
        else if (hocket__key_is(&j, "metadata"))
            f->metadata = hocket__json_value(&j);
        else if (hocket__key_is(&j, "n_ctx"))
            f->n_ctx = hocket__json_value(&j);
        else if (hocket__key_is(&j, "failed_generation"))
            hocket__piece_read(&j, &f->failed_generation);
    }
}

/* The text of a string value, or the value as it stands. */
static void set_value(struct hocket__buf *b, struct hocket__str value)
{
    struct hocket__json j;
    hocket__buf_cut(b, 0);
    hocket__json_init(&j, value);
    if (hocket__json_next(&j) == HOCKET__JSON_STRING)
        hocket__json_decode(&j, b);
    else
        hocket__buf_addstr(b, value);
}

/* "34.07s" as Gemini's RetryInfo has it. */
static int64_t read_delay(struct hocket__str text)
{
    int64_t ms = 0, unit = 100;
    size_t i = 0;
    for (; i < text.n && hocket__is_digit(text.p[i]) && ms <= MAX_DELAY; i++)
        ms = ms * 10 + (text.p[i] - '0') * 1000;
    if (i == 0 || ms > MAX_DELAY)
        return -1;
    if (i < text.n && text.p[i] == '.')
        for (i++; i < text.n && hocket__is_digit(text.p[i]); i++, unit /= 10)
            ms += (text.p[i] - '0') * unit;
    return ms;
}

static int64_t find_delay(struct hocket__str details)
{
    struct hocket__json j;
    int64_t ms = -1;
    hocket__json_init(&j, details);
    if (hocket__json_next(&j) != HOCKET__JSON_ARRAY)
        return -1;
    while (hocket__json_element(&j)) {
        struct hocket__str element, value;
        if (j.token != HOCKET__JSON_OBJECT || hocket__json_skip(&j, &element) < 0)
            continue;
        if (hocket__json_find(element, "retryDelay", &value) && value.n > 2)
            ms = read_delay(hocket__str(value.p + 1, value.n - 2));
    }
    return ms;
}

/* OpenRouter says "Provider returned error", and here which provider and why. Groq says that a call failed, and
 * here what the model wrote; llama.cpp how large its window is; others in a code alone that it is full. */
static void set_detail(struct hocket__reply_error *e, const struct fields *f)
{
    struct hocket__str raw;
    if (f->failed_generation.set)
        hocket__piece_set(&f->failed_generation, &e->detail);
    else if (hocket__json_find(f->metadata, "raw", &raw) && !hocket__str_is(raw, "null"))
        set_value(&e->detail, raw);
    else if (f->n_ctx.n > 0) {
        hocket__buf_lit(&e->detail, "n_ctx ");
        hocket__buf_addstr(&e->detail, f->n_ctx);
    } else if (hocket__piece_is(&f->code, "context_length_exceeded"))
        hocket__piece_set(&f->code, &e->detail);
}

/* Servers that read a model's answer by a grammar of their own say so when it is not in that form: Groq shows what
 * was written, llama.cpp has only words ("does not match the expected peg-native format"). */
static bool is_malformed(const struct hocket__reply_error *e, const struct fields *f)
{
    const char *said = e->message.len > 0 ? e->message.data : "";
    return f->failed_generation.inside.n > 0
           || (hocket__has_word(said, "does not match the expected")
               && hocket__has_word(said, "format"))
           || hocket__has_word(said, "failed to parse input at pos");
}

static void set_fields(struct hocket__reply_error *e, const struct fields *f)
{
    const struct hocket__piece *type = f->status.set ? &f->status : &f->type;
    if (!hocket__piece_is(type, "error")) /* that says no more than that it is one */
        hocket__piece_set(type, &e->type);
    if (f->code_number.n > 0) {
        hocket__reply_set(&e->code, f->code_number);
        e->code_is_number = true;
    } else {
        hocket__piece_set(&f->code, &e->code);
    }
    if (f->message.set)
        hocket__piece_set(&f->message, &e->message);
    else if (f->detail.n > 0)
        set_value(&e->message, f->detail);
    if (f->details.n > 0)
        e->retry_after_ms = find_delay(f->details);
    set_detail(e, f);
    e->malformed = is_malformed(e, f);
}

static void set_from_object(struct hocket__reply_error *e, struct hocket__str object)
{
    struct fields f;
    read_fields(object, &f);
    struct hocket__str inner = f.inner;
    if (inner.n > 0 && inner.p[0] == '{') {
        read_fields(inner, &f);
        set_fields(e, &f);
    } else {
        set_fields(e, &f);
        if (inner.n > 0)
            set_value(&e->message, inner);
    }
}

/* Gateways send line ends around their bodies. */
static struct hocket__str trim(struct hocket__str s)
{
    while (s.n > 0 && memchr(" \t\r\n", s.p[0], 4))
        s = hocket__str(s.p + 1, s.n - 1);
    while (s.n > 0 && memchr(" \t\r\n", s.p[s.n - 1], 4))
        s.n--;
    return s;
}

/* A list of one error (Gemini without alt=sse) stands for the error. */
static struct hocket__str unwrap(struct hocket__str text)
{
    struct hocket__json j;
    struct hocket__str first;
    hocket__json_init(&j, text);
    if (hocket__json_next(&j) == HOCKET__JSON_ARRAY && hocket__json_element(&j)
        && j.token == HOCKET__JSON_OBJECT && hocket__json_skip(&j, &first) == 0)
        return first;
    return text;
}

static bool begins(struct hocket__str text, const char *word)
{
    size_t n = strlen(word);
    return text.n >= n && strncasecmp(text.p, word, n) == 0;
}

static const char *find_tag(struct hocket__str text, const char *tag)
{
    for (; text.n > 0; text = hocket__str(text.p + 1, text.n - 1))
        if (begins(text, tag))
            return text.p;
    return NULL;
}

/* Pages of a proxy or a firewall: the title says what a person would see. */
bool hocket__html_title(struct hocket__str text, struct hocket__str *title)
{
    static const char *const tags[] = { "<title>", "<h1>" };
    text = trim(text);
    *title = hocket__str("", 0);
    if (!begins(text, "<!doctype html") && !begins(text, "<html") && !begins(text, "<head"))
        return false;
    for (size_t i = 0; i < 2 && title->n == 0; i++) {
        const char *from = find_tag(text, tags[i]);
        if (!from)
            continue;
        from += strlen(tags[i]);
        const char *stop = memchr(from, '<', text.n - (size_t) (from - text.p));
        if (stop)
            *title = trim(hocket__str(from, (size_t) (stop - from)));
    }
    return true;
}

bool hocket__is_error_value(struct hocket__str value)
{
    return value.n > 2 && !hocket__str_is(value, "false");
}

void hocket__reply_set_error(
    struct hocket__reply *reply, const char *where, int status, struct hocket__str body)
{
    struct hocket__reply_error *e = &reply->error;
    hocket__buf_cut(&e->type, 0);
    hocket__buf_cut(&e->code, 0);
    hocket__buf_cut(&e->message, 0);
    hocket__buf_cut(&e->detail, 0);
    e->where = where;
    e->status = status;
    e->code_is_number = e->malformed = false;
    e->retry_after_ms = -1;
    reply->finish = HOCKET__FINISH_ERROR;
    body = trim(body);
    /* not JSON: as it is, cut and made valid UTF-8 */
    if (hocket__json_check(body, NULL) < 0) {
        size_t n = body.n <= MAX_MESSAGE ? body.n : hocket__utf8_cut(body.p, MAX_MESSAGE);
        hocket__utf8_repair(&e->message, body.p, n);
        return;
    }
    body = unwrap(body);
    if (body.n > 0 && body.p[0] == '{')
        set_from_object(e, body);
    else
        set_value(&e->message, body);
}

bool hocket__reply_foreign_error(
    struct hocket__reply *reply, const char *where, int status, struct hocket__str text)
{
    struct hocket__json j;
    bool is_error = false;
    hocket__json_init(&j, text);
    if (hocket__json_next(&j) != HOCKET__JSON_OBJECT)
        return false;
    while (hocket__json_key(&j)) {
        bool names_kind = hocket__key_is(&j, "object") || hocket__key_is(&j, "type");
        bool has_words = hocket__key_is(&j, "message"), has_detail = hocket__key_is(&j, "detail");
        struct hocket__str value = hocket__json_value(&j);
        is_error |= (names_kind && hocket__str_is(value, "\"error\""))
                    || (has_words && value.n > 2 && value.p[0] == '"')
                    || (has_detail && hocket__is_error_value(value));
    }
    if (is_error)
        hocket__reply_set_error(reply, where, status, text);
    return is_error;
}

/* ---- What it means ---- */

static bool is_word(const struct hocket__buf *b, const char *const *words)
{
    for (; *words; words++)
        if (b->len > 0 && strcasecmp(b->data, *words) == 0)
            return true;
    return false;
}

static bool has_word(const struct hocket__reply_error *e, const char *const *words)
{
    return is_word(&e->type, words) || is_word(&e->code, words);
}

/* Another try does not help with any of them. */
static bool is_auth(const struct hocket__reply_error *e, int status)
{
    static const char *const words[] = { "authentication_error", "invalid_api_key",
        "permission_error", "unauthenticated", "permission_denied", NULL };
    /* Gemini says 400 to a wrong key */
    return status == 401 || status == 403 || has_word(e, words)
           || (status == 400 && e->message.len > 0 && hocket__has_word(e->message.data, "api key"));
}

/* 0 for an error inside an answer that was none by its status. */
static int http_status(const struct hocket__reply_error *e)
{
    return e->status >= 400 ? e->status : 0;
}

/* The HTTP status, or the number that stands in its place inside a 200 answer. */
static int effective_status(const struct hocket__reply_error *e)
{
    /* OpenRouter answers 200 and puts the status of whoever it asked into the body */
    if (http_status(e) > 0 || e->code.len != 3)
        return http_status(e);
    int code = atoi(e->code.data);
    return code >= 400 && code <= 599 ? code : 0;
}

/* Quota that is used up comes with 429 as well, but waiting brings no money. */
static bool is_unpaid(const struct hocket__reply_error *e)
{
    static const char *const words[] = { "insufficient_quota", "billing_error",
        "billing_hard_limit_reached", NULL };
    return has_word(e, words);
}

static bool is_rate_limit(const struct hocket__reply_error *e)
{
    static const char *const words[] = { "rate_limit_error", "rate_limit_exceeded",
        "resource_exhausted", "ratelimitreached", "too_many_requests", "throttlingexception",
        NULL };
    int status = effective_status(e);
    return !is_unpaid(e) && (status == 429 || (status == 0 && has_word(e, words)));
}

/* By status where there is one; words count only for errors that come inside a stream, whose status
 * was 200. */
static bool is_retryable(const struct hocket__reply_error *e, int status)
{
    static const char *const words[] = { "overloaded_error", "api_error", "timeout_error",
        "server_error", "internal_error", "internal_server_error", "service_unavailable",
        "unavailable", "internal", "deadline_exceeded", "internalserverexception",
        "modelstreamerrorexception", "modeltimeoutexception", "serviceunavailableexception", NULL };
    if (is_unpaid(e))
        return false;
    if (status > 0)
        return status == 408 || status == 409 || status == 429 || status >= 500;
    return is_rate_limit(e) || has_word(e, words);
}

bool hocket__reply_limited(const struct hocket__reply *r)
{
    return r->error.where && http_status(&r->error) == 0 && is_rate_limit(&r->error);
}

static struct hocket__str cut(struct hocket__str text, size_t max)
{
    return hocket__str(text.p, hocket__utf8_cut(text.p, text.n < max ? text.n : max));
}

/* The provider's words, of a page its title. */
static void write_message(const struct hocket__reply_error *e, int code, struct hocket_error *err)
{
    char status[32] = "";
    struct hocket__str what = hocket__buf_str(e->message.len > 0 ? &e->message : &e->type), title,
                       more = cut(hocket__buf_str(&e->detail), SHOWN_MORE);
    bool page = hocket__html_title(what, &title);
    if (page)
        what = title;
    else if (what.n == 0)
        what = HOCKET__STR("no message");
    what = cut(what, more.n > 0 ? SHOWN - SHOWN_MORE : SHOWN);
    if (e->status >= 300)
        snprintf(status, sizeof(status), "HTTP status %d: ", e->status);
    hocket__error(err, code, "%s%s%.*s%s%.*s%s", status,
        !page        ? ""
        : what.n > 0 ? "a web page: "
                     : "a web page",
        (int) what.n, what.p, more.n > 0 ? " (" : "", (int) more.n, more.p, more.n > 0 ? ")" : "");
}

/* As a number where there is one, else in the words: what a relay passes on has them in its detail. */
static int64_t wait_of(const struct hocket__reply_error *e)
{
    if (e->retry_after_ms >= 0)
        return e->retry_after_ms;
    int64_t ms = hocket__when_sentence(cut(hocket__buf_str(&e->message), MAX_MESSAGE));
    return ms >= 0 ? ms : hocket__when_sentence(cut(hocket__buf_str(&e->detail), MAX_MESSAGE));
}

int hocket__reply_failed(const struct hocket__reply *r, struct hocket_error *err)
{
    const struct hocket__reply_error *e = &r->error;
    if (!e->where)
        return 0;
    int status = effective_status(e);
    int code = e->malformed         ? HOCKET_EMODEL
               : is_auth(e, status) ? HOCKET_EAUTH
               : e->status >= 300   ? HOCKET_EHTTP
                                    : HOCKET_EPROVIDER;
    write_message(e, code, err);
    if (err) {
        err->http_status = e->status;
        err->retryable = e->malformed || is_retryable(e, status);
        err->retry_after_ms = wait_of(e);
    }
    return code;
}
