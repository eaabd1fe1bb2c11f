#!/bin/sh
# Prints the path of hocket_embed for this machine, and builds it where it is missing: what packs the scripts runs here, with
# the Lua that reads them there.
set -eu
# shellcheck source=packaging/static/lib.sh
. "$(dirname "$0")/lib.sh"
source=$(cd "$here/../.." && pwd)
embed=$cache/embed-$(cat "$source"/cmake/embed/*.[ch] "$cache/sources/key" | sha256sum | cut -c 1-16)
if [ ! -x "$embed" ]; then
    lua=$(readlink -f "$cache/sources/lua")
    # shellcheck disable=SC2046
    cc -O2 -std=gnu11 -I"$source/src" -I"$lua" -o "$embed.$$" "$source"/cmake/embed/*.c $(ls "$lua"/*.c | grep -v '/luac\?\.c$') -lm
    mv "$embed.$$" "$embed"
fi
echo "$embed"
