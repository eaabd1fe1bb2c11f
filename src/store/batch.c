/* The commands that one turn of the loop hands over, as bytes: kind, run, fence, and the row if
 * there is one. They are read by the same program, or one that writes the same form, and are whole; so what makes no
 * sense here is a fault of ours and ends the batch. */
#include "store/batch.h"

#include "base/pack.h"

int hocket__store_command_pack(struct hocket__buf *b, const struct hocket__store_command *c)
{
    size_t len = b->len;
    hocket__buf_addc(b, (char) c->kind);
    if (c->kind != HOCKET__STORE_FILE) {
        hocket__buf_add(b, c->id, HOCKET__STORE_ID);
        hocket__pack_num(b, c->fence);
    }
    if (c->kind == HOCKET__STORE_UPDATE)
        hocket__pack_num(b, c->set);
    if (c->kind == HOCKET__STORE_MESSAGE_DEL)
        hocket__pack_str(b, c->message_id);
    if (c->row.kind)
        hocket__store_pack(b, &c->row);
    int status = b->status;
    if (status < 0)
        hocket__buf_rewind(b, len);
    return status;
}

static bool has_row(enum hocket__store_command_kind kind)
{
    return kind != HOCKET__STORE_MESSAGE_DEL && kind != HOCKET__STORE_RELEASE;
}

bool hocket__store_command_next(struct hocket__str *in, struct hocket__store_command *c)
{
    if (in->n == 0)
        return false;
    struct hocket__packed p = hocket__packed(*in);
    memset(c, 0, offsetof(struct hocket__store_command, row));
    c->row.kind = 0;
    c->kind = (enum hocket__store_command_kind)(unsigned char) *p.p++;
    if (c->kind != HOCKET__STORE_FILE) {
        struct hocket__str id = hocket__unpack_bytes(&p, HOCKET__STORE_ID);
        memcpy(c->id, id.p, id.n);
        c->fence = hocket__unpack_num(&p);
    }
    if (c->kind == HOCKET__STORE_UPDATE)
        c->set = (unsigned) hocket__unpack_num(&p);
    if (c->kind == HOCKET__STORE_MESSAGE_DEL)
        c->message_id = hocket__unpack_str(&p);
    *in = hocket__str(p.p, (size_t) (p.end - p.p));
    return !has_row(c->kind) || hocket__store_unpack(in, &c->row) == 1;
}
