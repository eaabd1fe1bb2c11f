# Workers end by SIGTERM in the middle of runs that do several things at once, again and again: each run is given back in a state
# from which the next worker goes on, no tool is called twice that must not be, and nothing is lost.
. "$(dirname "$0")/lib.sh"
. "$HERE/work_lib.sh"
mkdir team
cat >team/main.lua <<'X'
local hocket = require "hocket"
local no = ...
local function pay(args, ctx)
  local f <close> = assert(io.open(os.getenv "WITNESS" or "/dev/null", "a"))
  f:write(no, " ", args.who, " ", args.n, "\n")
  hocket.flow.sleep(0.02)
  return "paid " .. args.n
end
local parameters = { type = "object", properties = { who = { type = "string" }, n = { type = "integer" } }, required = { "who", "n" } }
local once = hocket.tool { name = "pay", description = "Pays.", parameters = parameters, run = pay }
local look = hocket.tool { name = "look", description = "Looks.", parameters = parameters, idempotent = true, run = function(args) return "seen " .. args.n end }
local calls = {}
for i, name in ipairs { "one", "two", "three" } do
  calls[i] = function() return assert(hocket.run(hocket.agent { name = name, description = name, prompt = name, tools = { once, look } }, "Go")).text end
end
calls[4] = function()
  for i = 1, 6 do hocket.flow.sleep(0.03) end
  return "slept"
end
return table.concat(hocket.flow.all(calls), " ")
X
cat >team/sim.lua <<'X'
return function(q)
  local n = 0
  for _, message in ipairs(q.messages) do n = n + (message.role == "tool" and 1 or 0) end
  if n >= 5 then return { text = q.system, latency = 0.02 } end
  return { calls = { { name = n % 2 == 0 and "look" or "pay", arguments = { who = q.system, n = n } } }, latency = 0.01 * (1 + #q.system % 3) }
end
X
export WITNESS="$PWD/witness"; : >witness
cat >submit.lua <<'X'
for i = 1, 12 do assert(require("hocket").submit("team", tostring(i))) end
X
run "$HOCKET" run -q submit.lua; expect 0
left() { "$HOCKET" runs --limit 0 --json --state queued --state running --state waiting --state parked | grep -o '"pool":"default"' | wc -l; }
paid() { wc -l <witness; }
went_on() { [ "$(paid)" -ge $target ] || [ "$(left)" = 0 ]; }
is_over() { [ "$(left)" = 0 ] || grep -q '"code":"replay"' wlast.out; }
for n in 1 2 3 4 5 6 7 8; do # each ends after some more calls
  target=$(($(paid) + n % 4 * 3))
  worker $n --runs 4
  until_true went_on
  end $n TERM; expect 0
done
worker last; until_true is_over; end last TERM; expect 0
cat w?.out wlast.out >w.out
hasnt w.out '"code":"replay"'; hasnt w.out '"code":"failed"'
has w.out '"code":"parked"'
same "$(left)" 0
same "$("$HOCKET" runs --limit 0 --json --state done | grep -o '"pool":"default"' | wc -l)" 12
same "$(sort witness | uniq -d)" ""
same "$(wc -l <witness)" $((12 * 3 * 2))

# ---- While nothing can be written, an end does not wait for it ------------------------------------------------
cat >full.lua <<'X'
local hocket = require "hocket"
for i = 1, 2000 do
  hocket.step("s" .. i, function()
    hocket.flow.sleep(0.02)
    return ("%d"):format(i):rep(20000)
  end)
end
X
detach full.lua; detach full.lua
# shellcheck disable=SC3045 # of dash, too
(cd empty; ulimit -f 2000; exec "$HOCKET" work --json --grace 0.5) >wfull.out 2>wfull.err & wfull=$!; workers="$workers $wfull"
until_true grep -q "cannot be kept" wfull.err; end full TERM; expect 0
same "$(grep -c '"outcome":"given_back"' wfull.out)" 2
finish
