/* hocket.internal.core.cassette: records the model exchanges of a run in a file, or replays them. Which
 * cassette a call belongs to, its fiber's context says (bind/transport.h). */

#include "bind/cassette/cassette.h"

#include "bind/fiber/fiber.h"
#include "bind/journal/journal.h"
#include "bind/json/json.h"
#include "bind/transport.h"
#include "bind/util.h"
#include "os/file.h"

#define META       hocket__transport_name
#define REPLAY_MAX ((size_t) 1 << 30) /* bytes of a file that is replayed */

struct tape {
    struct hocket__transport *transport; /* the cassette's */
    struct hocket__runtime *rt;
    struct hocket__cassette *cassette;
    char *path;
    int fd; /* below 0: none */
};

static struct tape *check_tape(lua_State *L)
{
    struct tape *t = luaL_checkudata(L, 1, META);
    if (!t->cassette)
        luaL_error(L, "the cassette was not opened");
    return t;
}

/* ---- The context ------------------------------------------------------------------- */

struct hocket__cassette *hocket__cassette_here(lua_State *L, struct hocket__runtime *rt)
{
    hocket__transport_push(L, rt);
    struct tape *t = luaL_testudata(L, -1, META);
    lua_pop(L, 1);
    return t ? t->cassette : NULL;
}

/* ---- Opening ------------------------------------------------------------------------- */

static int append(void *ud, struct hocket__str line, struct hocket_error *err)
{
    struct tape *t = ud;
    return hocket__file_append(t->fd, t->path, line, err);
}

static struct tape *new_tape(lua_State *L, struct hocket__runtime *rt)
{
    struct hocket__str path = hocket__check_str(L, 1);
    luaL_argcheck(
        L, path.n > 0 && strlen(path.p) == path.n, 1, "a path must not be empty or contain NUL");
    struct tape *t = hocket__new_object(L, sizeof(*t), 0, META);
    *t = (struct tape){ .rt = rt, .fd = -1 };
    rt->taped = true;
    luaL_setmetatable(L, META);
    t->path = hocket__strdup(rt->alloc, path.p, path.n);
    if (!t->path)
        hocket__raise_nomem(L);
    return t;
}

static struct hocket__cassette_options options_of(struct tape *t)
{
    return (struct hocket__cassette_options){ .alloc = t->rt->alloc,
        .deadlines = &t->rt->deadlines,
        .below = &t->rt->direct,
        .name = t->path,
        .rounds = &t->rt->rounds,
        .write = append,
        .ud = t };
}

static void opened(struct tape *t)
{
    t->transport = hocket__cassette_transport(t->cassette);
}

/* record(path) -> cassette | nil, error */
static int l_record(lua_State *L)
{
    struct hocket_error err;
    struct tape *t = new_tape(L, hocket__runtime(L));
    struct hocket__cassette_options o = options_of(t);
    o.wall_ms = hocket__wall_ms();
    if (hocket__random_here(t->rt, HOCKET__STR("cassette"), o.seed, sizeof(o.seed)) < 0)
        return luaL_error(L, "the system gives no random numbers");
    t->fd = hocket__file_begin(t->path, &err);
    if (t->fd < 0 || hocket__cassette_record(&o, &t->cassette, &err) < 0)
        return hocket__fail(L, &err);
    opened(t);
    return 1;
}

/* replay(path) -> cassette | nil, error */
static int l_replay(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct tape *t = new_tape(L, rt);
    struct hocket__cassette_options o = options_of(t);
    hocket__buf_reset(&rt->scratch);
    int rc = hocket__file_read(t->path, REPLAY_MAX, &rt->scratch, &err);
    if (rc == 0)
        rc = hocket__cassette_replay(&o, hocket__buf_str(&rt->scratch), &t->cassette, &err);
    hocket__buf_deinit(&rt->scratch); /* it may have become large */
    hocket__buf_init(&rt->scratch, rt->alloc, 0);
    if (rc < 0)
        return hocket__fail(L, &err);
    opened(t);
    return 1;
}

/* ---- Methods --------------------------------------------------------------------------- */

