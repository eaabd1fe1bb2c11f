/* The least of a Lua interpreter, as an engine has one: lua SCRIPT [ARGUMENT…]. Linked with lua51.dll to lua54.dll in turn. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_newtable(L);
    for (int i = 0; i < argc; i++) { /* the interpreter is at -1 */
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - 1);
    }
    lua_setglobal(L, "arg");
    int failed = luaL_loadfile(L, argc > 1 ? argv[1] : "") || lua_pcall(L, 0, 0, 0);
    if (failed)
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return failed != 0;
}
