#!/bin/sh
# Edit and go on (fork --latest): where nothing was changed nothing is asked again, whatever order things came in; where one prompt was
# changed, what hangs on it alone is asked.
. "$(dirname "$0")/lib.sh"

# Runs a target, and resumes its fork: how much of it was there already, and how much was made anew, in $there and $anew.
ran() { # TARGET INPUT
  rm -f runs.db*
  run "$HOCKET" run -q --store runs.db --approve allow "$@"
  expect 0
  id=$("$HOCKET" runs --store runs.db | awk '{ print $1; exit }')
  cp out first
}
forked() {
  rm -f events
  fork=$("$HOCKET" fork "$id" --latest --store runs.db 2>/dev/null)
  run "$HOCKET" resume -q --store runs.db "$fork" --events events
  expect 0
  there=$(sed -n 's/.*"type":"run_reused","replayed":\([0-9]*\).*/\1/p' events)
  anew=$(sed -n 's/.*"type":"run_reused".*"run_anew":\([0-9]*\).*/\1/p' events)
}
unchanged() {
  ran "$@"
  forked
  same "$anew" 0
  hasnt err "has not begun"
  [ "${there:-0}" -gt 0 ] || fail "nothing of $1 was there already"
  cmp -s first out || fail "the fork of $1 ends otherwise"
}

