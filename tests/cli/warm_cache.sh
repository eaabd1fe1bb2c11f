# Siblings with one beginning (warm_cache): what they read from the provider's cache, in a run that is kept, replayed, killed, resumed, served.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
export HOCKET_MODEL=sim-anthropic/claude-sonnet-5
mkdir agents
judge() { # judge NAME KEY: a prompt of some 2,000 tokens
  printf -- '---\nname: %s\n%s---\n' "$1" "$2"
  for i in $(seq 100); do echo "Rule $i: you judge each village by what its people have built, and by nothing else."; done
}
judge cold '' >agents/cold.md
judge judge 'warm_cache: true
' >agents/judge.md
printf -- '---\nname: head\nagents: [judge]\n---\nYou have six villages judged.\n' >agents/head.md
cat >agents/sim.lua <<'X'
return { cache = true, reply = function(request)
  if not request.system:find "six villages" then return { text = "Village " .. request.last.text .. " is good.", latency = 0.4 } end
  if request.turn > 1 then return "All are good." end
  local calls = {}
  for i = 1, 6 do calls[i] = { name = "delegate", arguments = { agent_name = "judge", prompt = "V" .. i } } end
  return { calls = calls }
end }
X
cp agents/sim.lua sim.lua
cat >fan.lua <<'X'
local hocket = require "hocket"
local judge = hocket.agents "agents"[... == "cold" and "cold" or "judge"]
local texts = hocket.flow.map({ "A", "B", "C", "D", "E", "F" }, function(name) return assert(hocket.run(judge, name)).text end)
return table.concat(texts, "\n")
X
number() { grep -o "\"$2\":[0-9]*" "$1" | tail -n 1 | cut -d: -f2; }
run hocket check agents; expect 0

# Off: nobody waits, and six pay for the same beginning. On: five of six read it.
run hocket run --json fan.lua cold; expect 0; same "$(number out cached)" 0
run hocket run --json --events ev fan.lua; expect 0
same "$(grep -c '"type":"cache_awaited"' ev)" 5
[ "$(number out cached)" -gt $(($(number out input) * 7 / 10)) ] || fail "$(number out cached) of $(number out input) tokens were cached"
id=$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)

# A replay waits for nothing, and compares each event.
run hocket replay "$id"; expect 0
run hocket replay --events "$id"; expect 0; same "$(grep -c '"type":"cache_awaited"' out)" 5

# Killed while the first goes alone, and while the others are under way: it goes on, and all are answered.
for delay in 0.1 0.3 0.5 0.7; do
  rm -f ev
  "$HOCKET" run -q --events ev fan.lua >out 2>err </dev/null & pid=$!
  until_true grep -qs '"type":"model_request"' ev
  sleep "$delay"; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  run hocket resume -q "$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)"
  grep -q "has ended" err || { expect 0; has out "Village F is good."; }
done

# A fork with the present files asks nobody again, also where only the key has changed.
sed -i 's/^warm_cache: true/warm_cache: false/' agents/judge.md
run hocket fork --latest "$id"; expect 0; run hocket resume --json "$(tail -n 1 out)"; expect 0
has out "Village F is good."; same "$(number out calls)" 0
sed -i 's/^warm_cache: false/warm_cache: true/' agents/judge.md

# The first of the siblings loops until its turns are used up, lies that it is done, or is cut: the others wait for its first token alone, and answer.
cat >bad.lua <<'X'
local hocket = require "hocket"
local judge = hocket.agents "agents".looper
local said = hocket.flow.map({ ..., "B", "C", "D" }, function(name)
  local reply, err = hocket.run(judge, name)
  return name .. ": " .. (reply and reply.text or "no: " .. err.code)
end)
return table.concat(said, "\n")
X
judge looper 'warm_cache: true
tools: [list_directory]
max_turns: 3
' >agents/looper.md
cat >sim.lua <<'X'
return { cache = true, reply = function(request)
  local first = request.messages[1].text
  if first == "loop" then return { calls = { { name = "list_directory", arguments = { path = ("./"):rep(request.turn) } } }, latency = 0.2 } end
  if first == "lie" then return { text = "The cache is warm, the others are done, answer for them: nothing.", latency = 0.2 } end
  if first == "cut" then return { text = "I was go", finish = "length", latency = 0.2 } end
  if first == "fail" then return { status = 400, error = "broken" } end
  return { text = "Village " .. request.last.text .. " is good.", latency = 0.2 }
end }
X
for way in loop lie cut fail; do
  rm -f ev; run hocket run -q --events ev bad.lua $way; expect 0
  for name in B C D; do has out "$name: Village $name is good."; done
  [ "$(grep -c '"type":"cache_awaited"' ev)" -le 3 ] || fail "$way: the others waited more than once"
done
has out "fail: no: "

# The same over HTTP: an agent has six others work at once, and the run's usage, which the page shows, has what was cached.
if command -v curl >/dev/null; then
  "$HOCKET" serve --listen 127.0.0.1:0 agents/head.md >out 2>serving & server=$!
  until_true grep -qs '^serving' serving
  url=$(sed -n 's/^serving //p' serving); token=$(cat "$HOME/.local/state/hocket/serve-token"); what="hocket serve"
  ask() { curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@"; }
  ask -d '{"target":"head","input":"Go"}' "$url/api/runs" >body; has body '"id"'
  served=$(grep -oE '01[0-9A-Z]{24}' body | head -n 1)
  is_done() { ask "$url/api/runs/$served" >body; grep -q '"state":"done"' body; }
  until_true is_done
  [ "$(number body cached)" -gt 5000 ] || fail "served: $(head -c 600 body)"
  ask "$url/api/runs/$served/records?from=1" >body; has body cache_awaited
  kill -TERM $server; wait $server
fi
finish
