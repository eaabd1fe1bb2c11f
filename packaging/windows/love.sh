#!/bin/sh
# Builds LÖVE for Windows from Debian's sources of LÖVE and SDL, with LuaJIT: CACHE/love/love.exe. We have no other build of it. It has
# the modules that need no window and no sound: what a game uses with `--headless` (examples/embed/npcs). After libraries.sh.
set -eu
windows=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=packaging/static/lib.sh
. "$windows/../static/lib.sh"
out=${HOCKET_WINDOWS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/windows}
place=$out/love cc=x86_64-w64-mingw32-gcc-posix
key=$(sha256sum <"$0" | cut -c 1-16)-$($cc -dumpfullversion)
[ "$(cat "$place/key" 2>/dev/null)" != "$key" ] || exit 0
echo "windows: building LÖVE" >&2
rm -rf "$place"
mkdir -p "$place/build/modules"
place=$(cd "$place" && pwd)
cd "$place/build"
exec 3>&1 >"$place/love.log" 2>&1
trap '[ -f "$place/key" ] || tail -n 20 "$place/love.log" >&3' EXIT

apt_of amd64 update
for name in love libsdl2; do
    apt_of amd64 source --download-only $name
    mkdir $name
    grep -q "^ $(sha256sum ${name}_*.orig.tar.gz | cut -d ' ' -f 1) " ${name}_*.dsc # which is signed
    tar -xf ${name}_*.orig.tar.gz -C $name --strip-components=1
done

off=
for part in SHARED TEST RENDER AUDIO JOYSTICK HAPTIC SENSOR HIDAPI VULKAN; do off="$off -DSDL_$part=OFF"; done
# shellcheck disable=SC2086
cmake -S libsdl2 -B sdl -G Ninja -DCMAKE_TOOLCHAIN_FILE="$out/toolchain.cmake" -DCMAKE_BUILD_TYPE=MinSizeRel \
    -DCMAKE_INSTALL_PREFIX="$place/build/root" $off
cmake --build sdl -j "${JOBS:-$(nproc)}"
cmake --install sdl

# Debian's tarball lacks files that Windows alone needs: a header's name in other letters, and LuaSocket, which stays away.
luajit=$(readlink -f "$cache/sources/luajit")/src
echo '#include <windows.h>' >modules/Windows.h
cp "$luajit/lua.h" "$luajit/luaconf.h" "$luajit/lauxlib.h" "$luajit/lualib.h" "$luajit/lua.hpp" modules/
grep -v '^#error' "$luajit/luajit_rolling.h" >modules/luajit.h
parts="data event filesystem joystick keyboard love math system thread timer touch"
for part in $parts enet lua53; do echo "#define LOVE_ENABLE_$(echo $part | tr a-z A-Z) 1"; done >config.h
cat >none.cpp <<'END'
#include "common/config.h"
#include "modules/graphics/Graphics.h"
struct lua_State;
namespace love {
namespace graphics {
bool Graphics::isCanvasActive() const { return false; }
int Graphics::getWidth() const { return 0; }
int Graphics::getHeight() const { return 0; }
}
namespace luasocket { int __open(lua_State *) { return 0; } }
}
END

# of LIST: the C and C++ files of a list of LÖVE's Makefile.
of() {
    awk -v list="$1" '$1 == list { on = 1; next } on { print $1 } !/\\$/ { on = 0 }' love/src/Makefile.am | grep -E '\.c(pp)?$' || :
}
{
    of liblove_la_SOURCES
    for part in $parts; do of liblove_module_"$part"; done
    for part in enet lodepng lua53 lz4 noise1234 physfs utf8 xxHash Wuff; do of liblove_library_$part; done
    echo ./love.cpp ./modules/window/Window.cpp ./libraries/enet/libenet/win32.c ./libraries/physfs/physfs_platform_windows.c | tr ' ' '\n'
} | sed 's|^./||' | grep -vE 'physfs_platform_(posix|apple|os2|qnx|haiku|android|unix|winrt)|libenet/unix.c' | sort -u >files
flags="-O1 -g0 -w -DHAVE_CONFIG_H -DLOVE_NO_MODPLUG -DLOVE_NOMPG123 -D_WIN32_WINNT=0x0A00 -Ilove/src -Ilove/src/modules -Ilove/src/libraries"
flags="$flags -Ilove/src/libraries/enet/libenet/include -Imodules -Iroot/include/SDL2 -I$out/root/include"
one='name=$(echo "$1" | tr / _).o; shift; case $name in *.c.o) set -- -gcc-posix "$@" ;; *) set -- -g++-posix -std=gnu++11 -fpermissive "$@" ;; esac
compiler=x86_64-w64-mingw32$1; shift; exec "$compiler" "$@" -o "objects/$name"'
mkdir objects
while read -r file; do printf '%s\0love/src/%s\0' "$file" "$file"; done <files |
    xargs -0 -n 2 -P "${JOBS:-$(nproc)}" sh -c 'one=$1 flags=$2 file=$3 path=$4; exec sh -c "$one" one "$file" $flags -c "$path"' x "$one" "$flags"
# shellcheck disable=SC2086
x86_64-w64-mingw32-g++-posix $flags -c none.cpp -o objects/none.o
x86_64-w64-mingw32-g++-posix -static -mconsole -o "$place/love.exe" objects/*.o -lmingw32 root/lib/libSDL2main.a root/lib/libSDL2.a \
    "$out/root/lib/libz.a" "$out/root/luajit/lua51.dll" -lws2_32 -lsetupapi -lole32 -loleaut32 -lversion -limm32 -lwinmm -lgdi32 -luuid -luser32 -ladvapi32 \
    -lshell32 -ldinput8 -liphlpapi
cp "$out/root/luajit/lua51.dll" "$place/"
cd "$place"
rm -rf build
echo "$key" >key
