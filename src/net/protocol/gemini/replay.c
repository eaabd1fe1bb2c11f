/* What has to go back to Gemini, gathered while it comes: from the first call, signature or
 * server's part on, every part is kept in r->state; those of a stream that are plain text are one
 * part. Part for part, because a signature belongs to the part it came on. */
#include "net/protocol/gemini/gemini.h"

static void end_text(struct hocket__reader *r)
{
    if (r->flags & HOCKET__GEMINI_TEXT)
        hocket__buf_adds(&r->state, "\"}");
    r->flags &= ~(uint32_t) HOCKET__GEMINI_TEXT;
}

static void next_part(struct hocket__reader *r)
{
    end_text(r);
    if (r->state.len > 0)
        hocket__buf_addc(&r->state, ',');
}

static void open_text(struct hocket__reader *r)
{
    next_part(r);
    hocket__buf_adds(&r->state, "{\"text\":\"");
    r->flags |= HOCKET__GEMINI_TEXT;
}

/* So far there was plain text at most. */
static void keep_past(struct hocket__reader *r)
{
    r->flags |= HOCKET__GEMINI_KEPT;
    if (r->reply->text.len > 0) {
        open_text(r);
        hocket__jw_escape(&r->state, hocket__buf_str(&r->reply->text));
    }
}

/* A call whose arguments will come: all but these. */
static void open_call(struct hocket__reader *r, const struct hocket__part *p)
{
    struct hocket__buf *b = &r->state;
    hocket__buf_addc(b, '{');
    size_t from = b->len;
    hocket__members_write(b, p->whole, (const char *const[]){ "functionCall", NULL });
    hocket__buf_adds(b, b->len > from ? ",\"functionCall\":{" : "\"functionCall\":{");
    from = b->len;
    hocket__members_write(
        b, p->call, (const char *const[]){ "args", "partialArgs", "willContinue", NULL });
    hocket__buf_adds(b, b->len > from ? ",\"args\":" : "\"args\":");
}

void hocket__gemini_replay_close(struct hocket__reader *r)
{
    const struct hocket__call *c = &r->reply->calls[r->reply->n_calls - 1];
    hocket__buf_addstr(&r->state, hocket__call_arguments(c));
    hocket__buf_adds(&r->state, "}}");
}

static void keep_text(struct hocket__reader *r, const struct hocket__part *p)
{
    if (!(r->flags & HOCKET__GEMINI_KEPT) || p->thought || p->text.inside.n == 0)
        return;
    if (!(r->flags & HOCKET__GEMINI_TEXT))
        open_text(r);
    hocket__buf_addstr(&r->state, p->text.inside);
}

void hocket__gemini_replay_part(struct hocket__reader *r, const struct hocket__part *p)
{
    bool plain = !p->is_call && !p->kind.set && !p->has_signature;
    if (p->is_call && !p->name.set)
        return; /* goes on with an open call */
    if (plain) {
        keep_text(r, p);
        return;
    }
    if (!(r->flags & HOCKET__GEMINI_KEPT))
        keep_past(r);
    next_part(r);
    if (p->is_call && (p->goes_on || p->partial.n > 0))
        open_call(r, p);
    else
        hocket__buf_addstr(&r->state, p->whole);
}

void hocket__gemini_replay_end(struct hocket__reader *r)
{
    struct hocket__buf *replay = &r->reply->replay;
    end_text(r);
    if (r->state.len == 0)
        return;
    hocket__buf_addc(replay, '[');
    hocket__buf_addstr(replay, hocket__buf_str(&r->state));
    hocket__buf_addc(replay, ']');
    if (r->state.status < 0)
        replay->status = r->state.status;
}
