# Runs that are kept, as a person has them: killed at any moment they go on, a question is answered another day, a
# conversation is left and found again, and a replay tells the same.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db HOCKET_TRUST=1; export HOCKET_STORE HOCKET_TRUST
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }

cp "$ROOT/tests/host/kept/scripts/sim.lua" .

# What it did to the world it did once, whenever it was killed.
cat >work.lua <<'X'
local hocket = require "hocket"
local file = ...
local post = hocket.tool { name = "post", description = "Posts.", parameters = { type = "object", properties = { to = { type = "string" } } },
  run = function(args)
    local f <close> = assert(io.open(file, "a"))
    f:write("post ", args.to, "\n")
    return "posted"
  end }
local clerk = hocket.agent { name = "clerk", prompt = "You post.", tools = { post } }
local both = hocket.flow.map({ "a", "b", "c" }, function(to) return assert(hocket.run(clerk, 'call post {"to": "' .. to .. '"}\nsay sent ' .. to)).text end)
hocket.step("seal", function()
  local f <close> = assert(io.open(file, "a"))
  f:write("seal\n")
end)
return table.concat(both, ", ")
X
rm -f world; run "$HOCKET" run -q work.lua "$PWD/world"; expect 0; has out "sent a, sent b, sent c"; cp out whole
for delay in 0.005 0.01 0.02 0.03 0.05 0.07 0.09 0.12 0.15; do
  rm -f world ev; : >world
  "$HOCKET" run -q --events ev work.lua "$PWD/world" >out 2>err & pid=$!
  sleep $delay; kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null || :
  [ -s ev ] || continue # it had not begun
  id=$(id_in ev)
  "$HOCKET" resume -q "$id" >out 2>err </dev/null; code=$?
  # one that ended before it was killed, or of which nothing had been kept
  [ $code = 0 ] || grep -q "has ended\|no run" err || fail "killed after $delay: $(cat err)"
  if [ $code = 0 ]; then sort world | uniq -d | grep . && fail "killed after $delay: done twice"; fi
done

# Ctrl-C puts it away, and says how to go on.
cat >slow.lua <<'X'
print "begun"
require("hocket").flow.sleep(1)
return "slept"
X
: >out; "$HOCKET" run slow.lua >out 2>err & pid=$!
until_true grep -q begun out; sleep 0.1; kill -INT $pid; wait $pid; code=$?
expect 130; has err "hocket resume 01"
run "$HOCKET" resume "$(id_in err)"; expect 0; has out slept

# Nobody is there: it waits in the store, and exits with 75.
cat >ask.lua <<'X'
local hocket = require "hocket"
local city = assert(hocket.ask "Which city?")
return "You said " .. city
X
run "$HOCKET" run ask.lua </dev/null; expect 75; has err "Which city?"; has err "hocket answer 01"
id=$(id_in err)
run "$HOCKET" resume "$id" </dev/null; expect 75; has err "Which city?"
# So it is with a signal, and with a time that is far away.
cat >later.lua <<'X'
local hocket = require "hocket"
local word = assert(hocket.signal "go on")
hocket.sleep_until(os.time() + word)
return "woken"
X
run "$HOCKET" run later.lua </dev/null; expect 75; has err "s1  waits for the signal go on"; has err "hocket signal 01"
later=$(id_in err); has err "hocket signal $later 'go on'"; has err "resume:  hocket resume $later"
run "$HOCKET" resume "$later" </dev/null; expect 75; has err "waits for the signal go on"
run "$HOCKET" signal "$later" "go on" 1000000
run "$HOCKET" resume "$later" </dev/null; expect 75; has err "the run waits until 20"; has err "hocket resume $later"; hasnt err "signal"
run "$HOCKET" show "$later"; has out "  waiting  later.lua"; has out "until    20"
run "$HOCKET" resume --all </dev/null; expect 75; has err "the run waits until 20"
run "$HOCKET" rm "$later"; expect 0
run "$HOCKET" run later.lua </dev/null; expect 75; later=$(id_in err)
run "$HOCKET" signal "$later" "go on" 0; run "$HOCKET" resume "$later" </dev/null; expect 0; has out woken

