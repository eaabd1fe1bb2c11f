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
