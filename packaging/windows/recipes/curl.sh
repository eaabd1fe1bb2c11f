# Certificates are those of Windows: Schannel reads its store.
. "$HELPERS"
cp -r "$SOURCE/." .
mkdir -p docs/examples
touch docs/CMakeLists.txt docs/examples/CMakeLists.txt
with_cmake . -DBUILD_CURL_EXE=OFF -DBUILD_LIBCURL_DOCS=OFF -DBUILD_MISC_DOCS=OFF -DENABLE_CURL_MANUAL=OFF -DBUILD_TESTING=OFF \
    -DHTTP_ONLY=ON -DCURL_USE_SCHANNEL=ON -DUSE_NGHTTP2=ON -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF \
    -DUSE_LIBIDN2=OFF -DCURL_DISABLE_NTLM=ON -DCURL_STATIC_CRT=OFF -DCMAKE_C_FLAGS="$CFLAGS -DNGHTTP2_STATICLIB"
sed -i 's|^Cflags:.*|Cflags: -I${prefix}/include -DCURL_STATICLIB|' "$ROOT/lib/pkgconfig/libcurl.pc"
