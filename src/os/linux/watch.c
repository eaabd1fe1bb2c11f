/* inotify on the loop. It reads the descriptor to its end, drops the events, and reports only that
 * one came. It reports a failed read, too: a scan of the files then shows what changed. */
#include "os/watch.h"

#include "base/alloc.h"
#include "os/descriptors.h"
#include "base/system_names.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "os/errors.h"

#define EVENTS                                                                                     \
    (IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO              \
        | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB | IN_ONLYDIR)

struct hocket__watch {
    uv_poll_t poll;
    const struct hocket_allocator *a;
    int fd;
    void (*on_change)(void *ud);
    void *ud;
    void (*closed)(void *ud);
    void *closed_ud;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct hocket__watch *w = (struct hocket__watch *) poll;
    char events_read[4096];
    bool any = status < 0;
    (void) events;
    while (read(w->fd, events_read, sizeof(events_read)) > 0)
        any = true;
    if (any)
        w->on_change(w->ud);
}

/* Either the process has no descriptor left, or the user no instance of inotify. */
static int no_instance(int code, struct hocket_error *err)
{
    char words[HOCKET__ERRNO_WORDS];
    bool instances = code == EMFILE && hocket__descriptors_left(1, -1) == 0;
    return hocket__error(err, hocket__errno_status(code), "cannot watch for changes: %s%s",
        instances ? "too many instances of inotify" : hocket__errno_words(code, words),
        instances ? " (sysctl fs.inotify.max_user_instances)" : "");
}

int hocket__watch_new(uv_loop_t *loop, const struct hocket_allocator *a,
    void (*on_change)(void *ud), void *ud, struct hocket__watch **out, struct hocket_error *err)
{
    struct hocket__watch *w = hocket__zero(a, sizeof(*w));
    if (!w)
        return hocket__error_nomem(err);
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0) {
        int code = errno;
        hocket__free(a, w, sizeof(*w));
        return no_instance(code, err);
    }
    w->a = a;
    w->on_change = on_change;
    w->ud = ud;
    int rc = uv_poll_init(loop, &w->poll, w->fd);
    if (rc < 0) {
        close(w->fd);
        hocket__free(a, w, sizeof(*w));
        return no_instance(-rc, err);
    }
    uv_poll_start(&w->poll, UV_READABLE, on_readable);
    *out = w;
    return 0;
}

int hocket__watch_add(struct hocket__watch *w, const char *dir, struct hocket_error *err)
{
    if (inotify_add_watch(w->fd, dir, EVENTS) >= 0)
        return 0;
    int code = errno;
    int status = code == ENOSPC ? HOCKET_ELIMIT : hocket__errno_status(code);
    return hocket__error(err, status, "cannot watch %s: %s%s", dir,
        code == ENOSPC ? "too many directories are watched" : hocket__errno_text(code),
        code == ENOSPC ? " (sysctl fs.inotify.max_user_watches)" : "");
}

static void on_closed(uv_handle_t *handle)
{
    struct hocket__watch *w = (struct hocket__watch *) handle;
    void (*closed)(void *) = w->closed;
    void *ud = w->closed_ud;
    hocket__free(w->a, w, sizeof(*w));
    if (closed)
        closed(ud);
}

void hocket__watch_close(struct hocket__watch *w, void (*closed)(void *ud), void *ud)
{
    w->closed = closed;
    w->closed_ud = ud;
    uv_close((uv_handle_t *) &w->poll, on_closed);
    close(w->fd);
}
