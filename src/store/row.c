/* Rows as bytes: the one form in which runs cross from a host's loop to a store's thread, wait in
 * the memory store, and stand in exports. Reading trusts nothing, since an export comes from
 * wherever a person has it from. */
#include "store/row.h"

#include "base/pack.h"
#include "store/columns.h"
#include "store/fields.h"

/* A row is its kind, the length of what follows, and its fields in order: so that a later version may
 * add some at the end. */

static const char *const state_words[] = {
#define WORD(NAME, word) word,
    HOCKET__STORE_STATES(WORD)
#undef WORD
};

const char *hocket__store_state_word(enum hocket__store_state state)
{
    return state_words[state];
}

enum hocket__store_state hocket__store_state_of(struct hocket__str word)
{
    int i = 0;
    while (i < HOCKET__STORE_STATE_COUNT && !hocket__str_eq(word, hocket__cstr(state_words[i])))
        i++;
    return (enum hocket__store_state) i;
}

/* As core/run_id.h makes them. Ids come from command lines and files as well, and go into SQL and
 * paths of exports. */
bool hocket__store_is_id(struct hocket__str id)
{
    if (id.n != HOCKET__STORE_ID || id.p[0] > '7')
        return false;
    for (size_t i = 0; i < id.n; i++)
        if (!memchr("0123456789ABCDEFGHJKMNPQRSTVWXYZ", id.p[i], 32))
            return false;
    return true;
}

/* ---- Writing ---------------------------------------------------------------------------- */

#define PACK(KIND, member, ...) PACK_##KIND(r->member);
#define PACK_ID(v)              hocket__pack_str(b, hocket__cstr(v))
#define PACK_ID_OR_NULL(v)      PACK_ID(v)
#define PACK_PARENT(v)          PACK_ID(v)
#define PACK_NUM(v)             hocket__pack_num(b, v)
#define PACK_INT(v)             hocket__pack_int(b, v)
#define PACK_COUNT(v)           hocket__pack_int(b, v)
#define PACK_OWNER_INT(v)       hocket__pack_int(b, v)
#define PACK_TEXT(v)            hocket__pack_str(b, v)
#define PACK_LONG(v)            hocket__pack_str(b, v)
#define PACK_TEXT_OR_NULL(v)    hocket__pack_str(b, v)
#define PACK_OWNER_TEXT(v)      hocket__pack_str(b, v)
#define PACK_SEED(v)            hocket__buf_add(b, (const char *) (v), sizeof(v))
#define PACK_STATE(v)           hocket__pack_num(b, v)
#define PACK_FLAG(v)            hocket__pack_num(b, v)
#define PACK_SMALL(v)           hocket__pack_num(b, v)
#define PACK_BYTE(v)            hocket__pack_num(b, v)
#define PACK_FULL(v)            hocket__pack_str(b, v)
#define PACK_OWN(v)             hocket__pack_str(b, v)

static void pack_run(struct hocket__buf *b, const struct hocket__store_run *r)
{
    HOCKET__RUN_COLUMNS(HOCKET__RUN_MEMBER, PACK)
}

#define PACK_FIELD(KIND, of, field) PACK_##KIND(row->of.field);
#define PACK_ROW(KIND, FIELDS)                                                                     \
    case HOCKET__STORE_ROW_##KIND: FIELDS(PACK_FIELD) break;

static void pack_fields(struct hocket__buf *b, const struct hocket__store_row *row)
{
    switch (row->kind) {
    case HOCKET__STORE_ROW_RUN: pack_run(b, &row->run); break;
    case HOCKET__STORE_ROW_DAMAGED:
        hocket__pack_str(b, hocket__cstr(row->run.id));
        hocket__pack_int(b, row->run.created_ms);
        break;
        HOCKET__ROW_KINDS(PACK_ROW)
    }
}

/* The length is known when the fields are there: its place is four bytes, low ones first. */
int hocket__store_pack(struct hocket__buf *b, const struct hocket__store_row *row)
{
    hocket__buf_addc(b, (char) row->kind);
    size_t at = b->len;
    hocket__buf_lit(b, "\0\0\0\0");
    pack_fields(b, row);
    if (b->status < 0)
        return b->status;
    size_t n = b->len - at - 4;
    if (n > UINT32_MAX)
        return b->status = HOCKET_ELIMIT;
    for (int i = 0; i < 4; i++)
        b->data[at + (size_t) i] = (char) (n >> (8 * i));
    return 0;
}

/* ---- Reading ---------------------------------------------------------------------------- */

/* An id of a run, or nothing. */
static void unpack_id(struct hocket__packed *in, char out[HOCKET__STORE_ID + 1])
{
    struct hocket__str id = hocket__unpack_str(in);
    if (id.n > 0 && !hocket__store_is_id(id))
        in->bad = true;
    else if (id.n > 0)
        memcpy(out, id.p, id.n);
}

