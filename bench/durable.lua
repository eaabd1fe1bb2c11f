-- What durable runs promise, in figures: what an unchanged fork asks again, what a checksum costs, many effects, and a
-- conversation that waits.
local measure = require "measure"

local durable = {}

local function failed(what, limit, why)
  return { what = what, limit = limit, failed = why }
end

local function single(what, unit, value, limit, floor)
  return value and { what = what, unit = unit, floor = floor, ours = value, value = value, limit = limit } or failed(what, limit, "it could not be measured")
end

-- ---- A fork that begins at the beginning (fork --latest) --------------------------------------------

-- $1 hocket, $2 a folder for it, $3 examples: the model calls of the team's run, those that its unchanged fork asks again, and those
-- where one prompt has another word.
local forks = [[
set -e
exec 2>/dev/null
hocket=$(readlink -f "$1"); examples=$(readlink -f "$3")
cd "$2"; cp -r "$examples/travel" .
export HOME="$PWD" HOCKET_TRUST=1 HOCKET_STORE="$PWD/runs.db"
"$hocket" run -q --model sim travel/agents "Three days in Lisbon" >/dev/null
id=$("$hocket" runs | awk '{ print $1; exit }')
anew() {
  "$hocket" resume -q "$("$hocket" fork "$id" --latest 2>/dev/null)" --events "$1" >/dev/null
  sed -n 's/.*"type":"run_reused".*"replayed":\([0-9]*\),"run_anew":\([0-9]*\).*/\1 \2/p' "$1"
}
anew same
echo "Be brief." >>travel/agents/food.md
anew changed
]]

---@return table[] rows
function durable.forks(bed, o)
  local what, changed = "the travel team, forked with nothing changed: model calls asked again; floor: its calls", "the same with one specialist's prompt changed"
  local dir = bed.tmp .. "/forks"
  bed.output("mkdir", "-p", dir)
  local text = bed.output("sh", "-c", forks, "sh", o.hocket, dir, bed.bench .. "/../examples")
  local there, anew, _, some = text:match "^(%d+) (%d+)\n(%d+) (%d+)"
  if not there then return { failed(what, 0, "hocket's run failed") } end
  local calls = tonumber(there) + tonumber(anew)
  return { single(what, "calls", tonumber(anew), 0, calls), single(changed, "calls", tonumber(some), nil, calls) }
end

-- ---- Effects and checksums ---------------------------------------------------------------------------

---@return table[] rows
function durable.effects(bed, o)
  local what, many = "40,000 steps of a script, durable: CPU to a run without a store", o.quick and 4000 or 40000
  local plain, kept = {}, {}
  for i = 1, o.few_reps do
    for _, one in ipairs { { "off", plain }, { bed.tmp .. "/steps.db", kept } } do
      for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(bed.tmp .. "/steps.db" .. ending) end
      local short, long = bed.hocket({ script = "steps", store = one[1] }, 10), bed.hocket({ script = "steps", store = one[1] }, many)
      if short.exit ~= 0 or long.exit ~= 0 then return { failed(what, 16, "hocket's run failed") } end
      one[2][i] = (long.cpu - short.cpu) / (many - 10)
    end
  end
  local floor, ours = measure.median(plain), measure.median(kept)
  local text = bed.output(bed.build .. "/bench/bench_store")
  return {
    { what = what, unit = "µs", floor = floor, ours = ours, value = ours / floor, ratio = true, limit = 16 },
    single("the checksum of an entry of 180 bytes: CPU", "ns", tonumber(text:match "the sum of an entry: ([%d.]+) ns"), 200),
  }
end

-- ---- A conversation that waits -------------------------------------------------------------------------

-- $2 seconds, $3 a folder for it, then words for the chat of $HOCKET: threads of a chat at its prompt, and how often they woke up.
local waits = [[
seconds=$2 dir=$3; shift 3
export HOME="$dir" HOCKET_MODEL=sim/echo
mkfifo "$dir/in"
"$HOCKET" chat -q "$@" "$dir/talker.md" <"$dir/in" >"$dir/out" 2>/dev/null &
pid=$!
exec 3>"$dir/in"
echo hello >&3
for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; [ ! -s "$dir/out" ] || break; done
sleep 2
woken() { cat /proc/$pid/task/*/status | awk '/^voluntary_ctxt/ { n += $2 } /^Pid/ { t++ } END { print n, t }'; }
first=$(woken); sleep "$seconds"; second=$(woken)
exec 3>&-
wait $pid
rm "$dir/in"
echo "$first $second"
]]

local function waiting(bed, o, store)
  local dir, seconds = bed.tmp .. "/waits", o.quick and 3 or 10
  bed.output("mkdir", "-p", dir)
  local file = assert(io.open(dir .. "/talker.md", "w"))
  file:write "---\nname: talker\n---\nYou talk.\n"
  file:close()
  local text = bed.output("env", "HOCKET=" .. o.hocket, "sh", "-c", waits, "sh", "", seconds, dir, "--store", store == "off" and store or dir .. "/" .. store)
  local before, _, after, threads = text:match "^(%d+) (%d+) (%d+) (%d+)"
  if not before then return nil end
  return (tonumber(after) - tonumber(before)) / seconds, tonumber(threads)
end

---@return table[] rows
function durable.waiting(bed, o)
  if not io.open "/proc/self/status" then return {} end
  local none, alone = waiting(bed, o, "off")
  local woken, threads = waiting(bed, o, "runs.db")
  return {
    single("a durable conversation that waits for its person: wake-ups a second; floor: without a store", "", woken, 1.5, none),
    single("the same: threads", "", threads, 2, alone),
  }
end

return durable
