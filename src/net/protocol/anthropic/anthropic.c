/* Reads Anthropic's answers, and is its row in the protocol table. anthropic.h says what was decided. */
#include "net/protocol/anthropic/anthropic.h"

#include "net/protocol/finish.h"
#include "net/protocol/twin.h"

/* ---- What a content block, and a delta of one, hold ---- */

struct hocket__block {
    struct hocket__piece type, id, name, text, thinking, signature;
    struct hocket__str input;     /* JSON, or empty */
    struct hocket__str citations; /* JSON list, or empty */
    struct hocket__str citation, partial_content;
    struct hocket__piece partial_json, stop_reason;
    struct hocket__str whole; /* the block as it came */
};

/* Usage of Anthropic's answers: message_start tells the input, message_delta what has come since,
 * as totals that replace and never add.
 *
 * What was read from the cache and written to it comes beside `input_tokens` there; the neutral
 * counts have it included, and unknown members are kept raw. */

#define MAX_USAGE 16384 /* past it an object is taken as it is: merging is quadratic */

/* Whether there is such a member, and its value unless it is null. */
static bool find_member(
    struct hocket__str object, struct hocket__str name, struct hocket__str *value)
{
    struct hocket__json j;
    hocket__json_init(&j, object);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        if (hocket__str_eq(j.text, name)) {
            struct hocket__str v = hocket__json_value(&j);
            *value = v.n > 0 ? v : *value;
            return true;
        }
    }
    return false;
}

static void put_usage_member(
    struct hocket__buf *b, struct hocket__str name, struct hocket__str value)
{
    hocket__buf_adds(b, b->data[b->len - 1] == '{' ? "\"" : ",\"");
    hocket__buf_addstr(b, name);
    hocket__buf_adds(b, "\":");
    hocket__buf_addstr(b, value);
}

/* Writes the merged object behind the old one; there is room. */
static void merge(struct hocket__buf *b, struct hocket__str old, struct hocket__str new)
{
    struct hocket__json j;
    hocket__buf_addc(b, '{');
    hocket__json_init(&j, old);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        struct hocket__str name = j.text, value;
        if (hocket__json_skip(&j, &value) < 0)
            break;
        find_member(new, name, &value);
        put_usage_member(b, name, value);
    }
    hocket__json_init(&j, new);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        struct hocket__str name = j.text, value = hocket__json_value(&j), before;
        if (value.n > 0 && !find_member(old, name, &before))
            put_usage_member(b, name, value);
    }
    hocket__buf_addc(b, '}');
}

static void set_count(struct hocket__json *j, int64_t *out)
{
    int64_t n = hocket__json_count(j);
    if (n >= 0)
        *out = n;
}

static void read_details(struct hocket__json *j, struct hocket__usage *u)
{
    if (hocket__json_want(j, HOCKET__JSON_OBJECT))
        while (hocket__json_key(j))
            if (hocket__json_is(j, "thinking_tokens"))
                set_count(j, &u->reasoning);
}

static void read_counts(struct hocket__str usage, struct hocket__usage *u)
{
    struct hocket__json j;
    hocket__json_init(&j, usage);
    hocket__json_next(&j);
    while (hocket__json_key(&j)) {
        if (hocket__json_is(&j, "input_tokens"))
            set_count(&j, &u->input);
        else if (hocket__json_is(&j, "output_tokens"))
            set_count(&j, &u->output);
        else if (hocket__json_is(&j, "cache_read_input_tokens"))
            set_count(&j, &u->cached);
        else if (hocket__json_is(&j, "cache_creation_input_tokens"))
            set_count(&j, &u->cache_write);
        else if (hocket__json_is(&j, "output_tokens_details"))
            read_details(&j, u);
    }
}

/* Usage: what is not null in the new object wins. */
static void anthropic_usage(struct hocket__reply *reply, struct hocket__str usage)
{
    struct hocket__buf *b = &reply->usage_raw;
    size_t old = b->len;
    if (usage.n == 0 || usage.p[0] != '{')
        return;
    read_counts(usage, &reply->usage);
    if (old == 0 || old + usage.n > MAX_USAGE) {
        hocket__reply_set(b, usage);
    } else if (hocket__buf_reserve(b, old + usage.n + 2) == 0) {
        merge(b, hocket__str(b->data, old), usage);
        hocket__buf_drop(b, old);
    }
}

