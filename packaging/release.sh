#!/bin/sh
# Makes a release: tarballs of the static program, wheels, images, Debian packages and install.sh, with the licences and an SPDX
# document of what is linked in, and checksums, into OUT_DIR.
#   release.sh OUT_DIR [PART…]       parts: x86_64, arm64, deb; all of them unless some are named
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/.." && pwd)
out=$1
shift
[ $# -gt 0 ] || set -- x86_64 arm64 deb
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^project(hocket VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
certificates=/etc/ssl/certs/ca-certificates.crt
mkdir -p "$out"
out=$(cd "$out" && pwd)

# static ARCH: the tarball, and what is made of its program.
static() {
    build=$source/build/static-$1
    "$here/static/build.sh" "$1" "$build"
    native=$source/build/static-$(uname -m)
    manual=
    if [ "$build" != "$native" ]; then # man pages are written by a program that runs here
        "$here/static/build.sh" "$(uname -m)" "$native"
        manual=$native
    fi
    "$source/cmake/dist.sh" "$build" "$out" "$1" "$manual"
    tmp=$(mktemp -d)
    tar -xzf "$out/hocket-$version-linux-$1.tar.gz" -C "$tmp" --strip-components=1
    tag=$1
    [ "$1" = x86_64 ] || tag=aarch64
    doc=$tmp/share/doc/hocket
    cp "$doc/hocket.spdx.json" "$out/hocket-$version-linux-$1.spdx.json"
    python3 "$here/wheel.py" "$tmp/bin/hocket" "manylinux_2_17_$tag.musllinux_1_1_$tag" "$out" "$version" "$doc" >/dev/null
    cp /usr/share/doc/ca-certificates/copyright "$doc/ca-certificates.txt"
    python3 "$here/image.py" "$tmp/bin/hocket" "$1" "$version" "$certificates" "$out/hocket-$version-linux-$1.oci.tar" "$doc"
    "$here/slim.sh" "$1" "$tmp/base.tar"
    python3 "$here/image.py" "$tmp/bin/hocket" "$1" "$version" "$certificates" "$out/hocket-$version-linux-$1-slim.oci.tar" "$doc" "$tmp/base.tar"
    rm -rf "$tmp"
}

for part in "$@"; do
    case $part in
    x86_64 | arm64) static "$part" ;;
    deb) "$here/deb.sh" "$source" "$out" ;;
    *)
        echo "release.sh: there is no part '$part'" >&2
        exit 2
        ;;
    esac
done
cp "$source/install.sh" "$out/"
"$source/cmake/sums.sh" "$out"
