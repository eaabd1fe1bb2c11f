# Time limits count work, not waiting for people: wherever a run comes from, one that needs a person parks within its limits, says what
# it waits for, and goes on by the commands that it names.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"

# What stands behind CALL in an agent's prompt it calls, one call a turn.
cat >model.lua <<'X'
local json = require "hocket.json"
return function(request)
  local done, calls = 0, {}
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then done = done + 1 end
  end
  for name, arguments in (request.system or ""):gmatch "CALL (%S+) (%b{})" do calls[#calls + 1] = { name = name, arguments = json.decode(arguments) } end
  if calls[done + 1] then return { calls = { calls[done + 1] } } end
  return "done"
end
X
write='CALL write_file {"path":"a.txt","content":"x"}'
agent() { # FOLDER NAME HEAD PROMPT
  mkdir -p "$1/agents"; cp model.lua "$1/sim.lua"
  printf -- '---\nname: %s\ndescription: the %s\n%b\n---\n%b\n' "$2" "$2" "$3" "$4" >"$1/agents/$2.md"
}
# The lead of a folder lets b work, which needs approval.
lead() { agent "$1" lead "$2\ntimeout: 600" "$3"; agent "$1" b "tools: [${4:-write_file}]\ntimeout: 600" "$write"; }

# Runs it: it has parked at once, and names the question and the run; then what it says is done as it stands there.
parks() { # a target, and an input
  rm -f a.txt
  run timeout 60 "$HOCKET" run -q --timeout 600 "$@" </dev/null
  expect 75; has err "may it call write_file"
  run=$(grep -oE '^run 01[0-9A-Z]{24} waits for an answer:$' err | cut -d' ' -f2)
  [ -n "$run" ] || fail "it does not say which run waits"
  state_is parked
  commands err
  expect 0; [ -s a.txt ] || fail "what was approved is not done"
  state_is done
}
state_is() { "$HOCKET" runs --limit 0 --json | grep -o "\"id\":\"$run\"[^}]*" | grep -q "\"state\":\"$1\"" || fail "the run should be $1"; }
commands() { # of a message: allow, then go on
  sed -n 's/^allow: *\(hocket .*\)/\1/p; s/^resume: *\(hocket .*\)/\1/p' "$1" >todo
  same "$(wc -l <todo)" 2
  hocket() { timeout 60 "$HOCKET" "$@"; }
  . ./todo >out 2>err; code=$?; what="$(cat todo)"
}

# ---- hocket run: agents, and all that stands around them ----------------------------------------------
agent one main "tools: [write_file]\ntimeout: 600" "$write"
parks one/agents hello
agent deep first "agents: [second]\ntimeout: 600" 'CALL delegate {"agent_name":"second","prompt":"go"}'
agent deep second "agents: [third]\ntimeout: 600" 'CALL delegate {"agent_name":"third","prompt":"go"}'
agent deep third "tools: [write_file]\ntimeout: 600" "$write"
parks deep/agents/first.md hello
run timeout 60 "$HOCKET" run --timeout 600 deep/agents/first.md hello </dev/null; expect 75; has err "second started"; hasnt err "cancelled" # they wait
lead background "agents: [b]" 'CALL submit_task {"agent_name":"b","prompt":"go"}\nCALL wait_tasks {}'
parks background/agents/lead.md hello
lead advisors "advisors: {agents: [b], timeout: 600}" "You lead."
parks advisors/agents/lead.md hello
lead team "team: {members: [b], max_rounds: 1}" "You lead."
parks team/agents/lead.md hello
lead router "router: true\nagents: [b]" 'CALL route_to {"agent":"b","reason":"r","message":"m"}'
parks router/agents/lead.md hello
lead handoff "handoff: b" "You lead."
parks handoff/agents/lead.md hello
lead facilitator "tools: [facilitator]\nagents: [b]" \
  'CALL create_tasks {"tasks":[{"text":"t","assigned_to":"b"}],"message":"m"}\nCALL call_b {"task_ids":[1],"message":"go"}' "specialist, write_file"
parks facilitator/agents/lead.md hello
# The planner's tasks have limits of their own.
agent planner b "tools: [write_file]" "$write"
cat >planner/main.lua <<'X'
local hocket = require "hocket"
local plan = { type = "task", execution_mode = "parallel", tasks = { { id = "t", specialist = "b", description = "Write it", active_form = "Writing" } } }
hocket.provider("planned", { protocol = "openai_chat", base = assert(hocket.sim.serve { reply = function(request)
  if request.system:find("You plan; you never do the work yourself", 1, true) then return hocket.json.encode(plan) end
  return request.last.role == "tool" and "done" or { calls = { { name = "write_file", arguments = { path = "a.txt", content = "x" } } } }
end }).base })
local reply, err = hocket.patterns.planner.run { request = "Write it", team = hocket.agents "planner/agents", model = "planned/m", retries = 0, timeouts = { b = 600 } }
return reply and reply.text, err
X
parks planner/main.lua hello
# A tool that asks, within its own limit and one around it.
cat >tool.lua <<'X'
local hocket = require "hocket"
local ask = hocket.tool { name = "ask", description = "Asks.", parameters = { type = "object" }, steps = true, timeout = 600,
  run = function() return assert(hocket.ask "Which?") end }
local def = hocket.agent { name = "asker", tools = { ask }, prompt = "You ask.", timeout = 600, model = "sim" }
local reply, err = hocket.flow.timeout(600, function() return hocket.run(def, "ask") end)
return reply and "asked" or nil, err
X
echo 'return function(r) return r.last.role == "tool" and "done" or { calls = { { name = "ask", arguments = {} } } } end' >sim.lua
run timeout 60 "$HOCKET" run -q -t 600 tool.lua </dev/null; expect 75; has err "Which?"
run=$(grep -oE '01[0-9A-Z]{24}' err | head -1); run "$HOCKET" answer "$run" q1 this; run "$HOCKET" resume -q "$run"; expect 0; has out asked

# ---- A conversation in a pipe -------------------------------------------------------------------------
rm -f a.txt; echo hello | timeout 60 "$HOCKET" chat --no-color --timeout 600 deep/agents/first.md >out 2>err; code=$?; what=chat
expect 75; has err "third: may it call write_file"; run=$(sed -n 's/^run \(01[0-9A-Z]*\) waits.*/\1/p' err); state_is parked

# ---- Workers and schedules ------------------------------------------------------------------------------
detach --timeout 600 one/agents hello; run=$id
worker 1
until_true is "$run" parked
run timeout 60 "$HOCKET" wait --timeout 60 "$run"; expect 75; has err "may it call write_file"; has err "hocket answer $run a1"
run "$HOCKET" answer "$run" a1 --allow; done_with "$run"
run "$HOCKET" schedule add --name nightly --timeout 600 '0 3 1 1 *' one/agents hello; expect 0
run "$HOCKET" schedule run nightly; expect 0
run=$(grep -oE '01[0-9A-Z]{24}' out | head -1)
until_true is "$run" parked
run "$HOCKET" answer "$run" a1 --allow; done_with "$run"
end 1 TERM

# ---- hocket serve: a question stands for longer than a run may work ------------------------------------
if command -v curl >/dev/null; then
  agent served main "tools: [write_file]" "$write"
  rm -f a.txt; open=$("$HOCKET" runs --limit 0 --json | grep -o '"state":"parked"' | wc -l)
  "$HOCKET" serve --listen 127.0.0.1:0 --timeout 2 --no-token served/agents/main.md >serve.out 2>serve.err & workers="$workers $!"
  until_true grep -q '^serving' serve.out serve.err
  url=$(grep -ohE 'http://[0-9.:]+' serve.out serve.err | head -1)
  json() { curl -sS --max-time 60 -H 'Content-Type: application/json' "$@"; }
  run=$(json -d '{"target":"main","input":"go"}' "$url/api/runs" | grep -oE '01[0-9A-Z]{24}' | head -1)
  json -H 'A2A-Version: 1.0' -d '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER","messageId":"m1","parts":[{"text":"go"}]}}}' \
    "$url/a2a/main" >a2a; grep -q TASK_STATE_INPUT_REQUIRED a2a || fail "A2A asks for input"
  json -d '{"threadId":"t","runId":"r","state":{},"messages":[{"id":"1","role":"user","content":"go"}],"tools":[],"context":[],"forwardedProps":{}}' \
    "$url/agui/main" >agui; grep -q '"type":"interrupt"' agui || fail "AG-UI is interrupted"
  for way in 'chat/completions {"model":"main","messages":[{"role":"user","content":"go"}]}' 'responses {"model":"main","input":"go"}' \
    'messages {"model":"main","max_tokens":99,"messages":[{"role":"user","content":"go"}]}'; do # nobody is there to ask
    json -d "${way#* }" "$url/v1/${way%% *}" | grep -q done || fail "${way%% *} does not wait"
  done
  older() { "$HOCKET" runs --limit 0 | grep "^$run" | grep -qE ' ([3-9]|[1-9][0-9]+) s '; } # in seconds
  until_true older
  same "$("$HOCKET" runs --limit 0 --json | grep -o '"state":"parked"' | wc -l | tr -d ' ')" "$((open + 3))"
  run "$HOCKET" answer "$run" a1 --allow; expect 0
  until_true is "$run" done; [ -s a.txt ] || fail "what was approved is not done"
fi

# ---- hocket mcp serve, and hocket eval ------------------------------------------------------------------
agent tools main "tools: [write_file]\ntimeout: 600" "$write"
can='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}'
: >mcp.out
({ printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"main","arguments":{"input":"go"},%s}}\n' "$can"
  until_true grep -q input_required mcp.out; }) | "$HOCKET" mcp serve --timeout 600 tools >mcp.out 2>mcp.err # then the client leaves
run=$(sed -n 's/.*the run \([0-9A-Z]*\) is parked: hocket resume .*/\1/p' mcp.err)
[ -n "$run" ] || fail "it says which run is parked"
state_is parked
# An evaluation has nobody to ask: it goes on at once.
printf -- '- {name: asks, target: one/agents, input: hello, timeout: 600, expect: {contains: done}}\n' >asks.eval.yaml
run timeout 60 "$HOCKET" eval asks.eval.yaml; expect 0

# ---- Nothing is kept: what cannot wait is refused at once -----------------------------------------------
run timeout 60 "$HOCKET" run --store off --timeout 600 one/agents hello; expect 0; has err "nobody is there to give it"

finish
