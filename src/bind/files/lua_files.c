/* hocket.internal.core.files: files below a root, for tools. What may be done is a question of permissions,
 * what a task has read that of hocket/internal/tools/file.lua.
 *
 * A job on a thread of the loop's pool does the work on disks, with its own copies of the arguments, while
 * the fiber waits. Exceptions are a look at a path, and files so small that the thread would cost more. A
 * fiber that is cancelled abandons its job, which frees itself when the thread is through. */
#include "bind/open.h"

#include <stdlib.h>

#include "bind/fiber/fiber.h"
#include "bind/life.h"
#include "bind/options.h"
#include "bind/runtime.h"
#include "bind/util.h"
#include "os/decode.h"
#include "os/file.h"
#include "os/root.h"
#include "os/search/search.h"

/* Work on files that may take long, done by libuv's threads while a fiber waits.
 *
 * A job is owned by its Lua object until that is collected, and by the loop while it is under way;
 * whoever lets go last frees it. It has copies of all it needs and its memory comes from malloc,
 * since an embedder's allocator need not be safe for threads. Cancelling lets go: what is under way
 * ends by itself, a search at its next file, a write in order. */

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

/* NULL: out of memory. It is owned until job_drop. */
static struct hocket__files_job *job_new(
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

static void job_drop(struct hocket__files_job *j)
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

/* Does it here and now. */
static void job_run(struct hocket__files_job *j)
{
    j->status = work(j);
}

/* ---- On a thread ------------------------------------------------------------------------ */

static void on_thread(uv_work_t *w)
{
    job_run(w->data);
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

/* Hands it to a thread; the fiber is woken when it is done (under_way is false). Where there is no
 * thread to be had it is done at once. */
static void job_start(struct hocket__files_job *j, uint64_t fiber)
{
    j->fiber = fiber;
    j->work.data = j;
    j->closer.close = on_close;
    /* no thread: it is done here, and the fiber finds it done */
    if (uv_queue_work(j->rt->loop, &j->work, on_thread, on_end) < 0) {
        job_run(j);
        return;
    }
    j->under_way = true;
    hocket__runtime_hold(j->rt, &j->closer);
}

#define ROOT "hocket.root"
#define JOB  "hocket.files_job"
#define LOCK "hocket.files_lock"
/* A read that is done at once rather than on a thread. */
#define SMALL    ((int64_t) 128 << 10)
#define FILE_MAX ((lua_Integer) 64 << 20)

struct root {
    struct hocket__root *root;
};

static struct hocket__root *check_root(lua_State *L)
{
    struct root *r = luaL_checkudata(L, 1, ROOT);
    return r->root;
}

static int root_gc(lua_State *L)
{
    struct root *r = hocket__gc_userdata(L, root_gc);
    if (r)
        hocket__root_unref(r->root);
    if (r)
        r->root = NULL;
    return 0;
}

/* root(dir) -> root | nil, error */
static int l_root(lua_State *L)
{
    struct hocket_error err;
    const char *dir = hocket__check_path(L, 1);
    hocket__runtime(L);
    struct root *r = lua_newuserdatauv(L, sizeof(*r), 0);
    r->root = NULL;
    luaL_setmetatable(L, ROOT);
    return hocket__root_open(dir, &r->root, &err) < 0 ? hocket__fail(L, &err) : 1;
}

/* r:dir() -> its absolute path */
static int l_dir(lua_State *L)
{
    lua_pushstring(L, hocket__root_dir(check_root(L)));
    return 1;
}

/* r:path(text) -> path relative to the root | nil, error */
static int l_path(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct hocket__root *r = check_root(L);
    struct hocket__str text = hocket__check_str(L, 2);
    hocket__buf_reset(&rt->scratch);
    if (hocket__root_path(r, text, &rt->scratch, &err) < 0)
        return hocket__fail(L, &err);
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    return 1;
}

static void push_info(lua_State *L, const struct hocket__root_info *i)
{
    lua_createtable(L, 0, 6);
    hocket__set_cstr(L, "kind",
        i->kind == 'f'   ? "file"
        : i->kind == 'd' ? "directory"
        : i->kind == 'l' ? "link"
                         : "other");
    hocket__set_int(L, "size", i->size);
    hocket__set_number(L, "modified", (double) i->mtime_ms / 1000);
    hocket__set_int(L, "mode", i->mode);
    hocket__set_int(L, "links", i->links);
}

/* r:info(path) -> {kind, size, modified, mode, links} | nil, error */
static int l_info(lua_State *L)
{
    struct hocket_error err;
    struct hocket__root_info info;
    if (hocket__root_info(check_root(L), hocket__check_path(L, 2), &info, &err) < 0)
        return hocket__fail(L, &err);
    push_info(L, &info);
    return 1;
}

/* ---- Jobs ------------------------------------------------------------------------ */

static int job_gc(lua_State *L)
{
    struct hocket__files_job **j = hocket__gc_userdata(L, job_gc);
    if (j)
        job_drop(*j);
    if (j)
        *j = NULL;
    return 0;
}

/* With a NUL behind it, which does not count: paths go to the system as they are. */
static void set_text(lua_State *L, struct hocket__buf *out, int arg)
{
    if (hocket__buf_addstr(out, hocket__check_str(L, arg)) < 0 || hocket__buf_reserve(out, 1) < 0)
        hocket__raise_nomem(L);
    out->data[out->len] = 0;
}

/* Pushes the userdata that owns the job; its path is argument 2, unless `path` is 0.
 * The userdata is there before the job, so that a job is never without an owner. */
static struct hocket__files_job *new_job(lua_State *L, enum hocket__files_op op, int path)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__root *root = check_root(L);
    if (path)
        hocket__check_path(L, path);
    hocket__fiber_current(L);
    struct hocket__files_job **p = lua_newuserdatauv(L, sizeof(*p), 0);
    *p = NULL;
    luaL_setmetatable(L, JOB);
    *p = job_new(rt, root, op);
    if (!*p)
        hocket__raise_nomem(L);
    if (path)
        set_text(L, &(*p)->path, path);
    return *p;
}

static int push_read(lua_State *L, const struct hocket__files_job *j)
{
    push_info(L, &j->info);
    hocket__set_cstr(L, "encoding", j->encoding);
    lua_pushlstring(L, (const char *) j->hash, HOCKET__HASH);
    lua_setfield(L, -2, "hash");
    hocket__push_str(L, j->taken.piece);
    lua_setfield(L, -2, "text");
    hocket__set_int(L, "first", (lua_Integer) j->taken.first);
    hocket__set_int(L, "last", (lua_Integer) j->taken.last);
    hocket__set_int(L, "total", (lua_Integer) j->taken.total);
    hocket__set_bool(L, "cut", j->taken.cut);
    if (j->raw) {
        hocket__push_str(L, hocket__buf_str(&j->content));
        lua_setfield(L, -2, "bytes");
    }
    return 1;
}

static int push_list(lua_State *L, const struct hocket__files_job *j)
{
    const char *p = j->out.data, *end = p + j->out.len;
    lua_newtable(L);
    for (lua_Integer i = 1; p && p < end; i++) {
        struct hocket__root_info info;
        memcpy(&info, p, sizeof(info));
        p += sizeof(info);
        push_info(L, &info);
        hocket__set_cstr(L, "name", p);
        lua_rawseti(L, -2, i);
        p += strlen(p) + 1;
    }
    return 1;
}

static int push_search(lua_State *L, const struct hocket__files_job *j)
{
    const struct {
        const char *name;
        size_t value;
    } counts[] = { { "files", j->stats.files }, { "results", j->stats.results },
        { "matched_files", j->stats.matched_files }, { "large", j->stats.large },
        { "binary", j->stats.binary }, { "secret", j->stats.secret }, { "hard", j->stats.hard },
        { "unread", j->stats.unread } };
    hocket__push_str(L, hocket__buf_str(&j->out));
    lua_newtable(L);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        hocket__set_int(L, counts[i].name, (lua_Integer) counts[i].value);
    }
    hocket__set_bool(L, "full", j->stats.full);
    hocket__set_bool(L, "timed_out", j->stats.timed_out);
    return 2;
}

