/* All Lua modules, as loaders in package.preload. Those made in C have the runtime as their upvalue.
 * Those in Lua have the text that the build compiled in, or come from a directory while somebody works
 * on them. A state that is not ours keeps its own `package`: nothing but preload is
 * touched. */
#include "bind/modules.h"
#include "bind/assets.h"

#include <string.h>

#include "bind/account/account.h"
#include "bind/fiber/fiber.h"
#include "bind/board/board.h"
#include "bind/broker/broker.h"
#include "bind/cassette/cassette.h"
#include "bind/open.h"
#include "bind/journal/journal.h"
#include "bind/json/json.h"
#include "bind/llm/llm.h"
#include "bind/schema/schema.h"
#include "bind/util.h"
#include "bind/event_writer.h"

#define BOX "_UBOX*" /* as lauxlib.c has it */

static int open_journal(lua_State *L)
{
    int n = hocket__open_journal(L);
    hocket__open_event_writer(L);
    return n;
}

static const luaL_Reg c_modules[] = {
    { "hocket.internal.core.fiber", hocket__open_fiber },
    { "hocket.internal.core.kept", hocket__open_kept },
    { "hocket.internal.core.files", hocket__open_files },
    { "hocket.internal.core.arguments", hocket__open_arguments },
    { "hocket.internal.core.account", hocket__open_account },
    { "hocket.internal.core.board", hocket__open_board },
    { "hocket.internal.core.broker", hocket__open_broker },
    { "hocket.internal.core.cassette", hocket__open_cassette },
    { "hocket.internal.core.decode", hocket__open_decode },
    { "hocket.internal.core.document", hocket__open_document },
    { "hocket.internal.core.permission", hocket__open_permission },
    { "hocket.internal.core.journal", open_journal },
    { "hocket.internal.core.llm", hocket__open_llm },
    { "hocket.schema", hocket__open_schema },
    { "hocket.internal.core.system", hocket__open_system },
    { "hocket.internal.core.bounds", hocket__open_bounds },
    { "hocket.internal.core.secrets", hocket__open_secrets },
    { "hocket.internal.core.socket", hocket__open_socket },
    { "hocket.internal.core.spool", hocket__open_spool },
    { "hocket.internal.core.scan", hocket__open_scan },
    { "hocket.internal.core.store", hocket__open_store },
    { "hocket.internal.core.watch", hocket__open_watch },
    { "hocket.internal.core.web", hocket__open_web },
    { "hocket.fs", hocket__open_fs },
    { "hocket.internal.core.fs", hocket__open_fs },
    { "hocket.http", hocket__open_http },
    { "hocket.json", hocket__open_json },
    { "hocket.process", hocket__open_process },
    { "hocket.yaml", hocket__open_yaml },
    { NULL, NULL },
};

/* Of the Lua that runs, whichever the process has; NULL where it does not say. */
extern const char lua_ident[] __attribute__((weak));

/* Pushes the function that a script is: from its bytecode where there is some, which is read in its place. */
static int load_asset(
    lua_State *L, const struct hocket__pack *pack, const struct hocket__asset *script)
{
    const struct hocket__asset *compiled =
        pack == &hocket__pack_library ? hocket__asset_compiled(script, lua_ident) : NULL;
    const char *chunk = lua_pushfstring(L, "@%s", script->name);
    struct hocket__str text;
    if (compiled) {
        text = hocket__asset_bytes(&hocket__pack_bytecode, compiled);
    } else {
        hocket__asset_push(L, pack, script);
        text.p = lua_tolstring(L, -1, &text.n);
    }
    return luaL_loadbufferx(L, text.p, text.n, chunk, compiled ? "b" : "t");
}

