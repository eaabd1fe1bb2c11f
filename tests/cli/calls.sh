# Runs that workers do, and that call each other: their forks and copies, and what becomes of both when one is cancelled, removed, or given up.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
[ -z "${HOCKET_TEST_POSTGRES:-}" ] || HOCKET_STORE="postgres://hocket@/test?host=${HOCKET_TEST_POSTGRES#*host=}"
if [ -n "${HOCKET_TEST_POSTGRES:-}" ]; then "$HOCKET" store init >/dev/null || fail "no database"; fi
member() { # of a run as the store has it
  "$HOCKET" run -q member.lua "$1 $2"
}
state_of() { member "$1" told; }
cat >member.lua <<'X'
local id, name = (...):match "^(%w+) (%w+)$"
local row = require("hocket.internal.core.store").find(id)
row.told = require("hocket.internal.commands.stored").state(row)
return type(row[name]) == "table" and require("hocket.json").encode(row[name]) or tostring(row[name])
X
# What was queued before has been taken when one that is queued now is done.
echo 'return "done"' >last.lua
until_workers_looked() { detach last.lua; done_with "$id"; }

# ---- A fork is nobody's work ------------------------------------------------------------------------------
mkdir -p project/agents
printf -- '---\nname: guide\n---\nYou guide.\n' >project/agents/guide.md
cat >project/main.lua <<'X'
local hocket = require "hocket"
local city = assert(hocket.ask "Which city?")
return city .. ", " .. assert(hocket.run(hocket.agents("project/agents").guide, "Hello")).text
X
echo 'return function() return "from afar" end' >project/sim.lua
detach --pool nobody project; queued=$id
worker 1
detach project; asks=$id; until_true is "$asks" parked
mv project gone
run "$HOCKET" fork "$asks"; expect 0; first=$(cat out)
run "$HOCKET" fork "$first"; expect 0; second=$(cat out)
run "$HOCKET" fork "$asks" --latest; expect 0; anew=$(cat out)
run "$HOCKET" fork "$queued"; expect 0; unbegun=$(cat out)
until_workers_looked
for one in "$first" "$second" "$anew" "$unbegun"; do
  same "$(state_of "$one") $(member "$one" pool)" "forked nil"
done
for one in "$first" "$second"; do # on the files that travelled with the run
  run "$HOCKET" resume "$one"; expect 75
  run "$HOCKET" answer "$one" q1 Rome; expect 0; run "$HOCKET" resume "$one"; expect 0; has out "Rome, from afar"
done
mv gone project
run "$HOCKET" resume "$anew"; expect 75; run "$HOCKET" resume "$unbegun"; expect 75
same "$(state_of "$asks") $(state_of "$queued")" "parked queued"
end 1 TERM; expect 0

# ---- A fork of a caller, and its calls --------------------------------------------------------------------
# Its agent does what it is told: "look" calls the caller's tool, "ask" asks a person, all else is its answer.
mkdir -p team/agents
printf -- '---\nname: hand\ntools: [ask_user]\npool: gpu\n---\nHand.\n' >team/agents/hand.md
printf -- '---\nname: deep\nagents: [hand]\npool: big\n---\nDeep.\n' >team/agents/deep.md
cat >team/sim.lua <<'X'
return function(request)
  local last = request.messages[#request.messages]
  if last.role == "user" and last.text:find "^look" then return { calls = { { name = "look", arguments = {} } } } end
  if last.role == "user" and last.text:find "^ask" then return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } } end
  if last.role == "user" and last.text:find "^deep" then return { calls = { { name = "delegate", arguments = { agent_name = "hand", prompt = "look" } } } } end
  if last.role == "user" then return "heard " .. last.text end
  return "heard " .. (last.results and last.results[1].text or last.text or "?"):gsub("%s+", " ")
