# Who has submitted runs hears of each of their ends, however many there are, however late it asks, and whoever it is by then.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
cp "$ROOT/tests/host/kept/scripts/sim.lua" .
echo 'return "child of " .. (...)' >child.lua

# ---- More ends than messages may wait, all before the first is asked for -----------------------------------
cat >many.lua <<'E'
local hocket = require "hocket"
local json = require "hocket.json"
local N, handles = 1100, {}
for i = 1, N do handles[i] = assert(hocket.submit("child.lua", tostring(i), { pool = "many" })) end
hocket.step("work", function()
  local store = require "hocket.internal.core.store"
  for _ = 1, N do
    local row = assert(store.take_next "many")
    assert(store.finish(row.id, row.fence, "done", json.encode { run = row.id, ok = true, text = "child of " .. row.input }))
  end
end)
hocket.flow.sleep(0.5)
assert(hocket.this_run():signal("word", "heard"))
for i, one in ipairs(handles) do
  local text = assert(one:wait(60)).text
  assert(text == "child of " .. i, text)
end
return assert(hocket.signal "word") .. " all"
E
run "$HOCKET" run -q --store memory many.lua; expect 0; same "$(cat out)" "heard all"; hasnt err "wait to be taken"

# ---- Nothing is left of who has waited, under however many names --------------------------------------------
cat >names.lua <<'E'
local hocket = require "hocket"
local run = hocket.this_run()
local function wait_for(name) return hocket.flow.spawn(function() return (hocket.signal(name)) end) end
for i = 1, 20 do
  local first, second = wait_for("n" .. i), wait_for("n" .. i)
  hocket.flow.sleep(0.001)
  for _, value in ipairs { "a", "b" } do assert(run:signal("n" .. i, value)) end
  assert(first:wait() .. second:wait() == "ab")
  assert(not hocket.signal("none" .. i, { timeout = 0.001 }))
  local gone = wait_for("gone" .. i)
  hocket.flow.sleep(0.001)
  gone:cancel()
end
hocket.flow.sleep(0.001)
local n = 0
for _ in pairs(require("hocket.internal.run.messages").of(require("hocket.internal.run.run").current()).takers) do n = n + 1 end
return n .. " names"
E
run "$HOCKET" run -q --store memory names.lua; expect 0; same "$(cat out)" "0 names"

# ---- What there is no room for waits in the store, and comes in its order; what else is said is heard -----------------
cat >flood.lua <<'E'
local hocket = require "hocket"
local json = require "hocket.json"
local id, word = hocket.this_run().id, nil
local function send(name, said)
  assert(require("hocket.internal.core.store").message(id, { id = name, json = json.encode(said) }))
end
local asking = hocket.flow.spawn(function() word = hocket.ask "Ready?" end)
hocket.step("send", function()
  for i = 1, 1300 do send("n" .. i, { wish = "signal", name = "n", value = i }) end
  send("last", { wish = "signal", name = "last", value = "all" })
  send("answer", { wish = "answer", question = "q1", text = "said" })
  while not word do hocket.flow.sleep(0.05) end
end)
asking:wait()
for i = 1, 1300 do
  local v = assert(hocket.signal "n")
  assert(v == i, ("%s in place of %d"):format(tostring(v), i))
end
return word .. " " .. assert(hocket.signal "last")
E
run "$HOCKET" run -q --store memory flood.lua; expect 0; same "$(cat out)" "said all"; has err "waits in the store"; same "$(grep -c warning err)" 1

