/* A body's framing as a machine over bytes, so that it does not matter how they were cut on
 * the way. Strict on purpose: two readers that differ about where a body ends let one request
 * hide in another (request smuggling).
 *
 *    SIZE ─(;)─> EXTENSION ─> SIZE_LF ─> DATA ─> DATA_CR ─> DATA_LF ─> SIZE …
 *                                └─(size 0)─> LINE ─> trailers ─> LAST_LF ─> END */
#include "serve/body.h"

#include "serve/head.h"

#define STATUS_BAD   400
#define STATUS_LARGE 413
/* Extensions and trailers carry nothing for us: more of them is an attack. */
#define MAX_IGNORED 16384
#define MAX_DIGITS  15

enum state {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    LINE, /* a trailer's first byte, or the last line's CR */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    END,
};

void hocket__body_init(struct hocket__body *b, bool chunked, uint64_t length)
{
    *b = (struct hocket__body){
        .chunked = chunked,
        .state = chunked ? SIZE : DATA,
        .left = length,
    };
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int size_byte(struct hocket__body *b, char c)
{
    int digit = hex(c);
    if (digit >= 0) {
        b->left = b->left * 16 + (unsigned) digit;
        return ++b->digits > MAX_DIGITS ? STATUS_LARGE : 0;
    }
    if (b->digits == 0 || (c != '\r' && c != ';'))
        return STATUS_BAD;
    b->state = c == '\r' ? SIZE_LF : EXTENSION;
    return 0;
}

/* A byte that is dropped; `next` follows at the end of its line. */
static int ignored_byte(struct hocket__body *b, char c, enum state next)
{
    if (c == '\r')
        b->state = (int) next;
    else if (((unsigned char) c < 0x20 && c != '\t') || c == 0x7f || ++b->ignored > MAX_IGNORED)
        return STATUS_BAD;
    return 0;
}

static int name_byte(struct hocket__body *b, char c)
{
    b->state = c == ':' ? TRAILER_VALUE : TRAILER_NAME;
    return (c != ':' && !hocket__head_is_token(c)) || ++b->ignored > MAX_IGNORED ? STATUS_BAD : 0;
}

static int expect(struct hocket__body *b, char c, char wanted, enum state next)
{
    b->state = (int) next;
    return c == wanted ? 0 : STATUS_BAD;
}

static int framing_byte(struct hocket__body *b, char c)
{
    switch ((enum state) b->state) {
    case SIZE: return size_byte(b, c);
    case EXTENSION: return ignored_byte(b, c, SIZE_LF);
    case SIZE_LF: return expect(b, c, '\n', b->left ? DATA : LINE);
    case DATA_CR: return expect(b, c, '\r', DATA_LF);
    case DATA_LF: b->digits = 0; return expect(b, c, '\n', SIZE);
    case LINE:
        if (c == '\r')
            return expect(b, c, '\r', LAST_LF);
        return c == ':' ? STATUS_BAD : name_byte(b, c);
    case TRAILER_NAME: return name_byte(b, c);
    case TRAILER_VALUE: return ignored_byte(b, c, TRAILER_LF);
    case TRAILER_LF: return expect(b, c, '\n', LINE);
    case LAST_LF: return expect(b, c, '\n', END);
    case DATA:
    case END: break;
    }
    return STATUS_BAD;
}

/* A run of body bytes. */
static int take(
    struct hocket__body *b, struct hocket__str in, size_t *used, struct hocket__buf *out)
{
    size_t n = b->left < in.n - *used ? (size_t) b->left : in.n - *used;
    if (b->left > out->max - out->len) /* what was announced counts, not what has come */
        return STATUS_LARGE;
    if (n > 0)
        hocket__buf_add(out, in.p + *used, n);
    if (out->status)
        return out->status == HOCKET_ELIMIT ? STATUS_LARGE : out->status;
    *used += n;
    b->left -= n;
    if (b->left == 0)
        b->state = b->chunked ? DATA_CR : END;
    return 0;
}

int hocket__body_feed(
    struct hocket__body *b, struct hocket__str in, size_t *used, struct hocket__buf *out)
{
    int rc = 0;
    *used = 0;
    if (b->state == DATA)
        rc = take(b, in, used, out); /* also when there is no input: a body of no bytes */
    while (rc == 0 && b->state != END && *used < in.n)
        rc = b->state == DATA ? take(b, in, used, out) : framing_byte(b, in.p[(*used)++]);
    return rc ? rc : b->state == END;
}
