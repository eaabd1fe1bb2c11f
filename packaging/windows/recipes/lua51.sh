# A DLL with the interpreter, as LuaBinaries have it: the bridge for Lua 5.1 is tried with it.
source=$(echo "$CRATES"/lua-src-*/lua-5.1.5)
$CC $CFLAGS -DLUA_BUILD_AS_DLL -shared -o lua51.dll $(ls "$source"/*.c | grep -v '/luac\?\.c$\|/print\.c$') -Wl,--out-implib,liblua51.dll.a -static-libgcc
$CC $CFLAGS -DLUA_BUILD_AS_DLL -o lua51.exe "$source/lua.c" lua51.dll -static-libgcc
mkdir -p "$ROOT/bin" "$ROOT/include/lua5.1"
cp lua51.dll lua51.exe "$ROOT/bin/"
cp liblua51.dll.a "$ROOT/lib/"
for header in lua.h luaconf.h lualib.h lauxlib.h; do cp "$source/$header" "$ROOT/include/lua5.1/"; done
