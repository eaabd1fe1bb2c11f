#include "os/thread.h"

#include <errno.h>
#include <stdlib.h>

/* Windows has no signals that a thread could be kept from. */
struct start {
    void *(*work)(void *);
    void *arg;
};

static void begin(void *ud)
{
    struct start s = *(struct start *) ud;
    free(ud);
    s.work(s.arg);
}

int hocket__thread_start(uv_thread_t *thread, size_t stack, void *(*work)(void *), void *arg)
{
    uv_thread_options_t options = { .flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = stack };
    struct start *s = malloc(sizeof(*s));
    if (!s)
        return ENOMEM;
    *s = (struct start){ work, arg };
    if (uv_thread_create_ex(thread, &options, begin, s) == 0)
        return 0;
    free(s);
    return EAGAIN;
}
