# A saved plan is the draft of a new run, which is killed (SIGKILL) in its middle: while the draft waits for its approval, in its first task, in its
# second. Resumed, no task is done twice, no model is asked again for what it has answered, and nothing is done before the approval.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/runs.db; export HOCKET_STORE
mkdir agents plans
printf -- '---\nname: planner\napprove_plan: true\n---\nYou plan for {{specialists}}\n' >agents/planner.md
printf -- '---\nname: mason\ntools: [execute_command]\n---\nYou build.\n' >agents/mason.md
cat >house.lua <<'X'
local hocket = require "hocket"
local team = hocket.agents "agents"
return hocket.patterns.planner.run { request = ..., team = team, planner = team.planner, specialists = { "mason" } }
X
cat >plans/wall.md <<'X'
---
plan: wall
request: Build a wall
---
## ditch
- owner: mason

Dig the ditch.

## wall
- owner: mason
- after: ditch

Lay the stones.
X
# Each request of a model is a line of `asked`, each effect a line of `did`. A request waits while there is a file `hold` that names it.
cat >sim.lua <<'X'
local function read(path)
  local file <close> = io.open(path)
  return file and file:read "l"
end
return function(request)
  local task = request.system:find "You plan" and "plan" or request.messages[1].text:match "Lay" or "Dig"
  local name = task .. request.turn
  local file <close> = assert(io.open("asked", "a"))
  file:write(name, "\n")
  if task == "plan" then return { text = "no plan" } end
  local made = request.turn == 1 and { calls = { { name = "execute_command", arguments = { command = "echo " .. task .. " >>did" } } } } or { text = task .. " is done" }
  made.latency = read "hold" == name and 60 or nil
  return made
end
X
was_asked() { grep -qs "^$1\$" asked; }
begin() { rm -f asked did ev hold; } # nothing is left of the run before

# What a run has to come to, however often it was killed: $1 is what its models were asked in all, each once but for the request that was cut.
came_to() {
  expect 0; has out "Dig is done"; has out "Lay is done"
  same "$(tr '\n' ' ' <asked)" "$1"
  same "$(tr '\n' ' ' <did)" "Dig Lay "
  hocket show --json "$id" | tr '{' '\n' >records
  same "$(grep '"type":"draft_found"' records | grep '"path":"plans/wall.md"' | grep -c '"same":true')" 1
  same "$(grep -c '"type":"question_asked"' records) $(grep -c '"type":"question_answered"' records) $(grep -c '"type":"plan_started"' records)" "1 1 1"
  run hocket show "$id"; has out "takes the saved plan wall (plans/wall.md) as a draft"
}

# Waits for its approval; nothing was asked or done. `new` is offered, since the plan is a draft.
wants_approval() {
  expect 75; has err "A draft: the saved plan 'wall' (for: Build a wall). Answer 'new' for a new plan."
  [ ! -e asked ] || fail "a model was asked before the approval"
  [ ! -e did ] || fail "something was done before the approval"
}
waits() {
  begin; run hocket run -q -a execute_command=allow house.lua "build a  wall"; wants_approval
  id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
}
agree() { run hocket answer "$id" q1 yes; expect 0; }
# Each other request has its answer in the store: what a process that is killed has not written yet is asked again.
is_written() { [ "$(hocket show --json "$id" 2>/dev/null | tr '{' '\n' | grep -c '"type":"model_reply"')" -ge $(($(sort -u asked | wc -l) - 1)) ]; }
# Resumes the run, and kills it when a model is asked for $1 and does not answer.
cut_in() {
  echo "$1" >hold
  "$HOCKET" resume -q -a execute_command=allow "$id" >out 2>err </dev/null & pid=$!
  until_true was_asked "$1"; until_true is_written; kill -KILL $pid; wait $pid 2>/dev/null; rm hold
}
go_on() { run hocket resume -q -a execute_command=allow "$id"; }

# It is never killed.
waits; go_on; wants_approval; agree; go_on; came_to "Dig1 Dig2 Lay1 Lay2 "

# In the first task before its effect, and after it; in the second; in both.
waits; agree; cut_in Dig1; [ ! -e did ] || fail "done too early"; go_on; came_to "Dig1 Dig1 Dig2 Lay1 Lay2 "
waits; agree; cut_in Dig2; go_on; came_to "Dig1 Dig2 Dig2 Lay1 Lay2 "
waits; agree; cut_in Lay1; go_on; came_to "Dig1 Dig2 Lay1 Lay1 Lay2 "
waits; agree; cut_in Lay2; go_on; came_to "Dig1 Dig2 Lay1 Lay2 Lay2 "
waits; agree; cut_in Dig2; cut_in Lay2; go_on; came_to "Dig1 Dig2 Dig2 Lay1 Lay2 Lay2 "

# The saved plan is edited, or gone, between the kill and the resume: the run carries out the one that was approved.
waits; agree; cut_in Dig2; sed -i 's/Lay the stones/Lay bricks/' plans/wall.md; go_on; came_to "Dig1 Dig2 Dig2 Lay1 Lay2 "; hasnt records "bricks"
sed -i 's/Lay bricks/Lay the stones/' plans/wall.md
waits; agree; cut_in Lay2; mv plans away; go_on; mv away plans; came_to "Dig1 Dig2 Lay1 Lay2 Lay2 "

# While the draft waits for its approval: in a process that has just asked, and in one that waits at its terminal.
begin; "$HOCKET" run -q -a execute_command=allow --events ev house.lua "Build a wall" >out 2>err </dev/null & pid=$!
is_asking() { grep -qs '"type":"question_asked"' ev || ! kill -0 $pid 2>/dev/null; }
until_true is_asking; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
id=$(grep -oE '01[0-9A-Z]{24}' ev | head -n 1)
if hocket runs --json | grep -q "$id"; then # events may be seen before the store has the run
  go_on; wants_approval; agree; go_on; came_to "Dig1 Dig2 Lay1 Lay2 "
fi
if "$PTY" -- true >/dev/null 2>&1; then
  begin; "$PTY" -w "Answer 'new'" wait:1 -- sh -c 'echo $$ >pid; exec "$HOCKET" run -a execute_command=allow house.lua "Build a wall"' >seen 2>&1 </dev/null & terminal=$!
  is_parked() { hocket runs --json --limit 1 --state parked | grep -oE '01[0-9A-Z]{24}' >parked; grep -qs "Answer 'new'" seen && [ -s parked ]; }
  until_true is_parked; kill -KILL "$(cat pid)"; wait $terminal; id=$(head -n 1 parked)
  go_on; wants_approval; agree; cut_in Dig1; go_on; came_to "Dig1 Dig1 Dig2 Lay1 Lay2 "
fi
finish
