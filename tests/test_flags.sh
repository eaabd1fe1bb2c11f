#!/bin/sh
# That flags.sh sees every way to write a flag, and holds for the sources as they are.
#   test_flags.sh SOURCES
set -u
flags=$(cd "$(dirname "$0")" && pwd)/flags.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/src" "$dir/include" "$dir/tests"
failed=0
fails() {
    echo "test_flags: $1" >&2
    failed=1
}
# what flags.sh says to the struct with these members, and to this list of exceptions
says() {
    printf 'struct other {\n    bool x;\n};\n#define BRACE {\nstruct it {\n%s\n};\n' "$1" >"$dir/src/it.h"
    printf '%s\n' "${2:-# none}" >"$dir/tests/flags.txt"
    sh "$flags" "$dir" 2>&1
}
eleven='bool a, b, c, d, e; /* five; */ unsigned f : 1, g : 1; bool h : 1; bool
        i; // one { more
    union { struct { bool j; } in; int n; } u; enum { ONE, TWO } state; bool (*asked)(bool here); int w : 12;
    bool k[2];'
out=$(says "$eleven bool l;") || fails "twelve flags are refused: $out"
out=$(says "$eleven bool l, m;") && fails "thirteen flags pass"
case $out in
*"struct it has 13 flags"*) ;;
*) fails "thirteen flags are said to be: $out" ;;
esac
out=$(says "$eleven bool l, m;" "13 it") || fails "an exception is refused: $out"
out=$(says "$eleven bool l, m, n;" "13 it") && fails "an exception grows"
out=$(says "$eleven bool l, m;" "14 it") && fails "an exception stands at more than there are"
out=$(says "$eleven bool l;" "12 it") && fails "an exception stays that is none any more"
out=$(says "$eleven" "13 gone") && fails "an exception stays of a struct that is gone"
sh "$flags" "$1" || failed=1
exit $failed