end
X
cat >team/main.lua <<'X'
local hocket = require "hocket"
local who, what = (...):match "^(%w+) (.*)$"
local look = hocket.tool { steps = true, name = "look", description = "Looks", parameters = { type = "object" }, effects = {}, run = function()
  return "told " .. assert(hocket.signal "go")
end }
return assert(hocket.run(hocket.agents("team/agents")[who], what, { tools = { look } })).text
X
calls_of() { "$HOCKET" runs --limit 0 --json | tr '{' '\n' | grep "\"caller\":\"$1\"" | grep -oE '"id":"01[0-9A-Z]{24}"' | cut -d'"' -f4; }
has_calls() { [ "$(calls_of "$1" | wc -l)" -ge "$2" ]; }
has_owner() { member "$1" owner | grep -q "$2"; }
is_over() { case $(state_of "$1") in done|failed|cancelled) true;; *) false;; esac; }
resume() { "$HOCKET" resume "$1" >"resumed" 2>"resumed.err" </dev/null & resumed=$!; workers="$workers $resumed"; }
resumed() { wait $resumed; code=$?; cp resumed out; cp resumed.err err; what="resume"; expect "$1"; }

# The fork's end is no end of its parent's call, which nobody has taken yet.
worker 2
detach team hand "hello"; caller=$id; until_true is "$caller" waiting; child=$(calls_of "$caller")
run "$HOCKET" fork "$caller"; expect 0; fork=$(cat out)
run "$HOCKET" fork "$fork"; expect 0; grandchild=$(cat out)
for one in "$fork" "$grandchild"; do
  resume "$one"; until_true has_calls "$one" 1; own=$(calls_of "$one")
  kill -KILL $resumed; wait $resumed; resume "$one"; until_true has_owner "$one" $resumed # finds its own
  same "$(calls_of "$one")" "$own"
  run "$HOCKET" cancel "$one"; expect 0; wait $resumed; until_true is "$own" cancelled
  run "$HOCKET" replay "$one"; expect 0
  same "$(state_of "$child") $(member "$child" caller)" "queued $caller"
done
# It makes the call anew; so it does when that has ended since. A copy does so as well.
run "$HOCKET" fork "$caller"; expect 0; early=$(cat out)
run "$HOCKET" export "$caller" copy; expect 0; run "$HOCKET" import --new copy; expect 0; copy=$(cat out)
worker 3 --pool gpu --pool big
done_with "$caller"; has out "heard hello"; until_true is_over "$child"
for one in "$early" "$copy"; do
  run "$HOCKET" resume "$one"; expect 0; has out "heard hello"; same "$(calls_of "$one" | wc -l)" 1
  run "$HOCKET" replay "$one"; expect 0
done
# One that took the end along does not.
run "$HOCKET" fork "$caller"; expect 0; late=$(cat out); run "$HOCKET" resume "$late"; expect 0; has out "heard hello"; same "$(calls_of "$late")" ""

# What the child asks its caller no fork of that answers, also where the question stands in its log.
asks_for() { "$HOCKET" show --json "$1" | grep -q "\"kind\":\"$2\""; } # what it waits for
detach team hand look; caller=$id; until_true asks_for "$caller" signal; child=$(calls_of "$caller")
run "$HOCKET" fork "$caller"; expect 0; fork=$(cat out)
resume "$fork"; until_true has_calls "$fork" 1; until_true asks_for "$(calls_of "$fork")" caller
run "$HOCKET" signal "$fork" go '"by the fork"'; expect 0; resumed 0; has out "heard told by the fork"
until_true asks_for "$child" caller; run "$HOCKET" signal "$caller" go '"by its caller"'; expect 0
done_with "$caller"; has out "heard told by its caller"
run "$HOCKET" replay "$fork"; expect 0; run "$HOCKET" replay "$caller"; expect 0

# A fork of a call: nobody has called it, so what it needs of its caller is not there, and it asks people here.
for at in "" "--at 1"; do
  run "$HOCKET" fork "$child" $at; expect 0; fork=$(cat out)
  run "$HOCKET" resume "$fork"; expect 0; [ -z "$at" ] || has out "nobody has called it"
  run "$HOCKET" replay "$fork"; expect 0
done
detach team hand ask; caller=$id; until_true is "$caller" parked; child=$(calls_of "$caller")
run "$HOCKET" fork "$child"; expect 0; fork=$(cat out); run "$HOCKET" resume "$fork"; expect 75; has err "Which city?"
run "$HOCKET" fork "$fork"; expect 0; second=$(cat out)
for one in "$fork" "$second"; do
  [ "$one" = "$fork" ] || { run "$HOCKET" resume "$one"; expect 75; }
  run "$HOCKET" answer "$one" q1 Rome; expect 0; run "$HOCKET" resume "$one"; expect 0; has out "heard Rome"
  run "$HOCKET" replay "$one"; expect 0