if "$HOCKET" answer --help >/dev/null 2>&1; then
  run "$HOCKET" answer "$id" q1 Lisbon; expect 0
  run "$HOCKET" resume "$id" </dev/null; expect 0; has out "You said Lisbon"
  run "$HOCKET" replay "$id"; expect 0; has err "all as recorded"
  run "$HOCKET" resume "$id" </dev/null; expect 0; has err "has ended"; has out "You said Lisbon"
  run "$HOCKET" resume -q "$id" </dev/null; expect 0; has out "You said Lisbon"; empty err
  run "$HOCKET" resume --json "$id" </dev/null; expect 0; has out '"text":"You said Lisbon'
  echo 'error "on purpose"' >fails.lua; run "$HOCKET" run fails.lua; expect 1
  run "$HOCKET" resume last:fails </dev/null; expect 1; has err "on purpose"
fi
# A store in memory ends with the process: nothing is promised that it could not keep.
run "$HOCKET" run --store memory ask.lua </dev/null; expect 1; has err "Which city?"; has err "its store is in memory"; hasnt err "hocket answer"; hasnt err "hocket resume"; hasnt err "run 01"
HOCKET_STORE=memory run "$HOCKET" run ask.lua </dev/null; expect 1; has err "its store is in memory"; hasnt err "hocket answer"
printf -- '---\nname: talks\n---\nTalk.\n' >talks.md
for store in memory off; do
  echo hello | "$HOCKET" chat --store $store talks.md >out 2>err; code=$?; expect 0; has out hello; hasnt err "is kept"; hasnt err "--resume"
done
echo hello | "$HOCKET" chat --store state/talk.db talks.md >out 2>err; code=$?; expect 0; has err "hocket chat --resume"
run "$HOCKET" run --store state/named.db ask.lua </dev/null; expect 75; has err "q1 TEXT --store $PWD/state/named.db"
run "$HOCKET" resume --store state/named.db "$(id_in err)" </dev/null; expect 75
run "$HOCKET" answer --store state/named.db "$(id_in err)"; has out "q1 TEXT"; has out " --store state/named.db q1"
run "$HOCKET" show --store state/named.db "$(id_in out)"; has out " --store state/named.db q1 TEXT"
run "$HOCKET" resume --store state/named.db --all </dev/null; expect 75; has err "Which city?"
run "$HOCKET" run --store off ask.lua </dev/null; expect 1; hasnt err "hocket resume"
run "$HOCKET" resume 01ZZZZ; expect 1; has err "01ZZZZ"
run "$HOCKET" resume; expect 2
run "$HOCKET" resume ""; expect 2; has err "'' is no id of a run"

# A run goes on with the files that it began with.
cat >named.lua <<'X'
local hocket = require "hocket"
hocket.ask "Shall I?"
return require "part"
X
echo 'return "the old part"' >part.lua
run "$HOCKET" run named.lua </dev/null; expect 75; id=$(id_in err)

# It goes on in its own folder, wherever it is called from; where that is gone it says so.
place=$(printf 'a place\033[1m'); mkdir "$place"; cp ask.lua "$place"
(cd "$place" && "$HOCKET" run ask.lua >../out 2>../err </dev/null); id=$(id_in err)
run "$HOCKET" answer "$id" q1 Rome; expect 0
mv "$place" gone; run "$HOCKET" resume "$id"; expect 1; has err "was begun in $PWD/a place^[[1m: No such file"
mv gone "$place"; run "$HOCKET" resume "$id"; expect 0; has out "You said Rome"

# A fork of a fork goes on with the files of the one that it came from, also when both are gone; what a fork remembers of
# its parent it remembers when that was removed.
cat >stamped.lua <<'X'
local hocket = require "hocket"
local word = assert(hocket.run(hocket.agent { name = "writer", prompt = "You write." }, "say " .. require "part")).text
hocket.step("stamp", function() io.open("stamps", "a"):write("stamp\n"):close() end)
return word .. " in " .. assert(hocket.ask "Where?")
X
run "$HOCKET" run -q stamped.lua </dev/null; expect 75; first=$(id_in err)
echo 'return "the new part"' >part.lua
run "$HOCKET" fork "$first" --latest; expect 0; second=$(cat out)
run "$HOCKET" rm "$first"; expect 0; run "$HOCKET" runs; hasnt out "$first"
run "$HOCKET" resume -q "$second" </dev/null; expect 75; same "$(wc -l <stamps)" 1
run "$HOCKET" show "$second"; has out "of $first"
echo 'return "the newest part"' >part.lua
run "$HOCKET" fork "$second"; expect 0; third=$(cat out)
run "$HOCKET" rm "$second"; expect 0
run "$HOCKET" answer "$third" q1 Rome; expect 0
run "$HOCKET" resume -q "$third" </dev/null; expect 0; same "$(cat out)" "the new part in Rome"
run "$HOCKET" replay "$third"; expect 0; same "$(wc -l <stamps)" 1
echo 'return "the old part"' >part.lua

