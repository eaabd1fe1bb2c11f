# Runs that workers do: they are put into the store in one place, and done in another, by whoever is there; killed,
# stopped, drained and cancelled at any moment.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"

# ---- What travels ----------------------------------------------------------------------------------
mkdir -p project/agents/texts project/lib
printf -- '---\nname: guide\n---\nYou guide. {{include texts/tone.txt}}\n' >project/agents/guide.md
echo "Be kind." >project/agents/texts/tone.txt
echo 'return function(request) return "heard " .. #request.messages .. (request.system:find "Be kind" and " kind" or "") end' >project/sim.lua
echo 'return { word = "from a module" }' >project/lib/words.lua
echo 'a text' >project/note.txt
cat >project/main.lua <<'X'
local hocket = require "hocket"
local words = require "lib.words"
local team = hocket.agents "project/agents"
print("note: " .. hocket.fs.read "project/note.txt")
hocket.step("one", function() return 1 end)
return words.word .. ", " .. assert(hocket.run(team.guide, "Hello")).text .. ", " .. require("lib.words").word .. ", " .. tostring((...))
X
run "$HOCKET" run -q project one two; expect 0; cp out whole
run "$HOCKET" run --detach project one two; expect 0; script=$(cat out); empty err
run "$HOCKET" run -d -q project/agents "Hello"; expect 0; agents=$(cat out)
run "$HOCKET" runs; has out queued; hasnt out "cut off"
run "$HOCKET" wait --timeout 0.1 "$script"; expect 124; has err "is still queued"
mv project gone
worker 1
run "$HOCKET" wait "$script"; expect 0; same "$(cat out)" "$(cat whole)"; empty err
run "$HOCKET" wait --timeout 60 "$script" "$agents"; expect 0; has out "heard"
run "$HOCKET" wait --json "$agents"; expect 0; has out '"ok":true'; has out '"usage"'; cp out whole
echo 'local f <close> = assert(io.open(...)); print(assert(require("hocket.json").decode(f:read "a")).run)' >parse.lua
run "$HOCKET" run -q --store off parse.lua whole; expect 0; same "$(cat out)" "$agents"
run "$HOCKET" show "$script"; has out done
mv gone project

# What links lead out of the folder stays, but for agents and scripts; so do keys, whatever they are called.
mkdir -p links/team other .ssh; echo OUTSIDE >other/out.txt; echo INSIDE >links/team/in.txt; echo KEY >.ssh/id_rsa
printf -- '---\nname: more\n---\nMore.\n' >other/more.md; printf -- '---\nname: solo\nagents: [more]\n---\n{{include in.txt}}\n' >links/team/solo.md
ln -s ../../other/out.txt ../../other/more.md links/team; ln -s ../../.ssh/id_rsa links/team/notes.txt
detach links/team x; links=$id; run "$HOCKET" export "$links" -; expect 0
has out INSIDE; has out "name: more"; hasnt out OUTSIDE; hasnt out KEY; run "$HOCKET" cancel "$links"

# What is wrong is said to whoever submits, and not on another machine.
run "$HOCKET" run --detach nowhere "x"; expect 2; empty out
run "$HOCKET" run --detach --events e project x; expect 2; has err "--events is not for a run that a worker does"
run "$HOCKET" run --pool x project x; expect 2
run "$HOCKET" run --detach --store off project x; expect 2
run "$HOCKET" run --detach --store memory project x; expect 2; has err "a store in memory ends with this process"
run "$HOCKET" run -q --store memory project one; expect 0; [ ! -e memory ] || fail "a file that is called memory"
run "$HOCKET" work --store memory; expect 2
# Who may write into the store may run Lua here: it says so.
"$HOCKET" work --pool said 2>said & said=$!; workers="$workers $said"
until_true grep -q "may run Lua on its workers" said
kill -TERM $said; wait $said
HOCKET_TRUST= run "$HOCKET" run --detach project x; expect 1; has err "is not trusted"
run "$HOCKET" wait 01AAAAAAAA; expect 1; has err "there is no run"

# The exit code is that which the run would have had.
echo 'error "it broke"' >bad.lua; detach bad.lua; run "$HOCKET" wait "$id"; expect 1; has err "it broke"
echo 'return require("hocket").fs.read "/nowhere"' >io.lua; detach io.lua; run "$HOCKET" wait "$id"; expect 1
echo 'require("hocket").flow.sleep(60)' >long.lua; detach --timeout 0.1 long.lua; run "$HOCKET" wait "$id"; expect 124
# Another pool is somebody else's.
detach --pool gpu bad.lua; run "$HOCKET" wait -t 0.6 "$id"; expect 124; run "$HOCKET" cancel "$id"; expect 0
run "$HOCKET" wait "$id"; expect 130; has err cancelled

