#!/bin/sh
# Builds hocket with the oldest Lua and SQLite that the registry of crates has, older than Debian 12's, and runs the tests, without
# those of skipped.txt. The sources stay in ~/.cache/hocket/oldest, and the build in build/oldest.
#   oldest.sh [CTEST OPTIONS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hocket/oldest
key=$(sha256sum <"$here/Cargo.lock" | cut -c 1-16)
crates=$cache/$key
if [ ! -d "$crates" ]; then
    mkdir -p "$cache/manifest"
    cp "$here/Cargo.toml" "$here/Cargo.lock" "$cache/manifest/"
    : >"$cache/manifest/none.rs"
    cargo vendor --quiet --locked --manifest-path "$cache/manifest/Cargo.toml" --versioned-dirs "$crates.new" >/dev/null
    mv "$crates.new" "$crates"
fi

root=$source/build/oldest/$(cat "$here/Cargo.lock" "$here/oldest.sh" | sha256sum | cut -c 1-16)
mkdir -p "$root/lib/pkgconfig" "$root/include"
cc=${CC:-cc}
lua=$(echo "$crates"/lua-src-*/lua-5.4*)
# shellcheck disable=SC2046
[ -f "$root/lib/liblua5.4.so.0" ] || {
    (cd "$root/lib" && $cc -O2 -fPIC -DLUA_USE_LINUX -c $(ls "$lua"/*.c | grep -v '/luac\?\.c$') && ar crD liblua5.4.a ./*.o && rm ./*.o &&
        ln -sf liblua5.4.so.0 liblua5.4.so)
    $cc -shared -Wl,-soname,liblua5.4.so.0 -o "$root/lib/liblua5.4.so.0" -Wl,--whole-archive "$root/lib/liblua5.4.a" -Wl,--no-whole-archive -lm -ldl
    cp "$lua"/lua.h "$lua"/luaconf.h "$lua"/lualib.h "$lua"/lauxlib.h "$root/include/"
}
sqlite=$(echo "$crates"/libsqlite3-sys-*/sqlite3)
# As distributions build it: without usleep it sleeps whole seconds where another process has the lock, and gives up sooner.
[ -f "$root/lib/libsqlite3.so.0" ] || {
    $cc -O2 -fPIC -shared -Wl,-soname,libsqlite3.so.0 -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_FTS5 -DHAVE_USLEEP=1 \
        -o "$root/lib/libsqlite3.so.0" "$sqlite/sqlite3.c" -ldl -lm -lpthread
    ln -sf libsqlite3.so.0 "$root/lib/libsqlite3.so"
    cp "$sqlite/sqlite3.h" "$root/include/"
}
pc() { printf 'Name: %s\nDescription: %s\nVersion: %s\nCflags: -I%s\nLibs: -L%s -l%s\n' "$1" "$1" "$2" "$root/include" "$root/lib" "$1" >"$root/lib/pkgconfig/$1.pc"; }
pc lua5.4 "5.4.$(sed -n 's/^#define LUA_VERSION_RELEASE[^_].*"\([0-9]*\)".*/\1/p' "$lua/lua.h")"
pc sqlite3 "$(sed -n 's/^#define SQLITE_VERSION  *"\([0-9.]*\)".*/\1/p' "$sqlite/sqlite3.h")"

export PKG_CONFIG_PATH="$root/lib/pkgconfig"
# By a path of hocket's own, so that other programs of the tests (sqlite3) load the system's.
cmake -S "$source" -B "$source/build/oldest/tree" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Debug -DHOCKET_BENCH=OFF \
    -DCMAKE_BUILD_RPATH="$root/lib" >/dev/null
cmake --build "$source/build/oldest/tree" -j "${JOBS:-$(nproc)}" -- --quiet
"$source/build/oldest/tree/hocket" --version --json
exec ctest --test-dir "$source/build/oldest/tree" --output-on-failure \
    -E "$(sed -n 's/^\([^# ][^ ]*\) .*/\1/p' "$here/skipped.txt" | paste -s -d '|')" "$@"
