# The path of a task and the tree of a plan, as people see them: lines of hocket run and watch, hocket show; and the same after a kill.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
mkdir agents
printf -- '---\nname: mason\nalternates: [helper, engineer]\n---\nYou are mason\n' >agents/mason.md
printf -- '---\nname: gardener\ntools: [split_task]\n---\nYou are gardener\n' >agents/gardener.md
printf -- '---\nname: paver\ntools: [report_blocker]\n---\nYou are paver\n' >agents/paver.md
for name in helper engineer; do printf -- '---\nname: %s\n---\nYou are %s\n' $name $name >agents/$name.md; done
cat >house.lua <<'X1'
local hocket, word = require "hocket", ...
local function task(id, who, ...) return { id = id, specialist = who, description = "Do the " .. id, depends_on = (...) and { ... } or nil } end
return hocket.patterns.coordinator.run({ type = "task", tasks = { task("walls", "mason"), task("garden", "gardener"), task("party", "helper", "garden") } }, {
  team = hocket.agents "agents", retries = 0, backoff = 0,
  on_blocker = function(about)
    if word == "refuse" then return nil, "do without " .. about.needs end
    return { task("slabs", "engineer") }
  end,
})
X1
cat >sim.lua <<'X1'
local function call(name, arguments) return { calls = { { name = name, arguments = arguments } } } end
return function(request)
  local who, text = request.system:match "You are (%w+)", request.messages[#request.messages].text or ""
  local made = who .. " did it"
  if who == "mason" or who == "helper" and text:find "Do the walls" then made = "FAILED: " .. who .. " has no ladder" end
  if who == "gardener" and text:find "Do the garden" then
    made = call("split_task", { id = "garden", tasks = { { id = "beds", specialist = "helper", description = "Dig" }, { id = "path", specialist = "paver", description = "Pave" } } })
  end
  if who == "paver" and not text:find "You reported a blocker" then made = call("report_blocker", { id = "garden.path", what = "there are no slabs", needs = "12 slabs" }) end
  if type(made) == "string" then made = { text = made } end
  made.latency = 0.03
  return made
end
X1
tree() { # the board of hocket show
  hocket show last | sed -n '/^board:/,/^$/p'
}

run hocket run house.lua now; expect 0; cp out whole
has err "gardener splits garden into 2 parts: garden.beds (helper), garden.path (paver)"
has err "mason has failed, and gives up to helper: mason has no ladder"
has err "helper has failed after mason, and gives up to engineer: helper has no ladder"
has err "paver is blocked: there are no slabs (it needs: 12 slabs)"
has err "coordinator planned 1 task: engineer 1, before task 5"; has err "paver goes on with garden.path"
hasnt err "planned 2 tasks: helper 1, paver 1"
tree >shown
cat >wanted <<'X1'
board: 6 of 6 done
  + 1  Do the walls  mason > helper > engineer
  + 2  Do the garden  gardener
    + 4  garden.beds: Dig  helper
    + 5  garden.path: Pave  paver
      + 6  Do the slabs  engineer  for task 5
  + 3  Do the party  helper
X1
sed 's/✓/+/; /^$/d' shown >plain; cmp -s plain wanted || { cat plain; fail "another tree"; }
hocket watch last 2>&1 | grep -q "after mason, and gives up to engineer" || fail "watch has the path"
run hocket run -q --json house.lua now; expect 0; has out '"reassigned_to":["helper","engineer"]'; has out '"parent":2'; has out '"unblocks":5'
hocket show --json last | sed 's/.*"boards":\(\[.*\]\),"broken".*/\1/' >boards
has boards '"path":["mason","helper","engineer"]'

# While it waits the task is blocked, and neither failed nor done; a refusal is seen.
run hocket show last --at "$(hocket show --json last | tr '{' '\n' | grep '"type":"task_blocked"' | sed 's/.*"seq":\([0-9]*\).*/\1/')"
has out "is blocked: there are no slabs"
run hocket run house.lua refuse; expect 0; has err "paver goes on with garden.path, and is refused what it needs: do without 12 slabs"
tree >refused; hasnt refused "is blocked"; has refused "garden.path: Pave  paver"

# On a facilitator's board the parts are below the task, too.
mkdir -p site/agents
printf -- '---\nname: lead\ntools: [facilitator]\nagents: [boss, hand]\n---\nYou are lead\n' >site/agents/lead.md
printf -- '---\nname: boss\ntools: [specialist, split_task]\n---\nYou are boss\n' >site/agents/boss.md
printf -- '---\nname: hand\ntools: [specialist]\n---\nYou are hand\n' >site/agents/hand.md
cat >site/sim.lua <<'X1'
local function call(name, arguments) return { latency = 0.03, calls = { { name = name, arguments = arguments } } } end
local create = call("create_tasks", { tasks = { { text = "Build a house", assigned_to = "boss" } } })
local send = call("call_boss", { task_ids = { 1 }, message = "Build a house" })
local function part(id, after) return { id = id, specialist = "hand", description = "Do " .. id, depends_on = after } end
return function(request)
  local who = request.system:match "You are (%w+)"
  if who == "lead" and request.turn < 3 then return request.turn == 1 and create or send end
  if who == "boss" then return call("split_task", { id = 1, tasks = { part "walls", part("roof", { "walls" }) } }) end
  return { latency = 0.03, text = who == "lead" and "The end" or "did it" }
end
X1
run hocket run -q site/agents/lead.md now; expect 0; cp out site/whole; tree >site/shown
has site/shown "Build a house"; has site/shown "walls"; has site/shown "3 of 3 done"
run hocket show last; has out "carries out the parts of task 1: walls (hand), roof (hand)"

# Killed at any moment it goes on, or had ended: nobody fails, splits or reports twice, and the tree is the same. Its events may be seen before the
# store has the run: then there is none, and nobody says that it could go on.
killed_and_resumed() { # WHOLE SHOWN COUNTS TARGET: its answer, its tree, and how often a task was split, went to another, was blocked
  goes_on=0
  for delay in 0 0.03 0.06 0.09 0.12 0.16 0.2 0.25; do
    rm -f ev
    "$HOCKET" run -q --events ev "$4" now >out 2>err </dev/null & pid=$!
    until_true test -s ev; sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
    id=$(grep -oE '01[0-9A-Z]{24}' ev 2>/dev/null | head -n 1)
    [ -n "$id" ] || continue
    hocket runs --json | grep -q "$id" && is_stored=yes || is_stored=no
    run hocket resume -q "$id"
    if [ $is_stored = no ]; then
      expect 1; has err "there is no run $id"
      continue
    fi
    grep -q "has ended" err || expect 0
    cmp -s out "$1" || fail "killed after $delay: another answer"
    hocket show "$id" | sed -n '/^board:/,/^$/p' >again; cmp -s again "$2" || { cat again; fail "killed after $delay: another tree"; }
    hocket show --json "$id" | tr '{' '\n' >records
    same "$(grep -c '"type":"task_split"' records) $(grep -c '"type":"reassigned"' records) $(grep -c '"type":"task_blocked"' records)" "$3"
    goes_on=$((goes_on + 1))
  done
  [ $goes_on -gt 0 ] || fail "no run was killed in its middle, or at its end"
}
killed_and_resumed whole shown "1 2 1" house.lua
killed_and_resumed site/whole site/shown "1 0 0" site/agents/lead.md

# A handoff that the model chooses: chosen once, and the chosen one's answer.
mkdir -p desk/agents
printf -- '---\nname: desk\nhandoff: [{agent: legal, when: it is about contracts, pass: conversation}, {agent: money}]\n---\nYou are desk\n' >desk/agents/desk.md
printf -- '---\nname: legal\n---\nYou are legal\n' >desk/agents/legal.md
printf -- '---\nname: money\n---\nYou are money\n' >desk/agents/money.md
cat >desk/sim.lua <<'X1'
return function(request)
  if request.system:find "You are legal" then return { latency = 0.05, text = "It ends in May." } end
  return { latency = 0.05, text = "I look who is there.", calls = { { name = "handoff_to", arguments = { agent = "legal", reason = "a contract", response = "it is a contract" } } } }
end
X1
run hocket run -q desk/agents/desk.md now; expect 0; has out "It ends in May."; cp out desk/whole; : >desk/shown
killed_and_resumed desk/whole desk/shown "0 0 0" desk/agents/desk.md
same "$(grep -c '"type":"handoff"' records) $(grep -c '"type":"model_reply"' records)" "1 2"
finish
