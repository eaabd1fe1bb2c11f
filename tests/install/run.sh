#!/bin/sh
# Installs into a new prefix and builds and runs a project outside of the tree with it: through
# pkg-config, and through find_package, shared and static.
#   run.sh BUILD_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
prefix=$tmp/prefix

fail() {
    echo "install: $1" >&2
    exit 1
}

cmake --install "$build" --prefix "$prefix" >"$tmp/log" || { cat "$tmp/log"; exit 1; }
cp -r "$here/consumer" "$tmp/consumer"
lib=$(dirname "$(find "$prefix" -name libhocket.so.0)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
unset DESTDIR LD_LIBRARY_PATH

# ---- What is exported ---------------------------------------------------------------
exports() {
    nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }'
}
exports "$lib/libhocket.so" | grep -vE '^(hocket_[a-z].*@@HOCKET_0\.1|luaopen_hocket@@HOCKET_0\.1|hocket__[a-z_]+@@HOCKET_PRIVATE)$' &&
    fail "libhocket.so exports more than it should"
[ "$(exports "$lib/libhocket-serve.so")" = 'hocket_serve_attach@@HOCKET_0.1' ] ||
    fail "libhocket-serve.so exports something else than hocket_serve_attach"
# The header, the libraries and symbols.txt name the same functions. What stands in symbols.txt stays as
# long as the soname does: a new function is a new line.
[ "$(exports "$lib/libhocket-store.so")" = 'hocket__store_sqlite@@HOCKET_PRIVATE' ] ||
    fail "libhocket-store.so exports something else than hocket__store_sqlite"
[ "$(exports "$lib/libhocket-postgres.so")" = 'hocket__store_postgres@@HOCKET_PRIVATE' ] ||
    fail "libhocket-postgres.so exports something else than hocket__store_postgres"
readelf -d "$lib/libhocket.so" "$lib/libhocket-postgres.so" "$prefix/bin/hocket" | grep -q 'NEEDED.*libpq' &&
    fail "libpq is linked, and not loaded when it is needed"
readelf -d "$lib/libhocket.so" "$lib/libhocket-store.so" "$prefix/bin/hocket" | grep -q 'NEEDED.*sqlite' &&
    fail "SQLite is linked, and not loaded when it is needed"
{ exports "$lib/libhocket.so"; exports "$lib/libhocket-serve.so"; } | grep -v '@@HOCKET_PRIVATE' | sed 's/@@.*//' |
    LC_ALL=C sort >"$tmp/exported"
grep -oE '^HOCKET_API [^;(]*\(' "$prefix/include/hocket/hocket.h" | grep -oE 'hocket_[a-z_]+\($' | tr -d '(' |
    LC_ALL=C sort >"$tmp/declared"
diff "$here/symbols.txt" "$tmp/declared" || fail "symbols.txt (<) and the header (>) name different functions"
diff "$here/symbols.txt" "$tmp/exported" || fail "symbols.txt (<) and the libraries (>) name different functions"
readelf -d "$lib/libhocket.so" | grep -q 'soname: \[libhocket.so.0\]' || fail "libhocket.so has no soname"
[ -e "$lib/libhocket-bridge.so.0" ] && exports "$lib/libhocket-bridge.so.0" | grep -vE '^hocket_[a-z].*@@HOCKET_0\.1$' &&
    fail "libhocket-bridge.so exports more than it should"
readelf -d "$lib/libhocket.so" | grep -q NODELETE || fail "libhocket.so can be unloaded"

# ---- What was built in another folder has the same bytes ----------------------------
# packaging/twice.sh compares whole builds. Here: no library looks into a folder by its path, neither where it was built (installing
# keeps the room that the path takes) nor where it was installed.
for file in "$build"/libhocket*.so.? "$build"/lua/*/hocket.so "$lib"/libhocket*.so.? "$lib"/lua/*/hocket.so; do
    ! readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -vE 'path: \[\$ORIGIN[/:]*(\$ORIGIN)?(/\.\./\.\.)?[/:]*\]' || fail "$file looks for libraries by a path of the build"
done

# ---- The header stands alone --------------------------------------------------------
echo '#include <hocket/hocket.h>' >"$tmp/header.c"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -pedantic-errors -Wall -Werror -fsyntax-only $(pkg-config --cflags hocket) "$tmp/header.c"
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -x c++ -std=c++11 -pedantic-errors -Wall -Werror -fsyntax-only $(pkg-config --cflags hocket) "$tmp/header.c"
fi