# What the operator says is what it was when the run began; where it goes on under another word both bind it from there on.
cat >bound.lua <<'X'
local hocket = require "hocket"
local post = hocket.tool { name = "post", description = "Posts.", effects = { "run" }, parameters = { type = "object", properties = { to = { type = "string" } } },
  run = function(args)
    io.open("posted", "a"):write(args.to, "\n"):close()
    return "posted"
  end }
local clerk <close> = assert(hocket.conversation(hocket.agent { name = "clerk", prompt = "You post.", tools = { post } }))
assert(clerk:send 'call post {"to": "a"}\nsay sent')
hocket.ask "And now?"
assert(clerk:send 'call post {"to": "b"}\nsay sent')
assert(hocket.run(hocket.agent { name = "other", prompt = "You post.", tools = { post } }, 'call post {"to": "c"}\nsay sent'))
hocket.ask "And then?"
return "done"
X
bound() { # what it begins and goes on under; what is posted in all
  rm -f posted; : >posted
  HOCKET_APPROVE=$1 "$HOCKET" run bound.lua >out 2>err </dev/null; code=$?; expect 75; id=$(id_in err)
  "$HOCKET" answer "$id" q1 on 2>/dev/null
  HOCKET_APPROVE=$2 "$HOCKET" resume "$id" >out 2>err --events ev </dev/null; code=$?; expect 75; same "$(tr -d '\n' <posted)" "$3"
  "$HOCKET" answer "$id" q2 on 2>/dev/null
  HOCKET_APPROVE=$4 "$HOCKET" resume "$id" >out 2>err2 </dev/null; code=$?; expect 0; same "$(tr -d '\n' <posted)" "$3"
  run "$HOCKET" replay "$id"; expect 0
  has ev "HOCKET_APPROVE is $2 here"; hasnt err2 "HOCKET_APPROVE is $1 here"
}
bound allow deny a allow
bound allow nonsense a allow
bound deny allow "" deny

# A plan is looked at another day.
cp -r "$ROOT/examples/travel" trip
awk '{ print } NR == 1 { print "approve_plan: true" }' "$ROOT/examples/travel/agents/facilitator.md" >trip/agents/facilitator.md
cd trip
for answer in --allow "--deny too dear" "yes, but without the food"; do
  run "$HOCKET" run -q agents "Two days in Rome" </dev/null; expect 75; id=$(id_in err)
  has err "q1 --allow"; has err "q1 --deny"; has err "Go ahead?"
  run "$HOCKET" answer "$id"; for words in --allow --deny TEXT; do has out "hocket answer $id q1 $words"; done
  # shellcheck disable=SC2086
  run "$HOCKET" answer "$id" q1 $answer; expect 0
  run "$HOCKET" resume -q --events ev "$id" </dev/null
  if [ "$answer" != --allow ]; then # another plan is made, and shown in turn
    expect 75; has err "q2 --allow"; has ev "${answer#--deny }"
    run "$HOCKET" answer "$id" q2 --allow; expect 0
    run "$HOCKET" resume -q "$id" </dev/null
  fi
  expect 0; hasnt out "document is empty"
  run "$HOCKET" replay "$id"; expect 0
done
cd ..

