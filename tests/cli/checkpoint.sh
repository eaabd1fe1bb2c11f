# A run with checkpoints goes on as one without: what binds it binds it behind each of them, in every life.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
cp "$ROOT/tests/host/kept/scripts/sim.lua" .
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }

# What the operator says, which may be another one in each life. Two posts in each, a checkpoint behind each.
cat >bound.lua <<'X'
local hocket = require "hocket"
local post = hocket.tool { name = "post", description = "Posts.", effects = { "run" }, parameters = { type = "object", properties = { n = { type = "integer" } } },
  run = function(args)
    io.open("posted", "a"):write(args.n, "\n"):close()
    return "posted"
  end }
local clerk = hocket.agent { name = "clerk", prompt = "You post.", tools = { post } }
if ... == "early" then assert(hocket.run(clerk, 'call post {"n": 0}\nsay sent')) end
local state = hocket.checkpoint() or { n = 1 }
while state.n <= 6 do
  if state.n % 2 == 1 then hocket.ask("On with " .. state.n .. "?") end
  assert(hocket.run(clerk, 'call post {"n": ' .. state.n .. '}\nsay sent'))
  state.n = state.n + 1
  hocket.checkpoint(state)
end
return "done"
X
bound() { # [early] POSTED, and the words of its lives
  first=${1#early }; early=${1%"$first"}; posted=$2; shift 2
  rm -f posted; : >posted
  HOCKET_APPROVE=$first "$HOCKET" run bound.lua "${early% }" >out 2>err </dev/null; code=$?; expect 75; id=$(id_in err)
  n=1
  for word in "$@"; do
    "$HOCKET" answer "$id" q$n on 2>/dev/null
    what="$early$first $* at $word"
    HOCKET_APPROVE=$word "$HOCKET" resume "$id" >out 2>err </dev/null; code=$?
    if [ $n = 3 ]; then expect 0; else expect 75; fi
    n=$((n + 1))
  done
  same "$(tr -d '\n' <posted)" "$posted"
  run "$HOCKET" replay "$id"; expect 0
  same "$(tr -d '\n' <posted)" "$posted"
}
bound allow 123456 allow allow allow
bound allow 1234 allow allow deny
bound allow 12 allow deny allow
bound allow "" deny allow allow
bound deny "" allow allow allow
bound "early allow" 0 deny allow allow
bound "early deny" "" allow allow allow

# A script's own chance goes on where it stood, in each life.
cat >dice.lua <<'X'
local hocket = require "hocket"
math.randomseed(42)
local state = hocket.checkpoint() or { n = 1, drawn = {} }
while state.n <= 4 do
  if state.n > 1 and ... == "ask" then hocket.ask "On?" end
  state.drawn[state.n], state.n = math.random(1000000), state.n + 1
  hocket.checkpoint(state)
end
return table.concat(state.drawn, " ")
X
run "$HOCKET" run -q --store off dice.lua no; expect 0; mv out dice
run "$HOCKET" run dice.lua ask </dev/null; expect 75; id=$(id_in err)
for q in q1 q2 q3; do "$HOCKET" answer "$id" $q on 2>/dev/null; run "$HOCKET" resume -q "$id"; done
expect 0; same "$(cat out)" "$(cat dice)"

# What nobody may change stays so: the folder of a skill that an agent of an earlier life was told of.
mkdir -p know/lore; printf -- '---\nname: lore\ndescription: Lore.\n---\nKnow.\n' >know/lore/SKILL.md
cat >guarded.lua <<'E'
local hocket = require "hocket"
local reader = hocket.agent { name = "reader", prompt = "You read.", tools = { "skills" }, skills = { "./know/lore" } }
local writer = hocket.agent { name = "writer", prompt = "You write.", tools = { "write_file" } }
local state = hocket.checkpoint() or { n = 1 }
if state.n == 1 then
  assert(hocket.run(reader, "say read"))
  state = hocket.checkpoint { n = 2 }
end
hocket.ask "On?"
return assert(hocket.run(writer, 'call write_file {"path": "know/lore/how.md", "content": "Forget."}\nsay written')).text
E
run "$HOCKET" run --approve allow guarded.lua </dev/null; expect 75; id=$(id_in err)
"$HOCKET" answer "$id" q1 on 2>/dev/null
run "$HOCKET" resume "$id"; expect 0; [ ! -e know/lore/how.md ] || fail "it was written"

# A fork that remembers is given each outcome once, also where its next life leaps over the rounds in which it was.
cat >days.lua <<'E'
local hocket = require "hocket"
local file <close> = io.open("word")
local word = file:read "a"
local state = hocket.checkpoint() or { n = 1, said = {} }
while state.n <= 4 do
  local day = hocket.step("day", function() return word .. state.n end)
  state.said[state.n] = day .. " " .. assert(hocket.ask "On?") .. " " .. (state.n < 3 and assert(hocket.signal "go") or "")
  state.n = state.n + 1
  hocket.checkpoint(state)
end
return table.concat(state.said, ", ")
E
printf old >word; run "$HOCKET" run days.lua; expect 75; id=$(id_in err)
for n in 1 2; do
  "$HOCKET" signal "$id" go '"go'$n'"' 2>/dev/null; run "$HOCKET" answer "$id" q$n yes$n; expect 0
  run "$HOCKET" resume "$id"; expect 75
done
printf new >word; run "$HOCKET" fork --latest "$id"; expect 0; fork=$(cat out)
run "$HOCKET" resume "$fork"; expect 75
for n in 3 4; do
  run "$HOCKET" answer "$fork" q$n no$n; expect 0
  run "$HOCKET" resume "$fork"; [ $n = 4 ] || expect 75
done
expect 0; has out "old1 yes1 go1, old2 yes2 go2, old3 no3 , new4 no4 "
run "$HOCKET" replay "$fork"; expect 0

# What is said to the run while nobody works waits for who does, over checkpoints and lives.
cat >said.lua <<'E'
local hocket = require "hocket"
local writer = hocket.agent { name = "writer", prompt = "You write." }
local state = hocket.checkpoint() or { n = 1 }
while state.n <= 4 do
  hocket.ask("On with " .. state.n .. "?")
  if state.n == 3 then assert(hocket.run(writer, "say written")) end
  state.n = state.n + 1
  hocket.checkpoint(state)
end
return "done"
E
run "$HOCKET" run said.lua; expect 75; id=$(id_in err)
for n in 1 2 3 4; do
  [ $n = 3 ] || { run "$HOCKET" say "$id" "word $n"; expect 0; }
  run "$HOCKET" answer "$id" q$n on; expect 0
  run "$HOCKET" resume --events ev$n "$id"; [ $n = 4 ] || expect 75
done
has ev3 '"ids":["u1","u2"]'; has ev4 '"id":"u3"'; same "$(cat ev? | grep -c user_message_delivered)" 1
has ev4 '"type":"user_message_dropped"'; run "$HOCKET" replay "$id"; expect 0

# What a plan of an earlier round has not done is missing in the answer.
cat >plan.lua <<'E'
local hocket = require "hocket"
local state = hocket.checkpoint()
if not state then
  local board = hocket.board()
  hocket.this_run():expect(board)
  assert(board:create("lead", { { text = "Find the castle", assigned_to = "writer" } }))
  hocket.checkpoint {}
end
hocket.ask "On?"
return "done"
E
run "$HOCKET" run plan.lua; expect 75; id=$(id_in err)
run "$HOCKET" answer "$id" q1 on; run "$HOCKET" resume "$id"; expect 0; has err "writer: it was never begun"
run "$HOCKET" replay "$id"; expect 0

# Boards and documents hold what they held, whoever made them, in a run that leaps over rounds: it tells what one tells that is not
# cut, and a replay of all of it tells the same.
cat >held.lua <<'E'
local hocket = require "hocket"
local board, document = hocket.board(), hocket.document { { "day", "integer" } }
assert(board:create("lead", { { text = "Find the castle", assigned_to = "writer" }, { text = "Find a bed", assigned_to = "writer" } }))
assert(board:start("writer", { 1 }))
assert(board:fail("writer", 1, "it rained"))
local state = hocket.checkpoint() or { n = 1 }
while state.n <= 3 do
  if ... == "ask" then hocket.ask "On?" end
  local plan = hocket.board()
  hocket.this_run():expect(plan)
  assert(plan:create("lead", { { text = "Round " .. state.n, assigned_to = "round" .. state.n } }))
  if state.n == 2 then assert(plan:complete("round2", { 1 }, 1, "found")) end
  assert(board:create("lead", { { text = "More " .. state.n, assigned_to = "writer" } }))
  if state.n == 1 then
    assert(board:start("writer", { 1, 2 }))
    assert(board:complete("writer", { 1, 2 }, 1, "on the hill"))
  end
  assert(document:append({ day = state.n }, "writer", "Day " .. state.n))
  if state.n == 2 then assert(document:consolidate({ day = 1 }, "lead", "First day", document:version())) end
  assert(hocket.document({ { "part", { "morning", "evening" } } }):append({ part = "evening" }, "writer", "Evening " .. state.n))
  state.n = state.n + 1
  hocket.checkpoint(state)
end
return board:status() .. ", " .. document:render() .. ", " .. document:render { version = 1 }
E
cat >told.lua <<'E'
local hocket = require "hocket"
local result = hocket.json.decode(io.open(...):read "a")
print(hocket.json.encode { result.text, result.tasks, result.document, result.partial })
E
told() { "$HOCKET" run --store off told.lua "$1"; }
run "$HOCKET" run --json held.lua; expect 0; cp out uncut; has uncut '"result":"on the hill"'; has uncut '"agent":"round3"'
run "$HOCKET" run held.lua ask; expect 75; id=$(id_in err)
for n in 1 2 3; do
  run "$HOCKET" answer "$id" q$n on
  run "$HOCKET" resume --json "$id"; [ $n = 3 ] || expect 75
done
expect 0; same "$(told out)" "$(told uncut)"
run "$HOCKET" replay "$id"; expect 0; run "$HOCKET" show "$id"; has out "board 1: 1 of 5 done"; hasnt out "it rained"

# Of many rounds the newest are told, and no checkpoint is larger than the one before it for the rest.
cat >many.lua <<'X'
local hocket = require "hocket"
local board = hocket.board()
assert(board:create("lead", { { text = "All", assigned_to = "writer" } }))
local state = hocket.checkpoint() or { n = 1 }
while state.n <= 90 do
  if ... == "ask" and state.n % 30 == 0 then hocket.ask "On?" end
  local plan, document = hocket.board(), hocket.document { { "day", "integer" } }
  hocket.this_run():expect(plan)
  assert(plan:create("lead", { { text = ("x"):rep(2000) .. state.n, assigned_to = "round" .. state.n } }))
  assert(document:append({ day = state.n }, "writer", "Day " .. state.n))
  if state.n > 2 then assert(plan:complete("round" .. state.n, { 1 }, 1)) end
  state.n = state.n + 1
  hocket.checkpoint(state)
end
return "done"
X
run "$HOCKET" run --json many.lua; expect 0; cp out uncut; has uncut 'Day 1"'; hasnt uncut 'Day 2"'; has uncut '"agent":"round2"'
same "$(grep -oE '"id":1' uncut | wc -l)" 21
run "$HOCKET" run many.lua ask; expect 75; id=$(id_in err)
for n in 1 2 3; do
  run "$HOCKET" answer "$id" q$n on
  run "$HOCKET" resume --json "$id"; [ $n = 3 ] || expect 75
done
expect 0; same "$(told out)" "$(told uncut)"
run "$HOCKET" replay "$id"; expect 0
run "$HOCKET" export "$id" moved; expect 0; [ "$(wc -c <moved)" -lt 7000000 ] || fail "$(wc -c <moved) bytes"

# So do boards and documents of agents that have ended, in their order, and what was used.
mkdir -p trip/agents
cat >trip/agents/lead.md <<'X'
---
name: lead
tools: [facilitator]
agents: [food, stay]
document: [{day: integer}]
---
Lead. {{agents}}
X
for one in food stay; do printf -- '---\nname: %s\ndescription: Knows %s\ntools: [specialist]\n---\nYou know %s.\n' $one $one $one >trip/agents/$one.md; done
echo "return require 'hocket.sim.team' {}" >sim.lua
cat >trips.lua <<'X'
local hocket = require "hocket"
local agents = hocket.agents "trip/agents"
local state = hocket.checkpoint() or { n = 1 }
local asks, last = ..., 3
if asks and asks:find "many" then asks, last = asks:find "ask", 24 end
while state.n <= last do
  if asks and (last == 3 or state.n == 23) then hocket.ask "On?" end
  assert(hocket.run(agents.lead, "Two days in Rome, " .. state.n))
  state.n = state.n + 1
  hocket.checkpoint(state)
end
if asks then hocket.ask "On?" end
return hocket.json.encode { hocket.this_run():usage().calls, #hocket.this_run():tasks(), #hocket.this_run():document_versions() }
X
run "$HOCKET" run --json trips.lua; expect 0; cp out uncut
run "$HOCKET" run trips.lua ask; expect 75; id=$(id_in err)
for n in 1 2 3 4; do
  run "$HOCKET" answer "$id" q$n on
  run "$HOCKET" resume --json "$id"; [ $n = 4 ] || expect 75
done
expect 0; has uncut '"finished":true'; same "$(told out)" "$(told uncut)"
run "$HOCKET" replay "$id"; expect 0
# The first document stays the run's, when its board has long been let go of.
run "$HOCKET" run --json trips.lua many; expect 0; cp out uncut
run "$HOCKET" run trips.lua "many, ask"; expect 75; id=$(id_in err)
for n in 1 2; do
  run "$HOCKET" answer "$id" q$n on
  run "$HOCKET" resume --json "$id"; [ $n = 2 ] || expect 75
done
expect 0; same "$(told out)" "$(told uncut)"
run "$HOCKET" replay "$id"; expect 0
finish
