#!/bin/sh
# All protocols against a mock server that others wrote: aimock, from npm.
#   npm install @copilotkit/aimock && HOCKET_AIMOCK=$PWD/node_modules/@copilotkit/aimock ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
command -v node >/dev/null || { echo "skipped: there is no node"; exit 77; }
cli="${HOCKET_AIMOCK:-}/dist/cli.js"
[ -f "$cli" ] || { echo "skipped: set HOCKET_AIMOCK to the directory of @copilotkit/aimock"; exit 77; }
log=$(mktemp) || exit 1
timeout 100 node "$cli" -p 0 -f "$here/weather.json" --strict >"$log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; rm -f "$log"' EXIT
port=
for _ in $(seq 100); do
  port=$(sed -n 's/.*listening on http:.*:\([0-9]*\)$/\1/p' "$log")
  [ -z "$port" ] || break
  sleep 0.2
done
cd "$here/../lua" && LUA_PATH="$here/../lua/support/?.lua;;" AIMOCK_PORT=$port timeout 60 "$HOCKET" run "$here/test_aimock.lua" run
code=$?
[ $code = 0 ] || cat "$log"
exit $code