static int push_result(lua_State *L, const struct hocket__files_job *j)
{
    switch (j->op) {
    case HOCKET__FILES_READ: return push_read(L, j);
    case HOCKET__FILES_LIST: return push_list(L, j);
    case HOCKET__FILES_SEARCH: return push_search(L, j);
    default: lua_pushboolean(L, true); return 1;
    }
}

/* What it holds is given back at once: Lua does not see how much that is. */
static int push_outcome(lua_State *L, struct hocket__files_job *j)
{
    if (j->status < 0)
        return hocket__fail(L, &j->err);
    int n = push_result(L, j);
    hocket__buf_deinit(&j->content);
    hocket__buf_deinit(&j->out);
    return n;
}

/* Seen by the thread between two steps; what a write has begun it ends, so that no file is left in
 * half. */
static void abandon(void *ud)
{
    struct hocket__files_job *j = ud;
    __atomic_store_n(&j->cancelled, 1, __ATOMIC_RELAXED);
}

/* A wake that is for something else finds the job under way, and waits on. */
static int finish(lua_State *L, int status, lua_KContext at)
{
    (void) status;
    struct hocket__files_job **j = luaL_checkudata(L, (int) at, JOB);
    if ((*j)->under_way)
        return hocket__await(L, -1, abandon, *j, at, finish);
    return push_outcome(L, *j);
}

