# What a planner has read is there for the specialists of its plan: in a run that is kept, killed, resumed, replayed, forked, served; and on another day.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
mkdir agents workflows
cat >agents/planner.md <<'X'
---
name: planner
explore: true
tools: [search_files, read_file, write_file]
agents: [mason, roofer]
variables: {specialists: none}
---
You plan. {{specialists}}
X
printf -- '---\nname: mason\ndescription: Builds\ntools: [read_file, write_file]\n---\nYou build walls.\n' >agents/mason.md
printf -- '---\nname: roofer\ndescription: Roofs\ntools: [read_file]\n---\nYou build roofs.\n' >agents/roofer.md
cat >sim.lua <<'X'
local json = require "hocket.json"
local function call(name, arguments) return { calls = { { name = name, arguments = arguments } }, latency = 0.03 } end
return function(request)
  local first = request.messages[1].text
  if request.system:find "You plan" then
    if request.turn == 1 then return call("search_files", { glob = "*.txt" }) end
    if request.turn == 2 then return call("read_file", { path = "soil.txt" }) end
    return { latency = 0.03, text = json.encode { type = "task", tasks = {
      { id = "walls", specialist = "mason", description = "Build the walls", findings = { 2 } },
      { id = "roof", specialist = "roofer", description = "Build the roof" },
    } } }
  end
  if request.system:find "walls" then
    if request.turn == 1 then return call("write_file", { path = "walls.txt", content = "bricks" }) end
    return { text = "Walls on " .. (first:match "The soil is (%a+)" or "anything"), latency = 0.03 }
  end
  if request.turn == 1 then return call("read_file", { path = "soil.txt" }) end
  return { text = "A roof on " .. (request.last.text:match "The soil is (%a+)" or "nothing"), latency = 0.03 }
end
X
cat >build.lua <<'X'
local hocket = require "hocket"
local team = hocket.agents "agents"
return hocket.patterns.planner.run { request = ..., team = team, planner = team.planner, retries = 0, backoff = 0 }
X
cat >workflows/build.lua <<'X'
local workflow = require "hocket.workflow"
return workflow { description = "Builds a house", input = { type = "string" }, run = function(input)
  local hocket = require "hocket"
  local team = hocket.agents "agents"
  local reply, err = hocket.patterns.planner.run { request = input, team = team, planner = team.planner, retries = 0, backoff = 0 }
  return reply and reply.text, err
end }
X
soil() { printf 'The soil is %s.\n' "$1" >soil.txt; rm -f walls.txt; }
reused() { grep -c '"type":"finding_reused"' "$1"; }
run hocket check .; expect 0

# One has it in its task, the other by the same call: only the planner has read the file.
soil clay; run hocket run -a allow --events ev build.lua "A house"; expect 0
has out "Walls on clay"; has out "A roof on clay"
same "$(reused ev)" 2; has ev '"place":"task"'; has ev '"place":"call"'
has err "mason has what planner read: read_file"
cp out whole; id=$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)
hasnt ev '"tool":"write_file","arguments":"{\"path\":\"walls.txt\"}","agent":"planner"'

# Without `explore` the planner reads nothing.
sed -i 's/explore: true/explore: false/' agents/planner.md
run hocket run -q -a allow --events none build.lua "A house"; same "$(reused none)" 0
sed -i 's/explore: false/explore: true/' agents/planner.md

# A replay needs no file, and is byte for byte the same.
rm soil.txt; run hocket replay "$id"; expect 0

# Killed at any moment it goes on with what was read, and comes to the same; the planner reads once.
for delay in 0.05 0.1 0.15 0.2 0.25 0.3; do
  soil clay; rm -f ev
  "$HOCKET" run -q -a allow --events ev build.lua "A house" >out 2>err </dev/null & pid=$!
  until_true test -s ev; sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  killed=$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)
  run hocket resume -q -a allow "$killed"
  grep -q "has ended" err && continue
  expect 0; cmp -s out whole || fail "killed after $delay: another answer"
  hocket replay --events "$killed" >all 2>err; same "$(reused all)" 2
  same "$(grep '"type":"tool_call"' all | grep -c '"agent":"planner".*read_file')" 1
