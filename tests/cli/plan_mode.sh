# Plan mode and the to-do list of one agent: in a chat, in a run that is killed and resumed, and over HTTP.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
printf -- '---\nname: clerk\ntools: [todo, write_file]\n---\nClerk.\n' >clerk.md
cat >sim.lua <<'X'
local function todo(a, b)
  return { calls = { { name = "todo", arguments = { items = {
    { content = "Plan", active_form = "Planning", status = a }, { content = "Write a.txt", active_form = "Writing a.txt", status = b } } } } } }
end
local write = { calls = { { name = "write_file", arguments = { path = "a.txt", content = "x" } } } }
return function(request)
  local text, done = request.last.text, 0
  for _, message in ipairs(request.messages) do done = done + (message.role == "tool" and 1 or 0) end
  if text == "write" then return write end
  if text == "present" then return { calls = { { name = "present_plan", arguments = { plan = "1. Write a.txt" } } } } end
  if not request.messages[1].text:find "all of it" then return "answer: " .. text end
  local steps = { todo("in_progress", "pending"), write, { calls = { { name = "present_plan", arguments = { plan = "1. Write a.txt" } } } },
    todo("completed", "in_progress"), write, todo("completed", "completed") }
  local step = steps[done + 1] or { text = "It is written." }
  step.latency = 0.05
  return step
end
X

# By name, in a chat: on, a call that is refused, a no, a yes; and off by hand.
chat() { printf "$1" | "$HOCKET" chat --store off -a allow clerk.md >out 2>err; code=$?; what="chat $1"; }
chat '/mode plan\nwrite\npresent\nno\n'
expect 0; has err "plan mode: agents only read"; has out "plan mode only reads"; has err "1. Write a.txt"; has out "the user refused the plan"; [ ! -e a.txt ] || fail "it was written"
chat '/mode plan\npresent\nyes\nwrite\n'
expect 0; has out "The user agrees"; [ -s a.txt ] || fail "it was not written"
rm -f a.txt; chat '/mode plan\n/mode act\nwrite\n/mode on\n'
[ -s a.txt ] || fail "it was not written"; has err "plan mode is off"; has err "expected /mode plan, or /mode act"
run "$HOCKET" run --mode look clerk.md hi; expect 2; has err "plan or act"

# An agent that is a workflow is Lua, which could do anything: it is not run.
mkdir lead
cat >lead/ww.lua <<'X'
local workflow = require "hocket.workflow"
return workflow { description = "Writes", run = function() require("hocket.fs").write("b.txt", "x") return "done" end }
X
printf -- '---\nname: lead\nagents: [ww.lua]\ntools: [delegate]\n---\nLead.\n' >lead/lead.md
cat >lead/sim.lua <<'X'
return function(request)
  if request.turn == 1 then return { calls = { { name = "delegate", arguments = { agent_name = "ww", prompt = "x", description = "x" } } } } end
  return { text = request.last.text }
end
X
run "$HOCKET" run -q --store off -a allow --mode plan lead/lead.md go; has out "the workflow 'ww' was not run: plan mode only reads"; [ ! -e b.txt ] || fail "it was written"
run "$HOCKET" run -q --store off -a allow lead/lead.md go; expect 0; [ -e b.txt ] || fail "it was not run"
printf 'return { go = function() io.open("b.txt", "w"):close() return true end }\n' >lead/goal.lua
printf -- '---\nname: goal\nuntil: {function: goal.go}\n---\nWork.\n' >lead/goal.md
sed -i 's/request.turn == 1/request.system:find "Lead" and &/' lead/sim.lua
rm -f b.txt; run "$HOCKET" run -q --store off --mode plan lead/goal.md go; expect 0; has out "go"; [ ! -e b.txt ] || fail "the goal was checked"

# A run: it waits for a person whatever --approve says; killed at any time, it goes on, and nothing is written before the yes.
rm -f a.txt; run "$HOCKET" run -q -a allow --mode plan clerk.md "all of it"
expect 75; has err "1. Write a.txt"; [ ! -e a.txt ] || fail "written before the yes"
id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
run "$HOCKET" resume -q -a allow "$id"; expect 75; [ ! -e a.txt ] || fail "written before the yes"
"$HOCKET" answer "$id" q1 yes >/dev/null || fail "answer"
run "$HOCKET" resume -q "$id"; expect 0; has out "It is written."; [ -s a.txt ] || fail "not written"
run "$HOCKET" show "$id"; expect 0; has out "Write a.txt"
run "$HOCKET" replay "$id"; expect 0; has err "all as recorded"
for delay in 0.05 0.1 0.15 0.2 0.25 0.3; do
  rm -f a.txt ev
  "$HOCKET" run -q -a allow --mode plan --events ev clerk.md "all of it" >out 2>err </dev/null & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  [ -s ev ] || continue
  id=$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)
  run "$HOCKET" resume -q -a allow "$id"
  [ $code = 75 ] || { grep -q "no run" err || fail "killed after $delay"; continue; }
  [ ! -e a.txt ] || fail "killed after $delay: written before the yes"
  "$HOCKET" answer "$id" q1 yes >/dev/null
  "$HOCKET" resume -q -a allow "$id" >out 2>err </dev/null & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  run "$HOCKET" resume -q -a allow --json "$id"
  [ $code = 0 ] || grep -q "has ended" err || fail "killed after $delay and $delay"
  if [ $code = 0 ]; then has out '"text":"Write a.txt"'; hasnt out '"status":"running"'; fi
  [ -s a.txt ] || fail "killed after $delay: not written"
done

# Over HTTP: the question stands with the run, the answer ends the mode, and the list is its board.
command -v curl >/dev/null || finish
rm -f a.txt
"$HOCKET" serve --listen 127.0.0.1:0 -a 'write_file=allow' clerk.md >out 2>serving & server=$!
at_end() { kill -TERM $server 2>/dev/null; wait $server 2>/dev/null; }
until_true grep -qs '^serving' serving
url=$(sed -n 's/^serving //p' serving); token=$(cat "$HOME/.local/state/hocket/serve-token")
ask() { curl -sS --max-time 60 -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@"; }
ask "$url/api/runs" -d '{"target": "clerk", "input": "all of it", "options": {"mode": "look"}}' >body; has body "bad option 'mode'"
ask "$url/api/runs" -d '{"target": "clerk", "input": "all of it", "options": {"mode": "plan"}}' >body
id=$(grep -oE '01[0-9A-Z]{24}' body | head -n 1)
asks() { ask "$url/api/runs/$id/snapshot" >body; grep -q '1. Write a.txt' body; }
until_true asks; has body '"q1"'; [ ! -e a.txt ] || fail "written before the yes"
ask "$url/api/runs/$id/answers" -d '{"question": "q1", "text": "yes"}' >/dev/null
ended() { ask "$url/api/runs/$id" >body; grep -q '"state":"done"' body; }
until_true ended; ask "$url/api/runs/$id/snapshot" >body; has body '"status":"done","text":"Write a.txt"'; [ -s a.txt ] || fail "not written"
finish
