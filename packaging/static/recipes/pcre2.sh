. "$HELPERS"
export FLAGS="-I$SOURCE/src -I$SOURCE/deps -I$SOURCE/include -DPCRE2_CODE_UNIT_WIDTH=8 -DHAVE_STDLIB_H=1 -DHAVE_MEMMOVE=1 -DHAVE_CONFIG_H=1 \
    -DPCRE2_STATIC=1 -DSTDC_HEADERS=1 -DSUPPORT_PCRE2_8=1 -DSUPPORT_UNICODE=1 -DSUPPORT_JIT=1"
# shellcheck disable=SC2046
archive pcre2-8 $(ls "$SOURCE"/src/*.c | grep -v 'jit_match\|jit_misc\|ucptables\|printint')
cp "$SOURCE/include/pcre2.h" "$ROOT/include/"
part() { sed -n "s/^#define PCRE2_$1 *\([0-9]*\).*/\1/p" "$SOURCE/include/pcre2.h"; }
pkg_config libpcre2-8 "$(part MAJOR).$(part MINOR)" -lpcre2-8