/* The job's userdata is on top. */
static int start(lua_State *L, struct hocket__files_job *j)
{
    job_start(j, hocket__fiber_current(L)->id);
    return finish(L, LUA_OK, lua_gettop(L));
}

/* ---- Operations --------------------------------------------------------------------- */

/* NULL: there is none. */
static const unsigned char *check_hash(lua_State *L, int arg, struct hocket__str hash)
{
    luaL_argcheck(L, !hash.p || hash.n == HOCKET__HASH, arg, "a hash that read gave expected");
    return (const unsigned char *) hash.p;
}

static const unsigned char *hash_at(lua_State *L, int arg)
{
    struct hocket__str none = { NULL, 0 };
    return check_hash(L, arg, lua_isnoneornil(L, arg) ? none : hocket__check_str(L, arg));
}

static void set_expect(struct hocket__files_job *j, const unsigned char *hash)
{
    j->has_expect = hash != NULL;
    if (hash)
        memcpy(j->expect, hash, HOCKET__HASH);
}

/* r:read(path, {first=, lines=, limit=, max=, raw=, like=}?) -> {text, encoding, hash, size, modified,
 * first, last, total, cut, …} | nil, error. raw: also `bytes`, what the file holds as it is. like: a hash that an
 * earlier read gave, maybe of another process: the hash is the same when the content is. */
static int l_read(lua_State *L)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_INT("first", struct hocket__files_job, first, 1, INT64_C(1) << 40) },
        { HOCKET__OPT_INT("lines", struct hocket__files_job, lines, 0, INT64_C(1) << 40) },
        { HOCKET__OPT_INT("limit", struct hocket__files_job, limit, 0, FILE_MAX) },
        { HOCKET__OPT_INT("max", struct hocket__files_job, max, 0, INT64_C(1) << 32) },
        { HOCKET__OPT_BOOL("raw", struct hocket__files_job, raw) },
        { HOCKET__OPT_OWN("like") },
        { 0 },
    };
    lua_settop(L, 3);
    struct hocket__files_job *j = new_job(L, HOCKET__FILES_READ, 2);
    j->first = 1;
    j->lines = (size_t) 1 << 40;
    j->limit = j->max = FILE_MAX;
    hocket__opt_read(L, 3, rows, j);
    set_expect(j, check_hash(L, 3, hocket__opt_str(L, 3, "like")));
    j->fd = hocket__root_file(j->root, j->path.data, &j->info, &j->err);
    if (j->fd < 0)
        return hocket__fail(L, &j->err);
    if (j->info.size > SMALL)
        return start(L, j);
    job_run(j);
    return push_outcome(L, j);
}

/* r:list(path, max?) -> array of {name, kind, size, modified, …} | nil, error */
static int l_list(lua_State *L)
{
    lua_Integer max = luaL_optinteger(L, 3, 100000);
    luaL_argcheck(L, max >= 0, 3, "a number of entries must not be negative");
    lua_settop(L, 3);
    struct hocket__files_job *j = new_job(L, HOCKET__FILES_LIST, 2);
    j->max = (size_t) max;
    return start(L, j);
}

/* r:write(path, text, hash?) -> true | nil, error. The hash is of what is replaced; without one
 * nothing is to be there. */
static int l_write(lua_State *L)
{
    lua_settop(L, 4);
    struct hocket__files_job *j = new_job(L, HOCKET__FILES_WRITE, 2);
    set_text(L, &j->text, 3);
    set_expect(j, hash_at(L, 4));
    return start(L, j);
}

/* r:move(from, to, hash?) -> true | nil, error */
static int l_move(lua_State *L)
{
    lua_settop(L, 4);
    hocket__check_path(L, 3);
    struct hocket__files_job *j = new_job(L, HOCKET__FILES_MOVE, 2);
    set_text(L, &j->to, 3);
    set_expect(j, hash_at(L, 4));
    return start(L, j);
}

/* r:remove(path) -> true | nil, error: a folder with all in it */
static int l_remove(lua_State *L)
{
    lua_settop(L, 2);
    return start(L, new_job(L, HOCKET__FILES_REMOVE, 2));
}

/* r:search{path=, pattern=, literal=, ignore_case=, glob=, all=, max_results=, max_file=, seconds=}
 *   -> lines, stats | nil, error */
