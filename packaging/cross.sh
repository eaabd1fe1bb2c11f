# What packaging/windows/libraries.sh and packaging/macos/libraries.sh share, after static/lib.sh; $out is their cache.
# shellcheck shell=sh

# Prints the end of a file for CMake: libraries and headers are those of $out alone.
only_ours() {
    echo "set(CMAKE_FIND_ROOT_PATH \"$out/root\")"
    echo 'set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)'
    for what in LIBRARY INCLUDE PACKAGE; do echo "set(CMAKE_FIND_ROOT_PATH_MODE_$what ONLY)"; done
    echo "set(ENV{PKG_CONFIG_LIBDIR} \"$out/root/lib/pkgconfig\")"
    echo 'set(ENV{PKG_CONFIG_SYSROOT_DIR} "")'
}

# build SYSTEM COMPILER_VERSION NAME…: builds libraries, each by the SYSTEM's recipe or, where it has none, the static program's. A
# library is built again only when its recipe, its version or the compiler has changed. `recipe NAME` prints the recipe's name.
build() {
    recipes=$here/../$1/recipes system=$1 compiler=$2
    shift 2
    mkdir -p "$out/built"
    for name in "$@"; do
        recipe=$recipes/$(recipe "$name").sh
        [ -f "$recipe" ] || recipe=$here/recipes/$name.sh
        [ -f "$recipe" ] || die "there is no recipe for $name"
        key=$(sha256sum <"$recipe" | cut -c 1-16)-$(sed -n "s/^$name \([^ ]*\) .*/\1/p" "$cache/sources/versions")-$compiler
        [ "$(cat "$out/built/$name" 2>/dev/null)" != "$key" ] || continue
        echo "$system: building $name for $ARCH" >&2
        rm -rf "$out/build/$name"
        mkdir -p "$out/build/$name"
        source=$(readlink -f "$cache/sources/$name" || :)
        (cd "$out/build/$name" && NAME=$name SOURCE=$source HELPERS=$here/recipes/helpers sh -eu "$recipe") >"$out/build/$name.log" 2>&1 || {
            tail -n 30 "$out/build/$name.log" >&2
            die "$name does not build: $out/build/$name.log"
        }
        rm -rf "$out/build/$name"
        echo "$key" >"$out/built/$name"
    done
}
