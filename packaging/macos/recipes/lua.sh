# Lua as macOS builds it.
. "$HELPERS"
export FLAGS="-DLUA_USE_MACOSX"
# shellcheck disable=SC2046
archive lua5.4 $(ls "$SOURCE"/*.c | grep -v '/luac\?\.c$')
for header in lua.h luaconf.h lualib.h lauxlib.h; do cp "$SOURCE/$header" "$ROOT/include/"; done
release=$(sed -n 's/^#define LUA_VERSION_RELEASE.*"\([0-9]*\)".*/\1/p; s/^#define LUA_VERSION_RELEASE_NUM.*/-/p' "$SOURCE/lua.h" | grep -m1 '[0-9]' || echo 0)
pkg_config lua5.4 "5.4.$release" "-llua5.4 -lm"