/* Upvalues: the pack, the script, the directory or nil. Arguments: the module's name. */
static int load_script(lua_State *L)
{
    const struct hocket__pack *pack = lua_touserdata(L, lua_upvalueindex(1));
    const struct hocket__asset *a = lua_touserdata(L, lua_upvalueindex(2));
    const char *path = lua_tostring(L, lua_upvalueindex(3));
    int status;
    if (path) {
        lua_pushfstring(L, "%s/%s", path, a->name);
        status = luaL_loadfilex(L, lua_tostring(L, -1), "t");
    } else {
        status = load_asset(L, pack, a);
    }
    if (status != LUA_OK)
        return lua_error(L);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

/* "hocket/patterns/facilitator.lua" -> "hocket.patterns.facilitator"; "hocket/init.lua" ->
 * "hocket". Pushes the name, or returns false when the asset is no module. */
static bool push_module_name(lua_State *L, const char *file)
{
    size_t n = strlen(file);
    if (strncmp(file, "hocket/", 7) != 0 || n < 5 || strcmp(file + n - 4, ".lua") != 0)
        return false;
    n -= n > 9 && strcmp(file + n - 9, "/init.lua") == 0 ? 9 : 4;
    luaL_Buffer b;
    char *out = luaL_buffinitsize(L, &b, n);
    for (size_t i = 0; i < n; i++)
        out[i] = file[i] == '/' ? '.' : file[i];
    luaL_pushresultsize(&b, n);
    return true;
}

/* Lua makes the metatable of its long buffers with the first of them. If memory runs out in the middle, it stays half made,
 * and this state can put no long text together any more (5.4). So it is made here, where it can be thrown away. */
static int drop_half_box(lua_State *L)
{
    if (luaL_getmetatable(L, BOX) == LUA_TTABLE && lua_getfield(L, -1, "__close") == LUA_TNIL) {
        lua_pushnil(L);
        lua_setfield(L, LUA_REGISTRYINDEX, BOX);
    }
    return 0;
}

static void make_box(lua_State *L)
{
    luaL_Buffer b;
    luaL_buffinitsize(L, &b, LUAL_BUFFERSIZE + 1);
    luaL_pushresultsize(&b, 0);
    lua_pop(L, 1);
}

static const char scripts_key; /* registry: the directory of scripts, or nil */

/* Into the table on top; `path`: the index of the directory of scripts, or of nil. */
static void add_scripts(lua_State *L, const struct hocket__pack *pack, int path)
{
    for (const struct hocket__asset *a = pack->files; a->name; a++) {
        if (!push_module_name(L, a->name))
            continue;
        lua_pushlightuserdata(L, (void *) pack);
        lua_pushlightuserdata(L, (void *) a);
        lua_pushvalue(L, path);
        lua_pushcclosure(L, load_script, 3);
        lua_rawset(L, -3);
    }
}

/* Protected: (path as light userdata, or NULL) */
static int open_all(lua_State *L)
{
    drop_half_box(L);
    lua_settop(L, 1);
    make_box(L);
    lua_pushstring(L, lua_touserdata(L, 1)); /* nil without a path */
    lua_replace(L, 1);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &scripts_key);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    for (const luaL_Reg *m = c_modules; m->name; m++) {
        hocket__runtime_push(L);
        lua_pushcclosure(L, m->func, 1);
        lua_setfield(L, -2, m->name);
    }
    add_scripts(L, &hocket__pack_library, 1);
    static const char *const at_once[] = { "hocket.internal.core.fiber",
        "hocket.internal.core.journal", "hocket.json" };
    for (size_t i = 0; i < sizeof(at_once) / sizeof(at_once[0]); i++)
        hocket__require(L, at_once[i]); /* C makes their objects before any script asks for them */
    hocket__keep_error_names(L);
    return 0;
}

int hocket__modules_open(
    struct hocket__runtime *rt, lua_State *L, const char *path, struct hocket_error *err)
{
    (void) rt;
    int status = hocket__pcall(L, open_all, (void *) path, err);
    if (status < 0)
        hocket__pcall(L, drop_half_box, NULL, NULL);
    return status;
}

void hocket__require(lua_State *L, const char *name)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, name) == LUA_TNIL) {
        lua_pop(L, 1);
        luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
        lua_getfield(L, -1, name);
        lua_remove(L, -2);
        lua_pushstring(L, name);
        lua_call(L, 1, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, name);
    }
    lua_remove(L, -2);
}

/* Protected: making a string may fail. */
static int add_one(lua_State *L)
{
    const luaL_Reg *m = lua_touserdata(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushstring(L, m->name);
    hocket__runtime_push(L);
    lua_pushcclosure(L, m->func, 1);
    lua_rawset(L, -3);
    return 0;
}

/* Protected: the pack */
static int add_pack(lua_State *L)
{
    const struct hocket__pack *pack = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &scripts_key);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    add_scripts(L, pack, 2);
    return 0;
}

int hocket__modules_add_pack(struct hocket__runtime *rt, lua_State *L,
    const struct hocket__pack *pack, struct hocket_error *err)
{
    int rc = hocket__pcall(L, add_pack, (void *) pack, err);
    if (rc == 0)
        rt->pack = pack;
    return rc;
}

int hocket__module_add(lua_State *L, const char *name, lua_CFunction open, struct hocket_error *err)
{
    luaL_Reg m = { name, open };
    return hocket__pcall(L, add_one, &m, err);
}
