# A run that waits for its project's budget: it says so wherever runs are looked at, and goes on as soon as there is more. Also started by
# tests/support/postgres.sh, with a database.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
[ -z "${HOCKET_TEST_POSTGRES:-}" ] || HOCKET_STORE="postgres://hocket@/test?host=${HOCKET_TEST_POSTGRES#*host=}"
if [ -n "${HOCKET_TEST_POSTGRES:-}" ]; then "$HOCKET" store init >/dev/null || fail "no database"; fi
while [ "$(date -u +%H%M)" -ge 2355 ]; do sleep 5; done # the day is not to end meanwhile
budget() { run "$HOCKET" budget "$@"; expect 0; }
used() { "$HOCKET" budget show "$1" --json | grep -o '"used":[0-9]*' | head -n 1 | cut -d: -f2; }
mkdir team
cat >team/main.lua <<'L'
local hocket = require "hocket"
local poet = hocket.agent { name = "poet", prompt = "You write.", max_tokens = 100 }
local out = {}
for i = 1, tonumber((...)) do out[i] = assert(hocket.run(poet, "line " .. i)).text end
return table.concat(out, " ")
L
echo 'return function() return "snow" end' >team/sim.lua
DAY='[0-9]*-[0-9]*-[0-9]* 00:00 UTC'
says() { grep -q "$2" "$1" || fail "$2 expected in $1"; }

# ---- One of a worker's says what it waits for -------------------------------------------------------------
budget set travel --calls 1; worker 1
detach --project travel team 3; until_true is "$id" waiting
run "$HOCKET" runs; says out "(the budget of travel is used up until $DAY)"
run "$HOCKET" runs --json; has out '"waiting_for":[{"id":"b1","kind":"budget","limit":"calls","project":"travel","until":"'
run "$HOCKET" workers; says out "budget travel (calls) until $DAY"
run "$HOCKET" workers --json; has out '"waits_for":[{"kind":"budget","limit":"calls","project":"travel","until":"'; has out '"waiting":1'; has out '"later":0'
run "$HOCKET" wait -t 0.5 "$id"; expect 124; says err "waits: the budget of project travel (calls) is used up until $DAY (or: hocket budget set travel)"
says err "is still waiting after 0.5 seconds, as the budget of project travel (calls) is used up until"
run "$HOCKET" show "$id"; has out "waits for the budget of travel (calls), used up until"; has out "hocket budget set travel"
run "$HOCKET" answer "$id" b1 yes; expect 2; has err "'b1' waits for the budget of project travel: hocket budget set travel"

# ---- It goes on with more: with too little it waits again, with enough it ends ------------------------------
budget set travel --calls 2; spent_2() { [ "$(used travel)" = 2 ] && is "$id" waiting; }; until_true spent_2
budget set travel --calls 3; done_with -t 60 "$id"; has out "snow snow snow"; same "$(used travel)" 3
run "$HOCKET" replay "$id"; expect 0; same "$(used travel)" 3
# Several agents of one run wait, and each looks.
cat >team/many.lua <<'L'
local hocket = require "hocket"
local poet = hocket.agent { name = "poet", prompt = "You write.", max_tokens = 100 }
return table.concat(hocket.flow.map({ "a", "b", "c", "d" }, function(name) return assert(hocket.run(poet, name)).text end), " ")
L
budget set many --calls 1; detach --project many team/many.lua; until_true is "$id" waiting
run "$HOCKET" workers --json; same "$(grep -o '"kind":"budget"' out | wc -l)" 1
for n in 2 3 4; do budget set many --calls $n; done; done_with -t 60 "$id"; has out "snow snow snow snow"; same "$(used many)" 4
run "$HOCKET" replay "$id"; expect 0
# So it does without one, with several that wait, and in a zone whose day is another one.
detach --project travel team 1; a=$id; detach --project travel team 1; b=$id; until_true is "$a" waiting; until_true is "$b" waiting
budget rm travel; done_with -t 60 "$a" "$b"
budget set other --calls 0; detach --project other team 1; until_true is "$id" waiting
budget set travel --calls 9; sleep 1; is "$id" waiting || fail "another project's budget lets it go on"
run "$HOCKET" cancel "$id"; expect 0
# Nobody is there when it is raised: the next worker goes on with it.
budget set off --calls 1; detach --project off team 2; until_true is "$id" waiting; end 1 TERM; expect 0
budget set off --calls 2; is "$id" queued || fail "it is not queued"
worker 2; done_with -t 60 "$id"; end 2 TERM; expect 0

# ---- One that is nobody's looks again when somebody goes on with it ------------------------------------------
budget set mine --calls 1
run "$HOCKET" run -q --project mine team 2; expect 75; says err "the run waits until 20"; id=$("$HOCKET" runs --limit 1 --json | grep -o '"id":"01[^"]*"' | head -n 1 | cut -d'"' -f4)
run "$HOCKET" resume -q "$id"; expect 75; says err "the run waits until 20.*Z, for the budget of project mine (or: hocket budget set mine)"
run "$HOCKET" runs --limit 1; says out "(the budget of mine is used up until $DAY)"
budget set mine --calls 2
run "$HOCKET" resume -q "$id"; expect 0; has out "snow snow"; same "$(used mine)" 2
run "$HOCKET" replay "$id"; expect 0
# Somebody may wait for it by then: it is the same run still.
if "$PTY" -- true >/dev/null 2>&1; then
  budget set seen --calls 1
  run "$HOCKET" run -q --project seen team 2; expect 75; id=$("$HOCKET" runs --limit 1 --json | grep -o '"id":"01[^"]*"' | head -n 1 | cut -d'"' -f4)
  "$PTY" -- "$HOCKET" resume "$id" >seen.out 2>&1 & pid=$!
  until_true sh -c '"$HOCKET" runs --limit 1 --json | grep -q "\"owner\""'
  sleep 1; budget set seen --calls 2; wait $pid; code=$?; expect 0; has seen.out "snow snow"
fi
# One of a worker's, whose worker is gone and whose budget was changed by somebody else than hocket: resume helps.
worker 3; budget set late --calls 1; detach --project late team 2; until_true is "$id" waiting; end 3 TERM; expect 0
run "$HOCKET" resume -q "$id"; expect 75
finish
