# What a project may use in a day: by several processes at once, killed, replayed, and over midnight. Also started by
# tests/support/postgres.sh, with a database.
. "$(dirname "$0")/lib.sh"
mkdir -m 700 state; HOCKET_STORE=$PWD/state/runs.db
[ -z "${HOCKET_TEST_POSTGRES:-}" ] || HOCKET_STORE="postgres://hocket@/test?host=${HOCKET_TEST_POSTGRES#*host=}"
export HOCKET_STORE CALLS=$PWD/calls.txt
if [ -n "${HOCKET_TEST_POSTGRES:-}" ]; then "$HOCKET" store init >/dev/null || fail "no database"; fi
budget() { run "$HOCKET" budget "$@"; }
used() { "$HOCKET" budget show "$1" --json | grep -o "\"$2\":{[^}]*}" | grep -o "\"$3\":[0-9.]*" | cut -d: -f2; }
made() { wc -l <calls.txt; }
mkdir -p team slow
cat >team/main.lua <<'L'
local hocket = require "hocket"
local poet = hocket.agent { name = "poet", prompt = "You write.", max_tokens = 100 }
local out = {}
for i = 1, tonumber((...)) do
  local reply, err = hocket.run(poet, "line " .. i)
  if not reply then return nil, err end
  out[i] = reply.text
end
return table.concat(out, " ")
L
cp team/main.lua slow
cat >team/sim.lua <<'L'
return function()
  local f <close> = assert(io.open(os.getenv "CALLS", "a"))
  f:write "call\n"
  return { text = "snow", latency = 0.05 }
end
L
sed 's/0.05/60/' team/sim.lua >slow/sim.lua

# ---- Setting one -----------------------------------------------------------------------------------
budget; expect 2; has err "set, list, show or rm"
budget set; expect 2
budget list --cost 5; expect 2; has err "no options but --json"
budget set x --calls -1; expect 2
budget set x --tokens 1.5; expect 2
budget set x --cost 1e3; expect 2; budget set x --cost .5; expect 2; budget set x --cost 999999999; expect 2; has err "larger than any"
budget set x --tokens 1000000000000 --calls 007 --cost 0.00001; expect 0; has out "1000000000000 tokens a day"; has out "7 calls a day"; has out "1e-05 USD"; budget rm x; expect 0
budget set x --cost much; expect 2; has err "an amount of at least 0, or none"
budget set x; expect 2; has err "--cost USD"
budget set 'a b' --calls 1; expect 2; has err "no name of a project"
budget set x --calls 1 --tz Mars/Phobos; expect 2; has err "no time zone"
HOCKET_STORE=memory budget set x --calls 1; expect 1; has err "gone with this command"
budget set x --calls 1; expect 0; budget rm x; expect 0; budget rm x; expect 1; budget show x; expect 1; has err "has no budget"
run "$HOCKET" run --project 'a b' team 1; expect 2; has err "--project a b"
run "$HOCKET" run --project x --store off team 1; expect 1; has err "has to be kept"

# ---- Drawing from it: of four at once no call too many --------------------------------------------------
: >calls.txt
budget set travel --calls 10 --tokens 100000 --cost 1; expect 0; has out "10 calls a day: 0 calls used, 10 calls left"
for i in 1 2 3 4; do "$HOCKET" run -q --project travel team 4 >o$i 2>e$i </dev/null & eval "p$i=$!"; done
parked=0
for i in 1 2 3 4; do
  eval "wait \$p$i"; code=$?
  case $code in 0) ;; 75) parked=$((parked + 1)); has e$i "the run waits until" ;; *) fail "exit code $code: $(cat e$i)" ;; esac
done
same "$(made)" 10; same "$(used travel calls used)" 10; same "$(used travel calls left)" 0
[ $parked -ge 2 ] || fail "$parked wait"
run "$HOCKET" runs --state waiting; has out team
tokens=$(used travel tokens used); [ "$tokens" -gt 10 ] || fail "$tokens tokens"

# What was done is not drawn again: neither by a replay nor by going on.
budget set travel --calls 12; expect 0; has out "10 calls used, 2 calls left"; has out "100000 tokens"
run "$HOCKET" run -q --project travel team 2; expect 0; id=$("$HOCKET" runs --limit 1 --json | grep -o '"id":"[^"]*"' | cut -d'"' -f4)
same "$(used travel calls used)" 12; tokens=$(used travel tokens used)
run "$HOCKET" replay "$id"; expect 0
same "$(used travel calls used)" 12; same "$(used travel tokens used)" "$tokens"; same "$(made)" 12
run "$HOCKET" runs --limit 1 --json; has out '"project":"travel"'

