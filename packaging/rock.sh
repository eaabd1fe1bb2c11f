#!/bin/sh
# For the rockspec: builds hocket, and copies the module of one Lua with the libraries that it loads to where LuaRocks wants modules.
#   rock.sh build                  into build.luarocks, unless HOCKET_ROCK_BUILD names a build that is there
#   rock.sh install LUA LIB_DIR    LUA is the interpreter
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${HOCKET_ROCK_BUILD:-$source/build.luarocks}
if [ "$1" = build ]; then
    [ -z "${HOCKET_ROCK_BUILD:-}" ] || exit 0
    cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DHOCKET_TESTS=OFF -DHOCKET_BENCH=OFF
    exec cmake --build "$build" -j "$(nproc)"
fi

version=$("$2" -e 'io.write(_VERSION:match("%d.%d"))')
out=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
for component in lua library; do cmake --install "$build" --component $component --prefix "$tmp/root" --strip >/dev/null; done
module=$(find "$tmp/root" -path "*/lua/$version/hocket.so")
[ -n "$module" ] || {
    echo "rock.sh: there is no module for Lua $version: its headers were missing when hocket was built (Debian package liblua$version-dev)" >&2
    exit 1
}
libraries="hocket-bridge hocket-store hocket-postgres"
[ "$version" != 5.4 ] || libraries="hocket hocket-serve hocket-store hocket-postgres"
mkdir -p "$out"
cp "$module" "$out/"
for library in $libraries; do cp -L "$(find "$tmp/root" -name "lib$library.so.0")" "$out/"; done
