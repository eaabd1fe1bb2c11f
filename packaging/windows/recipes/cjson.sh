. "$HELPERS"
export FLAGS=-DCJSON_HIDE_SYMBOLS
archive cjson "$SOURCE/cJSON.c"
mkdir -p "$ROOT/include/cjson"
cp "$SOURCE/cJSON.h" "$ROOT/include/cjson/"
part() { sed -n "s/^#define CJSON_VERSION_$1 *\([0-9]*\).*/\1/p" "$SOURCE/cJSON.h"; }
pkg_config libcjson "$(part MAJOR).$(part MINOR).$(part PATCH)" -lcjson
sed -i 's|^Cflags:.*|Cflags: -I${prefix}/include -I${prefix}/include/cjson -DCJSON_HIDE_SYMBOLS|' "$ROOT/lib/pkgconfig/libcjson.pc"
