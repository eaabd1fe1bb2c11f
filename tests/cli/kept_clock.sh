# A script whose run is kept sees time pass while it never waits, and so do its limits, its result, its events and whoever looks at it.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db XDG_RUNTIME_DIR=$WORK; export HOCKET_STORE XDG_RUNTIME_DIR
chmod 700 .
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
number() { grep -o "\"$1\":\"*[0-9.]*" "$2" | head -n 1 | grep -o "[0-9.]*$"; }

# Loops that wait for a clock end; a replay has the same readings.
cat >loops.lua <<'X'
local flow = require "hocket".flow
local function date() return tonumber((os.date("!%S"))) end
local told = {}
for _, one in ipairs { { "time", os.time, 1 }, { "clock", os.clock, 0.1 }, { "now", flow.now, 0.1 }, { "date", date, 1 } } do
  local name, clock, wait = table.unpack(one)
  local from, rounds = clock(), 0
  repeat rounds = rounds + 1 until (clock() - from) % 60 >= wait
  told[#told + 1] = ("%s %g %d"):format(name, clock(), rounds)
end
print(table.concat(told, ", "))
X
run timeout 60 "$HOCKET" run -q --events ev loops.lua; expect 0; has out "date "
run timeout 60 "$HOCKET" replay "$(id_in ev)"; expect 0; has err "all as recorded"

# The limit of a run ends code that never waits, and says so.
echo 'while true do end' >endless.lua
run timeout 60 "$HOCKET" run -q --timeout 0.2 endless.lua; expect 124; has err "was not done within 0.2 seconds"

# Computing takes time: in the result, in accounts, between two events.
cat >compute.lua <<'X'
local hocket = require "hocket"
local from = os.clock()
hocket.events.emit "begins"
while os.clock() - from < 0.2 do
  for _ = 1, 1e6 do end
end
hocket.events.emit "ends"
return ("%.3f"):format(hocket.this_run():tree().seconds)
X
run timeout 60 "$HOCKET" run --json -q --events ev compute.lua; expect 0
at() { sed -n 's/.*"time":"[^"]*T..:\(..\):\([0-9.]*\)Z".*"type":"'"$1"'".*/\1 \2/p' ev; }
awk -v s="$(number seconds out)" -v t="$(number text out)" -v b="$(at begins)" -v e="$(at ends)" 'BEGIN {
  split(b, x, " "); split(e, y, " "); took = (y[1] - x[1] + 60) % 60 * 60 + y[2] - x[2] + 1e-9 # 13.37 - 13.17 is less than 0.2
  exit !(s >= 0.2 && t >= 0.2 && took >= 0.2) }' || fail "0.2 seconds of work: from $(at begins) to $(at ends)"
run "$HOCKET" replay "$(id_in ev)"; expect 0; has err "all as recorded"

# Whoever looks at it from outside is told how long it has gone on.
echo 'require "hocket".flow.sleep(1000)' >waits.lua
"$HOCKET" run -q --offer game waits.lua >waits.out 2>&1 </dev/null & pid=$!
at_end() { kill $pid 2>/dev/null; }
offered() { "$HOCKET" attach | grep -q "^game "; }
until_true offered
run "$HOCKET" attach --json -c runs game; expect 0
awk -v s="$(number seconds out)" 'BEGIN { exit !(s != "" && s < 60) }' || fail "seconds of a run that has just begun"
finish
