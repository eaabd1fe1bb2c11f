/* What stands before the messages in a body is the same for all turns of a session: model,
 * system prompt, tools. It is kept with the request and compared by where it came from; memory
 * that is out only means that it is written again. */
#include "net/protocol/protocol.h"

void hocket__prepared_init(struct hocket__prepared *p, const struct hocket_allocator *a)
{
    *p = (struct hocket__prepared){ .proto = NULL };
    hocket__buf_init(&p->model, a, 0);
    hocket__buf_init(&p->head, a, 0);
}

void hocket__prepared_reset(struct hocket__prepared *p)
{
    p->proto = NULL;
    p->traits = NULL;
    hocket__buf_deinit(&p->model);
    hocket__buf_deinit(&p->head);
}

bool hocket__prepared_is(const struct hocket__llm_request *q, const struct hocket__proto *proto)
{
    const struct hocket__prepared *p = q->prepared;
    return p && p->proto == proto && p->traits == q->traits
           && hocket__str_is(hocket__buf_str(&p->model), q->model);
}

void hocket__prepared_keep(
    const struct hocket__llm_request *q, const struct hocket__proto *proto, struct hocket__str head)
{
    struct hocket__prepared *p = q->prepared;
    if (!p)
        return;
    hocket__prepared_reset(p);
    if (hocket__buf_adds(&p->model, q->model) < 0 || hocket__buf_addstr(&p->head, head) < 0) {
        hocket__prepared_reset(p);
        return;
    }
    p->proto = proto;
    p->traits = q->traits;
}
