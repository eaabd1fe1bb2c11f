# Without the header <malloc.h>.
. "$HELPERS"
flags() { sed -n 's/^export FLAGS="\$pointers \(.*\)"/\1/p' "$(dirname "$HELPERS")/cmocka.sh"; }
FLAGS="-I. $(eval "echo \"$(flags)\"" | sed 's/-DHAVE_MALLOC_H=1//')"
export FLAGS
: >config.h
archive cmocka "$SOURCE/src/cmocka.c"
cp "$SOURCE/include/cmocka.h" "$ROOT/include/"
pkg_config cmocka 1.1.5 -lcmocka