# A disk that is full is no reason to wait for ever: an import says so, and ends.
printf 'return "done"\n' >end.lua
run "$HOCKET" run -q end.lua "$(head -c 60000 /dev/zero | tr '\0' x)$(head -c 60000 /dev/zero | tr '\0' y)"; expect 0
run "$HOCKET" runs -n 1; large=$(id_in out); rm -f large.run; run "$HOCKET" export "$large" large.run; expect 0
run sh -c 'ulimit -f 128; "$0" import --new large.run' "$HOCKET"; expect 1; has err "error"; hasnt out 01
run "$HOCKET" import --new large.run; expect 0; has out 01

# Nor is a run kept of which nothing could be written: it is not said that somebody can go on with it.
printf 'return require("hocket").ask "Which city?"\n' >where.lua
printf 'require("hocket").flow.sleep(600)\n' >sleeps.lua
much=$(head -c 100000 /dev/zero | tr '\0' x)
for what in where.lua sleeps.lua; do
  : >err # of the one before
  (ulimit -f 128; exec "$HOCKET" run "$what" "$much") >out 2>err </dev/null & pid=$!
  until_true grep -q "cannot be kept for now" err; kill -INT $pid; wait $pid; code=$?
  expect 1; has err "error: the run could not be kept: "; hasnt err "hocket resume"; hasnt err "hocket answer"
done
what="a conversation on a full disk"; mkdir -p full; printf -- '---\nname: guide\n---\n%s\n' "$much" >full/guide.md
# The model is not asked before something of the run is stored; who does not want to wait for that ends it.
printf 'say one\n' >said; : >err
(ulimit -f 128; exec "$HOCKET" chat full/guide.md "$much") >out 2>err <said & pid=$!
until_true grep -q "cannot be kept for now" err
while kill -INT $pid 2>/dev/null; do sleep 0.2; done; wait $pid; code=$?
expect 1; has err "error: the run could not be kept: "; hasnt err "chat --resume"; hasnt out one
# Of one that it has something of it does.
what="a run that the disk was full in the middle of"; printf 'require("hocket").step("large", function() return ("x"):rep(200000) end)\nrequire("hocket").flow.sleep(600)\n' >grows.lua
run "$HOCKET" run -q --store state/small.db end.lua; expect 0
(ulimit -f 256; exec "$HOCKET" run --store state/small.db grows.lua) >out 2>err </dev/null & pid=$!
until_true grep -q "cannot be kept for now" err; kill -INT $pid; wait $pid; code=$?
expect 130; has err "the run is stored; next: hocket resume"; has err "what runs did at last could not be kept"
run "$HOCKET" runs --store state/small.db; has out grows.lua

# A conversation is left, and found again from elsewhere.
mkdir -p talk; printf -- '---\nname: guide\n---\nYou answer.\n' >talk/guide.md
(cd talk && printf 'say one\n' | "$HOCKET" chat guide.md) >out 2>err; has out one; has err "hocket chat --resume 01"
printf 'say two\n/clear\nsay three\n' | "$HOCKET" chat --continue >out 2>err; has out two; hasnt out one; has err "forgotten"
printf 'say four\n' | "$HOCKET" chat --continue >out 2>err; same "$(cat out)" four; hasnt err "forgotten"
run "$HOCKET" chat --resume </dev/null; expect 2; has err guide.md; hasnt err "$PWD/talk/"
has err "in $PWD/talk"
# The one that was left last, and not the one that was begun last; but where one was left here, that one.
talk=$(grep -o '01[0-9A-Z]*' err | head -1)
mkdir -p walk; cp talk/guide.md walk
(cd walk && printf 'say six\n' | "$HOCKET" chat guide.md) >out 2>err; has out six; walk=$(id_in err)
printf 'say seven\n' | "$HOCKET" chat --resume "$talk" >out 2>err; has out seven
printf '/clear\n' | "$HOCKET" chat --continue >out 2>err; has err "going on with $talk, in $PWD/talk"
(cd walk && printf 'say eight\n' | "$HOCKET" chat --continue) >out 2>err; has out eight; has err "resume $walk"; hasnt err "going on"

