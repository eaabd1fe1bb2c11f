/* Neutral messages as Converse's turns of blocks, each block an object with one key. */
#include "base/bytes.h"
#include "net/protocol/bedrock/bedrock.h"

#define HEAD           "{\"content\":["
#define TAIL_ASSISTANT "],\"role\":\"assistant\"}"

static void put_text(struct hocket__buf *b, const struct hocket__piece *text)
{
    if (hocket__piece_blank(text))
        return; /* refused by the server */
    hocket__jw_open(b, '{');
    hocket__member_piece(b, "text", text);
    hocket__jw_close(b, '}');
}

/* "image/png" -> png, "application/pdf" -> pdf */
static struct hocket__str format_of(struct hocket__str mime)
{
    const char *slash = hocket__find_last(mime.p, '/', mime.n);
    return slash ? hocket__str(slash + 1, (size_t) (mime.p + mime.n - slash - 1)) : mime;
}

/* Letters, digits, single blanks, - ( ) [ ] are taken in names, and a name is needed. */
static void put_name(struct hocket__buf *b, const struct hocket__piece *name)
{
    hocket__jw_key(b, "name");
    hocket__buf_addc(b, '"');
    size_t from = b->len;
    for (size_t i = 0; i < name->inside.n && b->len - from < 100; i++) {
        char c = name->inside.p[i];
        bool fits =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '(';
        hocket__buf_addc(b, fits || c == ')' || c == '[' || c == ']' ? c : '-');
    }
    hocket__buf_adds(b, b->len == from ? "document\"" : "\"");
}

static void put_data(struct hocket__buf *b, const struct hocket__neutral_part *part,
    const struct hocket__image *image)
{
    bool is_image = part->kind == HOCKET__PART_IMAGE;
    hocket__jw_open(b, '{');
    hocket__jw_key(b, is_image ? "image" : "document");
    hocket__jw_open(b, '{');
    hocket__member_raw(b, "format", format_of(image->mime));
    if (!is_image)
        put_name(b, &part->name);
    hocket__jw_key(b, "source");
    hocket__jw_open(b, '{');
    hocket__member_raw(b, "bytes", image->data);
    hocket__buf_adds(b, "}}}");
}

static void put_words(struct hocket__buf *b, const struct hocket__neutral_part *part)
{
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "text");
    hocket__buf_addc(b, '"');
    hocket__neutral_describe(part, b);
    hocket__buf_adds(b, "\"}");
}

/* An address has no form here, nor has a recording. */
static void put_parts(struct hocket__buf *b, struct hocket__str parts)
{
    struct hocket__json j;
    struct hocket__neutral_part part;
    struct hocket__image image;
    hocket__neutral_walk(&j, parts);
    while (hocket__neutral_part(&j, &part)) {
        put_text(b, &part.text);
        if (!hocket__image_of(&part, &image))
            continue;
        if (part.kind == HOCKET__PART_AUDIO || image.data.n == 0)
            put_words(b, &part);
        else
            put_data(b, &part, &image);
    }
}

/* Only [A-Za-z0-9_-] is taken in ids; the same comes out in the call and in its result. */
static void put_id(struct hocket__buf *b, const struct hocket__piece *id)
{
    hocket__jw_key(b, "toolUseId");
    hocket__buf_addc(b, '"');
    for (size_t i = 0; i < id->inside.n; i++) {
        char c = id->inside.p[i];
        bool fits =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
        hocket__buf_addc(b, fits ? c : '_');
    }
    hocket__buf_addc(b, '"');
}

static void put_result(struct hocket__buf *b, const struct hocket__neutral *m)
{
    static const struct hocket__piece nothing = { { "(nothing)", 9 }, false, true };
    hocket__buf_adds(b, hocket__buf_ends(b, "[") ? "" : ",");
    hocket__buf_adds(b, "{\"toolResult\":{");
    put_id(b, &m->id);
    hocket__jw_key(b, "content");
    hocket__jw_open(b, '[');
    put_text(b, hocket__piece_blank(&m->text) ? &nothing : &m->text);
    hocket__jw_close(b, ']');
    if (m->error)
        hocket__member_string(b, "status", "error");
    hocket__buf_adds(b, "}}");
}

static void put_calls(struct hocket__buf *b, struct hocket__str calls)
{
    struct hocket__json j;
    struct hocket__neutral_call call;
    hocket__neutral_walk(&j, calls);
    while (hocket__neutral_call(&j, &call)) {
        hocket__buf_adds(b, hocket__buf_ends(b, "[") ? "" : ",");
        hocket__buf_adds(b, "{\"toolUse\":{");
        put_id(b, &call.id);
        hocket__member_piece(b, "name", &call.name);
        hocket__jw_key(b, "input");
        hocket__object_write(b, &call.arguments);
        hocket__buf_adds(b, "}}");
    }
}

/* The thoughts as they came. */
static void put_replay(struct hocket__buf *b, struct hocket__str replay)
{
    struct hocket__json j;
    struct hocket__str block;
    hocket__neutral_walk(&j, replay);
    while (j.depth > 0 && hocket__json_element(&j)) {
        if (j.token != HOCKET__JSON_OBJECT || hocket__json_skip(&j, &block) < 0)
            break;
        hocket__buf_adds(b, hocket__buf_ends(b, "[") ? "" : ",");
        hocket__line_write(b, block);
    }
}

int hocket__bedrock_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err)
{
    struct hocket__turn turn;
    (void) t;
    if (hocket__neutral_blank(m) || (m->role == HOCKET__ROLE_SYSTEM && wire->len == 0))
        return 0; /* the latter goes into `system` */
    bool is_answer = m->role == HOCKET__ROLE_ASSISTANT;
    hocket__turn_open(&turn, wire, HEAD, is_answer ? TAIL_ASSISTANT : HOCKET__BEDROCK_TAIL, true);
    if (is_answer)
        put_replay(wire, hocket__neutral_replay(m, hocket__proto_bedrock.name));
    if (m->role == HOCKET__ROLE_TOOL)
        put_result(wire, m);
    else
        put_text(wire, &m->text);
    put_parts(wire, m->parts);
    put_calls(wire, m->calls);
    return hocket__turn_close(&turn, err);
}
