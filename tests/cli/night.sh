# A night, with real processes and a clock of the test's own (tests/support/night.c): schedules, a provider that is away for an hour, a question at
# three that is answered at eight, a budget that is used up at five, a worker that is replaced at six, a disk that is full for ten minutes.
# What the operator finds in the morning stands in docs/guides/unattended.md, and is compared with it.
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || { echo "skipped: a sanitizer has to be loaded first"; exit 77; }
mkdir -m 700 state; mkdir empty project; : >log
workers= model=
# shellcheck disable=SC2086,SC2317 # several; by lib.sh
at_end() { [ -z "$workers$model" ] || kill -9 $workers $model 2>/dev/null; }
until_true() { # the test as a whole has its time
  until "$@"; do sleep 0.1; done
}

# ---- The clock, and the disk ---------------------------------------------------------------------------
full=0 at=0
put_clock() { printf '%011d %d\n' "$(($(date -u -d "$at" +%s) - $(date +%s)))" $full | dd of=clock conv=notrunc 2>/dev/null; }
printf '00000000000 0\n' >clock
now() { at="$1"; put_clock; }
disk() { full=$1; put_clock; }
cp "$HOCKET" worker-program # what the worker is started from, so that it can be replaced
export HOCKET_STORE="$PWD/state/runs.db" OPENAI_API_KEY=key HOCKET_MODEL=openai/m
h() { NIGHT="$WORK/clock" LD_PRELOAD="$NIGHT_LIBRARY" "$HOCKET" "$@"; }
work() { (cd empty && NIGHT="$WORK/clock" LD_PRELOAD="$NIGHT_LIBRARY" exec setsid "$WORK/worker-program" work --log-format text) 2>>log & workers=$!; }
count() { h runs --limit 0 --state "$1" --json | grep -o '"id":"01' | wc -l | tr -d ' '; }
are() { [ "$(count "$1")" = "$2" ]; } # STATE NUMBER

# ---- The model, which other machines have ----------------------------------------------------------------
cat >sim.lua <<'X'
return function(request)
  if request.system:find "clerk" and #request.messages == 1 then return { calls = { { name = "ask_user", arguments = { question = "Pay the invoice of 120 USD?" } } } } end
  return "It is " .. request.last.text .. "."
end
X
begin_model() {
  rm -f serving
  "$HOCKET" sim sim.lua --port "${port:-0}" >serving 2>/dev/null & model=$!
  until grep -q http serving; do sleep 0.1; done
  OPENAI_BASE_URL=$(grep -o 'http://[^ ]*/v1' serving | head -n 1); export OPENAI_BASE_URL
  port=$(echo "$OPENAI_BASE_URL" | sed 's#.*:\([0-9]*\)/.*#\1#')
}
now "2030-01-07 22:00"; begin_model

# ---- The evening: what is to happen --------------------------------------------------------------------------
printf -- '---\nname: news\n---\nYou tell the news.\n' >project/news.md
printf -- '---\nname: clerk\ntools: [ask_user]\n---\nYou are a clerk.\n' >project/clerk.md
cat >project/dear.lua <<'X'
local hocket = require "hocket"
local def = hocket.agent { name = "dear", prompt = "You are dear.", timeout = 3600 }
for i = 1, 3 do assert(hocket.run(def, "part " .. i)) end
return "all parts"
X
for name in long written; do cat >project/$name.lua <<'X'
local hocket = require "hocket"
local folder, name = ...
local function note(text)
  local f <close> = assert(io.open(folder:match "^(%S+)" .. "/" .. folder:match "%s(%S+)$", "a"))
  f:write(text, "\n")
end
local function may_go()
  local f <close> = io.open(folder:match "^(%S+)" .. "/" .. folder:match "%s(%S+)$" .. ".go")
  return f ~= nil
end
for i = 1, 2 do
  hocket.step("s" .. i, function() note("step " .. i) end)
  while not hocket.step("look", may_go) do hocket.flow.sleep(0.1) end