done
run "$HOCKET" fork "$child" --latest; expect 0; fork=$(cat out)
HOCKET_TRUST= run "$HOCKET" resume "$fork"; expect 1; has err "is not trusted"
run "$HOCKET" fork "$child" --latest; expect 0; run "$HOCKET" resume "$(cat out)"; expect 75
run "$HOCKET" answer "$caller" q1 Oslo; expect 0; done_with "$caller"; has out "heard Oslo"

# One that is called and calls.
end 3 TERM; expect 0; worker 4 --pool big
detach team deep deep; caller=$id; until_true has_calls "$caller" 1; middle=$(calls_of "$caller"); until_true is "$middle" waiting; child=$(calls_of "$middle")
run "$HOCKET" fork "$middle"; expect 0; fork=$(cat out); resume "$fork"; until_true has_calls "$fork" 1; own=$(calls_of "$fork")
run "$HOCKET" cancel "$fork"; expect 0; wait $resumed; until_true is "$own" cancelled; same "$(state_of "$child") $(state_of "$middle")" "queued waiting"
run "$HOCKET" fork "$middle"; expect 0; fork=$(cat out); worker 5 --pool gpu; run "$HOCKET" resume "$fork"; expect 0; has out "heard"
done_with "$caller"; has out "heard"; run "$HOCKET" replay "$fork"; expect 0
for one in 2 4 5; do end $one TERM; expect 0; done

# However many tools a call asks for, nothing is left of those that were called.
mkdir -p many/agents
printf -- '---\nname: hand\npool: gpu\n---\nHand.\n' >many/agents/hand.md
cat >many/sim.lua <<'X'
local n = 0
return function()
  n = n + 1
  return n <= 20 and { calls = { { name = "next", arguments = { n = n } } } } or "heard"
end
X
cat >many/main.lua <<'X'
local hocket, flow = require "hocket", require "hocket.flow"
local spawn, made = flow.spawn, setmetatable({}, { __mode = "k" })
function flow.spawn(...)
  local one = spawn(...)
  made[one] = true
  return one
end
local function count()
  local n = 0
  collectgarbage()
  collectgarbage()
  for _ in pairs(made) do n = n + 1 end
  return n
end
local most = 0
local tool = hocket.tool { steps = true, name = "next", description = "Counts", parameters = { type = "object", properties = { n = { type = "integer" } } }, effects = {},
  run = function(args)
    most = math.max(most, count())
    return tostring(args.n + 1)
  end }
local text = assert(hocket.run(hocket.agents("many/agents").hand, "count", { tools = { tool } })).text
return text .. (most < 10 and ", a few at once" or (", %d at once"):format(most))
X
worker many --pool gpu --pool default; detach many; done_with "$id"; has out "heard, a few at once"; end many TERM; expect 0

# Nor does it end what its parent has submitted.
cat >ends.lua <<'X'
local hocket = require "hocket"
local one = assert(hocket.submit("last.lua", "", { pool = "nobody" }))
assert(hocket.signal "go")
local ok, err = one:cancel()
return tostring(ok) .. " " .. tostring(err)
X
run "$HOCKET" run -q --json ends.lua; expect 75; caller=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1); child=$(calls_of "$caller")
run "$HOCKET" fork "$caller"; expect 0; fork=$(cat out)
for one in "$fork" "$caller"; do run "$HOCKET" signal "$one" go 1; expect 0; done
run "$HOCKET" resume "$fork"; expect 0; has out "was submitted by another run"; same "$(state_of "$child")" queued
run "$HOCKET" resume "$caller"; expect 0; has out "true nil"; same "$(state_of "$child")" cancelled

# ---- Removed --------------------------------------------------------------------------------------------------
# Who waits for a run, or may be asked by it, keeps it.
cat >asks.lua <<'X'
local hocket = require "hocket"
local one = assert(hocket.submit("last.lua", "", { pool = "nobody" }))
assert(hocket.ask "Which?")
return one:wait().text
X
run "$HOCKET" run -q asks.lua; expect 75; caller=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1); child=$(calls_of "$caller")
run "$HOCKET" rm "$child" "$caller"; expect 1; has err "run $child was called by run $caller, which has not ended"; has err "run $caller has called run $child"
same "$(state_of "$caller") $(state_of "$child")" "parked queued"
run "$HOCKET" cancel "$child"; expect 0; run "$HOCKET" rm "$child"; expect 1; has err "was called by"
run "$HOCKET" cancel "$caller"; expect 0; run "$HOCKET" rm "$child" "$caller" "$child"; expect 0
run "$HOCKET" rm "$child"; expect 1; has err "there is no run"
# One that has ended has left what it submitted to itself.
echo 'return require("hocket").submit("last.lua", "", { pool = "nobody" }).id' >leaves.lua
run "$HOCKET" run -q leaves.lua; expect 0; child=$(cat out); caller=$(member "$child" caller)
run "$HOCKET" rm "$caller"; expect 0; same "$(state_of "$child")" queued; run "$HOCKET" rm "$child"; expect 0

