#!/bin/sh
# ports.sh [TARGET…]: compiles every C source for other systems (musl, windows, macos, s390x) and counts those that fail.
# Nothing is linked. The counts may only shrink: tests/ports.txt has the most that may fail, and a count below it
# is a failure too, until the file says the new one. A file of the library may not fail at all. `ports.sh --list TARGET` prints the files that fail and why.
#
# Compilers: musl-gcc (Debian's musl-tools), x86_64-w64-mingw32-gcc (gcc-mingw-w64-x86-64-posix), and for macOS
# `zig cc` of PyPI's ziglang, found by HOCKET_ZIG or on the PATH; for the big-endian s390x gcc-s390x-linux-gnu and
# libc6-dev-s390x-cross. A target without its compiler is skipped.
# What src/os has for other systems is left out: a port brings a folder of its own.
# `./dev windows` and `./dev macos` link the library as well.
# Headers of libraries are Debian's own: they are the same for all systems. macOS needs none of Apple's frameworks.
set -u
cd "$(dirname "$0")/.." || exit 2
list=
[ "${1:-}" != --list ] || { list=yes && shift; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=/usr/include
zig=${HOCKET_ZIG:-$(command -v zig || :)}

# The libraries' headers alone: a folder of links, so that nothing of this system's comes along.
mkdir "$work/lib"
arch=$(cc -dumpmachine 2>/dev/null | sed 's/-pc-/-/')
mkdir "$work/arch" # what a library has for each architecture, in a folder of the same name
for name in uv uv.h cjson lua5.4 lua5.4-deb-multiarch.h yaml.h zlib.h zconf.h sqlite3.h pcre2.h openssl md4c.h libxml2 \
    editline histedit.h postgresql libpq-fe.h curl unicode; do
    [ ! -e "$include/$name" ] || ln -s "$include/$name" "$work/lib/$name"
    [ ! -e "$include/$arch/$name" ] || ln -s "$include/$arch/$name" "$work/arch/$name"
done
# Debian's libxml2 converts by iconv, and its header asks for the system's; Windows has none, and is built without.
mkdir "$work/iconv"
echo 'typedef void *iconv_t;' >"$work/iconv/iconv.h"
flags="-std=gnu11 -Werror=implicit-function-declaration -D_GNU_SOURCE -Isrc -Iinclude"
flags="$flags -DHOCKET_VERSION=\"0\" -DBRIDGE_LIBRARY=\"0\" -DCLI_EARLY_HTTP=1 -DHOCKET_EDIT=1"
flags="$flags -DHOCKET_CURL_LINKED=0 -DHOCKET_SQLITE_LINKED=0 -DHOCKET_SSL_LINKED=0 -DHOCKET_STATIC=0 -DHOCKET_MD4C=1 -DHOCKET_ZLIB=1 -DCLI_AGENTS=\"reader\""
for name in INTERFACE TYPE TARGET COMPILER LUA UV CURL CJSON YAML; do flags="$flags -DBUILD_$name=\"0\""; done
for dir in "$work/lib" "$work/lib/cjson" "$work/lib/lua5.4" "$work/lib/libxml2" "$work/lib/postgresql" "$work/arch" "$work/iconv"; do
    flags="$flags -idirafter $dir"
done

compiler() {
    case $1 in
    musl)
        command -v musl-gcc >/dev/null && echo "musl-gcc -fsyntax-only -idirafter $work/kernel"
        ;;
    s390x) command -v s390x-linux-gnu-gcc >/dev/null && echo "s390x-linux-gnu-gcc -fsyntax-only" ;;
    windows) command -v x86_64-w64-mingw32-gcc >/dev/null && echo "x86_64-w64-mingw32-gcc -fsyntax-only" ;;
    macos) [ -n "$zig" ] && echo "$zig cc -c -target aarch64-macos" ;; # zig 0.17 has no -fsyntax-only
    esac
}

# The sources, without those that src/os has for other systems.
sources() {
    case $1 in
    musl | s390x) git ls-files 'src/*.c' ':!src/os/windows' ':!src/os/macos' ;;
    windows) git ls-files 'src/*.c' ':!src/os/posix' ':!src/os/linux' ':!src/os/macos' ;;
    macos) git ls-files 'src/*.c' ':!src/os/linux' ':!src/os/windows' ;;
    esac
}

# musl-gcc has no headers of the kernel.
mkdir "$work/kernel"
for name in linux asm-generic; do ln -s "$include/$name" "$work/kernel/$name"; done
ln -s "$include/$arch/asm" "$work/kernel/asm"

# Compiles one file; the first error goes beside its name.
export work
cat >"$work/one" <<'ONE'
#!/bin/sh
source=$1
shift
out=$work/$(echo "$source" | tr / _)
"$@" "$source" -o "$out.o" 2>"$out.err" </dev/null || echo "$source: $(grep -m 1 -E 'error' "$out.err" | sed 's/.*error: //')"
rm -f "$out.o" "$out.err"
ONE
chmod +x "$work/one"

failed=0
check() {
    target=$1
    most=$(sed -n "s/^$target \([0-9]*\)$/\1/p" tests/ports.txt)
    [ -n "$most" ] || {
        echo "ports: no target '$target': musl, windows, macos or s390x" >&2
        exit 2
    }
    cc=$(compiler "$target")
    [ -n "$cc" ] || {
        echo "ports: $target: skipped: its compiler is not installed"
        return 0
    }
    # shellcheck disable=SC2086
    sources "$target" | xargs -P "$(nproc)" -I {} "$work/one" {} $cc $flags 2>/dev/null >"$work/failures"
    sort "$work/failures" >"$work/sorted"
    count=$(wc -l <"$work/sorted")
    [ -z "$list" ] || cat "$work/sorted"
    where=
    [ "$count" -eq 0 ] || where=", all of them in src/cli: the program is not ported yet"
    others=$(grep -v '^src/cli/' "$work/sorted" | cut -d : -f 1)
    [ -z "$others" ] || where=
    echo "ports: $target: $count of $(sources "$target" | wc -l) files fail, at most $most may$where"
    [ -z "$others" ] || {
        echo "ports: $target: the library has to compile everywhere:" >&2
        echo "$others" >&2
        failed=1
    }
    [ "$count" -eq "$most" ] && return 0
    failed=1
    if [ "$count" -lt "$most" ]; then
        echo "ports: $target: better than before: write '$target $count' into tests/ports.txt" >&2
    else
        cut -d : -f 1,2 "$work/sorted" >&2
    fi
}

[ $# -gt 0 ] || set -- musl windows macos s390x
for one; do check "$one"; done
exit $failed
