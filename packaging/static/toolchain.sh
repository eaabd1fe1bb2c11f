#!/bin/sh
# Makes a compiler of static programs with musl for an architecture, of Debian's GCC and musl: CACHE/ARCH/bin/musl-cc. What
# it links is a static PIE.
#   toolchain.sh ARCH          x86_64 or arm64
set -eu
# shellcheck source=packaging/static/lib.sh
. "$(dirname "$0")/lib.sh"
case $1 in
x86_64) gnu=x86_64-linux-gnu debian=amd64 ;;
arm64) gnu=aarch64-linux-gnu debian=arm64 ;;
*) die "unknown architecture $1" ;;
esac
command -v $gnu-gcc >/dev/null || die "$gnu-gcc is missing (Debian package gcc-${gnu%%-*}-linux-gnu)"
out=$cache/$1
key=$(cat "$here/toolchain.sh" "$here/musl.specs.in" "$here/lib.sh" | sha256sum | cut -c 1-16)
[ "$(cat "$out/toolchain" 2>/dev/null)" != "$key" ] || exit 0
mkdir -p "$out/bin" "$out/packages"
cd "$out/packages"
apt_of $debian update
apt_of $debian download musl-dev linux-libc-dev
for package in ./*.deb; do dpkg-deb -x "$package" .; done

musl=$out/packages/usr/lib/${gnu%-gnu}-musl
headers=$out/packages/usr/include
mkdir -p "$out/kernel"
ln -sfn "$headers/linux" "$out/kernel/linux"
ln -sfn "$headers/asm-generic" "$out/kernel/asm-generic"
ln -sfn "$headers/$gnu/asm" "$out/kernel/asm"
sed "s|@INCLUDE@|$headers/${gnu%-gnu}-musl|g; s|@LIB@|$musl|g; s|@KERNEL@|$out/kernel|g" "$here/musl.specs.in" >"$out/musl.specs"
cat >"$out/bin/musl-cc" <<END
#!/bin/sh
exec $gnu-gcc "\$@" -specs "$out/musl.specs"
END
chmod +x "$out/bin/musl-cc"
for tool in ar ranlib nm strip objcopy readelf; do ln -sf "$(command -v $gnu-$tool)" "$out/bin/musl-$tool"; done
cat >"$out/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${gnu%%-*})
set(CMAKE_C_COMPILER "$out/bin/musl-cc")
set(CMAKE_AR "$out/bin/musl-ar")
set(CMAKE_RANLIB "$out/bin/musl-ranlib")
set(CMAKE_STRIP "$out/bin/musl-strip")
set(CMAKE_OBJCOPY "$out/bin/musl-objcopy")
set(CMAKE_FIND_ROOT_PATH "$out/root")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "$out/root/lib/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "")
END
echo "$key" >"$out/toolchain"
