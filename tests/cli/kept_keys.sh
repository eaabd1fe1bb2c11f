# Runs that cannot go on here, for want of a key or by a log that cannot be followed: they stay what they were, and it is said
# what they need.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
state_is() { run "$HOCKET" runs --state "$1"; has out "$id"; }
keyed() { HOUSE_KEY=x "$HOCKET" "$@" >out 2>err </dev/null; code=$?; what="with a key: $*"; }

cp "$ROOT/tests/host/kept/scripts/sim.lua" .
sed -i 's/latency = 0.05/latency = os.getenv "AT_ONCE" and 0 or 1000/' sim.lua
cat >house.lua <<'X'
local hocket = require "hocket"
hocket.provider("house", { protocol = "openai_chat", base = require("hocket.sim").base(), key_env = "HOUSE_KEY" })
return hocket.agent { name = "writer", prompt = "You write.", model = "house/m" }
X

# ---- A key that is missing ---------------------------------------------------------------------------
# What the log has needs none.
cat >asks.lua <<'X'
local hocket = require "hocket"
local writer = require "house"
local first = assert(hocket.run(writer, "say one")).text
local city = assert(hocket.ask "Which city?")
return first .. " in " .. city .. ": " .. assert(hocket.run(writer, "say two")).text
X
keyed run asks.lua; expect 75; id=$(id_in err)
run "$HOCKET" replay "$id"; expect 0; has err "all as recorded"
run "$HOCKET" resume "$id"; expect 75; has err "Which city?"; state_is parked
# What is not in it does: the run is not over for that.
run "$HOCKET" answer "$id" q1 Rome; expect 0
for again in 1 2; do
  run "$HOCKET" resume "$id"; expect 4; has err "house needs a key: set HOUSE_KEY"; has err "hocket resume $id"; state_is cut-off
done
keyed resume "$id"; expect 0; has out "one in Rome: two"
run "$HOCKET" replay "$id"; expect 0; has err "all as recorded"

# A call that was under way, whose answer never came.
cat >slow.lua <<'X'
return assert(require("hocket").run(require "house", "slowly\nsay late")).text
X
: >ev; HOUSE_KEY=x "$HOCKET" run --events ev slow.lua >out 2>err </dev/null & pid=$!
until_true grep -q model_request ev; kill -KILL $pid; wait $pid 2>/dev/null
id=$(id_in ev)
for again in 1 2; do
  run "$HOCKET" resume "$id"; expect 4; has err "set HOUSE_KEY"; has err "hocket resume $id"; state_is cut-off
done
AT_ONCE=1 keyed resume "$id"; expect 0; has out late

# A run that begins without one says so, and that is its end.
run "$HOCKET" run slow.lua; expect 4; has err "house needs a key: set HOUSE_KEY"; hasnt err "hocket resume"
run "$HOCKET" runs -n 1; id=$(id_in out); has out failed
run "$HOCKET" replay "$id"; expect 0

# A conversation that was begun without goes on with one, and in a replay had none where it had none.
printf 'local hocket = require "hocket"\nlocal served = assert(hocket.sim.serve { reply = function() return "thanks" end })\nlocal f = io.open("base.new", "w")\nf:write(served.base)\nf:close()\nos.rename("base.new", "base")\nhocket.flow.sleep(1000)\n' >till.lua
"$HOCKET" run -q --store off till.lua >till.out 2>&1 & till=$!
at_end() { kill $till 2>/dev/null; }
until_true test -s base
for model in openai/m ""; do
  printf -- '---\nname: guide\n%s---\nYou answer.\n' "${model:+model: $model
}" >guide.md
  what="a conversation without a key, model '$model'"
  printf 'one\ntwo\n' | HOCKET_MODEL= "$HOCKET" chat guide.md >out 2>err; code=$?; expect 4; has err "OPENAI_API_KEY"
  for again in 1 2; do
    printf 'three\n' | HOCKET_MODEL=openai/m OPENAI_API_KEY=x OPENAI_BASE_URL=$(cat base) "$HOCKET" chat --continue >out 2>err; code=$?; expect 0; has out thanks
  done
  run "$HOCKET" runs -n 1; run "$HOCKET" replay "$(id_in out)"; expect 0; has err "all as recorded"
done

# Which model there is was found out on this machine: from its server, or at an address that a variable has. A replay asks nobody.
printf -- '---\nname: guide\n---\nYou answer.\n' >guide.md
nowhere() { HOCKET_MODEL= OLLAMA_HOST=http://127.0.0.1:1 LLAMACPP_BASE_URL=http://127.0.0.1:1/v1 "$@" >out 2>err </dev/null; code=$?; what="$*"; }
nowhere env LLAMACPP_BASE_URL="$(cat base)" "$HOCKET" run guide.md hello; expect 0; has out thanks
run "$HOCKET" runs -n 1; found=$(id_in out)
nowhere env OPENAI_API_KEY=x OPENAI_BASE_URL="$(cat base)" "$HOCKET" run guide.md hello; expect 0; has out thanks # its only model
run "$HOCKET" runs -n 1; only=$(id_in out)
nowhere env OPENAI_BASE_URL=http://127.0.0.1:1/v1 "$HOCKET" run guide.md hello; expect 4; has err "does not say which there are"
run "$HOCKET" runs -n 1; refused=$(id_in out)
nowhere "$HOCKET" run guide.md hello; expect 4; has err "there is no model to ask"
run "$HOCKET" runs -n 1; none=$(id_in out)
kill $till; wait $till 2>/dev/null
for id in "$found" "$only" "$refused" "$none"; do
  nowhere "$HOCKET" replay "$id"; expect 0; has err "all as recorded"
  nowhere env OPENAI_API_KEY=y LLAMACPP_BASE_URL="$(cat base)" "$HOCKET" replay "$id"; expect 0; has err "all as recorded"
done

# ---- A log that cannot be followed -------------------------------------------------------------------
cat >other.lua <<'X'
local hocket = require "hocket"
local f <close> = io.open "file"
assert(hocket.run(hocket.agent { name = "writer", prompt = "You write." }, "say one"))
local wait <close> = io.open "pipe"
hocket.step(f and "one" or "another", function() return 1 end)
return hocket.ask "Which city?"
X
: >file; run "$HOCKET" run other.lua; expect 75; id=$(id_in err); state_is parked
rm file; run "$HOCKET" resume "$id"; expect 1; has err "asks something else"
state_is parked; run "$HOCKET" show "$id"; has out "Which city?"; has out "hocket answer $id q1"
run "$HOCKET" runs --json -n 1; has out '"question"'; hasnt out '"cost":null'
# So it is for one that is killed before it goes on.
mkfifo pipe; : >file
"$HOCKET" resume "$id" >out 2>err </dev/null & pid=$!
sleep 0.5; kill -KILL $pid; wait $pid 2>/dev/null
state_is parked; run "$HOCKET" show "$id"; has out "Which city?"
rm pipe; run "$HOCKET" answer "$id" q1 Rome; run "$HOCKET" resume "$id"; expect 0; has out Rome

# The question that it asks is another one each time. What is told of that has the run's own time: not a day more.
cat >other.lua <<'X'
local hocket = require "hocket"
hocket.step("one", function() return 1 end)
hocket.ask("Which city? " .. tostring({}))
X
run "$HOCKET" run other.lua </dev/null; expect 75; id=$(id_in err)
run "$HOCKET" resume "$id" --json </dev/null; expect 1; has err "asks something else"; has out '"seconds":0.'
state_is parked
finish
