# An answer that was made without all says so.
. "$(dirname "$0")/lib.sh"
team t
cat >t/sim.lua <<'LUA'
local team = require "hocket.sim.team" {}
return function(request)
  if request.system:find("One.", 1, true) then return { status = 400, error = "the kitchen\nburns" } end
  return (type(team) == "table" and team.reply or team)(request)
end
LUA
run hocket run -q --json t hello
expect 0; has out '"ok":true'; has out '"partial":[{"agent":"one"'; has out '"code":"failed"'; has out "the kitchen"
same "$(grep -c '^partial: ' err)" 1; has err "partial: the answer was made without all: one: "
run hocket run --strict -q t hello
expect 1; [ -s out ] || fail "no answer"; has err "partial: "
run hocket run --events events t hello
expect 0; has err "partial: "; tail -1 events >last; has last '"type":"workflow_finished"'; has last '"partial":[{"agent":"one"'

# Whole: nothing is said.
team whole
run hocket run --strict --json whole hello
expect 0; has out '"partial":null'; hasnt err "partial"

# Who is called again, with success, is made good; who is asked something else meanwhile is not.
mkdir -p again/agents
printf -- '---\nname: main\nagents: [one]\n---\nMain.\n' >again/agents/main.md
printf -- '---\nname: one\n---\nOne.\n' >again/agents/one.md
cat >again/sim.lua <<'LUA'
local function ask(...)
  local calls = {}
  for i, prompt in ipairs { ... } do calls[i] = { name = "delegate", arguments = { agent_name = "one", prompt = prompt } } end
  return { calls = calls }
end
return function(request)
  local text = request.last.text
  if request.system:find("One.", 1, true) then
    return text == "bad" and { status = 400, error = "no" } or "fine"
  elseif request.turn == 1 then
    return request.messages[1].text == "both" and ask("bad", "good") or ask "bad"
  elseif request.turn == 2 and request.messages[1].text == "again" then
    return ask "good"
  end
  return "that is all"
end
LUA
run hocket run --strict again once
expect 1; has out "that is all"; has err "partial: the answer was made without all: one: "
run hocket run --strict again again
expect 0; hasnt err "partial"
run hocket run --strict again both
expect 1; has err "partial"
run hocket chat --strict again
expect 2; has err "unknown option '--strict'"

# A plan that is not done: of tasks that were never begun.
mkdir open; cp -r whole/agents open/
cat >open/sim.lua <<'LUA'
return function(request)
  if request.turn == 1 then return { calls = { { name = "create_tasks", arguments = { tasks = { { text = "Find it", assigned_to = "one" } } } } } } end
  return "done, more or less"
end
LUA
run hocket run --strict open hello
expect 1; has err "one: it was never begun"
finish
