# A DLL with the interpreter, as LuaBinaries have it: the bridge for Lua 5.3 is tried with it.
source=$(echo "$CRATES"/lua-src-*/lua-5.3.6)
$CC $CFLAGS -DLUA_BUILD_AS_DLL -shared -o lua53.dll $(ls "$source"/*.c | grep -v '/luac\?\.c$\|/print\.c$') -Wl,--out-implib,liblua53.dll.a -static-libgcc
$CC $CFLAGS -DLUA_BUILD_AS_DLL -o lua53.exe "$source/lua.c" lua53.dll -static-libgcc
mkdir -p "$ROOT/bin" "$ROOT/include/lua5.3"
cp lua53.dll lua53.exe "$ROOT/bin/"
cp liblua53.dll.a "$ROOT/lib/"
for header in lua.h luaconf.h lualib.h lauxlib.h; do cp "$source/$header" "$ROOT/include/lua5.3/"; done
