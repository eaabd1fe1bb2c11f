#!/bin/sh
# schemathesis (PyPI) against /api of `hocket serve`: requests made of its OpenAPI document, good ones and bad ones, one after the other and in
# sequences. What it may not find: an answer that the document does not know, a failure of the server, a request that should have been refused.
# Not asked is whether all that a schema lets through is accepted: names of agents and models are what is there.
here=$(cd "$(dirname "$0")" && pwd)
python=${HOCKET_ENDPOINTS_PYTHON:-}
st=${python%/*}/schemathesis
[ -n "$python" ] && [ -x "$st" ] || { echo "skipped: set HOCKET_ENDPOINTS_PYTHON to a python that has the package schemathesis"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
HOCKET_SERVE_TOKEN=abcdefghijklmnopqrstuvwxyz
export HOCKET_SERVE_TOKEN
printf -- '---\nname: guide\ndescription: Guides\n---\nYou guide.\n' >guide.md
HOCKET_STORE=$folder/runs.db XDG_STATE_HOME=$folder "$HOCKET" serve --trust --model sim --listen 127.0.0.1:0 guide.md 2>err &
server=$!
until grep -q 'http://' err; do kill -0 $server || { cat err; exit 1; }; sleep 0.1; done
base=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' err | head -1)
token="Authorization: Bearer $HOCKET_SERVE_TOKEN"
"$python" - "$base" >openapi.json <<'END' || exit 1
import os, sys, urllib.request
request = urllib.request.Request(sys.argv[1] + "/api/openapi.json", headers={"Authorization": "Bearer " + os.environ["HOCKET_SERVE_TOKEN"]})
print(urllib.request.urlopen(request).read().decode())
END
# streams of events do not end
"$st" run openapi.json --url "$base" -H "$token" --max-examples 20 --request-timeout 60 --exclude-path-regex '/events$' \
  --exclude-checks positive_data_acceptance --no-color >out 2>&1 || { cat out; exit 1; }
kill -0 $server || { cat err; exit 1; }
! grep -i 'error' err