static void close_tape(struct tape *t)
{
    if (t->cassette && t->rt->life != HOCKET__RUNTIME_CLOSED)
        hocket__cassette_close(t->cassette);
    if (t->fd >= 0)
        hocket__file_close(t->fd, t->path, NULL);
    t->fd = -1;
}

/* t:close(): what is under way goes on unrecorded; nothing can be started on it any more */
static int l_close(lua_State *L)
{
    close_tape(check_tape(L));
    return 0;
}

static int l_replays(lua_State *L)
{
    lua_pushboolean(L, check_tape(L)->transport->offline);
    return 1;
}

/* t:problem() -> error, or nothing: what ended the recording or the replay */
static int l_problem(lua_State *L)
{
    struct hocket_error err;
    if (hocket__cassette_status(check_tape(L)->cassette, &err) == 0)
        return 0;
    hocket__push_error(L, &err);
    return 1;
}

/* t:missing() -> how many of the requests are not in the recording, how many were made */
static int l_missing(lua_State *L)
{
    uint64_t of;
    lua_pushinteger(L, (lua_Integer) hocket__cassette_missing(check_tape(L)->cassette, &of));
    lua_pushinteger(L, (lua_Integer) of);
    return 2;
}

/* t:unused() -> how many recorded requests nobody has made, and the first */
static int l_unused(lua_State *L)
{
    struct tape *t = check_tape(L);
    struct hocket__buf *first = &t->rt->scratch;
    hocket__buf_reset(first);
    lua_pushinteger(L, (lua_Integer) hocket__cassette_unused(t->cassette, first));
    hocket__push_str(L, hocket__buf_str(first));
    return 2;
}

/* t:note(name, value): in a recording */
static int l_note(lua_State *L)
{
    struct tape *t = check_tape(L);
    struct hocket__str name = hocket__check_str(L, 2);
    luaL_checkany(L, 3);
    hocket__buf_reset(&t->rt->scratch);
    hocket__json_encode(L, 3, &t->rt->scratch);
    hocket__cassette_note_fact(t->cassette, name, hocket__buf_str(&t->rt->scratch));
    return 0;
}

/* t:recall(name) -> whether it was noted, value */
static int l_recall(lua_State *L)
{
    struct tape *t = check_tape(L);
    struct hocket_error err;
    struct hocket__str json;
    bool there = hocket__cassette_recall_fact(t->cassette, hocket__check_str(L, 2), &json);
    lua_pushboolean(L, there);
    if (there && hocket__json_push(L, json, &err) < 0)
        return hocket__raise(L, &err);
    return there ? 2 : 1;
}

/* t:secret(text): is not written, wherever it comes up */
static int l_secret(lua_State *L)
{
    struct tape *t = check_tape(L);
    if (hocket__cassette_secret(t->cassette, hocket__check_str(L, 2)) < 0)
        return hocket__raise_nomem(L);
    return 0;
}

/* t:random(about) -> integer, the same in the replay */
static int l_random(lua_State *L)
{
    struct tape *t = check_tape(L);
    lua_pushinteger(L, (lua_Integer) hocket__cassette_random(t->cassette, hocket__check_str(L, 2)));
    return 1;
}

static int tape_gc(lua_State *L)
{
    struct tape *t = hocket__gc_userdata(L, tape_gc);
    if (!t || !t->path)
        return 0;
    const struct hocket_allocator *a = t->rt->alloc;
    close_tape(t);
    hocket__cassette_free(t->cassette);
    hocket__strfree(a, t->path);
    t->transport = NULL;
    t->cassette = NULL;
    t->path = NULL;
    return 0;
}

static const luaL_Reg functions[] = { { "record", l_record }, { "replay", l_replay },
    { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "close", l_close },
    { "replays", l_replays },
    { "problem", l_problem },
    { "missing", l_missing },
    { "unused", l_unused },
    { "note", l_note },
    { "recall", l_recall },
    { "secret", l_secret },
    { "random", l_random },
    { "__gc", tape_gc },
    { NULL, NULL },
};

int hocket__open_cassette(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}
