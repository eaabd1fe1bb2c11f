. "$HELPERS"
cp -r "$SOURCE/." .
export FLAGS="-I. -DHAVE_UNISTD_H -DHAVE_STDARG_H"
archive z adler32.c compress.c crc32.c deflate.c infback.c inffast.c inflate.c inftrees.c trees.c uncompr.c zutil.c
cp zlib.h zconf.h "$ROOT/include/"
pkg_config zlib "$(sed -n 's/^#define ZLIB_VERSION "\([0-9.]*\).*/\1/p' zlib.h)" -lz
