# An agent of a pool: each hook and each guard is asked once, where it works; the text that its guard stops is in no run's events.
. "$(dirname "$0")/lib.sh"
mkdir -m 700 state
HOCKET_STORE=$PWD/state/runs.db HOCKET_TRUST=1 ASKED=$PWD/asked; export HOCKET_STORE HOCKET_TRUST ASKED
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
worker=; at_end() { [ -z "$worker" ] || kill -KILL "$worker" 2>/dev/null; }

mkdir -p team/agents at_worker
printf -- '---\nname: lead\ntools: [delegate]\nagents: [far]\n---\nYou lead.\n' >team/agents/lead.md
printf -- '---\nname: far\ndescription: Works elsewhere\npool: gpu\ntools: [list_directory]\nguards: {input: [checks.input], output: [checks.output]}\n---\nYou are far.\n' >team/agents/far.md
cat >team/agents/checks.lua <<'X'
local function note(what)
  local f <close> = assert(io.open(os.getenv "ASKED", "a"))
  f:write(what, "\n")
end
return {
  input = function(about) note("guard input " .. about.agent) end,
  output = function(about)
    note("guard output " .. about.agent .. (about.text:find "hooked" and " hooked" or ""))
    return about.text:find "4711" and "it has the number" or nil
  end,
}
X
cat >team/hooks.lua <<'X'
local hooks = {}
for _, point in ipairs { "before_run", "after_run", "before_agent", "after_agent", "before_model", "after_model", "before_tool", "after_tool" } do
  hooks[point] = function(event)
    local f <close> = assert(io.open(os.getenv "ASKED", "a"))
    f:write(("%s %s\n"):format(point, event.tool or event.agent or "run"))
    if point == "after_agent" and event.agent == "far" then return { answer = event.result .. " hooked" } end
  end
end
return hooks
X
cat >team/sim.lua <<'X'
return function(request)
  if request.system:find "lead" then
    if request.last.role == "tool" then return "It said: " .. request.last.text end
    return { calls = { { name = "delegate", arguments = { agent_name = "far", prompt = request.last.text } } } }
  end
  if request.last.role ~= "tool" then return { calls = { { name = "list_directory", arguments = { path = "." } } } } end
  return request.messages[1].text:find "secret" and "the number 4711" or "the answer"
end
X
cp team/sim.lua team/agents/

(cd at_worker && exec "$HOCKET" work --pool gpu >../worker.log 2>&1) & worker=$!
once() { [ "$(grep -cxF "$1" asked)" = 1 ] || fail "'$1' was asked $(grep -cxF "$1" asked) times: $(cat asked)"; }
run hocket run --model sim --approve allow --events ev team go; expect 0; has out "the answer hooked"
for one in "before_run run" "after_run run" "before_agent far" "after_agent far" "before_agent lead" "after_agent lead" "guard input far" \
  "guard output far hooked" "before_tool list_directory" "after_tool list_directory" "before_tool delegate"; do once "$one"; done
[ "$(grep -cx "before_model far" asked)" = 2 ] || fail "model calls: $(cat asked)"
run hocket replay "$(id_in ev)"; expect 0; once "guard output far hooked"; once "before_run run"

rm asked ev; run hocket run --model sim --approve allow --events ev team secret; expect 0; has out "its guard checks.output stopped its answer: it has the number"
hasnt out 4711; hasnt err 4711; hasnt ev 4711
once "guard output far hooked"
"$HOCKET" runs --json >runs.json
for id in $(grep -oE '01[0-9A-Z]{24}' runs.json | sort -u); do
  "$HOCKET" show "$id" >shown 2>&1; hasnt shown "number 4711"
  "$HOCKET" show --json "$id" >shown 2>&1; hasnt shown "number 4711"
done
finish
