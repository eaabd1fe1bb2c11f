#!/bin/sh
# packaging/parts.py writes the licence of each archive in a linker's map, and fails where it cannot; whatever dist/ has of the
# static program comes with a licence for each part of its SPDX document. Python's spdx-tools, where installed, checks the documents.
#   licences.sh SOURCE_DIR DIST_DIR
set -eu
source=$1 dist=$2
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cd "$tmp"

fail() {
    echo "licences: $1" >&2
    exit 1
}

# ---- The tool, with two libraries made up ---------------------------------------------------------------
mkdir -p build cache/sources/zlib cache/sources/lua
echo "zlib 1.4 crates.io:libz-sys-1.1.33" >cache/sources/versions
echo "lua 5.4.9 crates.io:lua-src-551.1.0" >>cache/sources/versions
echo "You may use it." >cache/sources/zlib/LICENSE
printf '/* head */\n#define X\n/****\n* Permission is hereby granted to all.\n****/\n' >cache/sources/lua/lua.h
map() { for archive in "$@"; do echo "/cache/root/lib/$archive(member.o)"; done >build/hocket.map; }
parts() { python3 "$source/packaging/parts.py" build x86_64 cache 1.2.3; }
refuses() { # WHY WORDS: it fails with these words, and writes nothing
    rm -f build/THIRD-PARTY.txt
    ! parts 2>said || fail "it takes $1"
    grep -q "$2" said || fail "to $1 it says: $(cat said)"
    [ ! -e build/THIRD-PARTY.txt ] || fail "it writes licences in spite of $1"
}

map libhocket_base.a libz.a liblua5.4.a
parts || fail "it cannot read the map"
for words in '^zlib 1.4 (Zlib)' '^You may use it.$' '^lua 5.4.9 (MIT)' '^Permission is hereby granted to all.$'; do
    grep -q "$words" build/THIRD-PARTY.txt || fail "the licences lack '$words': $(cat build/THIRD-PARTY.txt)"
done
! grep -q 'head\|curl' build/THIRD-PARTY.txt || fail "the licences have what is not linked in"
cp build/hocket.spdx.json one.json
parts
cmp one.json build/hocket.spdx.json || fail "two documents of one program differ"
map libz.a libfoo.a
refuses "an unknown archive" "libfoo.a is linked in"
map libhocket_base.a
refuses "a map without libraries" "names no archive"
map libz.a libcurl.a
refuses "a part without a version" "curl is linked in"
map libz.a liblua5.4.a
echo '/* nothing */' >cache/sources/lua/lua.h
refuses "a notice that is not there" "no comment of lua.h"
map libz.a
rm cache/sources/zlib/LICENSE
refuses "a missing licence" "zlib/LICENSE"

# ---- What was released ----------------------------------------------------------------------------------
cat >check.py <<'END'
import io, json, sys, tarfile, zipfile, gzip
def documents(path):
    """Licences and SPDX document of a tarball, a wheel or an image."""
    if path.endswith(".whl"):
        wheel = zipfile.ZipFile(path)
        files = {name: wheel.read(name) for name in wheel.namelist()}
    else:
        files = {}
        todo = [open(path, "rb").read()]
        while todo:
            with tarfile.open(fileobj=io.BytesIO(todo.pop())) as tar:
                for entry in tar:
                    if entry.isfile():
                        data = tar.extractfile(entry).read()
                        files[entry.name] = data
                        if data[:2] == b"\x1f\x8b" and "blobs" in entry.name:
                            todo.append(gzip.decompress(data))
    def named(end):
        found = [data for name, data in files.items() if name.endswith("/" + end)]
        assert len(found) == 1, f"{path}: {len(found)} files {end}"
        return found[0].decode()
    assert "MIT License" in named("LICENSE"), path
    if ".oci." in path:
        assert "Mozilla" in named("ca-certificates.txt"), path
    return named("THIRD-PARTY.txt"), json.loads(named("hocket.spdx.json"))
for path in sys.argv[1:]:
    text, document = documents(path)
    sections = dict()
    for block in text.split("=" * 80 + "\n")[1:]:
        sections[len(sections)] = block
    heads = {sections[i].split(" ")[0]: (sections[i].split(" ")[1], sections[i + 1]) for i in range(0, len(sections), 2)}
    parts = {p["name"]: p["versionInfo"] for p in document["packages"] if p["name"] != "hocket"}
    assert parts.keys() == heads.keys(), f"{path}: {parts.keys() ^ heads.keys()}"
    for name, version in parts.items():
        assert heads[name][0] == version, f"{path}: {name}"
        assert len(heads[name][1].strip()) > 150, f"{path}: {name} has no licence"
    assert len(parts) >= 17, f"{path}: only {len(parts)} parts"
END
set --
for file in "$dist"/*-linux-*.tar.gz "$dist"/*linux_*.whl "$dist"/*.oci.tar; do
    [ ! -f "$file" ] || set -- "$@" "$file"
done
if [ $# -gt 0 ]; then
    python3 check.py "$@" || fail "a file of the release lacks a licence"
    echo "licences: $# files of the release have them"
else
    echo "licences: nothing was released in $dist: only the tool was tried"
fi

# ---- Another's validator --------------------------------------------------------------------------------
if python3 -c 'import spdx_tools' 2>/dev/null; then
    set -- one.json
    for file in "$dist"/*.spdx.json; do [ ! -f "$file" ] || set -- "$@" "$file"; done
    for file in "$@"; do
        python3 -m spdx_tools.spdx.clitools.pyspdxtools -i "$file" >said 2>&1 || fail "$file is no SPDX document: $(cat said)"
    done
else
    echo "licences: Python's spdx-tools is not installed: the SPDX documents are not validated"
fi
echo "licences: well"
