# Shared by the tests of this directory: SOURCE_DIR BUILD_DIR are their arguments.
set -eu
source_dir=$1
build=$2
here=$source_dir/tests/hosts
village=$source_dir/examples/embed/village/agents
tmp=$(mktemp -d)
pid=
cleanup() {
    for one in $pid; do # one, or several
        kill "$one" 2>/dev/null || true
        wait "$one" 2>/dev/null || true
    done
    sh "$source_dir/tests/canary.sh" "$tmp" || left=1
    rm -rf "$tmp"
}
trap 'left=$?; cleanup; exit $left' EXIT
trap 'exit 1' INT TERM

needs() { # program, package, module
    command -v "$1" >/dev/null || { echo "skipped: needs the package $2"; exit 77; }
    [ -f "$build/lua/$3/hocket.so" ] || { echo "skipped: no module for Lua $3 was built"; exit 77; }
}

fail() {
    echo "$1" >&2
    [ ! -f "$tmp/out" ] || cat "$tmp/out" >&2
    exit 1
}
