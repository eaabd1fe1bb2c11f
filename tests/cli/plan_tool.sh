# A saved plan as a tool of an agent (tools: [plan:NAME]) and by its name (hocket run --plan NAME): checked, trusted, approved, killed and resumed, served.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
mkdir -p project/agents project/plans && cd project || exit 1
printf -- '---\nname: lead\ntools: ["plan:garden"]\n---\nYou lead\n' >agents/lead.md
printf -- '---\nname: mason\n---\nYou build\n' >agents/mason.md
printf -- '---\nplan: garden\nrequest: A garden with walls\n---\n## walls\n- owner: mason\n\nBuild walls.\n\n## gate\n- owner: mason\n- after: walls\n- check: {function: rules.gate}\n\nHang the gate.\n' >plans/garden.md
printf 'return { gate = function(about) return about.text:find "gate" ~= nil end }\n' >agents/rules.lua
cat >sim.lua <<'X1'
return function(request)
  local made = request.messages[1].text:match "[^\n]*" .. " is done"
  if request.system:find "You lead" then
    made = request.turn == 1 and { calls = { { name = "garden", arguments = { request = "for two" } } } } or "It came to: " .. request.last.text
  end
  if type(made) == "string" then made = { text = made } end
  made.latency = 0.04
  return made
end
X1

# It is checked with the agent that names it, and listed with the other tools.
run hocket check .; expect 0; has out "2 agents"; has out "1 plan"; has out "it may make up to 96040 model calls" # 40 turns, and 400 calls of a plan of two steps with 3 attempts of 40 turns
printf -- '---\nname: lead\ntools: ["plan:garden"]\nmax_tool_calls: 1\nmax_turns: 2\n---\nYou lead\n' >agents/lead.md; sed -i 's/^name: mason/&\nmax_turns: 1/' agents/mason.md
run hocket check -v .; has out "mason: reaches agents none; tools none; 0 deep, 0 side by side, 1 model calls at most"; has out "lead: reaches agents none; tools plan:garden; 0 deep, 0 side by side, 8 model calls at most"
sed -i '/^max_/d' agents/*.md
# A step whose agent carries the plan out again has no bound, and one that may split has a large one: both in true words, also in a workflow.
mkdir workflows; printf 'local workflow = require "hocket.workflow"\nreturn workflow { description = "w", run = function() return workflow.agent { "lead", input = "Build" } end }\n' >workflows/w.lua
run hocket check workflows/w.lua; expect 0; has out "96040"; has out "mason"; hasnt out "no workflow"
printf -- '---\nname: mason\ntools: ["plan:garden"]\n---\nYou build\n' >agents/mason.md
run hocket check .; expect 0; has out "it may carry out plan:garden, which is carried out again by agents of its own steps"
run hocket check workflows/w.lua; has out "the plan plans/garden.md is carried out again by agents of its own steps"; hasnt out "no workflow"
printf -- '---\nname: mason\ntools: [split_task]\nbudget: {turns: 1}\n---\nYou build\n' >agents/mason.md
run hocket check .; expect 0; has out "by agents of its own steps" # a part may go to the lead
mkdir crew; mv agents/mason.md crew; sed -i 's/^plan: garden/&\nteam: ..\/crew/; /check:/d' plans/garden.md
run hocket check .; expect 0; has out "it may make up to 8786440 model calls"
rm -r workflows crew; sed -i '/^team:/d; s/^- after: walls/&\n- check: {function: rules.gate}/' plans/garden.md; printf -- '---\nname: mason\n---\nYou build\n' >agents/mason.md
sed 's/plan:garden/plan:gardn/' agents/lead.md >agents/other.md; sed -i 's/name: lead/name: other/' agents/other.md
run hocket check agents; expect 3; has out "agents/other.md:3:9"; has out "'plan:gardn': there is no gardn.md in plans"
sed -i 's/plan:gardn/plan:..\/x/' agents/other.md; run hocket check agents; expect 3; has out "the name of a plan has letters, digits, - and _"
rm agents/other.md
run hocket tools; has out "plan:NAME"

# The agent calls it; the steps read what it asked; the answer is what the steps came to.
run hocket run --events ev agents/lead.md "Make it nice"; expect 0; cp out whole
has out "Build walls. is done"; has out "Hang the gate. is done"; has ev "The request: for two"; has ev '"type":"plan_started"'
run hocket run -q --plan garden "for two"; expect 0; has out "Hang the gate. is done"
run hocket run -q --plan nothing "for two"; expect 2

# A worker has the plans that stand beside the agents, and reads no others.
id=$(hocket run -q --detach agents/lead.md "Make it nice")
mkdir ../away; mv agents plans sim.lua ../away
(cd .. && mkdir at && cd at && exec "$HOCKET" work >../work.log 2>&1) & worker=$!
run hocket wait --timeout 60 "$id"; expect 0; cmp -s out ../project/whole || fail "another answer of a worker"
kill -TERM $worker; wait $worker
mv ../away/* .

# Nobody trusts the folder: its Lua and its plan tell agents nothing.
run env "HOCKET_TRUST=$WORK/project/sim.lua:$WORK/project/agents" "$HOCKET" run -q --store off agents/lead.md "Make it nice"
hasnt out "Build walls. is done"

# It wants a person's approval, as the file says: without one nothing is done.
sed -i 's/^request:/approve_plan: true\nrequest:/' plans/garden.md
run hocket run -q -a deny agents/lead.md "Make it nice"; hasnt out "Build walls. is done"
run hocket run -q agents/lead.md "Make it nice"; expect 75; has err "Hang the gate"
id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1); "$HOCKET" answer "$id" q1 yes >/dev/null; run hocket resume -q "$id"; expect 0; cmp -s out whole || fail "another answer after the approval"
run hocket run -q agents/lead.md "Make it nice"; id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
"$HOCKET" answer "$id" q1 no >/dev/null; run hocket resume -q "$id"; hasnt out "is done"; has out "did not approve"
sed -i '/^approve_plan/d' plans/garden.md

# Killed at any moment it goes on, and comes to the same.
for delay in 0.06 0.1 0.15 0.2 0.25; do
  rm -f ev
  "$HOCKET" run -q --events ev agents/lead.md "Make it nice" >out 2>err </dev/null & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  [ -s ev ] || continue
  run hocket resume -q "$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)"
  [ $code = 0 ] || grep -q "has ended\|no run" err || fail "killed after $delay"
  if [ $code = 0 ]; then cmp -s out whole || fail "killed after $delay: another answer"; fi
done
finish
