/* Which optional fields a server is sent: some refuse a request for one that they do not know. */
#include <math.h>
#include <string.h>

#include "net/protocol/protocol.h"

unsigned hocket__field_bit(const char *name)
{
    static const char *const names[] = { "temperature", "top_p", "top_k", "max_tokens", "seed",
        "stop", "reasoning" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return HOCKET__FIELD_TEMPERATURE << i;
    return 0;
}

void hocket__llm_request_restrict(struct hocket__llm_request *q)
{
    unsigned fields = q->traits ? q->traits->fields : 0;
    if (fields == 0)
        return;
    if (!(fields & HOCKET__FIELD_TEMPERATURE))
        q->temperature = NAN;
    if (!(fields & HOCKET__FIELD_TOP_P))
        q->top_p = NAN;
    if (!(fields & HOCKET__FIELD_TOP_K))
        q->top_k = -1;
    if (!(fields & HOCKET__FIELD_MAX_TOKENS))
        q->max_tokens = -1;
    if (!(fields & HOCKET__FIELD_SEED))
        q->seed = -1;
    if (!(fields & HOCKET__FIELD_STOP))
        q->stop = (struct hocket__str){ NULL, 0 };
    if (!(fields & HOCKET__FIELD_REASONING))
        q->reasoning = NULL;
}