/* What has to go back to Anthropic unchanged, gathered while it comes.
 *
 * The normalised parts say all of an answer of text and calls alone, and nothing is gathered. The
 * list begins at the first block of another kind (thinking, a server's tool, text with citations,
 * text after a call), in r->state, with the blocks so far. Then every block is added as it came.
 * Strings stay escaped, so that signatures are the same bytes.
 *
 * r->flags: the open block's kind, two marks, and (from bit 8) its index; r->slot: where it begins
 * in r->state. r->scratch: what comes in pieces and stands at the block's end. */

enum kind {
    KIND_NONE,
    KIND_TEXT,     /* scratch: citations */
    KIND_THINKING, /* scratch: the signature */
    KIND_CALL,     /* its input is in the reply's call */
    KIND_INPUT,    /* scratch: the input of a tool that the server runs */
    KIND_CONTENT,  /* scratch: content that comes in deltas (compaction) */
    KIND_WHOLE,
    KIND_MASK = 7,
    KEPT = 8,    /* the list has begun */
    BROKEN = 16, /* it cannot be told what belongs where: not sent back */
    PIECES = 32, /* deltas came into scratch */
};
#define INDEX_SHIFT 8
#define INDEX_MASK  0xFFFFFFu

#define TEXT_HEAD     "{\"type\":\"text\",\"text\":\""
#define THINKING_HEAD "{\"type\":\"thinking\",\"thinking\":\""

static enum kind kind_of(const struct hocket__block *b)
{
    if (hocket__piece_is(&b->type, "text"))
        return KIND_TEXT;
    if (hocket__piece_is(&b->type, "thinking"))
        return KIND_THINKING;
    if (hocket__piece_is(&b->type, "tool_use"))
        return KIND_CALL;
    if (hocket__piece_is(&b->type, "compaction"))
        return KIND_CONTENT;
    return b->input.n > 0 ? KIND_INPUT : KIND_WHOLE;
}

static void next_block(struct hocket__reader *r)
{
    if (r->state.len > 0)
        hocket__buf_addc(&r->state, ',');
    r->slot = (int64_t) r->state.len;
}

/* ---- The beginning of the list ---- */

static void put_call(struct hocket__buf *b, const struct hocket__call *c)
{
    hocket__jw_open(b, '{');
    hocket__jw_key_cstring(b, "type", "tool_use");
    hocket__jw_key_string(b, "id", hocket__buf_str(&c->id));
    hocket__jw_key_string(b, "name", hocket__buf_str(&c->name));
    hocket__jw_key(b, "input");
    hocket__object_add(b, hocket__buf_str(&c->arguments));
    hocket__jw_close(b, '}');
}

/* Texts, then calls: another order would have begun the list. */
static void keep_past(struct hocket__reader *r, size_t n_calls)
{
    r->flags |= KEPT;
    if (r->reply->text.len > 0) {
        hocket__buf_adds(&r->state, TEXT_HEAD);
        hocket__jw_escape(&r->state, hocket__buf_str(&r->reply->text));
        hocket__buf_adds(&r->state, "\"}");
    }
    for (size_t i = 0; i < n_calls; i++)
        put_call(&r->state, &r->reply->calls[i]);
}

/* ---- One block ---- */

/* All members but one, which is written when the block ends. */
static void put_members(struct hocket__buf *b, struct hocket__str object, const char *but)
{
    hocket__buf_addc(b, '{');
    hocket__members_write(b, object, (const char *const[]){ but, NULL });
}

/* The inside of a list, without its brackets. */
static void add_elements(struct hocket__buf *b, struct hocket__str list)
{
    struct hocket__json j;
    hocket__json_init(&j, list);
    if (hocket__json_want(&j, HOCKET__JSON_ARRAY) && hocket__json_element(&j))
        hocket__buf_add(b, list.p + 1, list.n - 2);
}

