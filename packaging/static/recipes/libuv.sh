. "$HELPERS"
with_cmake "$SOURCE" -DLIBUV_BUILD_SHARED=OFF -DLIBUV_BUILD_TESTS=OFF -DLIBUV_BUILD_BENCH=OFF
[ -f "$ROOT/lib/libuv.a" ]
pkg_config libuv "$(sed -n 's/^Version: *//p' "$ROOT/lib/pkgconfig/libuv-static.pc")" -luv
