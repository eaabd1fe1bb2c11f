#!/bin/sh
# Builds the libraries that libhocket.dylib links, with `zig cc`, into CACHE/ARCH/root. Sources and most recipes are those of the
# static program (packaging/static); recipes/ has those that macOS needs in other words. A library is built again only when its
# recipe, its version or the compiler has changed.
#   libraries.sh ARCH [NAME…]          x86_64 or arm64; all of them unless some are named
# HOCKET_ZIG is the compiler (PyPI's ziglang), where `zig` is not on the PATH.
set -eu
macos=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=packaging/static/lib.sh
. "$macos/../static/lib.sh"
here=$macos/../static
# shellcheck source=packaging/cross.sh
. "$here/../cross.sh"
ARCH=$1
shift
case $ARCH in
x86_64) processor=x86_64 ;;
arm64) processor=aarch64 ;;
*) die "unknown architecture $ARCH" ;;
esac
zig=${HOCKET_ZIG:-$(command -v zig || :)}
[ -n "$zig" ] || die "zig is missing (PyPI's ziglang; HOCKET_ZIG names its program)"
"$here/sources.sh"
[ $# -gt 0 ] || set -- openssl curl libpq libuv sqlite lua cjson libyaml pcre2 libxml2 cmocka
out=${HOCKET_MACOS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/macos}/$ARCH
mkdir -p "$out/root/lib/pkgconfig" "$out/root/include" "$out/bin"
out=$(cd "$out" && pwd)

# CMake asks for tools by one name each.
HOST=$processor-macos
printf '#!/bin/sh\nexec "%s" cc -target %s "$@"\n' "$zig" "$HOST" >"$out/bin/macos-cc"
for tool in ar ranlib; do printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" $tool >"$out/bin/macos-$tool"; done
printf '#!/bin/sh\nexit 0\n' >"$out/bin/macos-install-name-tool" # nothing is installed from here
chmod +x "$out"/bin/*
{ cat && only_ours; } >"$out/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR $ARCH)
set(CMAKE_C_COMPILER "$out/bin/macos-cc")
set(CMAKE_AR "$out/bin/macos-ar")
set(CMAKE_RANLIB "$out/bin/macos-ranlib")
set(CMAKE_INSTALL_NAME_TOOL "$out/bin/macos-install-name-tool")
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_OSX_ARCHITECTURES "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "")
END

# What recipes may use.
JOBS=${JOBS:-$(nproc)} ROOT=$out/root TOOLCHAIN=$out/toolchain.cmake
CC=$out/bin/macos-cc AR=$out/bin/macos-ar RANLIB=$out/bin/macos-ranlib CFLAGS="-O2 -g0 -fPIC -fvisibility=hidden -w"
export ARCH HOST JOBS ROOT TOOLCHAIN CC AR RANLIB CFLAGS PKG_CONFIG_LIBDIR="$ROOT/lib/pkgconfig"

recipe() { echo "$1"; }
build macos "$("$zig" version)" "$@"
