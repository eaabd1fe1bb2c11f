/* The writing half of what the protocols share: neutral messages and tool lists
 * taken apart without copying, and a request's members.
 *
 * Everything points into the message's text: a walk over a message allocates nothing, and what is
 * written from it is copied once, into the body. What is wrong with a message is said when it is
 * added, not when it is sent. */
#include "net/protocol/protocol.h"
#include "net/protocol/protocol_impl.h"

#include "base/label.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Neutral messages ---- */

static int bad(struct hocket_error *err, const char *what)
{
    return hocket__error(err, HOCKET_EINVAL, "invalid message: %s", what);
}

/* Unknown members are refused, here and below: a misspelt one (`call` for `calls`) would be
 * lost on the way to the provider, and nobody would know why the model does not answer to it. */
static enum hocket__role role_of(const struct hocket__piece *p)
{
    return hocket__piece_is(p, "system")      ? HOCKET__ROLE_SYSTEM
           : hocket__piece_is(p, "user")      ? HOCKET__ROLE_USER
           : hocket__piece_is(p, "assistant") ? HOCKET__ROLE_ASSISTANT
           : hocket__piece_is(p, "tool")      ? HOCKET__ROLE_TOOL
                                              : HOCKET__ROLE_NONE;
}

/* null is as good as absent, since scripts write what they do not have so. */
static void read_string(struct hocket__json *j, struct hocket__piece *out, const char **wrong)
{
    hocket__piece_read(j, out);
    if (j->token != HOCKET__JSON_STRING && j->token != HOCKET__JSON_NULL)
        *wrong = "a member that should be a string is none";
}

static void read_list(struct hocket__json *j, struct hocket__str *out, const char **wrong)
{
    *out = hocket__json_value(j);
    if (out->n > 0 && out->p[0] != '[')
        *wrong = "a member that should be a list is none";
}

/* What an answer's protocol wants back; another protocol's is kept and not sent. */
static void read_replay(struct hocket__json *j, struct hocket__neutral *m, const char **wrong)
{
    if (hocket__json_next(j) == HOCKET__JSON_NULL)
        return;
    if (j->token != HOCKET__JSON_OBJECT) {
        *wrong = "replay is no object";
        hocket__json_pass(j);
        return;
    }
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "protocol"))
            read_string(j, &m->replay_protocol, wrong);
        else if (hocket__key_is(j, "value"))
            m->replay = hocket__json_value(j);
        else
            *wrong = "replay has an unknown member";
    }
}

static void read_labels(struct hocket__json *j, struct hocket__neutral *m, const char **wrong)
{
    if (hocket__json_next(j) != HOCKET__JSON_ARRAY) {
        *wrong = "labels are no list";
        hocket__json_pass(j);
        return;
    }
    while (hocket__json_element(j)) {
        unsigned bit = j->token == HOCKET__JSON_STRING ? hocket__label_bit(j->text) : 0;
        if (bit == 0)
            *wrong = "a label is none of web, outside, server";
        m->labels |= bit;
        hocket__json_pass(j);
    }
}

static void read_member(struct hocket__json *j, struct hocket__neutral *m,
    struct hocket__piece *role, const char **wrong)
{
    if (hocket__key_is(j, "role"))
        read_string(j, role, wrong);
    else if (hocket__key_is(j, "text"))
        read_string(j, &m->text, wrong);
    else if (hocket__key_is(j, "reasoning"))
        read_string(j, &m->reasoning, wrong);
    else if (hocket__key_is(j, "id"))
        read_string(j, &m->id, wrong);
    else if (hocket__key_is(j, "name"))
        read_string(j, &m->name, wrong);
    else if (hocket__key_is(j, "error"))
        m->error = hocket__json_true(j);
    else if (hocket__key_is(j, "labels"))
        read_labels(j, m, wrong);
    else if (hocket__key_is(j, "parts"))
        read_list(j, &m->parts, wrong);
    else if (hocket__key_is(j, "calls"))
        read_list(j, &m->calls, wrong);
    else if (hocket__key_is(j, "replay"))
        read_replay(j, m, wrong);
    else
        *wrong = "an unknown member";
}