# ---- pkg-config -----------------------------------------------------------------------
cd "$tmp/consumer"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Werror -o "$tmp/with_pc" main.c $(pkg-config --cflags --libs hocket-serve)
LD_LIBRARY_PATH=$lib "$tmp/with_pc" >"$tmp/out" || { cat "$tmp/out"; fail "the pkg-config consumer failed"; }
pkg-config --libs --static hocket | grep -q -- -lyaml || fail "hocket.pc hides what a static link needs"

# ---- A program that is its own launcher, and finds the library by LD_LIBRARY_PATH alone -----
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Werror -o "$tmp/launching" launching.c $(pkg-config --cflags --libs hocket-serve)
LD_LIBRARY_PATH=/nowhere:$lib "$tmp/launching" "$tmp/launching" >"$tmp/out" 2>&1 ||
    { cat "$tmp/out"; fail "a launcher that is found by LD_LIBRARY_PATH alone does not start programs"; }

# ---- C++, whose callbacks throw -----------------------------------------------------------
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -std=c++11 -pedantic-errors -Wall -Wextra -Werror -o "$tmp/throwing" throwing.cc $(pkg-config --cflags --libs hocket-serve)
    LD_LIBRARY_PATH=$lib "$tmp/throwing" >"$tmp/out" 2>&1 || { cat "$tmp/out"; fail "a C++ program whose callbacks throw failed"; }
fi

# ---- find_package ---------------------------------------------------------------------
cmake -S . -B "$tmp/build" -DCMAKE_PREFIX_PATH="$prefix" >"$tmp/log" 2>&1 &&
    cmake --build "$tmp/build" >>"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the CMake consumer does not build"; }
for kind in shared static; do
    "$tmp/build/$kind" >"$tmp/out" || { cat "$tmp/out"; fail "the $kind CMake consumer failed"; }
done
readelf -d "$tmp/build/static" | grep -q libhocket && fail "the static consumer needs a shared libhocket"

[ -f "$prefix/share/hocket/lua/hocket/init.lua" ] && [ -f "$prefix/share/hocket/stubs/board.lua" ] ||
    fail "the annotations for editors are missing"

# ---- Man pages and completions -------------------------------------------------------
for file in man/man1/hocket.1 man/man1/hocket-run.1 man/man1/hocket-mcp-serve.1 man/man5/hocket-agent.5 \
    bash-completion/completions/hocket zsh/site-functions/_hocket fish/vendor_completions.d/hocket.fish; do
    [ -s "$prefix/share/$file" ] || fail "share/$file is not installed"
done

# ---- The module, in a stock Lua -------------------------------------------------------
use_module() {
    command -v lua5.4 >/dev/null || return 0
    LUA_CPATH_5_4="$1/lua/5.4/?.so" lua5.4 -e 'local hocket = require "hocket"
        local echo = hocket.agent { name = "echo", prompt = "Say it again.", model = "sim" }
        assert(hocket.run(echo, "hello from Lua").text:find("hello from Lua", 1, true))'
}
use_module "$lib" || fail "require \"hocket\" failed"

# ---- The modules for other Luas --------------------------------------------------------
for version in 5.1:luajit 5.3:lua5.3; do
    module=$lib/lua/${version%:*}/hocket.so
    [ -f "$module" ] && command -v "${version#*:}" >/dev/null || continue
    ! exports "$module" | grep -qvE '^luaopen_hocket(_[a-z_]+)?$' || fail "$module exports more than its entries"
    LUA_CPATH="$lib/lua/${version%:*}/?.so" "${version#*:}" -e 'local hocket = require "hocket"
        local echo = assert(hocket.host:agent { name = "echo", prompt = "Say it again.", model = "sim" })
        assert(hocket.run(echo, "hello from outside").text:find("hello from outside", 1, true))' ||
        fail "require \"hocket\" failed in ${version#*:}"
done

# ---- The program, from another place --------------------------------------------------
mv "$prefix" "$tmp/moved"
"$tmp/moved/bin/hocket" run echo.lua "moved" >"$tmp/out" 2>/dev/null || fail "the installed program failed"
grep -q moved "$tmp/out" || fail "the installed program answers something else"
use_module "$tmp/moved${lib#"$prefix"}" || fail "require \"hocket\" failed in a moved tree"
echo "install: well"