run env HOME="$PWD" "$HOCKET" run --detach bad.lua; expect 2; has err "put it into a folder of its own"

# ---- Questions, signals, times -------------------------------------------------------------------------
cat >ask.lua <<'X'
local hocket = require "hocket"
local city = assert(hocket.ask "Which city?")
local word = assert(hocket.signal "go on")
hocket.sleep_until(os.time() + 1)
return city .. " " .. word
X
detach ask.lua; until_true is "$id" parked
run "$HOCKET" wait "$id"; expect 75; has err "Which city?"; has err "hocket answer $id q1 TEXT"
run "$HOCKET" answer "$id" q1 Rome; expect 0; has err "a worker continues the run"
until_true is "$id" waiting
run "$HOCKET" signal "$id" "go on" '"now"'; expect 0
run "$HOCKET" wait "$id"; expect 0; has out "Rome now"

# One that cannot be parked, as its own time runs, hears in its first life.
cat >hears.lua <<'X'
local hocket = require "hocket"
hocket.flow.spawn(hocket.flow.sleep, 600)
return (assert(hocket.signal "go on"))
X
detach hears.lua; until_true is "$id" running
run "$HOCKET" signal "$id" "go on" '"first"'; expect 0
run "$HOCKET" wait --timeout 300 "$id"; expect 0; has out "first"

# ---- Cancelling -----------------------------------------------------------------------------------------
cat >slow.lua <<'X'
local hocket = require "hocket"
hocket.step("begin", function() local f <close> = assert(io.open((...), "a")); f:write "begun\n" end)
hocket.flow.sleep(600)
X
sed -i 's/assert(io.open((...), "a"))/assert(io.open(FILE, "a"))/; s/^local hocket.*/&\nlocal FILE = .../' slow.lua
detach slow.lua "$PWD/begun"; until_true test -s begun
run "$HOCKET" cancel "$id"; expect 0; has err "$id is cancelled"
run "$HOCKET" wait "$id"; expect 130; has err cancelled
run "$HOCKET" cancel "$id"; expect 1; has err "has ended: it is cancelled"
detach ask.lua; until_true is "$id" parked
run "$HOCKET" cancel "$id"; expect 0; is "$id" cancelled || fail "cancelled expected"
run "$HOCKET" answer "$id" q1 Rome; expect 1
# One that hears of it in the middle of its replay: in the next life, or in its own.
cat >many.lua <<'X'
local hocket = require "hocket"
for i = 1, 3000 do hocket.step("s", function() return i end) end
return hocket.ask "On?"
X
cat >say_cancel.lua <<'X'
assert(require("hocket.internal.core.store").message((...), { id = "cancel", json = '{"wish":"cancel"}' }))
X
detach many.lua; until_true is "$id" parked
run "$HOCKET" run -q say_cancel.lua "$id"; expect 0
run "$HOCKET" wait "$id"; expect 130; has err cancelled; is "$id" cancelled || fail "cancelled expected"
run "$HOCKET" run -q many.lua; expect 75; id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
run "$HOCKET" run -q say_cancel.lua "$id"; expect 0
run "$HOCKET" resume "$id"; expect 130; has err cancelled; is "$id" cancelled || fail "cancelled expected"

# ---- Submitted by scripts, one run at a time: whoever waits gives its place away ---------------------------
end 1 TERM; expect 0; worker 2 --runs 1
cat >child.lua <<'X'
return "child of " .. (...)
X
cat >parent.lua <<'X'
local hocket = require "hocket"
local a, b = assert(hocket.submit("child.lua", "one")), assert(hocket.submit("child.lua", "two"))
local lost = assert(hocket.submit("child.lua", "three", { pool = "nobody" }))
assert(lost:cancel())
local none, err = lost:wait()
return assert(a:wait()).text .. ", " .. assert(b:wait()).text .. ", " .. err.code
X
run "$HOCKET" run -q parent.lua; expect 0; has out "child of one, child of two, cancelled"
detach parent.lua; run "$HOCKET" wait "$id"; expect 0; has out "child of one, child of two, cancelled"
same "$("$HOCKET" runs --limit 0 --json | grep -o '"target":"child.lua"' | wc -l)" 6
echo 'return assert(assert(require("hocket").submit("child.lua", "five")):wait(300)).text' >timed.lua
run "$HOCKET" run -q timed.lua; expect 0; has out "child of five"
run "$HOCKET" run -q "$ROOT/examples/workers/cities.lua" "Rome, New York"; expect 0; has out "Rome in two days"; has out "New York in two days"
detach "$ROOT/examples/workers/cities.lua" "Oslo"; run "$HOCKET" wait "$id"; expect 0; has out "Oslo in two days"
cat >wrong.lua <<'X'
local hocket = require "hocket"
local function try(...)
  local ok, made, err = pcall(hocket.submit, ...)
  print(ok and (made and "submitted" or tostring(err)) or made)
