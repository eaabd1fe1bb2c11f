#!/bin/sh
# Builds the libraries that hocket.dll links, with MinGW, into CACHE/root. Sources and most recipes are those of the static
# program (packaging/static); recipes/ has those that Windows needs in other words. A library is built again only when its
# recipe, its version or the compiler has changed.
#   libraries.sh [NAME…]
set -eu
windows=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=packaging/static/lib.sh
. "$windows/../static/lib.sh"
here=$windows/../static
# shellcheck source=packaging/cross.sh
. "$here/../cross.sh"
"$here/sources.sh"
out=${HOCKET_WINDOWS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/windows}
target=x86_64-w64-mingw32
command -v $target-gcc-posix >/dev/null || die "$target-gcc-posix is missing (Debian package gcc-mingw-w64-x86-64-posix)"
[ $# -gt 0 ] || set -- openssl zlib nghttp2 curl libuv sqlite lua cjson libyaml pcre2 libxml2 cmocka lua51 lua52 lua53 lua54 luajit

mkdir -p "$out/root/lib/pkgconfig" "$out/root/include"
out=$(cd "$out" && pwd)
{ cat && only_ours; } >"$out/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER $target-gcc-posix)
set(CMAKE_CXX_COMPILER $target-g++-posix)
set(CMAKE_RC_COMPILER $target-windres)
set(CMAKE_C_FLAGS_INIT "-D_WIN32_WINNT=0x0A00")
set(CMAKE_CXX_FLAGS_INIT "-D_WIN32_WINNT=0x0A00")
END

# What recipes may use. Numbers are printed as on other systems: msvcrt has "1e+015".
ARCH=x86_64 HOST=$target JOBS=${JOBS:-$(nproc)} ROOT=$out/root TOOLCHAIN=$out/toolchain.cmake
CC=$target-gcc-posix AR=$target-ar RANLIB=$target-ranlib
CFLAGS="-Os -g0 -D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1 -ffunction-sections -fdata-sections -ffile-prefix-map=$(readlink -f "$cache")=/"
export ARCH HOST JOBS ROOT TOOLCHAIN CC AR RANLIB CFLAGS PKG_CONFIG_LIBDIR="$ROOT/lib/pkgconfig"

recipe() { case $1 in lua5[1-4]) echo lua_dll ;; *) echo "$1" ;; esac; }
build windows "$($CC -dumpfullversion)" "$@"