int hocket__neutral_read(
    struct hocket__neutral *m, struct hocket__str text, struct hocket_error *err)
{
    struct hocket__json j;
    /* `wrong` keeps the first or last complaint and the walk goes on: an error of the JSON
     * itself comes first, whatever else is wrong, and it is known at the end only. */
    struct hocket__piece role = { 0 };
    const char *wrong = NULL;
    *m = (struct hocket__neutral){ 0 };
    hocket__json_init(&j, text);
    if (hocket__json_next(&j) == HOCKET__JSON_OBJECT)
        while (hocket__json_key(&j))
            read_member(&j, m, &role, &wrong);
    else if (!j.error)
        return bad(err, "it is no object");
    if (hocket__json_end(&j, err) < 0)
        return err ? err->status = HOCKET_EINVAL : HOCKET_EINVAL;
    m->role = role_of(&role);
    if (!wrong && m->role == HOCKET__ROLE_NONE)
        wrong = "role is none of system, user, assistant, tool";
    if (!wrong && m->role == HOCKET__ROLE_TOOL && !m->id.set)
        wrong = "a tool's message needs the id of its call";
    return wrong ? bad(err, wrong) : 0;
}

/* ---- What is inside of lists ---- */

/* The members of an object whose begin was read: false when one is none of `names` (ended by NULL), or no
 * text. *seen has a bit for each name that occurs. The bit behind the last name stands for unknown
 * names. */
static bool has_texts(struct hocket__json *j, const char *const *names, unsigned *seen)
{
    bool fine = true;
    for (*seen = 0; hocket__json_key(j);) {
        unsigned i = 0;
        while (names[i] && !hocket__json_is(j, names[i]))
            i++;
        fine &= names[i] && hocket__json_next(j) == HOCKET__JSON_STRING;
        hocket__json_pass(j);
        *seen |= 1u << i;
    }
    return fine;
}

static const char *check_image(struct hocket__json *j)
{
    static const char *const names[] = { "url", "data", "mime", NULL };
    unsigned seen;
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return "an image is no object";
    if (!has_texts(j, names, &seen))
        return "an image has an unknown member (there are: url, or data and mime)";
    return seen & 3 ? NULL : "an image has neither url nor data";
}

static const char *check_data(struct hocket__json *j)
{
    static const char *const names[] = { "data", "mime", "name", NULL };
    unsigned seen;
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return "audio or a file is no object";
    if (!has_texts(j, names, &seen))
        return "audio or a file has an unknown member (there are: data, mime, name)";
    return (seen & 3) == 3 ? NULL : "audio or a file needs data and mime";
}

static enum hocket__part_kind kind_of(const struct hocket__json *j)
{
    return hocket__key_is(j, "image")   ? HOCKET__PART_IMAGE
           : hocket__key_is(j, "audio") ? HOCKET__PART_AUDIO
           : hocket__key_is(j, "file")  ? HOCKET__PART_FILE
                                        : HOCKET__PART_TEXT;
}

static const char *check_part(struct hocket__json *j)
{
    const char *wrong = NULL;
    bool any = false;
    while (hocket__json_key(j)) {
        const char *also = NULL;
        if (hocket__json_is(j, "text"))
            also = hocket__json_want(j, HOCKET__JSON_STRING) ? NULL : "a part's text is no string";
        else if (kind_of(j) == HOCKET__PART_IMAGE)
            also = check_image(j);
        else if (kind_of(j) != HOCKET__PART_TEXT)
            also = check_data(j);
        else
            also = "a part is of no kind that is known (there are: text, image, audio, file)";
        wrong = wrong ? wrong : also;
        any = true;
    }
    return wrong || any ? wrong : "a part has neither text nor image";
}

static const char *check_call(struct hocket__json *j)
{
    static const char *const names[] = { "id", "name", "arguments", NULL };
    unsigned seen;
    bool fine = has_texts(j, names, &seen);
    return fine && seen == 7
               ? NULL
               : "a call has to have the texts id, name and arguments, and nothing else";
}

/* Only the first fault of a list is reported, so the walk may stop. */
static const char *check_list(
    struct hocket__str list, const char *(*check)(struct hocket__json *j), const char *no_object)
{
    struct hocket__json j;
    const char *wrong = NULL;
    hocket__neutral_walk(&j, list);
    while (!wrong && list.n > 0 && hocket__json_element(&j))
        wrong = hocket__json_want(&j, HOCKET__JSON_OBJECT) ? check(&j) : no_object;
    return wrong;
}

int hocket__neutral_check(const struct hocket__neutral *m, struct hocket_error *err)
{
    const char *wrong = check_list(m->parts, check_part, "a part is no object");
    if (!wrong)
        wrong = check_list(m->calls, check_call, "a call is no object");
    return wrong ? bad(err, wrong) : 0;
}

struct hocket__str hocket__neutral_replay(const struct hocket__neutral *m, const char *protocol)
{
    return hocket__piece_is(&m->replay_protocol, protocol) ? m->replay : hocket__str("", 0);
}

