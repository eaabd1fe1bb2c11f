# Limits of a provider that several processes with one store have together: what comes to its server from all of them is no more
# than that. Also started by tests/support/postgres.sh, with a database.
. "$(dirname "$0")/lib.sh"
chmod 700 .
store=$WORK/runs.db
[ -z "${HOCKET_TEST_POSTGRES:-}" ] || store="postgres://hocket@/test?host=${HOCKET_TEST_POSTGRES#*host=}"

# A server that says when each call came and how many it had then, and once, on demand, that it wants to be left alone.
cat >server.lua <<'END'
local hocket = require "hocket"
local fiber = require "hocket.internal.core.fiber"
local log, open = assert(io.open("calls", "w")), 0
local function exists(name)
  local f = io.open(name)
  return f and f:close()
end
local served = assert(hocket.sim.serve { reply = function()
  open = open + 1
  log:write(("%.3f %d\n"):format(fiber.now(), open))
  log:flush()
  if exists "refuse" then
    os.remove "refuse"
    open = open - 1
    return { status = 429, error = "later", headers = { ["retry-after"] = "4" } }
  end
  if not exists "quick" then fiber.sleep(0.02) end
  open = open - 1
  return "yes"
end })
assert(io.open("base.new", "w")):write(served.base):close()
os.rename("base.new", "base")
while not exists "stop" do fiber.sleep(0.02) end
served.close()
END

# As many calls at once as CALLS says, without another try; what failed is said.
cat >client.lua <<'END'
local hocket = require "hocket"
local flow = require "hocket.flow"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local llm = require "hocket.llm"
local limits = json.decode(os.getenv "LIMITS")
hocket.provider("here", { protocol = "openai_chat", base = io.open("base"):read "a", limits = limits })
local calls, failed = {}, 0
print(("begun %.3f"):format(fiber.now()))
for i = 1, tonumber(os.getenv "CALLS") do
  calls[i] = function()
    local history = llm.history()
    history:user "hello"
    local reply, err = llm.call(assert(hocket.model.resolve "here/m"), history, { retries = 0 })
    if not reply then
      failed = failed + 1
      print(err.message)
    end
  end
end
if os.getenv "ONE_BY_ONE" then
  for _, call in ipairs(calls) do call() end
else
  flow.all(calls)
