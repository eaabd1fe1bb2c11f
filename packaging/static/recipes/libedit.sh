cp -a "$SOURCE/." .
find . -exec touch -h -d @0 {} + # Debian patches what configure is made of: it stays as it is
CPPFLAGS="-I$ROOT/include -D__STDC_ISO_10646__=201103L" LDFLAGS="-L$ROOT/lib" ./configure --host="$HOST" --disable-shared --enable-static --disable-examples
make -j "$JOBS" -C src
cp src/.libs/libedit.a "$ROOT/lib/"
cp src/histedit.h "$ROOT/include/"
