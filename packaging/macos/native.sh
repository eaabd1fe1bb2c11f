#!/bin/sh
# On a Mac: builds libhocket.dylib and its tests by Apple's compiler with Homebrew's libraries, runs the tests, and prints what a
# report needs. We have no Mac: this script was never run by us. `./dev macos` is the same there.
#   native.sh [OPTIONS of ctest]
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(uname)" = Darwin ] || {
    echo "native.sh: this is $(uname), not macOS; ./dev macos compiles and links the library elsewhere" >&2
    exit 2
}
command -v cc >/dev/null || { echo "native.sh: there is no compiler: xcode-select --install" >&2 && exit 2; }
command -v brew >/dev/null || { echo "native.sh: Homebrew is missing: https://brew.sh" >&2 && exit 2; }

kegs='lua@5.4 curl sqlite libxml2 openssl@3 libpq' # Homebrew keeps them out of the way of the system's own
missing=
for name in cmake ninja pkg-config libuv cjson libyaml pcre2 cmocka $kegs; do
    brew list --formula "$name" >/dev/null 2>&1 || missing="$missing $name"
done
[ -z "$missing" ] || {
    echo "native.sh: install these first: brew install$missing" >&2
    exit 2
}
for keg in $kegs; do PKG_CONFIG_PATH=$(brew --prefix "$keg")/lib/pkgconfig:${PKG_CONFIG_PATH:-}; done
export PKG_CONFIG_PATH

build=$source/build/macos
cmake -S "$source" -B "$build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release -DHOCKET_LINK_SQLITE=ON -DHOCKET_TESTS=ON -DHOCKET_BENCH=OFF
cmake --build "$build"
status=0
ctest --test-dir "$build" --output-on-failure "$@" | tee "$build/tests.log" || :
grep -q '^100% tests passed' "$build/tests.log" || status=1

echo
echo "Please send these lines as an issue, with $build/Testing/Temporary/LastTest.log where a test has failed:"
echo "  macOS $(sw_vers -productVersion), $(uname -m), $(cc --version | head -n 1)"
for name in lua5.4 lua-5.4 libuv libcjson yaml-0.1 libcurl sqlite3; do
    version=$(pkg-config --modversion "$name" 2>/dev/null) && printf '  %s %s' "$name" "$version"
done
echo
sed -n 's/^\(.*tests passed.*\)/  \1/p; /^The following tests FAILED/,/^Errors/p' "$build/tests.log"
exit "$status"