static void open_block(struct hocket__reader *r, const struct hocket__block *b, enum kind kind)
{
    next_block(r);
    hocket__buf_cut(&r->scratch, 0);
    switch (kind) {
    case KIND_TEXT:
        hocket__buf_adds(&r->state, TEXT_HEAD);
        hocket__buf_addstr(&r->state, b->text.inside);
        add_elements(&r->scratch, b->citations);
        break;
    case KIND_THINKING:
        hocket__buf_adds(&r->state, THINKING_HEAD);
        hocket__buf_addstr(&r->state, b->thinking.inside);
        hocket__buf_addstr(&r->scratch, b->signature.inside);
        break;
    case KIND_CALL:
    case KIND_INPUT:
        put_members(&r->state, b->whole, "input");
        hocket__buf_addstr(&r->scratch, b->input);
        break;
    case KIND_CONTENT:
        put_members(&r->state, b->whole, "content");
        hocket__buf_addstr(&r->scratch, b->partial_content);
        break;
    default: hocket__buf_addstr(&r->state, b->whole);
    }
}

static void replay_start(
    struct hocket__reader *r, const struct hocket__block *b, int64_t index, int64_t call)
{
    enum kind kind = kind_of(b);
    bool plain =
        kind == KIND_CALL || (kind == KIND_TEXT && r->reply->n_calls == 0 && b->citations.n == 0);
    if (!plain && !(r->flags & KEPT))
        keep_past(r, r->reply->n_calls);
    r->flags &= ~((uint32_t) KIND_MASK | PIECES | (INDEX_MASK << INDEX_SHIFT));
    r->flags |= (uint32_t) kind | ((uint32_t) index & INDEX_MASK) << INDEX_SHIFT;
    if (call >= 0 && r->reply->calls[call].id.len == 0)
        r->flags |= BROKEN; /* the result could not name it */
    if (r->flags & KEPT)
        open_block(r, b, kind);
}

/* Into scratch; the first piece takes the place of what the block began with. */
static void add_piece(struct hocket__reader *r, const struct hocket__piece *p, bool decode)
{
    if (p->inside.n == 0)
        return;
    if (!(r->flags & PIECES))
        hocket__buf_cut(&r->scratch, 0);
    r->flags |= PIECES;
    if (decode)
        hocket__piece_add(p, &r->scratch);
    else
        hocket__buf_addstr(&r->scratch, p->inside);
}

static void add_content(struct hocket__reader *r, struct hocket__str content)
{
    struct hocket__json j;
    hocket__json_init(&j, content);
    if (content.n > 0 && hocket__json_next(&j) == HOCKET__JSON_STRING) {
        struct hocket__piece p = hocket__piece_of(&j);
        add_piece(r, &p, false);
    }
}

/* A piece of a call that was never begun is no part of the answer. */
static bool is_stray(
    const struct hocket__reply *reply, const struct hocket__block *d, int64_t index)
{
    for (size_t i = 0; i < reply->n_calls; i++)
        if (reply->calls[i].index == index)
            return false;
    return d->partial_json.set;
}

static void replay_delta(struct hocket__reader *r, const struct hocket__block *d, int64_t index)
{
    if (!(r->flags & KEPT))
        return;
    if (((uint32_t) index & INDEX_MASK) != r->flags >> INDEX_SHIFT) {
        if (!is_stray(r->reply, d, index))
            r->flags |= BROKEN; /* blocks are mixed, which the protocol does not do */
        hocket__twin_give_up(r);
        return;
    }
    switch (r->flags & KIND_MASK) {
    case KIND_TEXT:
        hocket__buf_addstr(&r->state, d->text.inside);
        hocket__twin_state(r, d->text.set);
        if (d->citation.n > 0) {
            hocket__twin_give_up(r);
            hocket__buf_adds(&r->scratch, r->scratch.len > 0 ? "," : "");
            hocket__buf_addstr(&r->scratch, d->citation);
        }
        break;
    case KIND_THINKING:
        hocket__buf_addstr(&r->state, d->thinking.inside);
        hocket__buf_addstr(&r->scratch, d->signature.inside);
        hocket__twin_state(r, d->thinking.set && !d->signature.set);
        break;
    case KIND_INPUT:
        hocket__twin_give_up(r);
        add_piece(r, &d->partial_json, true);
        break;
    case KIND_CONTENT:
        hocket__twin_give_up(r);
        add_content(r, d->partial_content);
        break;
    default: break;
    }
}