# Other projects, and runs of none, have nothing to do with it; a limit that goes lets all through.
run "$HOCKET" run -q team 1; expect 0
run "$HOCKET" run -q --project other team 1; expect 0
budget set travel --calls none --cost none; expect 0; hasnt out calls
run "$HOCKET" run -q --project travel team 1; expect 0
budget set travel --tokens 20; expect 0
run "$HOCKET" run -q --project travel team 1; expect 75
budget set none --calls 0; expect 0; before=$(made); run "$HOCKET" run -q --project none team 1; expect 75; same "$(made)" "$before"
budget set dear --cost 0.01; expect 0
run "$HOCKET" run -q --project dear --model sim/dear --price sim/dear=10,100 team 1; expect 0; same "$(used dear cost used)" 0.00025
run "$HOCKET" run -q --project dear --model sim/dear --price sim/dear=10000,100000 team 1; expect 75; has err "the run waits until"

# ---- Killed in the middle of a call: its share is held for a while, and was spent by nobody ------------------
budget set killed --calls 3; expect 0; : >calls.txt
"$HOCKET" run -q --project killed slow 1 >/dev/null 2>&1 & pid=$!
until_true test -s calls.txt
same "$(used killed calls held)" 1; same "$(used killed calls left)" 2; same "$(used killed calls used)" 0
kill -KILL $pid; wait $pid 2>/dev/null
same "$(used killed calls held)" 1; same "$(used killed calls used)" 0
"$HOCKET" run -q --project killed slow 1 >/dev/null 2>&1 & pid=$!
is_held() { [ "$(used killed calls held)" = "$1" ]; }
until_true is_held 2; kill -INT $pid; wait $pid 2>/dev/null
until_true is_held 1 # Ctrl-C gives back at once

# ---- Midnight: a run that a worker does waits for it, and goes on -----------------------------------------------
cat >zone.lua <<'L'
local ahead = tonumber((...))
local offset = (86400 - ahead - os.time() % 86400 + 43200) % 86400 - 43200
local function head(types, chars) return (">c4 c1 c15 I4 I4 I4 I4 I4 I4"):pack("TZif", "2", ("\0"):rep(15), 0, 0, 0, 0, types, chars) end
local types = (">i4 B B"):pack(offset, 0, 0) .. "XX\0"
local rule = ("<XX>%s%d:%02d:%02d"):format(offset > 0 and "-" or "", math.abs(offset) // 3600, math.abs(offset) // 60 % 60, math.abs(offset) % 60)
local f <close> = assert(io.open("zones/Night", "w"))
f:write(head(1, 3), types, head(1, 3), types, "\n", rule, "\n")
L
mkdir zones empty; export TZDIR=$PWD/zones
(cd empty && exec "$HOCKET" work --json) >w.out 2>w.err & worker=$!
for ahead in 8 80 400; do # the first call has to come before it, also where all is slow
  run "$HOCKET" run -q --store off zone.lua $ahead; expect 0
  budget set night$ahead --calls 1 --tz Night; expect 0; has out "1 calls left"
  run "$HOCKET" run --detach -q --project night$ahead team 2; expect 0; id=$(cat out)
  run "$HOCKET" wait --timeout $((ahead + 60)) "$id"
  [ "$code" = 124 ] || break
done
expect 0; has out "snow snow"; same "$(used night$ahead calls used)" 1
# What a run submits, and its agents that work in runs of their own, are of its project, too.
mkdir -p shop/agents
printf -- '---\nname: poet\npool: default\nmax_tokens: 100\n---\nYou write.\n' >shop/agents/poet.md
cp team/sim.lua shop
cat >shop/main.lua <<'L'
local hocket = require "hocket"
local one = assert(hocket.run(hocket.agent "shop/agents/poet.md", "line")).text
return one .. " " .. assert(assert(hocket.submit("shop/one.lua", "1")):wait()).text
L
cp team/main.lua shop/one.lua
budget set shop --calls 9; expect 0
run "$HOCKET" run --detach -q --project shop shop; expect 0
run "$HOCKET" wait "$(cat out)"; expect 0; has out "snow snow"; same "$(used shop calls used)" 2
run "$HOCKET" runs --limit 0 --json; same "$(grep -o '"project":"shop"' out | wc -l)" 3
kill -TERM $worker; wait $worker
finish