void hocket__neutral_walk(struct hocket__json *j, struct hocket__str array)
{
    hocket__json_init(j, array);
    hocket__json_next(j);
}

/* Moves to the next element that is an object.
 * Elements that are no objects were refused when the message was added; those of older recordings
 * are passed over. */
static bool next_object(struct hocket__json *j)
{
    if (j->depth == 0)
        return false; /* an empty text, or the end was seen */
    while (hocket__json_element(j))
        if (j->token == HOCKET__JSON_OBJECT)
            return true;
        else
            hocket__json_pass(j);
    return false;
}

bool hocket__neutral_call(struct hocket__json *j, struct hocket__neutral_call *call)
{
    *call = (struct hocket__neutral_call){ 0 };
    if (!next_object(j))
        return false;
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "id"))
            hocket__piece_read(j, &call->id);
        else if (hocket__key_is(j, "name"))
            hocket__piece_read(j, &call->name);
        else if (hocket__key_is(j, "arguments"))
            hocket__piece_read(j, &call->arguments);
    }
    return true;
}

static void read_data(struct hocket__json *j, struct hocket__neutral_part *part)
{
    if (hocket__json_next(j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(j);
        return;
    }
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "mime"))
            hocket__piece_read(j, &part->mime);
        else if (hocket__key_is(j, "data"))
            hocket__piece_read(j, &part->data);
        else if (hocket__key_is(j, "url"))
            hocket__piece_read(j, &part->url);
        else if (hocket__key_is(j, "name"))
            hocket__piece_read(j, &part->name);
    }
}

bool hocket__neutral_part(struct hocket__json *j, struct hocket__neutral_part *part)
{
    *part = (struct hocket__neutral_part){ 0 };
    if (!next_object(j))
        return false;
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "text"))
            hocket__piece_read(j, &part->text);
        else if (kind_of(j) != HOCKET__PART_TEXT) {
            part->kind = kind_of(j);
            read_data(j, part);
        }
    }
    return true;
}

bool hocket__neutral_has_data(const struct hocket__neutral_part *part)
{
    return part->data.set || part->url.set;
}

void hocket__neutral_describe(const struct hocket__neutral_part *part, struct hocket__buf *b)
{
    static const char *const words[] = { "text", "picture", "recording", "document" };
    hocket__buf_addf(b, "[a %s", words[part->kind]);
    if (part->name.inside.n > 0) {
        hocket__buf_lit(b, ", ");
        hocket__buf_addstr(b, part->name.inside);
    }
    hocket__buf_lit(b, ", which cannot be shown here]");
}

void hocket__neutral_url(const struct hocket__neutral_part *part, struct hocket__buf *b)
{
    if (part->url.set) {
        hocket__piece_write(&part->url, b);
        return;
    }
    hocket__buf_adds(b, "\"data:");
    /* what stands inside of a JSON string goes into another as it is, escapes and all */
    hocket__buf_addstr(b, part->mime.inside);
    hocket__buf_adds(b, ";base64,");
    hocket__buf_addstr(b, part->data.inside);
    hocket__buf_addc(b, '"');
}

bool hocket__tool_walk(struct hocket__json *j, struct hocket__tool_spec *tool)
{
    *tool = (struct hocket__tool_spec){ 0 };
    if (!next_object(j))
        return false;
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "name")) {
            hocket__piece_read(j, &tool->name);
        } else if (hocket__key_is(j, "description")) {
            hocket__piece_read(j, &tool->description);
        } else if (hocket__key_is(j, "parameters")) {
            tool->parameters = hocket__json_value(j);
        } else if (hocket__key_is(j, "strict")) {
            tool->strict = hocket__json_true(j);
            tool->has_strict = true;
        }
    }
    return true;
}

bool hocket__tool_any(const struct hocket__llm_request *q)
{
    struct hocket__json j;
    struct hocket__tool_spec tool;
    hocket__neutral_walk(&j, q->tools);
    return hocket__tool_walk(&j, &tool);
}

void hocket__tool_parameters(struct hocket__buf *b, const struct hocket__tool_spec *tool)
{
    if (tool->parameters.n > 0 && tool->parameters.p[0] == '{')
        hocket__buf_addstr(b, tool->parameters);
    else
        hocket__buf_adds(b, "{\"type\":\"object\",\"properties\":{}}");
}

bool hocket__server_tools_write(const struct hocket__llm_request *q, struct hocket__buf *b)
{
    struct hocket__json j;
    struct hocket__str one;
    size_t from = b->len;
    if (q->server_tools.n == 0)
        return false;
    hocket__neutral_walk(&j, q->server_tools);
    while (next_object(&j) && hocket__json_skip(&j, &one) == 0)
        hocket__jw_raw(b, one);
    return b->len > from;
}