/* ---- Its end ---- */

/* The server refuses text blocks without text. */
static bool drop_blank(struct hocket__reader *r)
{
    size_t head = (size_t) r->slot + sizeof(TEXT_HEAD) - 1;
    struct hocket__piece text = { .inside = { r->state.data, 0 } };
    if (r->state.status < 0 || r->state.len < head)
        return false;
    text.inside = hocket__str(r->state.data + head, r->state.len - head);
    if (!hocket__piece_blank(&text))
        return false;
    hocket__buf_cut(&r->state, r->slot > 0 ? (size_t) r->slot - 1 : 0);
    return true;
}

static void close_text(struct hocket__reader *r)
{
    if (drop_blank(r))
        return;
    hocket__buf_addc(&r->state, '"');
    if (r->scratch.len > 0) {
        hocket__buf_adds(&r->state, ",\"citations\":[");
        hocket__buf_addstr(&r->state, hocket__buf_str(&r->scratch));
        hocket__buf_addc(&r->state, ']');
    }
    hocket__buf_addc(&r->state, '}');
}

static void close_with(
    struct hocket__reader *r, const char *before, struct hocket__str what, const char *after)
{
    bool first = r->state.len > 0 && r->state.data[r->state.len - 1] == '{';
    hocket__buf_adds(&r->state, first && *before == ',' ? before + 1 : before);
    hocket__buf_addstr(&r->state, what);
    hocket__buf_adds(&r->state, after);
}

static void close_input(struct hocket__reader *r, struct hocket__str input)
{
    if (!hocket__json_begins(input, '{'))
        input = HOCKET__STR("{}");
    close_with(r, ",\"input\":", input, "}");
}

static void close_call(struct hocket__reader *r, const struct hocket__call *c)
{
    close_with(r, ",\"input\":", HOCKET__STR(""), "");
    hocket__object_add(&r->state, hocket__buf_str(&c->arguments));
    hocket__buf_addc(&r->state, '}');
}

static void close_block(struct hocket__reader *r)
{
    struct hocket__str scratch = hocket__buf_str(&r->scratch);
    const struct hocket__reply *reply = r->reply;
    switch (r->flags & KIND_MASK) {
    case KIND_TEXT: close_text(r); break;
    case KIND_THINKING: close_with(r, "\",\"signature\":\"", scratch, "\"}"); break;
    case KIND_CALL: close_call(r, &reply->calls[reply->n_calls - 1]); break;
    case KIND_INPUT: close_input(r, scratch); break;
    case KIND_CONTENT:
        if (r->flags & PIECES)
            close_with(r, ",\"content\":\"", scratch, "\"}");
        else
            close_with(r, ",\"content\":", scratch.n > 0 ? scratch : HOCKET__STR("null"), "}");
        break;
    default: break;
    }
}

/* A block begins (the one before has been stopped, before a call was added to the reply).
 * `call`: its position in reply->calls, or -1. */
static void replay_stop(struct hocket__reader *r)
{
    if ((r->flags & KEPT) && (r->flags & KIND_MASK) != KIND_NONE)
        close_block(r);
    r->flags &= ~(uint32_t) KIND_MASK;
}

/* Puts the list into reply->replay when it is needed. */
static void replay_end(struct hocket__reader *r)
{
    replay_stop(r);
    if (!(r->flags & KEPT) || (r->flags & BROKEN) || r->state.len == 0)
        return;
    hocket__buf_addc(&r->reply->replay, '[');
    hocket__buf_addstr(&r->reply->replay, hocket__buf_str(&r->state));
    hocket__buf_addc(&r->reply->replay, ']');
    if (r->state.status < 0)
        r->reply->replay.status = r->state.status;
}