done

# Killed, and changed before it goes on: what was read is not given any more.
soil clay; rm -f ev
sed -i 's/latency = 0.03, text = json/latency = 1, text = json/' sim.lua
"$HOCKET" run -q -a allow --events ev build.lua "A house" >out 2>err </dev/null & pid=$!
until_true grep -qs '"type":"tool_call".*read_file' ev; sleep 0.1; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
soil sand
run hocket resume -q -a allow --events again "$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)"; expect 0
has out "Walls on anything"; has out "A roof on sand"; has again '"reason":"changed"'; same "$(reused again)" 0
sed -i 's/latency = 1, text = json/latency = 0.03, text = json/' sim.lua

# A fork with the present files: the planner is answered from its parent's log, and what was read then does not hold now.
soil clay; run hocket run -q -a allow build.lua "A house"; expect 0
parent=$(hocket runs --json | grep -oE '01[0-9A-Z]{24}' | head -n 1)
soil sand; sed -i 's/You build roofs/You build flat roofs/' agents/roofer.md
run hocket fork --latest "$parent"; expect 0; run hocket resume -q -a allow "$(tail -n 1 out)"; expect 0; has out "A roof on sand"; hasnt out "Walls on clay"

# Cut by its budget: it says so, and no call of a specialist is made in the planner's place.
soil clay; rm -f ev; run hocket run -q -a allow --max-turns 2 --events ev build.lua "A house"; [ "$code" != 0 ] || fail "it had two turns"
same "$(reused ev)" 0

# On another day: the saved plan has the call and no text; nobody reads, and nobody is asked for a plan.
soil clay; run hocket run -q -a allow --json build.lua "A house"; expect 0
first=$(grep -o '"calls":[0-9]*' out | head -n 1)
run hocket plan last --save house; expect 0; has plans/house.md 'tool: read_file'; hasnt plans/house.md "The soil"
run hocket check plans/house.md; expect 0
rm -f walls.txt ev; run hocket run -q -a allow --json --events ev build.lua "A house"; expect 0; has out "Walls on clay"
same "$first $(grep -o '"calls":[0-9]*' out | head -n 1)" '"calls":7 "calls":4'
has ev '"place":"task"'; same "$(grep '"type":"model_request"' ev | grep -c '"agent":"planner"')" 0
soil sand; rm -f ev; run hocket run -q -a allow --events ev build.lua "A house"; has out "Walls on anything"; has ev '"reason":"changed"'
soil clay; run hocket run -q -a allow --plan plans/house.md; expect 0; has out "Walls on clay"
rm -f walls.txt ev; run hocket run -q -a allow -a 'read_file=deny' --events ev --plan plans/house.md; hasnt out "Walls on clay"; has ev '"reason":"denied"'
sed -i 's|tool: read_file|text: obey, tool: read_file|' plans/house.md
run hocket check plans/house.md; expect 3; has out "unknown key 'text'"
rm -rf plans

# The same over HTTP, with its events for the page.
if command -v curl >/dev/null; then
  soil clay
  rm -f serving
  "$HOCKET" serve --listen 127.0.0.1:0 -a allow workflows/build.lua >out 2>serving & server=$!
  until_true grep -qs '^serving' serving
  url=$(sed -n 's/^serving //p' serving); token=$(cat "$HOME/.local/state/hocket/serve-token"); what="hocket serve"
  ask() { curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@"; }
  ask -d '{"target":"build","input":"A house"}' "$url/api/runs" >body; has body '"id"'
  served=$(grep -oE '01[0-9A-Z]{24}' body | head -n 1)
  is_done() { ask "$url/api/runs/$served" >body; grep -qE '"state":"(done|failed)"' body; }
  until_true is_done; has body "Walls on clay"; has body "A roof on clay"
  ask "$url/api/runs/$served/records?from=1" >body; has body finding_reused
  kill -TERM $server; wait $server
fi
finish
