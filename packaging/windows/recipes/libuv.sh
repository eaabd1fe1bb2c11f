. "$HELPERS"
with_cmake "$SOURCE" -DLIBUV_BUILD_SHARED=OFF -DLIBUV_BUILD_TESTS=OFF -DLIBUV_BUILD_BENCH=OFF -DCMAKE_C_FLAGS="$CFLAGS"
[ -f "$ROOT/lib/libuv.a" ]
pkg_config libuv "$(sed -n 's/^Version: *//p' "$ROOT/lib/pkgconfig/libuv-static.pc")" \
    "-luv -lws2_32 -lcrypt32 -lbcrypt -lsecur32 -liphlpapi -luserenv -ldbghelp -lole32 -luuid -lpsapi -ladvapi32 -luser32 -lshell32 -lsynchronization"
