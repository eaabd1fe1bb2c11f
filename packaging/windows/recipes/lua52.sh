# A DLL with the interpreter, as LuaBinaries have it: the bridge for Lua 5.2 is tried with it.
source=$(echo "$CRATES"/lua-src-*/lua-5.2.4)
$CC $CFLAGS -DLUA_BUILD_AS_DLL -shared -o lua52.dll $(ls "$source"/*.c | grep -v '/luac\?\.c$\|/print\.c$') -Wl,--out-implib,liblua52.dll.a -static-libgcc
$CC $CFLAGS -DLUA_BUILD_AS_DLL -o lua52.exe "$source/lua.c" lua52.dll -static-libgcc
mkdir -p "$ROOT/bin" "$ROOT/include/lua5.2"
cp lua52.dll lua52.exe "$ROOT/bin/"
cp liblua52.dll.a "$ROOT/lib/"
for header in lua.h luaconf.h lualib.h lauxlib.h; do cp "$source/$header" "$ROOT/include/lua5.2/"; done
