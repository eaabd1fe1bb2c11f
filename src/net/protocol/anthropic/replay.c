/* What has to go back to Anthropic unchanged, gathered while it comes.
 *
 * An answer of text and calls alone is said by the normalised parts, and nothing is gathered. At
 * the first block of another kind (thinking, a server's tool, text with citations, text after a
 * call) the list begins in r->state with what has come so far, and every block is added as
 * it came; strings stay escaped as they stood, so that signatures are the same bytes.
 *
 * r->flags: the open block's kind, two marks, and (from bit 8) its index; r->slot: where it begins
 * in r->state. r->scratch: what comes in pieces and stands at the block's end. */
#include "net/protocol/anthropic/anthropic.h"

#include "net/protocol/twin.h"

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
    hocket__member_string(b, "type", "tool_use");
    hocket__jw_key(b, "id");
    hocket__jw_string(b, hocket__buf_str(&c->id));
    hocket__jw_key(b, "name");
    hocket__jw_string(b, hocket__buf_str(&c->name));
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

void hocket__anthropic_replay_start(
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

void hocket__anthropic_replay_delta(
    struct hocket__reader *r, const struct hocket__block *d, int64_t index)
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

void hocket__anthropic_replay_stop(struct hocket__reader *r)
{
    if ((r->flags & KEPT) && (r->flags & KIND_MASK) != KIND_NONE)
        close_block(r);
    r->flags &= ~(uint32_t) KIND_MASK;
}

void hocket__anthropic_replay_end(struct hocket__reader *r)
{
    hocket__anthropic_replay_stop(r);
    if (!(r->flags & KEPT) || (r->flags & BROKEN) || r->state.len == 0)
        return;
    hocket__buf_addc(&r->reply->replay, '[');
    hocket__buf_addstr(&r->reply->replay, hocket__buf_str(&r->state));
    hocket__buf_addc(&r->reply->replay, ']');
    if (r->state.status < 0)
        r->reply->replay.status = r->state.status;
}
