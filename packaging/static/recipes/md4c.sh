. "$HELPERS"
export FLAGS="-DMD4C_USE_UTF8"
archive md4c "$SOURCE/src/md4c.c"
cp "$SOURCE/src/md4c.h" "$ROOT/include/"
pkg_config md4c 0.4.8 -lmd4c
