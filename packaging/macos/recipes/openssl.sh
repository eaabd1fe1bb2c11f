# The headers alone: TLS of servers loads the library, where somebody has put one.
. "$HELPERS"
cp -r /usr/include/openssl "$ROOT/include/"
for part in /usr/include/"$(gcc -dumpmachine)"/openssl/*.h; do cp "$part" "$ROOT/include/openssl/"; done
pkg_config openssl 3.0 ""