# Who answers what another has answered hears so at once, and what that was; also a moment after the run has taken it, before its
# row says so.
printf 'local a = require("hocket").ask "Which city?"\nreturn a .. require("hocket").ask "Which day?"\n' >two.lua
run "$HOCKET" run --store state/two.db two.lua; expect 75; id=$(id_in err)
run "$HOCKET" answer --store state/two.db "$id" q1 "Rome, or $(printf 'a\tb')"; expect 0
run "$HOCKET" answer --store state/two.db "$id" q1 Paris; expect 1; has err "'q1' was answered already, and run $id has not taken that yet: Rome, or a b"
run "$HOCKET" resume --store state/two.db "$id"; expect 75; has err "Which day?"
run "$HOCKET" answer --store state/two.db "$id" q1 Paris; expect 1; has err "'q1' was answered already, and the run has taken that: Rome, or a b"
run "$HOCKET" answer --store state/two.db "$id" q3 Paris; expect 1; has err "does not ask 'q3': it waits for q2"
if python3 -c 'import sqlite3' 2>/dev/null; then
  python3 -c 'import sqlite3; d = sqlite3.connect("state/two.db"); d.execute("UPDATE runs SET sum_set = NULL, waiting_for = replace(waiting_for, ?, ?)", ("q2", "q1")); d.commit()'
  run "$HOCKET" answer --store state/two.db "$id" q1 Paris; expect 1; has err "'q1' was answered already, and the run has taken that: Rome"
fi

# Events may not have been kept: those that were are compared.
if python3 -c 'import sqlite3' 2>/dev/null; then
  change() { python3 -c 'import sqlite3, sys; d = sqlite3.connect("state/gap.db"); d.execute(sys.argv[1]); d.commit()' "$1"; }
  printf 'for i = 1, 5 do print("note " .. i) end\nreturn "noted"\n' >notes.lua
  run "$HOCKET" run -q --store state/gap.db notes.lua; expect 0; run "$HOCKET" runs --store state/gap.db -n 1; id=$(id_in out)
  change "DELETE FROM records WHERE seq IN (3, 4)"
  run "$HOCKET" replay --store state/gap.db "$id"; expect 0; has err "as recorded"
  change "UPDATE records SET json = replace(json, 'note 5', 'note 6')"
  for word in "show $id" "replay $id" "export $id gap.run"; do
    run "$HOCKET" $word --store state/gap.db; expect 1; has err "of run $id is damaged in the store"; hasnt out "note 6"
  done
  run "$HOCKET" store check --store state/gap.db; expect 1; has err "event 6 of run $id is not what was written"
  change "UPDATE records SET sum = NULL"
  run "$HOCKET" replay --store state/gap.db "$id"; expect 1; has err "note 6"
fi

# Who leaves a run at a terminal is told its name.
printf 'print "begun" require("hocket").flow.sleep(30)\n' >long.lua
run "$PTY" -w begun key:3 -- "$HOCKET" run long.lua
same "$(grep -coE 'next: hocket resume 01[0-9A-Z]{24}' out)" 1

# Where there are hardly any descriptors the agents are not to blame.
for n in 8 10 11 12 13 14 15 16 17 18; do
  what="run with $n descriptors"
  (ulimit -n $n && exec "$HOCKET" run talk hello) >out 2>err </dev/null; code=$?
  [ $code = 0 ] || { expect 1; grep -qiE 'too many open files|no file descriptors' err || fail "which were too few"; }
done

# What cannot be used is said, and done without, unless it was named.
ln -s runs.db state/other.db
run "$HOCKET" run --store state/other.db slow.lua; expect 1; has err "symbolic link"
echo 'return "at once"' >fast.lua # done before the store is open
run "$HOCKET" run --store state/other.db fast.lua; expect 1; has err "symbolic link"; has out "at once" # it was paid for
run "$HOCKET" run --store state/other.db ask.lua; expect 1; has err "symbolic link"; hasnt err "hocket answer"
unset HOCKET_STORE; mkdir home; : >home/.local
run env HOME="$PWD/home" XDG_STATE_HOME= "$HOCKET" run slow.lua; expect 0; has err "runs are not kept"; has out slept; hasnt err "run 01"
run env HOME="$PWD/home" XDG_STATE_HOME= "$HOCKET" run fast.lua; expect 0; has err "runs are not kept"; has out "at once"; hasnt err "run 01"
what="a conversation that is not kept"; echo bye | env HOME="$PWD/home" XDG_STATE_HOME= "$HOCKET" chat talk >out 2>err; code=$?
expect 0; has err "runs are not kept"; hasnt err "chat --resume"
run env HOME="$PWD/home" XDG_STATE_HOME= timeout 20 "$HOCKET" run ask.lua; expect 1; has err "nobody is there to answer"; hasnt err "said to it"
[ "$(stat -c %a state/runs.db)" = 600 ] || fail "the store has to be the user's own"