end
return "both steps"
X
done
price="--price openai/m=1,1"
add() { run h schedule add --tz UTC --trust "$@"; expect 0; }
# shellcheck disable=SC2086 # an option and its value
{
  add '0 23,2,4,7 * * *' project/news.md "the news" $price --timeout 600
  add '0 3 * * *' project/clerk.md "Pay what is due" $price --timeout 600
  add '0 5 * * *' project/dear.lua $price --project night
  add '50 5 * * *' project/long.lua "$WORK long"
  add '30 6 * * *' project/written.lua "$WORK written"
}
run h budget set night --calls 2; expect 0
work; until_true grep -q "working: pool" log

# ---- The night ---------------------------------------------------------------------------------------------------
now "2030-01-07 23:00:01"; until_true are done 1
now "2030-01-08 01:30"; kill $model; wait $model 2>/dev/null # the provider is away
now "2030-01-08 02:00:01"; until_true are failed 1
now "2030-01-08 02:30"; begin_model
now "2030-01-08 03:00:01"; until_true are parked 1 # a question, and nobody is there
now "2030-01-08 04:00:01"; until_true are done 2
now "2030-01-08 05:00:01"; until_true are waiting 1 # the budget of its day is used up
now "2030-01-08 05:50:01"; until_true test -s long
now "2030-01-08 06:00"; cp "$HOCKET" worker-new; mv worker-new worker-program; kill -HUP $workers # another version
until_true sh -c '[ "$(grep -c "working: pool" log)" = 2 ]'
: >long.go; until_true are done 3; same "$(tr '\n' ' ' <long)" "step 1 step 2 "
now "2030-01-08 06:30:01"; until_true test -s written; disk 1; : >written.go
until_true grep -q "runs cannot be kept for now" log
now "2030-01-08 06:40"; same "$(cat written)" "step 1" # no effect begins that is not written down
disk 0; until_true are done 4; same "$(tr '\n' ' ' <written)" "step 1 step 2 "; has log "runs are kept again"
now "2030-01-08 07:00:01"; until_true are done 5

# ---- The morning --------------------------------------------------------------------------------------------------
now "2030-01-08 08:00"
run h runs --since 24h --summary; expect 0; cp out morning
plain() { sed -E 's/01[0-9A-Z]{24}/ID/g; s/ +/ /g' "$1"; } # ids are of each night
plain morning >found
sed -n '/^<!-- the morning -->/,/^```$/p' "$ROOT/docs/guides/unattended.md" | sed '1,/^```/d; /^```$/d' | sed -E "s/ +/ /g" >told
cmp -s found told || fail "the page tells of another morning: $(diff told found)"
# Each line's command runs as typed.
grep -o 'hocket [a-z]* ID' found >/dev/null || fail "no command"
sed -n 's/^  \(hocket show 01[0-9A-Z]*\).*/\1/p' morning >todo; hocket() { h "$@"; }; . ./todo >out 2>err || fail "$(cat err)"; has out "connect"
id=$(sed -n 's/^  hocket answer \(01[0-9A-Z]*\) .*clerk.*/\1/p' morning)
run h answer "$id"; expect 0; has out "Pay the invoice of 120 USD?"
run h answer "$id" q1 "yes"; expect 0
until_true are parked 0; until_true are done 6
run h wait "$id"; expect 0; has out "It is yes."
# The log: every line a record with its date; what is to be seen to stands out by its level.
grep -vE '^2030-01-0[78]T[0-9:.]+\+00:00 (error|warning|info) run=(-|01[0-9A-Z]{24}) ' log >other && fail "no records: $(cat other)"
grep -qE '^2030-01-08T02:.* error run=01.*failed after' log || fail "the failure of two o'clock"
grep -qE '^2030-01-08T03:.* warning run=01.*waits for an answer' log || fail "the question of three o'clock"
grep -qE '^2030-01-08T06:3.* warning run=- .*runs cannot be kept for now' log || fail "the disk of half past six"
# At midnight the budget is there again.
now "2030-01-09 00:00:05"; until_true are waiting 0
now "2030-01-09 00:01"; kill -TERM $workers; wait $workers; code=$?; workers=; expect 0
finish
