#!/bin/sh
# hocket mcp, as a person has it; and runs that are kept of agents with tools of MCP servers.
. "$(dirname "$0")/lib.sh"
cp "$ROOT/tests/lua/support/mcp_server.lua" server.lua
cat >.mcp.json <<JSON
{"mcpServers": {
  "demo": {"command": "$HOCKET", "args": ["run", "-q", "server.lua", "legacy"]},
  "new": {"command": "$HOCKET", "args": ["run", "-q", "server.lua", "modern"], "env": {"KEY": "\${HOCKET_TEST_KEY:-none}"}},
  "away": {"command": "/nonexistent/server"}
}}
JSON

run hocket mcp list; expect 0; has out 'demo  '; has out '/nonexistent/server'
run hocket mcp list --json; expect 0; has out '"name":"away"'
run hocket mcp doctor; expect 1
has err '1 of 3 servers cannot be used'; has out 'ok     demo'; has out 'FAILED away'; has out '/nonexistent/server'
run hocket mcp doctor demo; expect 0; has out 'MCP 2025-11-25, 8 tools (1 left out)'
run hocket mcp doctor new; expect 0; has out 'MCP 2026-07-28'
run hocket mcp tools demo; expect 0; has out 'Says it again'; has out 'bad'; has out 'left out'
run hocket mcp call demo echo '{"text": "good day"}'; expect 0; has out 'good day'
run hocket mcp call new picture; expect 0; has out '[an image, text/html'
run hocket mcp call demo fail; expect 1; has err 'no such record'
run hocket mcp call demo ecoh; expect 1; has err "has no tool 'ecoh'"
run hocket mcp call demo echo 'no json'; expect 2; has err 'one JSON object'
run hocket mcp call demo; expect 2; has err 'which tool?'
run hocket mcp tools dmeo; expect 1; has err "did you mean 'demo'?"
run hocket mcp tools; expect 2; has err 'of which server?'
run hocket mcp lits; expect 2; has err 'lits'
run hocket mcp login demo; expect 2; has err 'is a program'

# Servers are examined side by side: these two wait for each other.
mkdir pair
cat >pair/start.sh <<'SH'
touch "$1"
while [ ! -e "$2" ]; do sleep 0.02; done
shift 2
exec "$@"
SH
cat >pair/.mcp.json <<JSON
{"mcpServers": {
  "a": {"command": "sh", "args": ["$PWD/pair/start.sh", "$PWD/pair/a", "$PWD/pair/b", "$HOCKET", "run", "-q", "--store", "off", "$PWD/server.lua", "legacy"]},
  "b": {"command": "sh", "args": ["$PWD/pair/start.sh", "$PWD/pair/b", "$PWD/pair/a", "$HOCKET", "run", "-q", "--store", "off", "$PWD/server.lua", "legacy"]},
  "off": {"command": "sh", "args": ["-c", "touch $PWD/pair/started"], "disabled": true}
}}
JSON
run hocket mcp --in pair doctor; expect 0; has out 'ok     a'; has out 'ok     b'; has out 'disabled'
[ ! -e pair/started ] || fail "a server that is disabled was started"

# What a server offered is in the run's log: its replay needs none.
mkdir kept
cp server.lua kept
cat >kept/clerk.md <<MD
---
description: Has tools of others
tools: [ask_user]
mcp:
  demo: {command: $HOCKET, args: [run, -q, server.lua, legacy-changing]}
---
You are a clerk.
MD
cat >kept/sim.lua <<'LUA'
local steps = { { "demo__change" }, { "demo__fail" }, { "ask_user", { question = "Which?" } }, { "demo__echo", { text = "again" } } }
return function(q)
  local n = 1
  for _, message in ipairs(q.messages) do n = n + (message.role == "tool" and 1 or 0) end
  if not steps[n] then return "done: " .. q.last.text end
  return { calls = { { name = steps[n][1], arguments = steps[n][2] or {} } } }
end
LUA
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
run "$HOCKET" run --trust --approve allow --approve demo__echo=allow --events events kept/clerk.md go; expect 75
has events '"type":"tools_changed","added":["demo__grown"],"changed":["demo__echo"],"removed":["demo__fail"]'
has err 'its tools have changed: +demo__grown -demo__fail ~demo__echo'
has events "there is no tool 'demo__fail' any more"
id=$(sed -n 's/.*hocket resume \([0-9A-Z]*\).*/\1/p' err | head -n 1)
mv kept/server.lua kept/away.lua
run "$HOCKET" resume "$id"; expect 75; has err 'Which?'
mv kept/away.lua kept/server.lua
run "$HOCKET" answer "$id" q1 Rome; expect 0
run "$HOCKET" resume "$id"; expect 0; has out 'again'
mv kept/server.lua kept/away.lua
run "$HOCKET" replay "$id"; expect 0; has err 'all as recorded'
finish
