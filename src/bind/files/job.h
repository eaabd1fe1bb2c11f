/* Work on files that may take long, done by libuv's threads while a fiber waits.
 *
 * A job is owned by its Lua object until that is collected, and by the loop while it is under way;
 * whoever lets go last frees it. It has copies of all it needs and its memory comes from malloc,
 * since an embedder's allocator need not be safe for threads. Cancelling lets go: what is under way
 * ends by itself, a search at its next file, a write in order. */
#pragma once

#include "bind/runtime.h"
#include "os/decode.h"
#include "os/root.h"
#include "os/search/search.h"

enum hocket__files_op {
    HOCKET__FILES_READ,
    HOCKET__FILES_LIST,
    HOCKET__FILES_WRITE,
    HOCKET__FILES_MOVE,
    HOCKET__FILES_REMOVE,
    HOCKET__FILES_SEARCH
};

struct hocket__files_job {
    uv_work_t work;
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    uint64_t fiber;
    bool owned, under_way;
    int cancelled; /* atomic */

    enum hocket__files_op op;
    struct hocket__root *root;
    struct hocket__buf path, to,
        text; /* `to` is also a search's glob, `text` its pattern or what is written */
    unsigned char expect[HOCKET__HASH];
    bool has_expect;
    int fd;     /* read: opened already */
    size_t max; /* bytes of a file, entries of a directory */
    size_t first, lines, limit;
    bool raw;
    struct hocket__search search;

    int status;
    struct hocket_error err;
    struct hocket__buf content,
        out; /* read: as it is, and decoded; list: packed entries; search: lines */
    const char *encoding;
    struct hocket__lines taken;
    unsigned char hash[HOCKET__HASH];
    struct hocket__root_info info;
    struct hocket__search_stats stats;
};

/* NULL: out of memory. It is owned until hocket__files_job_drop. */
struct hocket__files_job *hocket__files_job_new(
    struct hocket__runtime *rt, struct hocket__root *root, enum hocket__files_op op);
void hocket__files_job_drop(struct hocket__files_job *j);

/* Does it here and now. */
void hocket__files_job_run(struct hocket__files_job *j);
/* Hands it to a thread; the fiber is woken when it is done (under_way is false). Where there is no
 * thread to be had it is done at once. */
void hocket__files_job_start(struct hocket__files_job *j, uint64_t fiber);
