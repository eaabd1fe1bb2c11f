# The headers alone: libcurl is a part of macOS, and is loaded at the first request. Its own build wants Apple's frameworks.
. "$HELPERS"
cp -r "$SOURCE/include/curl" "$ROOT/include/"
pkg_config libcurl "$(sed -n 's/^#define LIBCURL_VERSION "\([0-9.]*\).*/\1/p' "$SOURCE/include/curl/curlver.h")" ""
