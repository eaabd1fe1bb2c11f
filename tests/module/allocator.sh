#!/bin/sh
# The binding in a program whose memory comes from another allocator: all that same.lua, bridge.lua and libraries.lua look at.
#   allocator.sh INTERPRETER [LIBRARY]    LIBRARY: is preloaded; none: the C library's own allocator
set -eu
here=$(cd "$(dirname "$0")" && pwd)
WORK=$(mktemp -d)
export WORK
trap 'rm -rf "$WORK"' EXIT
command -v openssl >/dev/null || { echo "skipped: needs openssl"; exit 77; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$WORK/a.key" -out "$WORK/a.crt" -days 2 \
    -subj "/CN=box.example" 2>/dev/null
for script in same bridge libraries; do
    LD_PRELOAD=${2:-} "$1" "$here/$script.lua"
done
