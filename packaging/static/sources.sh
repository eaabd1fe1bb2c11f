#!/bin/sh
# Fetches the sources of what the static program links: CACHE/sources/NAME, and CACHE/sources/versions with a line for each,
# "NAME VERSION PACKAGE". Cargo verifies the checksums of Cargo.lock, apt the signatures of Debian.
set -eu
# shellcheck source=packaging/static/lib.sh
. "$(dirname "$0")/lib.sh"
key=$(cat "$here/Cargo.lock" "$here/sources.sh" | sha256sum | cut -c 1-16)
[ "$(cat "$cache/sources/key" 2>/dev/null)" != "$key" ] || exit 0
rm -rf "$cache/sources" "$cache/vendor"
mkdir -p "$cache/sources" "$cache/vendor"
cd "$cache/sources"

cp "$here/Cargo.toml" "$here/Cargo.lock" "$cache/vendor/"
: >"$cache/vendor/none.rs"
cargo vendor --quiet --locked --manifest-path "$cache/vendor/Cargo.toml" --versioned-dirs "$cache/vendor/crates" >/dev/null

# crate NAME CRATE FOLDER [VERSION]: the version is otherwise that behind the plus of the crate's.
crate() {
    crate=$(basename "$(echo "$cache/vendor/crates/$2"-[0-9]*)")
    [ -d "$cache/vendor/crates/$crate/$3" ] || die "the crate $crate has no $3"
    ln -s "$cache/vendor/crates/$crate/$3" "$1"
    version=${4:-$(echo "${crate##*+}" | sed 's/.*-//')}
    echo "$1 $version crates.io:$crate" >>versions
}
# defined NAME FILE: the number or text that a header defines it as.
defined() { sed -n "s/^#define $1 *\"*\([0-9.]*\)\"*.*/\1/p" "$cache/vendor/crates/"$2 | head -n 1; }
crate curl curl-sys curl
uv='libuv-sys2-*/libuv/include/uv/version.h'
crate libuv libuv-sys2 libuv "$(defined UV_VERSION_MAJOR "$uv").$(defined UV_VERSION_MINOR "$uv").$(defined UV_VERSION_PATCH "$uv")"
crate lua lua-src lua-5.4.9 5.4.9
for release in 5.1.5 5.2.4 5.3.6 5.4.9; do # and luajit: modules for them are tried on Windows
    crate "lua$(echo "$release" | sed 's/^\(.\)\.\(.\)\..*/\1\2/')" lua-src "lua-$release" "$release"
done
crate luajit luajit-src luajit2
crate nghttp2 libnghttp2-sys nghttp2
crate openssl openssl-src openssl
crate pcre2 pcre2-sys upstream "$(defined PCRE2_MAJOR 'pcre2-sys-*/upstream/include/pcre2.h').$(defined PCRE2_MINOR 'pcre2-sys-*/upstream/include/pcre2.h')"
crate libpq pq-src .
crate sqlite libsqlite3-sys sqlite3 "$(defined SQLITE_VERSION 'libsqlite3-sys-*/sqlite3/sqlite3.h')"
crate zlib libz-sys src/zlib "$(defined ZLIB_VERSION 'libz-sys-*/src/zlib/zlib.h')"

# debian NAME SOURCE: with Debian's patches, of which some mend faults.
debian() {
    apt_of amd64 source --download-only "$2" >/dev/null 2>&1 || :
    dsc=$(echo "$2"_*.dsc)
    if [ -f "$(echo "$2"_*.debian.tar.xz)" ]; then
        dpkg-source --no-check -x "$dsc" "$1" >/dev/null
    else # the original alone, by the checksum of the signed description
        orig=$(echo "$2"_*.orig.tar.*z)
        grep -q "^ $(sha256sum "$orig" | cut -d ' ' -f 1) .* $orig\$" "$dsc" || die "$orig is not what $dsc describes"
        mkdir "$1" && tar -xf "$orig" -C "$1" --strip-components=1
    fi
    version=${dsc#"$2"_}
    echo "$1 ${version%.dsc} debian:$2" >>versions
}
apt_of amd64 update
debian cjson cjson
debian libyaml libyaml
debian md4c md4c
debian ncurses ncurses
debian libedit libedit
debian libxml2 libxml2
debian cmocka cmocka
rm -f ./*.dsc ./*.tar.* ./*.asc
echo "$key" >key
