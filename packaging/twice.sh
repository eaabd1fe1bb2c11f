#!/bin/sh
# Makes a release twice, in two folders whose names differ in length, without ccache, and compares every file byte by byte.
#   twice.sh [PART…]       as of release.sh
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
export CCACHE_DISABLE=1
for folder in a a-folder-with-a-longer-name/below; do
    mkdir -p "$tmp/$folder"
    (cd "$source" && git ls-files -z | xargs -0 tar -cf -) | tar -xf - -C "$tmp/$folder"
    (cd "$tmp/$folder" && git init -q && git add -A) # the Debian packages are made of what Git knows
done
for folder in a a-folder-with-a-longer-name/below; do
    "$tmp/$folder/packaging/release.sh" "$tmp/$folder/dist" "$@" >&2
done
cd "$tmp"
diff -r a/dist a-folder-with-a-longer-name/below/dist || { echo "twice: two builds differ" >&2 && exit 1; }
(cd a/dist && sha256sum -- *)
echo "twice: $(find a/dist -type f | wc -l) files are equal in both builds"
