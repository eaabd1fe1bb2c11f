/* hocket.so: what `require "hocket"` finds in a stock lua5.4. Links no Lua of its own. */

#include <hocket/hocket.h>

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int luaopen_hocket(struct lua_State *L);

int luaopen_hocket(struct lua_State *L)
{
    int n = hocket_luaopen(L);
    hocket_serve_attach(hocket_of_state(L), NULL); /* without it there are no `sim` models */
    return n;
}