static int l_search(lua_State *L)
{
    struct asked {
        struct hocket__search search;
        struct hocket__str path, glob;
        int ms;
    };
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_TEXT("path", struct asked, path) },
        { HOCKET__OPT_TEXT("pattern", struct asked, search.pattern) },
        { HOCKET__OPT_BOOL("literal", struct asked, search.literal) },
        { HOCKET__OPT_BOOL("ignore_case", struct asked, search.ignore_case) },
        { HOCKET__OPT_TEXT("glob", struct asked, glob) },
        { HOCKET__OPT_BOOL("all", struct asked, search.all) },
        { HOCKET__OPT_INT("max_results", struct asked, search.max_results, 0, 1000000) },
        { HOCKET__OPT_INT("max_file", struct asked, search.max_file, 0, INT64_C(1) << 32) },
        { HOCKET__OPT_SECONDS("seconds", struct asked, ms) },
        { 0 },
    };
    struct asked asked = { .search = { .max_results = 1000, .max_file = 16 << 20 }, .ms = 20000 };
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    hocket__opt_read(L, 2, rows, &asked);
    struct hocket__files_job *j = new_job(L, HOCKET__FILES_SEARCH, 0);
    struct hocket__str pattern = asked.search.pattern;
    hocket__buf_addstr(&j->path, asked.path.n ? asked.path : HOCKET__STR("."));
    hocket__buf_addstr(&j->to, asked.glob.p ? asked.glob : HOCKET__STR(""));
    hocket__buf_addstr(&j->text, pattern.p ? pattern : HOCKET__STR(""));
    if (hocket__buf_addc(&j->path, 0) < 0 || hocket__buf_addc(&j->to, 0) < 0
        || hocket__buf_addc(&j->text, 0) < 0)
        return hocket__raise_nomem(L);
    j->search = asked.search;
    j->search.path = j->path.data;
    j->search.pattern = hocket__str(j->text.data, j->text.len - 1);
    j->search.glob = asked.glob.n ? j->to.data : NULL;
    j->search.max_ms = asked.ms;
    j->search.cancelled = &j->cancelled;
    return start(L, j);
}

/* hash(text, like?) -> what read gives for a file with that content */
static int l_hash(lua_State *L)
{
    unsigned char hash[HOCKET__HASH];
    hocket__root_hash(hocket__check_str(L, 1), hash_at(L, 2), hash);
    lua_pushlstring(L, (const char *) hash, HOCKET__HASH);
    return 1;
}

/* lines(text, first, count, max) -> piece, first, last, total, cut */
static int l_lines(lua_State *L)
{
    struct hocket__str text = hocket__check_str(L, 1);
    lua_Integer first = luaL_checkinteger(L, 2), count = luaL_checkinteger(L, 3),
                max = luaL_checkinteger(L, 4);
    luaL_argcheck(L, first >= 1, 2, "lines count from 1");
    luaL_argcheck(L, count >= 0 && max >= 0, 3, "a number must not be negative");
    struct hocket__lines l = hocket__take_lines(text, (size_t) first, (size_t) count, (size_t) max);
    hocket__push_str(L, l.piece);
    lua_pushinteger(L, (lua_Integer) l.first);
    lua_pushinteger(L, (lua_Integer) l.last);
    lua_pushinteger(L, (lua_Integer) l.total);
    lua_pushboolean(L, l.cut);
    return 5;
}

/* ---- A lock between processes ------------------------------------------------- */

static int lock_gc(lua_State *L)
{
    int *fd = luaL_checkudata(L, 1, LOCK);
    if (*fd >= 0)
        hocket__root_close(*fd);
    *fd = -1;
    return 0;
}

/* lock(path) -> an object that holds it until it is closed, or its process ends | nil, error ("state": somebody has
 * it). The file is made, and is empty. */
static int l_lock(lua_State *L)
{
    struct hocket_error err;
    int *fd = lua_newuserdatauv(L, sizeof(*fd), 0);
    *fd = -1;
    luaL_setmetatable(L, LOCK);
    *fd = hocket__file_begin(luaL_checkstring(L, 1), &err);
    return *fd >= 0 ? 1 : hocket__fail(L, &err);
}

static const luaL_Reg functions[] = { { "root", l_root }, { "hash", l_hash }, { "lines", l_lines },
    { "lock", l_lock }, { NULL, NULL } };
static const luaL_Reg lock_methods[] = { { "close", lock_gc }, { "__close", lock_gc },
    { "__gc", lock_gc }, { NULL, NULL } };
static const luaL_Reg root_methods[] = {
    { "dir", l_dir },
    { "path", l_path },
    { "info", l_info },
    { "read", l_read },
    { "list", l_list },
    { "write", l_write },
    { "move", l_move },
    { "remove", l_remove },
    { "search", l_search },
    { "__gc", root_gc },
    { NULL, NULL },
};
static const luaL_Reg job_methods[] = { { "__gc", job_gc }, { NULL, NULL } };

int hocket__open_files(lua_State *L)
{
    hocket__newmeta(L, ROOT, root_methods);
    hocket__newmeta(L, JOB, job_methods);
    hocket__newmeta(L, LOCK, lock_methods);
    lua_pop(L, 3);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}