end
try("child.lua", "x", "y")
try("child.lua", "x", { at = 1e300 })
try("child.lua", "x", { files = { 3 } })
try("child.lua", "x", { variables = { a = print } })
try("child.lua", "x", { workdir = "/etc" })
try("child.lua", "x", { pool = "a,b" })
try("child.lua", "\xff")
try("a\0b")
try("child.lua", "x", { project = "a\nb" })
try("child.lua", "x", { timeout = -1 })
try("child.lua", "x", { budget = { cost = -1 } })
try("child.lua", "x", { max_turns = 0.5 })
try("child.lua", "x", { model = "foo/bar" })
try("child.lua", "x", { model = "nonsense" })
local one = assert(hocket.submit("child.lua", "x", { pool = "nobody" }))
for _, wrong in ipairs { -1, "1", { timeout = -1 }, { seconds = 1 } } do print(select(2, pcall(one.wait, one, wrong))) end
print(select(2, one:wait(0.01)), one.id)
assert(one:cancel())
X
run "$HOCKET" run -q wrong.lua; expect 0; hasnt out submitted; hasnt out ".lua:"; has out "bad argument #3 to 'submit'"
has out "bad option 'at'"; has out "'a,b' is no name of a pool"; has out "the input is not valid UTF-8"; same "$(wc -l <out)" 19
has out "bad option 'timeout' for 'submit' (seconds above 0"; has out "bad option 'budget'"; has out "bad option 'max_turns'"; has out "foo"; has out "there is no model 'nonsense'"
same "$(grep -c "to 'wait' (seconds from 0 on expected" out)" 3; has out "unknown option 'seconds' for 'wait'"; has out "has not ended within 0.01 seconds"
run "$HOCKET" run -d -m foo/bar child.lua x; expect 4; has err foo
cat >keeper.lua <<'X'
return assert(require("hocket").submit("child.lua", "four", { pool = "nobody" })):wait().text
X
detach keeper.lua; until_true is "$id" waiting
run "$HOCKET" cancel "$id"; expect 0
same "$("$HOCKET" runs --state queued --json | grep -c child.lua)" 0
end 2 TERM; expect 0

# ---- Scripts side by side: each has the tools and providers that it has registered, under whatever name ------
mkdir marks
cat >marks/main.lua <<'X'
local hocket = require "hocket"
local n, go = 0, (...) .. ".go"
hocket.tool.set("mark", function()
  return hocket.tool { name = "mark", description = "Marks", parameters = { type = "object" }, effects = {}, run = function() n = n + 1 return "marked" end }
end)
local served = assert(hocket.sim.serve { reply = function(request)
  if request.messages[#request.messages].role == "tool" then return "heard" end
  return { calls = { { name = "mark", arguments = {} } } }
end })
hocket.provider("here", { protocol = "openai_chat", base = served.base })
while not hocket.step("look", function()
  local f <close> = io.open(go)
  return f ~= nil
end) do hocket.flow.sleep(0.05) end
local reply = assert(hocket.run(hocket.agent { name = "one", prompt = "Mark.", tools = { "mark" }, model = "here/any" }, "Now"))
served.close()
return ("%s %d"):format(reply.text, n)
X
detach marks "$PWD/first"; first=$id; worker 3
until_true is "$first" running
detach marks "$PWD/second"; second=$id
until_true is "$second" running
sleep 0.3
touch second.go; run "$HOCKET" wait "$second"; expect 0; has out "heard 1" # and its server is gone
touch first.go; run "$HOCKET" wait "$first"; expect 0; has out "heard 1"
end 3 TERM; expect 0

finish
