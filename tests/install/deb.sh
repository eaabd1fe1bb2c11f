#!/bin/sh
# The Debian packages, unpacked into a root: the program runs, a consumer is built against the library and the dev package,
# Lua finds the module, and units of systemd are there but not enabled. packaging/deb.sh makes them and calls this.
#   deb.sh SOURCE_DIR DIR_WITH_PACKAGES
set -eu
source=$1 packages=$2
[ -n "$(find "$packages" -maxdepth 1 -name '*.deb' 2>/dev/null)" ] || {
    echo "skipped: there are no packages in $packages (./dev release deb makes them)"
    exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
root=$tmp/root

fail() {
    echo "deb: $1" >&2
    exit 1
}

for package in hocket libhocket0 libhocket-dev lua-hocket; do
    file=$(echo "$packages/$package"_*.deb)
    dpkg-deb -x "$file" "$root"
    [ -s "$root/usr/share/doc/$package/copyright" ] || fail "$package has no copyright"
    dpkg-deb -f "$file" Depends | grep -q shlibs && fail "$package has a variable among what it depends on"
done
dpkg-deb -f "$(echo "$packages"/libhocket-dev_*.deb)" Depends | grep -q 'libhocket0 (= ' || fail "libhocket-dev takes any library"
dpkg-deb -I "$(echo "$packages"/libhocket0_*.deb)" triggers | grep -q ldconfig || fail "libhocket0 does not call ldconfig"

lib=$(dirname "$(find "$root" -name 'libhocket.so.0')")
"$root/usr/bin/hocket" run --model sim --quiet --store off assistant Hello >"$tmp/answer" || fail "the program does not run"
[ -s "$root/usr/share/man/man1/hocket-run.1.gz" ] && [ -s "$root/usr/share/bash-completion/completions/hocket" ] || fail "a man page or a completion is missing"
for unit in hocket-serve.service hocket-work.service hocket-serve.socket; do
    [ -s "$root/lib/systemd/system/$unit" ] || fail "the unit $unit is missing"
done
grep -q '^ExecStart=/usr/bin/hocket work' "$root/lib/systemd/system/hocket-work.service" || fail "the unit starts another program"
# Debian's archive of Lua is in the library for other Luas. No other file has code of others.
[ ! -e "$lib/libhocket-bridge.so.0" ] || grep -q '1994-2022 Lua.org, PUC-Rio' "$root/usr/share/doc/libhocket0/copyright" || fail "Lua is shipped without its copyright"
does() { dpkg-deb -I "$(echo "$packages"/hocket_*.deb)" "$1" 2>/dev/null | grep -q "$2"; }
does postinst 'systemd-sysusers .*hocket.conf' || fail "the user of the units is not made"
does postinst '_dh_action=restart' && ! does preinst 'invoke stop' || fail "an upgrade leaves a service with the old program, or without one"
does prerm 'invoke stop .*hocket-work.service' || fail "removing the package does not stop its services"
does postinst debian-installed || fail "a unit is enabled by installing"
dpkg-deb -f "$(echo "$packages"/hocket_*.deb)" Depends | grep -q systemd && fail "the package depends on systemd, which a container does not want"
[ -z "$(find "$root" -path '*.wants/*')" ] || fail "a unit is enabled"

cd "$tmp"
cp -r "$source/tests/install/consumer" consumer
cd consumer
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Werror -o "$tmp/with_pc" main.c $(pkg-config --cflags --libs hocket-serve)
LD_LIBRARY_PATH=$lib "$tmp/with_pc" >"$tmp/out" || fail "the consumer failed: $(cat "$tmp/out")"
if command -v lua5.4 >/dev/null; then
    LD_LIBRARY_PATH=$lib LUA_CPATH_5_4="$lib/lua/5.4/?.so" lua5.4 -e 'assert(require("hocket").agent)' || fail "Lua 5.4 does not load the module"
fi
if command -v luajit >/dev/null && [ -f "$lib/lua/5.1/hocket.so" ]; then
    LD_LIBRARY_PATH=$lib LUA_CPATH="$lib/lua/5.1/?.so" luajit -e 'assert(require("hocket").run)' || fail "LuaJIT does not load the module"
fi
echo "deb: well"
