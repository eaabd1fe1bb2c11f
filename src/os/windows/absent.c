/* What Windows does not have yet: each function says so by its name, in an error or a result. */
#include "os/search/search.h"
#include "os/socket.h"

#include "base/status.h"

static int absent(struct hocket_error *err, const char *what)
{
    return hocket__error(err, HOCKET_EUNSUPPORTED, "%s: hocket does not have it on Windows", what);
}

/* ---- Sockets in the file system: `hocket attach` and what others offer by one ------------------ */

int hocket__listen(uv_loop_t *loop, const struct hocket_allocator *a, const char *dir,
    const char *file, void (*on_news)(void *ud), void *ud, struct hocket__listener **out,
    struct hocket_error *err)
{
    (void) loop, (void) a, (void) dir, (void) file, (void) on_news, (void) ud, (void) out;
    return absent(err, "attaching to a host (hocket_offer)");
}

int hocket__accept(struct hocket__listener *l, int *fd, struct hocket__peer *peer)
{
    (void) l, (void) fd, (void) peer;
    return 0;
}

void hocket__listener_close(struct hocket__listener *l, void (*closed)(void *ud), void *ud)
{
    (void) l, (void) closed, (void) ud;
}

int hocket__connect(const char *path, int *fd, struct hocket__peer *peer, struct hocket_error *err)
{
    (void) path, (void) fd, (void) peer;
    return absent(err, "attaching to a host");
}

int hocket__stream_new(uv_loop_t *loop, const struct hocket_allocator *a, int fd, bool keeps,
    void (*on_news)(void *ud), void *ud, struct hocket__stream **out, struct hocket_error *err)
{
    (void) loop, (void) a, (void) fd, (void) keeps, (void) on_news, (void) ud, (void) out;
    return absent(err, "attaching to a host");
}

int hocket__stream_stdio(uv_loop_t *loop, const struct hocket_allocator *a, size_t max_line,
    size_t max_queue, void (*on_news)(void *ud), void *ud, struct hocket__stream **out,
    struct hocket_error *err)
{
    (void) loop, (void) a, (void) max_line, (void) max_queue, (void) on_news, (void) ud, (void) out;
    return absent(err, "serving over standard input and output");
}

int hocket__stream_line(struct hocket__stream *s, struct hocket__str *line)
{
    (void) s, (void) line;
    return HOCKET_ECLOSED;
}

int hocket__stream_send(struct hocket__stream *s, struct hocket__str text)
{
    (void) s, (void) text;
    return HOCKET_ECLOSED;
}

size_t hocket__stream_queued(const struct hocket__stream *s)
{
    (void) s;
    return 0;
}

void hocket__stream_close(struct hocket__stream *s, void (*closed)(void *ud), void *ud)
{
    (void) s, (void) closed, (void) ud;
}

/* ---- Searching --------------------------------------------------------------------------- */

int hocket__search(struct hocket__root *r, const struct hocket__search *s, struct hocket__buf *out,
    struct hocket__search_stats *stats, struct hocket_error *err)
{
    (void) r, (void) s, (void) out;
    *stats = (struct hocket__search_stats){ 0 };
    return absent(err, "searching files (search_files)");
}
