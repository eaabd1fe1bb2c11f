# Without what neither TLS clients nor servers of today use. The folder of certificates is Debian's; hocket looks for others.
case $ARCH in x86_64) target=linux-x86_64 ;; *) target=linux-aarch64 ;; esac
cp -r "$SOURCE/." .
# shellcheck disable=SC2086
./Configure $target --prefix=/usr --libdir=lib --openssldir=/etc/ssl $CFLAGS no-shared no-tests no-apps no-docs no-module \
    no-legacy no-dso no-engine no-afalgeng no-ktls no-quic no-cmp no-cms no-ts no-ct no-srp no-dtls no-aria no-bf no-blake2 \
    no-camellia no-cast no-dsa no-gost no-idea no-md4 no-mdc2 no-rc2 no-rc4 no-rmd160 no-seed no-siv no-sm2 no-sm3 no-sm4 \
    no-whirlpool no-slh-dsa no-lms no-ui-console no-comp no-srtp
make -j "$JOBS" build_libs
make install_dev DESTDIR="$PWD/installed"
cp -r installed/usr/. "$ROOT/"
sed -i "s|^prefix=.*|prefix=$ROOT|" "$ROOT"/lib/pkgconfig/libssl.pc "$ROOT"/lib/pkgconfig/libcrypto.pc "$ROOT"/lib/pkgconfig/openssl.pc