# ---- A fork is told of no end: it looks, before and after ---------------------------------------------------------
cat >forked.lua <<'E'
local hocket = require "hocket"
local first, second = assert(hocket.submit("child.lua", "one")), assert(hocket.submit("child.lua", "two", { pool = "late" }))
local a = assert(first:wait(60)).text
hocket.ask "On?"
local none, err = second:wait(0.01)
local b = assert(second:wait()).text
local left = next(require("hocket.internal.run.messages").of(require("hocket.internal.run.run").current()).takers)
return a .. ", " .. tostring(err and err.code) .. ", " .. b .. (left and ", and waits on" or "")
E
worker 1
run "$HOCKET" run -q forked.lua; expect 75; id=$(grep -oE '01[0-9A-Z]{24}' err | head -n 1)
run "$HOCKET" fork "$id"; expect 0; fork=$(cat out)
for one in $id $fork; do run "$HOCKET" answer "$one" q1 on; expect 0; done
"$HOCKET" resume -q --events fork.ev "$fork" >fork.out 2>fork.err </dev/null & pid=$!
"$HOCKET" resume -q --events own.ev "$id" >own.out 2>own.err </dev/null & own=$!
for one in own fork; do until_true grep -qs '"id":"s3"' $one.ev; done
worker 2 --pool late
wait $pid; code=$?; what="the fork"; cp fork.err err; cp fork.out out; expect 0; has out "child of one, timeout, child of two"
wait $own; code=$?; what="its own"; cp own.err err; cp own.out out; expect 0; has out "child of one, timeout, child of two"
for one in $id $fork; do run "$HOCKET" replay "$one"; expect 0; done

# One that waits for a person as well is put away all the same: its looking keeps nobody there.
cat >both.lua <<'E'
local hocket = require "hocket"
local child = assert(hocket.submit("child.lua", "three", { pool = "later" }))
local asking = hocket.flow.spawn(function() return hocket.ask "On?" end)
return assert(child:wait(100000)).text .. " " .. asking:wait()
E
run "$HOCKET" run -q both.lua; expect 75; id=$(grep -oE 'answer 01[0-9A-Z]{24}' err | cut -d ' ' -f 2)
run "$HOCKET" fork "$id"; expect 0; fork=$(cat out)
for _ in 1 2; do run timeout 50 "$HOCKET" resume -q "$fork"; expect 75; done # it would look for a minute
begun() { ! "$HOCKET" runs --limit 0 --state queued --json | grep -q child.lua; }
worker 5 --pool later; until_true begun; end 5 TERM
run "$HOCKET" answer "$fork" q1 on; expect 0; run "$HOCKET" resume -q "$fork"; expect 0; has out "child of three on"

# ---- Who waits with a limit gives its place away as well, and goes on when somebody has spoken or the time has come ----
end 1 TERM; end 2 TERM; worker 3 --runs 1
cat >limit.lua <<'E'
local hocket = require "hocket"
local what, seconds = (...):match "(%a+) (.*)"
seconds = tonumber(seconds)
local value, err
if what == "child" then value, err = assert(hocket.submit("child.lua", "one")):wait(seconds); value = value and value.text end
if what == "signal" then value, err = hocket.signal("go", { timeout = seconds }) end
if what == "ask" then value, err = hocket.ask("Go?", { timeout = seconds }) end
return tostring(value or err.code)
E
ends() { done_with "$1"; same "$(cat out)" "$2"; run "$HOCKET" replay "$1"; expect 0; }
detach limit.lua "child 100000"; ends "$id" "child of one"
detach limit.lua "signal 100000"; until_true is "$id" waiting; signalled=$id
detach limit.lua "ask 100000"; until_true is "$id" parked; asked=$id
detach child.lua two; ends "$id" "child of two"
detach limit.lua "signal 1.5"; ends "$id" timeout
detach limit.lua "ask 1.5"; until_true is "$id" done; ends "$id" timeout
for seconds in 0 0.2; do detach limit.lua "signal $seconds"; ends "$id" timeout; done
run "$HOCKET" signal "$signalled" go '"said"'; expect 0; ends "$signalled" said
run "$HOCKET" answer "$asked" q1 answered; expect 0; ends "$asked" answered
# What was said while nobody had it counts, also where it is heard when its time is over.
rests() { is "$1" waiting || is "$1" parked || is "$1" done; }
left() { # KIND, with a limit, and no worker is there any more
  for limit in 1.5 6 24 96; do
    worker "l${limit%.*}" --runs 1; detach limit.lua "$1 $limit"; until_true rests "$id"; end "l${limit%.*}" TERM
    is "$id" done || break
  done
}
end 3 TERM
left signal; run "$HOCKET" signal "$id" go '"said"'; expect 0; signalled=$id
left ask; run "$HOCKET" answer "$id" q1 answered; expect 0
sleep "$limit"; worker 4 --runs 1
ends "$signalled" said; ends "$id" answered
# ---- What binds whoever submits binds what it submits: a script's own word can only narrow that ----------------------
cat >posts.lua <<'E'
local hocket = require "hocket"
local input = ...
local post = hocket.tool { name = "post", description = "Posts.", effects = { "run" }, parameters = { type = "object", properties = { n = { type = "string" } } },
  run = function(args)
    io.open("posted", "a"):write(args.n, "\n"):close()
    return "posted"
  end }
