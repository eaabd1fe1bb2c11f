/* One operation on files, done on a thread of the pool. All that it needs is in it: the Lua
 * state must not be touched there, and its memory is malloc's, since a host's allocator may be
 * for one thread only.
 *
 * Two have it, the thread while it is under way and the userdata of the fiber that waits
 * (owned); whoever lets go last frees it. */
#include "bind/files/job.h"

#include <stdlib.h>

#include "bind/fiber/fiber.h"
#include "bind/life.h"

struct hocket__files_job *hocket__files_job_new(
    struct hocket__runtime *rt, struct hocket__root *root, enum hocket__files_op op)
{
    struct hocket__files_job *j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    struct hocket__buf *const buffers[] = { &j->path, &j->to, &j->text, &j->content, &j->out };
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        hocket__buf_init(buffers[i], &hocket__malloc, 0);
    j->rt = rt;
    j->owned = true;
    j->root = hocket__root_ref(root);
    j->op = op;
    j->fd = -1;
    hocket__list_init(&j->closer.link);
    return j;
}

static void free_job(struct hocket__files_job *j)
{
    struct hocket__buf *const buffers[] = { &j->path, &j->to, &j->text, &j->content, &j->out };
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        hocket__buf_deinit(buffers[i]);
    if (j->fd >= 0)
        hocket__root_close(j->fd);
    hocket__root_unref(j->root);
    free(j);
}

void hocket__files_job_drop(struct hocket__files_job *j)
{
    if (!j)
        return;
    __atomic_store_n(&j->cancelled, 1, __ATOMIC_RELAXED);
    j->owned = false;
    if (!j->under_way)
        free_job(j);
}

/* ---- The work ------------------------------------------------------------------------ */

static int read_file(struct hocket__files_job *j)
{
    int rc = hocket__root_slurp(j->fd, j->path.data, j->max, &j->content, &j->err);
    hocket__root_close(j->fd);
    j->fd = -1;
    if (rc < 0)
        return rc;
    hocket__root_hash(hocket__buf_str(&j->content), j->has_expect ? j->expect : NULL, j->hash);
    j->info.size = (int64_t) j->content.len;
    struct hocket__str text;
    j->encoding = hocket__decode_text(hocket__buf_str(&j->content), &j->out, &text);
    if (j->out.status < 0)
        return hocket__error_nomem(&j->err);
    j->taken = hocket__take_lines(text, j->first, j->lines, j->limit);
    return 0;
}

/* Packed: the info, the name, NUL. */
static void add_entry(void *ud, const char *name, const struct hocket__root_info *info)
{
    struct hocket__buf *out = ud;
    hocket__buf_add(out, (const char *) info, sizeof(*info));
    hocket__buf_add(out, name, strlen(name) + 1);
}

static int list(struct hocket__files_job *j)
{
    int rc = hocket__root_list(j->root, j->path.data, j->max, add_entry, &j->out, &j->err);
    return rc == 0 && j->out.status < 0 ? hocket__error_nomem(&j->err) : rc;
}

static int work(struct hocket__files_job *j)
{
    const unsigned char *expect = j->has_expect ? j->expect : NULL;
    switch (j->op) {
    case HOCKET__FILES_READ: return read_file(j);
    case HOCKET__FILES_LIST: return list(j);
    case HOCKET__FILES_WRITE:
        return hocket__root_write(
            j->root, j->path.data, hocket__buf_str(&j->text), expect, &j->err);
    case HOCKET__FILES_MOVE:
        return hocket__root_move(j->root, j->path.data, j->to.data, expect, &j->err);
    case HOCKET__FILES_REMOVE: return hocket__root_remove(j->root, j->path.data, &j->err);
    default: return hocket__search(j->root, &j->search, &j->out, &j->stats, &j->err);
    }
}

void hocket__files_job_run(struct hocket__files_job *j)
{
    j->status = work(j);
}

/* ---- On a thread ------------------------------------------------------------------------ */

static void on_thread(uv_work_t *w)
{
    hocket__files_job_run(w->data);
}

static void on_end(uv_work_t *w, int status)
{
    struct hocket__files_job *j = w->data;
    if (status < 0)
        j->status = hocket__error(&j->err, HOCKET_ECANCELLED, "cancelled");
    j->under_way = false;
    struct hocket__runtime *rt = j->rt;
    uint64_t fiber = j->owned ? j->fiber : 0;
    hocket__runtime_release(rt, &j->closer);
    if (!j->owned)
        free_job(j);
    if (fiber)
        hocket__fiber_wake(rt, fiber);
}

static void on_close(struct hocket__closer *c)
{
    struct hocket__files_job *j = hocket__container_of(c, struct hocket__files_job, closer);
    __atomic_store_n(&j->cancelled, 1, __ATOMIC_RELAXED);
    uv_cancel((uv_req_t *) &j->work); /* when it has not begun; on_end comes in any case */
}

void hocket__files_job_start(struct hocket__files_job *j, uint64_t fiber)
{
    j->fiber = fiber;
    j->work.data = j;
    j->closer.close = on_close;
    /* no thread: it is done here, and the fiber finds it done */
    if (uv_queue_work(j->rt->loop, &j->work, on_thread, on_end) < 0) {
        hocket__files_job_run(j);
        return;
    }
    j->under_way = true;
    hocket__runtime_hold(j->rt, &j->closer);
}
