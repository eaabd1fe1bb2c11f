# Plans as data: a file that is checked and run, killed and resumed, served; and the plan of a run as a file again.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
mkdir agents
printf -- '---\nname: surveyor\ntools: [write_file]\n---\nYou measure.\n' >agents/surveyor.md
printf -- '---\nname: mason\ntools: [execute_command, write_file]\n---\nYou build.\n' >agents/mason.md
cat >agents/rules.lua <<'X'
return { dry = function(about)
  if about.text:find "dry" then return true end
  return nil, "it has to be dry"
end }
X
cat >sim.lua <<'X'
local function write(path) return { calls = { { name = "write_file", arguments = { path = path, content = "x" } } } } end
return function(request)
  local first = request.messages[1].text
  local made
  if request.system:find "measure" then
    made = ({ "I measured it", write "plot.txt", "3 by 4 metres" })[request.turn]
  elseif first:find "Plan the roof" then
    made = request.turn == 1 and "A flat roof" or "A roof that keeps dry"
  else
    made = ({ write "walls.txt", "2400 bricks" })[request.turn]
  end
  made = made or "done"
  if type(made) == "string" then made = { text = made } end
  made.latency = 0.04
  return made
end
X
cat >plan.md <<'X'
---
plan: garden house
---

# A garden house

## plot

- owner: surveyor
- expected: length and width
- check: {file: plot.txt}

Measure the plot.

## walls

- owner: mason
- after: [plot]
- files: [walls.txt]
- check: test -s walls.txt

Build the walls.

## roof

- owner: mason
- after: walls
- check: {function: rules.dry}

Plan the roof.
X

# It is checked as agents are.
run hocket check plan.md; expect 0; same "$(head -n 1 out)" "OK: 1 plan"
run hocket check .; expect 0; same "$(head -n 1 out)" "OK: 2 agents, 2 scripts and 1 plan"
mkdir bare; run hocket check plan.md bare; expect 3; has out "bare:1:1: there is no agent here"; rmdir bare
sed 's/owner: mason/owner: masn/; s/after: \[plot\]/after: [plott]/' plan.md >wrong.md
run hocket check wrong.md; expect 3; has out "wrong.md:15:1: task 'walls': there is no specialist 'masn'"; has out "depends on 'plott', which is no task"
run hocket run --plan wrong.md; expect 3; has err "wrong.md:15"
rm wrong.md
printf -- '---\nplan: x\n---\n## a\n- owner: surveyor\n- check: make\n\nDo it.\n' >wrong.md
run hocket check wrong.md; expect 3; has out "it is a command, and 'surveyor' has no tool execute_command"
rm wrong.md
{ printf -- '---\nplan: x\n---\n'; i=0; while [ $((i += 1)) -le 1001 ]; do printf '## s%d\n- owner: mason\n\nDo it.\n' $i; done; } >wrong.md
run hocket check wrong.md; expect 3; has out "a plan has 1000 tasks at most; this one has 1001"
run hocket run --plan wrong.md; expect 3
rm wrong.md
run hocket run --plan none.md; expect 2