local deep, word, text = input:match "^(%d) (%S+) (%S+)$"
if deep == "0" then
  assert(hocket.run(hocket.agent { name = "clerk", prompt = "You post.", tools = { post } }, ('call post {"n": "%s"}\nsay sent'):format(text)))
  return "sent"
end
local child = assert(hocket.submit("posts.lua", ("%d %s %s"):format(deep - 1, word, text), { pool = "posts", approve = word ~= "-" and word or nil }))
return assert(child:wait(60)).text
E
posts() { # what of the words got through; WORD OPTION…
  word=$1; shift
  run env "HOCKET_APPROVE=$operator" "$HOCKET" run -q "$@" posts.lua "$deep $word a"; expect 0; has out sent
  [ ! -e empty/posted ] || tr -d '\n' <empty/posted
  rm -f empty/posted
}
worker posts --pool posts
for deep in 1 3; do
  operator=; same "$(posts allow)" a; same "$(posts - --approve allow)" a; same "$(posts deny --approve allow)" ""
  same "$(posts allow --approve deny)" ""; same "$(posts allow --approve post=deny)" ""; same "$(posts allow --approve other=deny)" a
  operator=deny; same "$(posts allow)" ""; same "$(posts allow --approve allow)" ""
  operator=post=deny; same "$(posts allow)" ""
done
run "$HOCKET" runs -n 1; id=$(grep -oE '01[0-9A-Z]{24}' out | head -n 1)
run "$HOCKET" replay "$id"; expect 0
end posts TERM; expect 0
export HOCKET_APPROVE=deny; worker strict --pool posts; unset HOCKET_APPROVE; operator=; same "$(posts allow --approve allow)" ""; end strict TERM; expect 0


# ---- One that is cancelled in the middle of submitting leaves none behind --------------------------------------
cat >busy.lua <<'E'
local hocket = require "hocket"
local function submit() assert(hocket.submit("child.lua", "late", { pool = "never" })) end
hocket.flow.spawn(function()
  while true do submit() end
end)
while true do
  submit()
  hocket.flow.sleep(0.01)
end
E
open_ones() { "$HOCKET" runs --limit 0 --state queued --json | grep -o child.lua | wc -l; }
submits() { is "$1" running && [ "$(open_ones)" -gt 0 ]; }
worker busy; detach busy.lua; until_true submits "$id"
run "$HOCKET" cancel "$id"; expect 0; until_true is "$id" cancelled; same "$(open_ones)" 0; end busy TERM
"$HOCKET" run -q busy.lua >busy.out 2>busy.err </dev/null & pid=$!
busy() { "$HOCKET" runs --state running --json | grep -oE '"id":"01[0-9A-Z]{24}"' | cut -d '"' -f 4 | head -n 1; }
is_busy() { [ -n "$(busy)" ]; }
until_true is_busy; id=$(busy); until_true submits "$id"; run "$HOCKET" cancel "$id"; expect 0; wait $pid; code=$?; what="busy.lua"; expect 130; is "$id" cancelled || fail "cancelled expected"; same "$(open_ones)" 0
run "$HOCKET" replay "$id"; expect 0
# So does who takes over from a process that has heard it, and was killed then.
cat >told.lua <<'E'
assert(require("hocket.internal.core.store").message((...), { id = "cancel", json = '{"wish":"cancel"}' }))
E
worker gone; detach busy.lua; until_true submits "$id"; end gone KILL
run "$HOCKET" run -q told.lua "$id"; expect 0
worker heir; until_true is "$id" cancelled; same "$(open_ones)" 0; end heir TERM
finish
