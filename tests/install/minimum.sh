#!/bin/sh
# CMake refuses each library that is older than the minimum of docs/explanation/internals.md, which README.md states, too, and names
# it; and a Lua that is too new.
#   minimum.sh SOURCE_DIR
set -eu
source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
mkdir "$tmp/pc"

fail() {
    echo "minimum: $1" >&2
    exit 1
}

pc() { printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -l%s\n' "$1" "$1" "$2" "$1" >"$tmp/pc/$1.pc"; }
# refuses WHAT WORDS: CMake, with the libraries of $tmp/pc.
refuses() {
    ! env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$tmp/pc" cmake -S "$source" -B "$tmp/build" >"$tmp/said" 2>&1 || fail "it takes $1"
    tr '\n' ' ' <"$tmp/said" | tr -s ' ' | grep -qF "$2" || fail "of $1 it says: $(cat "$tmp/said")"
}

pc lua 5.5.1
refuses "Lua 5.5" 'Lua 5.5.1 is too new: hocket needs Lua 5.4'
rm -r "$tmp/pc/lua.pc" "$tmp/build"
# As the documents call it, as pkg-config does, and a version that is too old; in CMake's order.
while read -r people name old; do
    minimum=$(sed -n "s/^| $people[^|]*| \([0-9.]*\) |.*/\1/p" "$source/docs/explanation/internals.md")
    [ -n "$minimum" ] || fail "internals.md states no minimum of $people"
    tr '\n' ' ' <"$source/README.md" | grep -q "$people $minimum[, ]" || fail "README.md does not state the minimum of $people, $minimum"
    pc "$name" "$old"
    refuses "$people $old" "$name>=$minimum"
    pc "$name" "$minimum.999"
done <<END
Lua lua5.4 5.4.2
libcurl libcurl 7.86.0
libuv libuv 1.43.9
cJSON libcjson 1.7.14
libxml2 libxml-2.0 2.8.9
PCRE2 libpcre2-8 10.33
SQLite sqlite3 3.36.0
OpenSSL openssl 1.1.1
libpq libpq 13.9
libyaml yaml-0.1 0.2.4
END
echo "minimum: well"