# A home that does not exist is none: it is what users without one are given.
run env -u HOCKET_STORE HOME="$PWD/none" XDG_STATE_HOME= "$HOCKET" run slow.lua; expect 0; has out slept; [ ! -e none ] || fail "a home was made"
run env -u HOCKET_STORE HOME="$PWD/none" XDG_STATE_HOME= "$HOCKET" runs; expect 0; has err "no home for it"

# The lines of a pipe are over: what is asked waits for somebody else, and what was answered is heard.
export HOCKET_STORE="$PWD/state/runs.db"
mkdir -p desk; printf -- '---\nname: desk\ntools: [ask_user]\n---\nDesk.\n' >desk/desk.md
cat >desk/sim.lua <<'X'
return function(request)
  if request.last.role == "tool" then return "so it is " .. request.last.text end
  if request.last.text == "ask" then return { calls = { { name = "ask_user", arguments = { question = "Which?" } } } } end
  return "heard " .. request.last.text
end
X
what="a question at the end of a pipe"; printf 'ask\n' | "$HOCKET" chat desk/desk.md >out 2>err; code=$?
expect 75; has err "hocket answer 01"; has err "Which?"; id=$(id_in err)
run "$HOCKET" resume "$id"; expect 75; has err "Which?"; empty out
run "$HOCKET" answer "$id" q1 left; expect 0
run "$HOCKET" resume "$id"; expect 0; same "$(cat out)" "so it is left"; has err "hocket chat --resume $id"
run "$HOCKET" answer "$id" i2 "good day"; expect 0
run "$HOCKET" resume "$id"; expect 0; same "$(cat out)" "heard good day"
run "$HOCKET" answer "$id"; has out "i3  waits"; hasnt out q1
run "$HOCKET" answer "$id" i3 ask; expect 0
run "$HOCKET" resume "$id"; expect 75; has err "answer $id q2 TEXT"
run "$HOCKET" replay "$id"; expect 0
what="lines that answer"; printf 'right\nbye\n' | "$HOCKET" chat --resume "$id" >out 2>err; code=$?; expect 0
same "$(cat out)" "so it is right
heard bye"

# Where nobody is there a question in the middle of a tool's function or of a step has no answer, as in a run that is not kept; so has
# one of an agent that a tool runs. Outside of these, and in a tool with steps, the run parks.
mkdir -p asks
cat >asks/sim.lua <<'X'
return function(request)
  if request.last.role == "tool" then return "so it is " .. request.last.text end
  local name = request.system:match "You are (%a+)"
  return { calls = { { name = name == "helper" and "ask_user" or "look", arguments = name == "helper" and { question = "Which?" } or {} } } }
end
X
cat >asks/main.lua <<'X'
local hocket = require "hocket"
local function ask()
  local answer, err = hocket.ask "Which?"
  return answer or err.code
end
local function look(steps, run)
  local tool = hocket.tool { name = "look", description = "Looks.", steps = steps, run = run }
  return assert(hocket.run(hocket.agent { name = "clerk", prompt = "You are clerk.", tools = { tool } }, "go")).text
end
local helper = hocket.agent { name = "helper", prompt = "You are helper.", tools = { "ask_user" } }
local kinds = {
  tool = function() return look(false, ask) end,
  steps = function() return look(true, ask) end,
  step = function() return hocket.step("ask", ask) end,
  agent = function() return look(false, function() return assert(hocket.run(helper, "go")).text end) end,
}
return kinds[...]()
X
for kind in tool step agent; do
  run timeout 60 "$HOCKET" run -q asks/main.lua $kind; expect 0
  if [ $kind = agent ]; then has out "nobody answers"; else has out "unsupported"; fi
done
run timeout 60 "$HOCKET" run -q asks/main.lua steps; expect 75; id=$(id_in err)
run "$HOCKET" answer "$id" q1 left; run "$HOCKET" resume -q "$id"; expect 0; has out "so it is left"
finish