static enum hocket__store_state unpack_state(struct hocket__packed *in)
{
    uint64_t state = hocket__unpack_num(in);
    in->bad |= state >= HOCKET__STORE_STATE_COUNT;
    return (enum hocket__store_state) state;
}

static uint32_t unpack_small(struct hocket__packed *in, uint32_t most)
{
    uint64_t v = hocket__unpack_num(in);
    in->bad |= v > most;
    return (uint32_t) v;
}

static void unpack_seed(struct hocket__packed *in, uint8_t out[HOCKET__STORE_SEED])
{
    struct hocket__str seed = hocket__unpack_bytes(in, HOCKET__STORE_SEED);
    memcpy(out, seed.p, seed.n);
}

/* A row ends where a version of the tables did: what is new in a later one is not in what an older hocket wrote. */
#define UNPACK(KIND, member, column, since)                                                        \
    if (since > 1 && since > version && in->p == in->end)                                          \
        return;                                                                                    \
    version = since > version ? since : version;                                                   \
    UNPACK_##KIND(r->member);
#define UNPACK_ID(v)           unpack_id(in, v)
#define UNPACK_ID_OR_NULL(v)   UNPACK_ID(v)
#define UNPACK_PARENT(v)       UNPACK_ID(v)
#define UNPACK_NUM(v)          v = hocket__unpack_num(in)
#define UNPACK_INT(v)          v = hocket__unpack_int(in)
#define UNPACK_COUNT(v)        UNPACK_INT(v)
#define UNPACK_OWNER_INT(v)    UNPACK_INT(v)
#define UNPACK_TEXT(v)         v = hocket__unpack_str(in)
#define UNPACK_LONG(v)         UNPACK_TEXT(v)
#define UNPACK_TEXT_OR_NULL(v) UNPACK_TEXT(v)
#define UNPACK_OWNER_TEXT(v)   UNPACK_TEXT(v)
#define UNPACK_SEED(v)         unpack_seed(in, v)
#define UNPACK_STATE(v)        v = unpack_state(in)
#define UNPACK_FLAG(v)         v = hocket__unpack_num(in) != 0
#define UNPACK_SMALL(v)        v = unpack_small(in, UINT32_MAX)
#define UNPACK_BYTE(v)         v = (uint8_t) unpack_small(in, UINT8_MAX)
#define UNPACK_FULL(v)         UNPACK_TEXT(v)
#define UNPACK_OWN(v)          UNPACK_TEXT(v)

static void unpack_run(struct hocket__packed *in, struct hocket__store_run *r)
{
    int version = 0;
    HOCKET__RUN_COLUMNS(HOCKET__RUN_MEMBER, UNPACK)
}

#define UNPACK_FIELD(KIND, of, field) UNPACK_##KIND(row->of.field);
#define UNPACK_ROW(KIND, FIELDS)                                                                   \
    case HOCKET__STORE_ROW_##KIND: FIELDS(UNPACK_FIELD) break;

static void unpack_fields(struct hocket__packed *in, struct hocket__store_row *row)
{
    switch (row->kind) {
    case HOCKET__STORE_ROW_RUN: unpack_run(in, &row->run); break;
    case HOCKET__STORE_ROW_DAMAGED:
        unpack_id(in, row->run.id);
        row->run.created_ms = hocket__unpack_int(in);
        break;
        HOCKET__ROW_KINDS(UNPACK_ROW)
    default: in->bad = true;
    }
}

/* A row whose fields end before its length does is fine, and the rest is passed over: a later
 * version may have written more. */
int hocket__store_unpack(struct hocket__str *in, struct hocket__store_row *row)
{
    if (in->n == 0)
        return 0;
    size_t n = 0;
    for (size_t i = 0; i < 4 && in->n >= 5; i++)
        n |= (size_t) (unsigned char) in->p[1 + i] << (8 * i);
    if (in->n < 5 || n > in->n - 5)
        return HOCKET_EPARSE;
    memset(row, 0, sizeof(*row));
    row->kind = (enum hocket__store_row_kind)(unsigned char) in->p[0];
    struct hocket__packed fields = hocket__packed(hocket__str(in->p + 5, n));
    unpack_fields(&fields, row);
    if (fields.bad)
        return HOCKET_EPARSE;
    /* Moved when the row made sense: who fails stands where it was. */
    *in = hocket__str(in->p + 5 + n, in->n - 5 - n);
    return 1;
}

#define MERGE(KIND, member, column, SET)                                                           \
    if (set & HOCKET__STORE_SET_##SET)                                                             \
        to->member = from->member;

void hocket__store_merge(
    struct hocket__store_run *to, unsigned set, const struct hocket__store_run *from)
{
    HOCKET__RUN_COLUMNS(HOCKET__RUN_UPDATE, MERGE)
}