# The words of fences: nobody foresees them who knows the place and all words before; each run has its own, and a fork its parent's.
cat >words.lua <<'X'
local hocket = require "hocket"
local seen, list = {}, {}
local function word(text)
  local one = hocket.fence.wrap("result", "x", text):match "^<result%-(%w+)"
  assert(not seen[one] and not text:find(one, 1, true), "a word came twice")
  seen[one], list[#list + 1] = true, one
  return one
end
hocket.step("begin", function() return true end)
local all = ""
for _ = 1, 200 do all = all .. word "the same text" .. " " end
word(all)
hocket.flow.map({ 1, 2, 3, 4 }, function(n)
  hocket.flow.sleep(math.random() / 50)
  word "the same text"
end)
table.sort(list)
return table.concat(list, " ")
X
unchanged words.lua
cp first other
unchanged words.lua
cmp -s first other && fail "two runs have the same words"

# The key that decides them is in the store alone: in no prompt, event or page. It goes along with an export: there a fork has the same words.
cat >shows.lua <<'X'
local hocket = require "hocket"
return hocket.run(hocket.agent { name = "a", prompt = "p" }, hocket.fence.wrap("result", "x", "text")).text .. hocket.fence.wrap("result", "x", "y")
X
rm -f runs.db* events
echo 'return function(request) local f <close> = assert(io.open("asked", "a")) f:write(request.system, request.last.text) return "said" end' >sim.lua
run "$HOCKET" run -q --store runs.db --events events shows.lua; expect 0; cp out first
id=$("$HOCKET" runs --store runs.db | awk '{ print $1; exit }')
run "$HOCKET" show --store runs.db "$id" --html page.html; expect 0
"$HOCKET" show --store runs.db "$id" --json >shown; "$HOCKET" runs --store runs.db --json >listed
"$HOCKET" export --store runs.db "$id" it.run 2>/dev/null
run "$HOCKET" import --store there.db it.run; expect 0
fork=$("$HOCKET" fork "$id" --latest --store there.db 2>/dev/null)
run "$HOCKET" resume -q --trust --store there.db "$fork" --events events.there; expect 0
cmp -s first out || fail "an imported run's fork has other words"
grep '"type":"run_reused"' events.there >reused; has reused '"run_anew":0'; rm sim.lua
cat >key.py <<'X'
import base64, sqlite3, sys
key = sqlite3.connect("runs.db").execute("SELECT seed FROM runs").fetchone()[0]
forms = [key, key.hex().encode(), key.hex().upper().encode(), base64.b64encode(key)[:20], base64.urlsafe_b64encode(key)[:20]]
forms += [str(int.from_bytes(key[:8], "little", signed=signed)).encode() for signed in (False, True)]
assert len(key) == 16 and len(sys.argv) > 5
for path in sys.argv[1:]:
    text = open(path, "rb").read()
    assert text and not [one for one in forms if one in text], path
X
if python3 -c 'import sqlite3' 2>/dev/null; then
  run python3 key.py asked events page.html shown listed; expect 0
fi

# Every example, and the built-in planner.
for dir in "$ROOT"/examples/*/; do
  name=$(basename "$dir")
  if [ -f "$dir/$name.lua" ]; then set -- "$dir/$name.lua"; elif [ -d "$dir/agents" ]; then set -- "$dir/agents"; else continue; fi
  [ "$name" != reload ] || set -- "$dir/agents/waiter.md" # two that know nothing of each other
  [ "$name" != workflow ] || set -- "$dir/agents/reviewer.md" # the same
  unchanged "$1" "A report on tea in Japan"
done
unchanged "$ROOT/agents/planner.md" "A report on tea in Japan"

# Teams of any size, whose members answer after random times: they write into one document, and read it.
cat >sim.lua <<'X'
local json = require "hocket.json"
local calls = { lead = {}, member = {} }
return function(request, context)
  local done, n = 0, tonumber((request.system or ""):match "MEMBER (%d+)")
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then done = done + 1 end
  end
  local who = n and "m" .. n or "lead"
  local file <close> = assert(io.open("asked", "a"))
  file:write(who, "\n")
  local latency = math.random(0, 40) / 1000
  if n then
    if done < 1 + n % 3 then return { calls = { { name = "write_section", arguments = { section = "general", content = ("finding %d of %d"):format(done, n) } } }, latency = latency } end
    return { text = (request.system:find "Otherwise" and "otherwise " or "done ") .. n, latency = latency }
  end
  local size = tonumber((request.system or ""):match "SIZE (%d+)")
  if done == 0 then
    local tasks = {}
    for i = 1, size do tasks[i] = { text = "t" .. i, assigned_to = "m" .. i } end
    return { calls = { { name = "create_tasks", arguments = { tasks = tasks } } } }
  elseif done == 1 then
    local list = {}
    for i = 1, size do list[i] = { name = "call_m" .. i, arguments = { task_ids = { i }, message = "go" } } end
    return { calls = list }
  elseif done <= size + 1 then
    return { calls = { { name = "read_document", arguments = json.decode "{}" } } }
  end
  return "The end."
end
X
team_of() { # SIZE
  rm -rf agents; mkdir agents
  list=
  for i in $(seq "$1"); do
    list="$list${list:+, }m$i"
    printf -- '---\nname: m%d\ndescription: m%d\ntools: [specialist]\n---\nMEMBER %d\n' "$i" "$i" "$i" >"agents/m$i.md"
  done
  printf -- '---\nname: lead\ndescription: leads\ntools: [facilitator]\nagents: [%s]\n---\nSIZE %d\n' "$list" "$1" >agents/lead.md
}
for size in 2 3 5 8; do
  team_of $size
  unchanged agents/lead.md "go"
  # One member has another prompt, and says the same: it alone is asked. It says something else: so is who reads that.
  echo "More." >>agents/m1.md
  rm -f asked
  forked
  [ "${anew:-0}" -gt 0 ] || fail "a changed prompt asks nothing anew"
  same "$(sort -u asked | tr '\n' ' ')" "m1 "
  grep '"type":"run_reused"' events >reused; has reused '"first":{"agent":"m1","differs":["system"],"kind":"model"'
  echo "Otherwise." >>agents/m1.md
  rm -f asked
  forked
  same "$(sort -u asked | tr '\n' ' ')" "lead m1 "
done

# A time limit counts work. The fork keeps a limit that its parent kept, also while an answer waits behind a slow model that is asked anew.
mkdir late; cd late
printf -- '---\nname: a\n---\nA\n' >a.md; printf -- '---\nname: b\n---\nB\n' >b.md
echo 'return function(request) return { text = "x", latency = request.system:find "SLOW" and 5 or request.system:find "B" and 0.2 or 0.05 } end' >sim.lua
cat >main.lua <<'X'
local hocket = require "hocket"
local took
hocket.flow.all { function() return hocket.run("a.md", "go") end, function()
  took = hocket.flow.timeout(1, function()
    local answer = hocket.run("b.md", "go").text
    hocket.flow.sleep(0.4)
    return answer
  end)
end }
return tostring(took)
X
ran main.lua
echo SLOW >>a.md
forked
same "$anew" 1
cmp -s first out || fail "the fork ends otherwise"

# What works under the same limit passes it all the same.
cat >main.lua <<'X'
local hocket = require "hocket"
local began = hocket.flow.now()
local answers, err = hocket.flow.timeout(1, function()
  return hocket.flow.all { function() return hocket.run("a.md", "go") end, function() return hocket.run("b.md", "go") end }
end)
return (answers and "right" or tostring(err.code)) .. (hocket.flow.now() - began < 4 and " in time" or " late")
X
sed -i '/SLOW/d' a.md
ran main.lua
has out "right in time"
echo SLOW >>a.md
forked
has out "timeout in time"

# The fork is slow where its parent was not: what ended behind an answer there waits for it here, too.
cat >main.lua <<'X'
local hocket = require "hocket"
local order = {}
hocket.flow.all {
  function()
    hocket.flow.sleep(2)
    order[#order + 1] = "slept"
  end,
  function()
    for i = 1, 5 do
      order[#order + 1] = hocket.run("a.md", "call " .. i).text
      local n = 0
      for j = 1, 30000000 do n = n + j end -- so that the fork can be stopped in between
    end
  end,
}
return hocket.run("b.md", table.concat(order, " ")).text
X
ran main.lua
fork=$("$HOCKET" fork "$id" --latest --store runs.db 2>/dev/null)
rm -f events
"$HOCKET" resume -q --store runs.db "$fork" --events events >out 2>err & pid=$!
until_true grep -qs '"type":"model_reply"' events
kill -STOP $pid; sleep 2.2; kill -CONT $pid; wait $pid
grep '"type":"run_reused"' events >reused; has reused '"run_anew":0'

# Words of fences hang on who draws them: one more of somebody else leaves all others what they were.
cat >main.lua <<'X'
local hocket = require "hocket"
hocket.flow.spawn(function()
  local more = 0
  for i = 1, more do hocket.fence.wrap("result", "x", tostring(i)) end
end)
hocket.flow.sleep(0.01)
return hocket.run("b.md", hocket.fence.wrap("result", "x", "text"))
X
ran main.lua
sed -i 's/more = 0/more = 3/' main.lua
forked
same "$there" 1
same "$anew" 0
cd ..

finish
