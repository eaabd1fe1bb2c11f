# A DLL with the interpreter and an import library, as engines have it: lua51.dll to lua54.dll, in a folder of its own. The
# modules for other Luas are tried with it. It keeps what MinGW gives a DLL of GCC's own inside.
# shellcheck disable=SC2046,SC2086
$CC $CFLAGS -DLUA_BUILD_AS_DLL -shared -static-libgcc -o "$NAME.dll" $(ls "$SOURCE"/*.c | grep -v '/luac\?\.c$\|/print\.c$') \
    -Wl,--out-implib,"lib$NAME.dll.a"
mkdir -p "$ROOT/$NAME"
cp "$NAME.dll" "lib$NAME.dll.a" "$ROOT/$NAME/"
for header in lua.h luaconf.h lualib.h lauxlib.h; do cp "$SOURCE/$header" "$ROOT/$NAME/"; done