# It runs, and is mended where a check fails; a command asks as it always does.
rm -f ./*.txt; run hocket run -a allow --plan plan.md "for two"; expect 0
has out "3 by 4 metres"; has out "A roof that keeps dry"; has err "fails the check: there is no file plot.txt"; has err "fails the check: rules.dry refused it"
cp out whole; id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
hasnt err "carries out"; hasnt err "passes" # details
run hocket show "$id"; has out "carries out a plan: plot (surveyor), walls (mason), roof (mason)"; has out "passes the check of walls (command)"; has out "passes the check of roof (function)"; hasnt out plan_started
rm -f ./*.txt; run hocket run -q --store off -a write_file=allow --plan plan.md; has out "'execute_command' was not allowed"
HOCKET_TRUST='' run hocket run -q --model sim-openai/x -a allow --plan plan.md; [ "$code" != 0 ] || has out "may not run"

# Killed at any moment it goes on, and comes to the same.
for delay in 0.05 0.1 0.15 0.2 0.3 0.4; do
  rm -f ./*.txt ev
  "$HOCKET" run -q -a allow --events ev --plan plan.md "for two" >out 2>err </dev/null & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  [ -s ev ] || continue
  run hocket resume -q -a allow "$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)"
  [ $code = 0 ] || grep -q "has ended\|no run" err || fail "killed after $delay"
  if [ $code = 0 ]; then cmp -s out whole || fail "killed after $delay: another answer"; fi
done

# Killed in the middle of a check's command, the run makes the check again.
sed 's/check: test -s walls.txt/check: "touch began; while [ ! -e goes ]; do sleep 0.05; done; test -s walls.txt"/' plan.md >slow.md
rm -f ./*.txt ev began goes
"$HOCKET" run -q -a allow --events ev --plan slow.md "for two" >out 2>err </dev/null & pid=$!
while [ ! -e began ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null; touch goes
run hocket resume -q -a allow "$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)"; expect 0; hasnt out "could not be made"; has out "2400 bricks"
rm slow.md began goes

# --plan carries out plans, and nothing else that a path may name.
echo 'return "the script ran"' >s.lua; mkdir nothing
for path in s.lua agents/mason.md planner nothing nowhere.md; do
  run hocket run -q --plan $path; expect 2; hasnt out "the script ran"
done
has err "there is no file, folder or agent 'nowhere.md'"
run hocket run -q --plan agents/mason.md; has err "agents/mason.md: no plan"
run hocket run -q --detach --plan s.lua; expect 2; has err "s.lua: no plan"
rmdir nothing

# The plan of a run is a file again, in both forms, and can be edited.
run hocket plan "$id"; expect 0; has out "plan: for-two"; has out "## walls"; has out "- check: test -s walls.txt"
cp out again.md; run hocket check again.md; expect 0
run hocket plan "$id" --yaml; expect 0; has out "steps:"; cp out again.yaml; run hocket check again.yaml; expect 0
rm -f ./*.txt; run hocket run -q -a allow --plan again.yaml; expect 0; has out "A roof that keeps dry"
run hocket plan 01ABC; expect 1
echo 'return "x"' >s.lua; run hocket run -q s.lua; run hocket plan last; expect 1; has err "has carried out no plan"
run hocket plan --yaml; expect 2
rm again.md again.yaml s.lua

# One that succeeded is saved under a name, and listed.
run hocket plan; expect 0; has out "there are no plans"
run hocket plan "$id" --save garden; expect 0; has out "plans/garden.md"; has plans/garden.md "request: for two"
run hocket plan "$id" --save garden; [ $code != 0 ] || fail "written over"; has err "is there already"
run hocket plan "$id" --save ../x; expect 2
run hocket plan; expect 0; has out "plans/garden.md  3 steps: for two"
rm -f ./*.txt; run hocket run -q -a allow --plan plans/garden.md; expect 0; has out "A roof that keeps dry"
run hocket plan --json; expect 0; has out '"name":"garden"'
printf -- '---\nname: mason\n---\nYou build.\n' >agents/mason.md
printf 'plan: x\nsteps:\n  - {id: a, owner: mason, description: Build the walls, check: {file: never.txt}}\n' >bad.yaml
run hocket run -q --plan bad.yaml; [ $code != 0 ] || fail "a check that fails"
run hocket plan last --save bad; [ $code != 0 ] || fail "saved"; has err "did not succeed"

# It says where its agents are, and what the file of a plan says beside its steps.
mkdir -p house/agents; printf -- '---\nname: smith\n---\nYou forge.\n' >house/agents/smith.md
printf -- '---\nplan: gate\non_failure: abort\n---\n## gate\n- owner: smith\n\nForge a gate.\n' >house/plan.md
run hocket run -q --plan house/plan.md; expect 0; sed -i 's/on_failure/approve_plan: true\n&/' house/plan.md
run hocket plan last; expect 0; has out "team: house/agents"; has out "on_failure: abort"; has out "approve_plan: true"
grep -v approve_plan out >gate.md; run hocket check gate.md; expect 0
run hocket plan last --save gate; expect 0; has plans/gate.md 'team: ../house/agents'; run hocket check plans/gate.md; expect 0

# Of several plans of a run it is the one that ended last, in its own order and mode.
cat >two.lua <<'X'
local team = require("hocket").agents "agents"
local function plan(mode, ...)
  local tasks = {}
  for i, id in ipairs { ... } do tasks[i] = { id = id, specialist = "mason", description = mode .. " " .. id } end
  return require("hocket").patterns.coordinator.run({ type = "task", execution_mode = mode, tasks = tasks }, { team = team })
end
plan("parallel", "a", "b")
return plan("sequential", "b", "c", "a").text
X
run hocket run -q --trust two.lua; expect 0; run hocket show last; has out "carries out a plan, one task after the other: b (mason), c (mason), a (mason)"
run hocket plan last; expect 0; has out "execution_mode: sequential"
[ "$(grep '^## ' out | tr -d '\n')" = "## b## c## a" ] || fail "another order"
rm two.lua gate.md
# Of a script's plan it names the folder of the agents, so that it is checked and run as it is; what follows a failure is there, too.
mkdir -p deep/crew; printf -- '---\nname: digger\n---\nYou dig.\n' >deep/crew/digger.md
cat >deep/dig.lua <<'X'
local hocket = require "hocket"
local tasks = { { id = "pit", specialist = "digger", description = "Dig", check = { file = "deep/dig.lua" }, depends_on = {} } }
local reply, err = hocket.patterns.coordinator.run({ type = "task", tasks = tasks }, { team = hocket.agents(... == "whole" and require("hocket.fs").real "deep/crew" or "deep/crew"), on_failure = "continue" })
return reply and reply.text, err
X
for way in part whole; do
  run hocket run -q --trust deep/dig.lua $way; expect 0
  run hocket plan last; expect 0; has out "team: deep/crew"; has out "on_failure: continue"; has out "check: {file: deep/dig.lua}"; cp out deep.md
  run hocket check deep.md; expect 0; run hocket run -q --plan deep.md; expect 0
  run hocket plan last --yaml; expect 0; cp out deep.yaml; run hocket check deep.yaml; expect 0
  hocket run -q --trust deep/dig.lua $way >/dev/null 2>&1; run hocket plan last --save deep-$way; expect 0; has plans/deep-$way.md "team: ../deep/crew"; run hocket check plans/deep-$way.md; expect 0
  run hocket run -q --plan deep-$way; expect 0
done
rm -r deep deep.md deep.yaml plans/deep-*

# What labels a conversation.
cat >read.lua <<'X'
local hocket = require "hocket"
local look = hocket.tool { name = "write_file", description = "Looks", taints = "web", run = function() return "sun" end }
return hocket.run(hocket.agent { name = "seer", prompt = "You build", tools = { look } }, "now").text
X
run hocket run -v read.lua; expect 0; has err "seer has read text that is labelled web (write_file)"
run hocket show last; has out "has read text that is labelled web (write_file)"; hasnt out labels_added; rm read.lua

# Whoever trusts one folder of Lua trusts no other one beside it: a model splits its step, and names a function as the check of a part.
mkdir -p split/agents/workflows
printf 'plan: x\nsteps:\n  - {id: a, owner: mason, description: Do it}\n' >split/plan.yaml
printf -- '---\nname: mason\ntools: [split_task]\n---\nYou build.\n' >split/agents/mason.md
printf -- '---\nname: other\ntools: ["workflow:ww"]\n---\nOther.\n' >split/agents/other.md
printf 'local workflow = require "hocket.workflow"\nreturn workflow { description = "w", run = function() return "x" end }\n' >split/agents/workflows/ww.lua
printf 'io.open("ran", "w"):close()\nreturn { go = function() return true end }\n' >split/agents/evil.lua
cat >away.lua <<'X'
return function(request)
  if #request.messages > 1 or not request.messages[1].text:find "Do it" then return { text = "built" } end
  return { calls = { { name = "split_task", arguments = { id = "a", tasks = { { id = "b", specialist = "mason", description = "A part", check = { ["function"] = "evil.go" } } } } } } }
end
X
"$HOCKET" sim away.lua >serving 2>hint & server=$!
at_end() { kill $server 2>/dev/null; wait $server 2>/dev/null; }
until_true grep -q serving serving
OPENAI_BASE_URL=$(sed -n 's/^serving \(http:[^ ]*\) (.*)$/\1/p' serving); export OPENAI_BASE_URL
run env "HOCKET_TRUST=$WORK/split/agents/workflows" "$HOCKET" run -q --model openai/x --plan split/plan.yaml
expect 1; has err "is not trusted, and its Lua would run: evil.lua"; [ ! -e ran ] || fail "Lua ran that nobody trusts"
run env "HOCKET_TRUST=$WORK/split/agents" "$HOCKET" run -q --model openai/x --plan split/plan.yaml
expect 0; has out built; [ -e ran ] || fail "it was not run"
finish
