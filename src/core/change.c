/* The one way in which board and document tell a change (change.h): whoever tells has checked and
 * copied everything before, since behind the record nothing may fail any more. */
#include "core/change.h"

int hocket__emitter_check(const struct hocket__emitter *e, struct hocket_error *err)
{
    if (e->busy)
        return hocket__error(
            err, HOCKET_ESTATE, "a change cannot be made while another one is being recorded");
    return 0;
}

bool hocket__emitter_is_about(const struct hocket__emitter *e, int64_t number)
{
    return number == 0 || e->number == 0 || e->number == number;
}

int hocket__emitter_send(struct hocket__emitter *e, const char *type, struct hocket__str agent,
    const struct hocket__buf *payload, struct hocket_error *err)
{
    struct hocket_error unwanted;
    if (payload->status < 0)
        return hocket__error_nomem(err);
    if (!e->cb)
        return 0;
    e->busy = true;
    int status = e->cb(type, agent, hocket__buf_str(payload), err ? err : &unwanted, e->ud);
    e->busy = false;
    return status < 0 ? status : 0;
}