end
print(("%d of %d failed"):format(failed, #calls))
END

serve() {
  rm -f base stop
  hocket run -q --store off server.lua x >served 2>&1 </dev/null &
  server=$!
  until_true test -f base
}
served() {
  touch stop
  wait $server || fail "the server: $(cat served)"
}
client() { # NAME LIMITS CALLS
  LIMITS=$2 CALLS=$3 "$HOCKET" run -q --store "$store" client.lua x >"$1" 2>&1 </dev/null
}

# ---- Calls at once ------------------------------------------------------------------------------------

serve
client one '{"concurrent": 3}' 25 & one=$!
client two '{"concurrent": 3}' 25 & two=$!
client three '{"concurrent": 3}' 25 & three=$!
wait $one $two $three
served
for who in one two three; do has $who "0 of 25 failed"; done
same "$(wc -l <calls)" 75
same "$(sort -k2 -n calls | tail -n 1 | cut -d' ' -f2)" 3

# Who has all the places there are asks for no more while its calls go on; and places that it does not use soon are others'.
cat >fan.lua <<'END'
local hocket = require "hocket"
local fiber = require "hocket.internal.core.fiber"
hocket.provider("here", { protocol = "openai_chat", base = io.open("base"):read "a", limits = { concurrent = 2, shared = true } })
local worker = hocket.agent { name = "worker", prompt = "You work.", model = "here/m" }
local list, began, cpu = {}, fiber.real_now(), os.clock()
for i = 1, 24 do list[i] = i end
hocket.flow.map(list, function() assert(hocket.run(worker, "hello")) end)
io.open("took", "w"):write(("%.0f %.0f"):format((os.clock() - cpu) * 1000, (fiber.real_now() - began) * 1000)):close()
if not os.getenv "STAYS" then return end
for _ = 1, 1000 do -- it calls now and then, and has its place in between for a moment
  assert(hocket.run(worker, "hello"))
  fiber.sleep(0.2)
  if io.open "over" then return end
end
END
serve
run "$HOCKET" run -q --store "$store" fan.lua; expect 0
cpu=$(cut -d' ' -f1 took)
[ "$cpu" -lt 2000 ] || fail "24 calls by two took $cpu ms of the processor" # 24 times 20 ms of waiting, and nothing to do meanwhile
STAYS=1 "$HOCKET" run -q --store "$store" fan.lua >stays 2>&1 </dev/null & stays=$!
until_true sh -c '[ "$(wc -l <calls)" -gt 50 ]'
run "$HOCKET" run -q --store "$store" fan.lua; expect 0
touch over; wait $stays
served

# A process with more calls than places leaves some to others.
cat >greedy.lua <<'END'
local hocket = require "hocket"
hocket.provider("here", { protocol = "openai_chat", base = io.open("base"):read "a", limits = { concurrent = 2, shared = true } })
local worker = hocket.agent { name = "worker", prompt = "You work.", model = "here/m" }
hocket.flow.map({ 1, 2, 3, 4 }, function()
  repeat assert(hocket.run(worker, "hello")) until os.getenv "ONCE" or io.open "enough"
end)
END
serve
"$HOCKET" run -q --store "$store" greedy.lua >greedy 2>&1 </dev/null & greedy=$!
until_true sh -c '[ "$(wc -l <calls)" -gt 20 ]'
ONCE=1 timeout 30 "$HOCKET" run -q --store "$store" greedy.lua >modest 2>&1 </dev/null || fail "it got no place beside one that calls without a pause: $(cat modest)"
touch enough
wait $greedy || fail "the greedy one: $(cat greedy)"
served

# A process that has lost places of calls that go on, as after a sleep of the machine, asks for them from time to time.
cat >lost.lua <<'END'
local hocket = require "hocket"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local store = require "hocket.internal.core.store"
local draw, draws, mine = store.draw, 0, nil
store.draw = function(spec)
  draws = draws + 1
  if spec.holder then mine = { name = spec.name, holder = spec.holder } end
  return draw(spec)
end
local slow = hocket.sim.serve { reply = function() fiber.sleep(60) return "late" end }
hocket.provider("here", { protocol = "openai_chat", base = slow.base, limits = { concurrent = 3, shared = true } })
local worker = hocket.agent { name = "worker", prompt = "You work.", model = "here/m" }
local calls = {}
for i = 1, 2 do calls[i] = flow.spawn(function() hocket.run(worker, "hello") end) end
while not mine do fiber.sleep(0.01) end
fiber.sleep(0.2)
assert(draw { name = mine.name, holder = mine.holder, want = 0, capacity = 3, lease_ms = 60000 })
assert(assert(draw { name = mine.name, holder = "another", want = 3, capacity = 3, lease_ms = 60000 }).granted == 3)
flow.timeout(0.2, function() hocket.run(worker, "a third") end) -- so it asks, and hears that it has none
local before, began = draws, fiber.real_now()
fiber.sleep(1)
print(("%.0f"):format((draws - before) / (fiber.real_now() - began)))
for _, call in ipairs(calls) do call:cancel() end
END
run "$HOCKET" run -q --store "$store" lost.lua; expect 0
draws=$(grep -x '[0-9]*' out)
[ "$draws" -gt 1 ] && [ "$draws" -lt 100 ] || fail "it asks $draws times in a second"

# ---- In a minute: a tenth at once, the rest bit by bit --------------------------------------------------

serve
client one '{"requests": 600}' 35 & one=$!
client two '{"requests": 600}' 35 & two=$!
wait $one $two
served
for who in one two; do has $who "0 of 35 failed"; done
begun=$(sed -n 's/^begun //p' one two | sort -n | head -n 1)
awk -v begun="$begun" '{ n++; if (n > 60 + 541 / 62 * ($1 - begun) + 1) print "call", n, "came at", $1 - begun }' calls >toomany
empty toomany
same "$(wc -l <calls)" 70

# ---- One after the other: each comes while what the last one left is given back -----------------------------------

serve
touch quick
ONE_BY_ONE=1 client one '{"requests": 600000, "tokens": 100000000, "concurrent": 4}' 300
rm quick
served
has one "0 of 300 failed"

# ---- What is not shared is each one's own ------------------------------------------------------------------

serve
client one '{"requests": 200, "shared": false}' 20 & one=$!
client two '{"requests": 200, "shared": false}' 20 & two=$!
wait $one $two
served
same "$(awk -v begun="$(head -n 1 calls | cut -d' ' -f1)" '$1 < begun + 100' calls | wc -l)" 40

# ---- A 429 that one hears holds back the others ------------------------------------------------------------------

serve
touch refuse
client one '{"concurrent": 5}' 1
has one "1 of 1 failed"
client two '{"concurrent": 5}' 4
served
has two "0 of 4 failed"
same "$(wc -l <calls)" 5
awk 'NR == 1 { at = $1 } NR > 1 && $1 < at + 3.9 { print "came", $1 - at, "after the 429" }' calls >early
empty early

finish