/* Reads Anthropic's answers. A stream's end is message_stop and nothing else. Members may
 * come in any order; what is not known is passed over; a relay that begins the message
 * twice is read on. */

/* One event, or a whole message: they share their members. */
struct message {
    struct hocket__piece type, id, model, stop_reason;
    int64_t index;
    struct hocket__block block; /* content_block or delta */
    struct hocket__str message, content, usage, error;
};

/* ---- Parts ---- */

static void read_block_member(struct hocket__json *j, struct hocket__block *b)
{
    if (hocket__json_is(j, "type"))
        hocket__piece_read(j, &b->type);
    else if (hocket__json_is(j, "text"))
        hocket__piece_read(j, &b->text);
    else if (hocket__json_is(j, "partial_json"))
        hocket__piece_read(j, &b->partial_json);
    else if (hocket__json_is(j, "thinking"))
        hocket__piece_read(j, &b->thinking);
    else if (hocket__json_is(j, "signature"))
        hocket__piece_read(j, &b->signature);
    else if (hocket__json_is(j, "id"))
        hocket__piece_read(j, &b->id);
    else if (hocket__json_is(j, "name"))
        hocket__piece_read(j, &b->name);
    else if (hocket__json_is(j, "stop_reason"))
        hocket__piece_read(j, &b->stop_reason);
    else if (hocket__json_is(j, "input"))
        b->input = hocket__json_value(j);
    else if (hocket__json_is(j, "citations"))
        b->citations = hocket__json_value(j);
    else if (hocket__json_is(j, "citation"))
        b->citation = hocket__json_value(j);
    else if (hocket__json_is(j, "content"))
        b->partial_content = hocket__json_value(j);
}

/* Reads the object that comes next, or whose begin was read (in a list). */
static void read_block(struct hocket__json *j, struct hocket__block *b)
{
    *b = (struct hocket__block){ 0 };
    if (!hocket__json_want(j, HOCKET__JSON_OBJECT))
        return;
    const char *from = j->p - 1;
    while (hocket__json_key(j))
        read_block_member(j, b);
    b->whole = hocket__str(from, (size_t) (j->p - from));
}

static void read_member(struct hocket__json *j, struct message *m)
{
    if (hocket__json_is(j, "type"))
        hocket__piece_read(j, &m->type);
    else if (hocket__json_is(j, "index"))
        m->index = hocket__json_count(j);
    else if (hocket__json_is(j, "delta") || hocket__json_is(j, "content_block"))
        read_block(j, &m->block);
    else if (hocket__json_is(j, "message"))
        m->message = hocket__json_value(j);
    else if (hocket__json_is(j, "usage"))
        m->usage = hocket__json_value(j);
    else if (hocket__json_is(j, "error"))
        m->error = hocket__json_value(j);
    else if (hocket__json_is(j, "id"))
        hocket__piece_read(j, &m->id);
    else if (hocket__json_is(j, "model"))
        hocket__piece_read(j, &m->model);
    else if (hocket__json_is(j, "stop_reason"))
        hocket__piece_read(j, &m->stop_reason);
    else if (hocket__json_is(j, "content"))
        m->content = hocket__json_value(j);
}

static int read_message(struct message *m, struct hocket__str text, struct hocket_error *err)
{
    struct hocket__json j;
    *m = (struct message){ .index = -1 };
    hocket__json_init(&j, text);
    if (hocket__json_want(&j, HOCKET__JSON_OBJECT))
        while (hocket__json_key(&j))
            read_member(&j, m);
    return hocket__json_end(&j, NULL) < 0 ? hocket__proto_broken(&j, err) : 0;
}

/* ---- Blocks ---- */

static int start_call(struct hocket__reader *r, const struct hocket__block *b, int64_t index,
    struct hocket_error *err)
{
    struct hocket__call *c;
    int status = hocket__reader_call(r, &c, err);
    if (!c)
        return status;
    hocket__piece_set(&b->id, &c->id);
    hocket__piece_set(&b->name, &c->name);
    c->index = index;
    if (b->input.n > 2) /* whole already; {} as a rule */
        hocket__buf_addstr(&c->arguments, b->input);
    return 0;
}

