/* ReadDirectoryChangesW by libuv, a handle for each directory. */
#include "os/watch.h"

#include <string.h>

#include "base/alloc.h"
#include "os/fs.h"

struct folder {
    uv_fs_event_t event; /* first */
    struct hocket__watch *watch;
    struct folder *next;
    size_t size;
    char dir[];
};

struct hocket__watch {
    uv_loop_t *loop;
    const struct hocket_allocator *a;
    struct folder *folders;
    uv_async_t last; /* closed behind the folders: it frees the rest */
    void (*on_change)(void *ud);
    void *ud;
    void (*closed)(void *ud);
    void *closed_ud;
};

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct hocket__watch *w = ((struct folder *) event)->watch;
    (void) name;
    (void) events;
    (void) status;
    w->on_change(w->ud);
}

int hocket__watch_new(uv_loop_t *loop, const struct hocket_allocator *a,
    void (*on_change)(void *ud), void *ud, struct hocket__watch **out, struct hocket_error *err)
{
    struct hocket__watch *w = hocket__zero(a, sizeof(*w));
    if (!w)
        return hocket__error_nomem(err);
    int rc = uv_async_init(loop, &w->last, NULL);
    if (rc < 0) {
        hocket__free(a, w, sizeof(*w));
        return hocket__error(err, HOCKET_EIO, "cannot watch for changes: %s", uv_strerror(rc));
    }
    w->loop = loop;
    w->a = a;
    w->on_change = on_change;
    w->ud = ud;
    *out = w;
    return 0;
}

static void on_folder_closed(uv_handle_t *handle)
{
    struct folder *f = (struct folder *) handle;
    hocket__free(f->watch->a, f, f->size);
}

int hocket__watch_add(struct hocket__watch *w, const char *dir, struct hocket_error *err)
{
    char room[HOCKET__FS_ROOM];
    size_t size = sizeof(struct folder) + strlen(dir) + 1;
    for (struct folder *f = w->folders; f; f = f->next)
        if (strcmp(f->dir, dir) == 0)
            return 0;
    struct folder *f = hocket__zero(w->a, size);
    if (!f)
        return hocket__error_nomem(err);
    f->watch = w;
    f->size = size;
    strcpy(f->dir, dir);
    uv_fs_event_init(w->loop, &f->event);
    int rc = uv_fs_event_start(&f->event, on_event, hocket__fs_long(dir, room), 0);
    if (rc == 0) {
        f->next = w->folders;
        w->folders = f;
        return 0;
    }
    uv_close((uv_handle_t *) &f->event, on_folder_closed);
    return hocket__error(err,
        rc == UV_ENOENT || rc == UV_ENOTDIR ? HOCKET_ENOTFOUND
        : rc == UV_EACCES || rc == UV_EPERM ? HOCKET_EDENIED
                                            : HOCKET_EIO,
        "cannot watch %s: %s", dir, uv_strerror(rc));
}

static void on_closed(uv_handle_t *handle)
{
    struct hocket__watch *w =
        (struct hocket__watch *) ((char *) handle - offsetof(struct hocket__watch, last));
    void (*closed)(void *) = w->closed;
    void *ud = w->closed_ud;
    hocket__free(w->a, w, sizeof(*w));
    if (closed)
        closed(ud);
}

/* libuv ends a folder's request when Windows has given it back: the async is closed after the last of them. */
static void on_one_closed(uv_handle_t *handle)
{
    struct folder *f = (struct folder *) handle, **at;
    struct hocket__watch *w = f->watch;
    for (at = &w->folders; *at != f; at = &(*at)->next) {
    }
    *at = f->next;
    hocket__free(w->a, f, f->size);
    if (!w->folders)
        uv_close((uv_handle_t *) &w->last, on_closed);
}

void hocket__watch_close(struct hocket__watch *w, void (*closed)(void *ud), void *ud)
{
    w->closed = closed;
    w->closed_ud = ud;
    for (struct folder *f = w->folders; f; f = f->next)
        uv_close((uv_handle_t *) &f->event, on_one_closed);
    if (!w->folders)
        uv_close((uv_handle_t *) &w->last, on_closed);
}
