/* uv_backend_fd is the way on these systems. */
#include "os/loop_event.h"

#include <stddef.h>

struct hocket__loop_event *hocket__loop_event_new(uv_loop_t *loop)
{
    (void) loop;
    return NULL;
}

void hocket__loop_event_free(struct hocket__loop_event *e)
{
    (void) e;
}

void *hocket__loop_event_handle(const struct hocket__loop_event *e)
{
    (void) e;
    return NULL;
}

void hocket__loop_event_arm(struct hocket__loop_event *e)
{
    (void) e;
}