static int start_block(struct hocket__reader *r, const struct hocket__block *b, int64_t index,
    struct hocket_error *err)
{
    int64_t call = -1;
    if (b->whole.n == 0)
        return 0;   /* there is no block in it */
    replay_stop(r); /* the end of the last one may be missing */
    if (hocket__piece_is(&b->type, "tool_use")) {
        size_t before = r->reply->n_calls;
        int status = start_call(r, b, index, err);
        if (status < 0 || r->reply->n_calls == before)
            return status;
        call = (int64_t) before;
    }
    replay_start(r, b, index, call);
    hocket__reply_found_all(r->reply, b->citations);
    if (hocket__piece_is(&b->type, "text"))
        hocket__reader_text(r, HOCKET__DELTA_TEXT, &b->text);
    else if (hocket__piece_is(&b->type, "thinking"))
        hocket__reader_text(r, HOCKET__DELTA_REASONING, &b->thinking);
    else if (call < 0 && !hocket__piece_is(&b->type, "redacted_thinking"))
        hocket__reply_server_item(r->reply, &b->type);
    return 0;
}

/* The last call that has this index: indexes begin anew when a message does. */
static int64_t find_call(const struct hocket__reply *reply, int64_t index)
{
    for (size_t i = reply->n_calls; i-- > 0;)
        if (reply->calls[i].index == index)
            return (int64_t) i;
    return -1;
}

static void add_json(struct hocket__reader *r, const struct hocket__piece *json, int64_t index)
{
    int64_t call = find_call(r->reply, index);
    if (call < 0 || json->inside.n == 0)
        return; /* of a tool that the server runs, or nothing yet */
    /* Text replaces what the block began with. */
    if (!r->reply->calls[call].has_raw)
        hocket__buf_cut(&r->reply->calls[call].arguments, 0);
    r->reply->calls[call].has_raw = true;
    hocket__reader_arguments(r, (size_t) call, json);
}

static void add_delta(struct hocket__reader *r, const struct hocket__block *d, int64_t index)
{
    replay_delta(r, d, index);
    hocket__reply_found(r->reply, d->citation);
    if (d->partial_json.set)
        add_json(r, &d->partial_json, index);
    if (d->text.set)
        hocket__reader_text(r, HOCKET__DELTA_TEXT, &d->text);
    if (d->thinking.set)
        hocket__reader_text(r, HOCKET__DELTA_REASONING, &d->thinking);
}

/* Arguments that did not come in pieces are reported when the block ends. */
static void stop_block(struct hocket__reader *r, int64_t index)
{
    int64_t pos = find_call(r->reply, index);
    const struct hocket__call *c = pos >= 0 ? &r->reply->calls[pos] : NULL;
    if (c && !c->has_raw && c->arguments.len > 0 && r->on_delta)
        r->on_delta(r->ud, HOCKET__DELTA_CALL, (size_t) pos, hocket__buf_str(&c->arguments));
    replay_stop(r);
}

/* ---- Events ---- */

static void take_head(struct hocket__reader *r, const struct message *m)
{
    if (r->reply->id.len == 0)
        hocket__piece_set(&m->id, &r->reply->id);
    if (r->reply->model.len == 0)
        hocket__piece_set(&m->model, &r->reply->model);
    hocket__reply_finish(r->reply, &m->stop_reason);
    anthropic_usage(r->reply, m->usage);
}

static int start_message(
    struct hocket__reader *r, struct hocket__str text, struct hocket_error *err)
{
    struct message m;
    if (text.n == 0 || text.p[0] != '{')
        return hocket__error(err, HOCKET_EPROTOCOL, "message_start has no message");
    int status = read_message(&m, text, err);
    if (status == 0)
        take_head(r, &m);
    return status;
}