# ---- Cancelled while it ends ------------------------------------------------------------------------------
# Whoever cancels has seen it at work; it has ended when it is taken. Its end stays, and so do those of its children.
cat >late.lua <<'X'
local cancel, store = require "hocket.internal.run.cancel", require "hocket.internal.core.store"
local find, runs = store.find, store.runs
function store.find(id)
  local row, err = find(id)
  if row then row.state = "running" end
  return row, err
end
function store.runs(filter)
  if filter.caller then filter.states = nil end
  return runs(filter)
end
local how, err = cancel.run((...))
return tostring(how) .. " " .. err.message
X
worker 6
cat >parent.lua <<'X'
return assert(assert(require("hocket").submit("last.lua", "")):wait()).text
X
detach parent.lua; done_with "$id"; child=$(calls_of "$id")
run "$HOCKET" run -q late.lua "$id"; expect 0; has out "nil run $id has ended: it is done"
for one in "$id" "$child"; do
  same "$(state_of "$one") $(member "$one" owner)" "done nil"; run "$HOCKET" wait "$one"; expect 0; has out done
done
end 6 TERM; expect 0

# ---- Cancelled while the store fails -----------------------------------------------------------------------
# Its error is given to whoever cancels, also where the failure was met on the way to what a child has called.
cat >fails.lua <<'X'
local cancel, store = require "hocket.internal.run.cancel", require "hocket.internal.core.store"
local id, broken = (...):match "(%w+) (%w+)"
local runs = store.runs
function store.runs(filter)
  if filter.caller == broken then return nil, { code = "io", message = "the disk is full" } end
  return runs(filter)
end
local how, err = cancel.run(id)
return tostring(how) .. " " .. err.message
X
for at in child caller; do
  run "$HOCKET" run -q asks.lua; expect 75; caller=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1); child=$(calls_of "$caller")
  eval "broken=\$$at"
  run "$HOCKET" run -q fails.lua "$caller $broken"; expect 0; has out "nil the disk is full"
  run "$HOCKET" run -q fails.lua "$broken $broken"; expect 0; has out "nil the disk is full"
  for one in "$child" "$caller"; do "$HOCKET" cancel "$one" >/dev/null 2>&1; done
done

# ---- Given up -----------------------------------------------------------------------------------------------
# A caller that takes its workers along again and again has failed. Nobody would hear of its agents' calls: they end; what it has submitted goes on.
mkdir -p doomed; cp -r team/agents team/sim.lua doomed; cp last.lua doomed/child.lua
cat >doomed/main.lua <<'X'
local hocket, store = require "hocket", require "hocket.internal.core.store"
local id = hocket.this_run().id
assert(hocket.submit("doomed/child.lua", "", { pool = "nobody" }))
hocket.flow.spawn(function() return hocket.run(hocket.agents("doomed/agents").hand, "hello") end)
hocket.step("called", function()
  while #store.runs { caller = id } < 2 do hocket.flow.sleep(0.05) end
  return true
end, { idempotent = true })
os.execute "kill -9 $PPID"
X
HOCKET_APPROVE=deny; export HOCKET_APPROVE # a word that stands in the log of each life
detach doomed; caller=$id
for n in $(seq 20); do
  worker pill; until_true sh -c "! kill -0 $wpill 2>/dev/null || grep -q 'not tried again' wpill.out"
  if kill -0 "$wpill" 2>/dev/null; then break; fi
done
same "$(state_of "$caller")" failed
ends=; for one in $(calls_of "$caller"); do ends="$ends $(member "$one" pool):$(state_of "$one")"; done
same "$ends" " gpu:cancelled nobody:queued"
end pill TERM; expect 0

finish
