/* What macOS does not have yet: each function says so by its name, in an error or a result. Programs of tools need the launcher
 * and its sandbox, which are Linux's. */
#include "os/process.h"

static int absent(struct hocket_error *err, const char *what)
{
    return hocket__error(err, HOCKET_EUNSUPPORTED, "%s: hocket does not have it on macOS", what);
}

int hocket__process_start(uv_loop_t *loop, const struct hocket_allocator *a,
    const struct hocket__process_spec *spec, const struct hocket__process_handler *handler,
    void *ud, struct hocket__process **out, struct hocket_error *err)
{
    (void) loop, (void) a, (void) spec, (void) handler, (void) ud, (void) out;
    return absent(err, "starting programs");
}

int hocket__process_write(struct hocket__process *p, struct hocket__str text)
{
    (void) p, (void) text;
    return HOCKET_ECLOSED;
}

size_t hocket__process_waiting(const struct hocket__process *p)
{
    (void) p;
    return 0;
}

void hocket__process_end_input(struct hocket__process *p)
{
    (void) p;
}

void hocket__process_hold(struct hocket__process *p, bool held)
{
    (void) p, (void) held;
}

void hocket__process_stop(struct hocket__process *p)
{
    (void) p;
}

void hocket__process_close(struct hocket__process *p, void (*closed)(void *ud), void *ud)
{
    (void) p, (void) closed, (void) ud;
}