/* ---- Requests ---- */

const struct hocket__proto_traits hocket__proto_no_traits = { 0 };

const struct hocket__proto_traits *hocket__proto_traits_of(const struct hocket__llm_request *q)
{
    return q->traits ? q->traits : &hocket__proto_no_traits;
}

static int check(struct hocket__str json, char bracket, const char *what, struct hocket_error *err)
{
    if (json.n == 0 || hocket__json_begins(json, bracket))
        return 0;
    return hocket__error(
        err, HOCKET_EINVAL, "%s must be a JSON %s", what, bracket == '{' ? "object" : "list");
}

static int check_texts(const struct hocket__llm_request *q, struct hocket_error *err)
{
    int status = check(q->tools, '[', "tools", err);
    if (status == 0)
        status = check(q->server_tools, '[', "server_tools", err);
    if (status == 0)
        status = check(q->stop, '[', "stop", err);
    if (status == 0)
        status = check(q->schema, '{', "the answer's schema", err);
    if (status == 0)
        status = check(hocket__proto_traits_of(q)->body, '{', "the provider's body", err);
    return status == 0 ? check(q->extra, '{', "extra", err) : status;
}

/* Texts of a request that was written before, and kept, have been looked at. */
int hocket__proto_prepare(const struct hocket__llm_request *q, const struct hocket__proto *proto,
    struct hocket_error *err)
{
    if (!q->model || !*q->model)
        return hocket__error(err, HOCKET_EINVAL, "a request needs a model");
    int status = hocket__prepared_is(q, proto) ? 0 : check_texts(q, err);
    if (status == 0)
        status = hocket__history_render(q->history, proto, hocket__proto_traits_of(q), err);
    return status;
}

/* NaN stands for "not set" in a request. */
bool hocket__proto_is_set(double v)
{
    return isfinite(v);
}

int64_t hocket__proto_reasoning_tokens(const struct hocket__llm_request *q)
{
    if (!q->reasoning || *q->reasoning < '0' || *q->reasoning > '9')
        return -1;
    return strtoll(q->reasoning, NULL, 10);
}

/* A budget in tokens, for protocols that have words only: as anthropic/write.c makes budgets of
 * words, the other way round. */
const char *hocket__proto_reasoning_word(const struct hocket__llm_request *q)
{
    int64_t tokens = hocket__proto_reasoning_tokens(q);
    if (!q->reasoning || !*q->reasoning)
        return NULL;
    return tokens < 0        ? q->reasoning
           : tokens == 0     ? "none"
           : tokens <= 4096  ? "low"
           : tokens <= 16384 ? "medium"
                             : "high";
}

bool hocket__proto_is_choice_word(const char *choice)
{
    return strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0
           || strcmp(choice, "required") == 0;
}

/* FNV-1a: an id maps to the same text in the call and in its result.
 * Some servers want ids of a fixed length and of letters alone, and get conversations whose ids
 * other servers have made. */
static uint64_t hash(struct hocket__str s, uint64_t h)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char) s.p[i]) * 0x100000001b3u;
    return h;
}

static bool fits(struct hocket__str id, size_t length)
{
    for (size_t i = 0; i < id.n; i++)
        if (!hocket__is_alnum(id.p[i]))
            return false;
    return id.n == length;
}

void hocket__proto_call_id(
    const struct hocket__proto_traits *t, const struct hocket__piece *id, struct hocket__buf *b)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if (t->call_id_length <= 0 || fits(id->inside, (size_t) t->call_id_length)) {
        hocket__piece_write(id, b);
        return;
    }
    uint64_t h = hash(id->inside, 0xcbf29ce484222325u), rest = h;
    hocket__buf_addc(b, '"');
    for (int i = 0; i < t->call_id_length; i++, rest /= 62) {
        /* the digits of 64 bits are used up */
        if (rest == 0)
            rest = h = hash(id->inside, h ^ (uint64_t) i);
        hocket__buf_addc(b, digits[rest % 62]);
    }
    hocket__buf_addc(b, '"');
}

int hocket__proto_written(const struct hocket__buf *b, struct hocket_error *err)
{
    if (b->status == HOCKET_ELIMIT)
        return hocket__error(err, HOCKET_ELIMIT, "the request is larger than %zu bytes", b->max);
    return b->status < 0 ? hocket__error(err, b->status, "%s", hocket_status_text(b->status)) : 0;
}