static int take_event(struct hocket__reader *r, const struct message *m, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err)
{
    if (hocket__str_is(type, "content_block_delta")) {
        add_delta(r, &m->block, m->index);
        return 0;
    }
    hocket__twin_give_up(r);
    if (hocket__str_is(type, "content_block_start")) {
        return start_block(r, &m->block, m->index, err);
    } else if (hocket__str_is(type, "content_block_stop")) {
        stop_block(r, m->index);
    } else if (hocket__str_is(type, "message_start")) {
        return start_message(r, m->message, err);
    } else if (hocket__str_is(type, "message_delta")) {
        hocket__reply_finish(r->reply, &m->block.stop_reason);
        anthropic_usage(r->reply, m->usage);
    } else if (hocket__str_is(type, "message_stop")) {
        r->done = true;
    } else if (!m->type.set) { /* what has a type is news of the protocol, and passed over */
        hocket__reply_foreign_error(r->reply, "stream", 0, data);
    }
    return 0;
}

static int read_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err)
{
    struct message m;
    int status = read_message(&m, data, err);
    if (status < 0)
        return status;
    /* the name in the data counts: relays lose that of the event */
    if (m.type.set)
        type = m.type.inside;
    else
        hocket__twin_give_up(r);
    if (hocket__str_is(type, "error") || hocket__is_error_value(m.error)) {
        hocket__twin_give_up(r);
        hocket__reply_set_error(r->reply, "stream", 0, data);
        return 0;
    }
    return take_event(r, &m, type, data, err);
}

static int anthropic_event(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err)
{
    return hocket__twin_event(r, type, data, read_event, err);
}

/* ---- Whole messages ---- */

static int take_content(
    struct hocket__reader *r, struct hocket__str content, struct hocket_error *err)
{
    struct hocket__json j;
    struct hocket__block b;
    int status = 0;
    int64_t index = 0;
    hocket__json_init(&j, content);
    if (!hocket__json_want(&j, HOCKET__JSON_ARRAY))
        return 0;
    while (status == 0 && hocket__json_element(&j)) {
        read_block(&j, &b);
        status = start_block(r, &b, index, err);
        stop_block(r, index++);
    }
    return status;
}

static int anthropic_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err)
{
    struct message m;
    int status = read_message(&m, body, err);
    if (status < 0)
        return status;
    if (hocket__piece_is(&m.type, "error") || hocket__is_error_value(m.error)) {
        hocket__reply_set_error(r->reply, "body_200", http_status, body);
        return 0;
    }
    if (m.content.n == 0 && hocket__reply_foreign_error(r->reply, "body_200", http_status, body))
        return 0;
    if (m.content.n == 0)
        return hocket__error(err, HOCKET_EPROTOCOL, "the answer is no message");
    take_head(r, &m);
    r->done = true;
    return take_content(r, m.content, err);
}

static int anthropic_end(struct hocket__reader *r, struct hocket_error *err)
{
    struct hocket__reply *reply = r->reply;
    if (!r->done)
        return hocket__error(err, HOCKET_ETRUNCATED, "the answer ended without message_stop");
    replay_end(r);
    reply->finish = hocket__finish_of(hocket__buf_str(&reply->finish_raw));
    hocket__reply_normalise(reply);
    reply->complete = true;
    return 0;
}

/* The variable ANTHROPIC_BASE_URL has no version by custom; both are taken. */
static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    if (hocket__proto_traits_of(q)->vertex) { /* the model stands in the path there */
        hocket__buf_addf(out, "%s/models/", base);
        hocket__path_write(out, q->model, "@");
        return hocket__buf_adds(out, q->stream ? ":streamRawPredict" : ":rawPredict");
    }
    hocket__buf_adds(out, base);
    return hocket__buf_adds(out, hocket__base_has_version(base) ? "/messages" : "/v1/messages");
}

const struct hocket__proto hocket__proto_anthropic = {
    .name = "anthropic",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "x-api-key",
    .key_prefix = "",
    .headers = (const char *const[]){ "anthropic-version: 2023-06-01", NULL },
    .write = hocket__anthropic_write,
    .message = hocket__anthropic_message,
    .event = anthropic_event,
    .body = anthropic_body,
    .end = anthropic_end,
};
