-- The table, for a terminal and for docs/.
local report = {}

local function figure(value, unit)
  if not value then return "" end
  local digits = value >= 100 and 0 or value >= 10 and 1 or value >= 1 and 2 or 3
  return ("%." .. digits .. "f %s"):format(value, unit)
end

local function number(value)
  return value and ("%.4g"):format(value) or ""
end

local function judged(row)
  if row.failed then return "-" end
  return row.ratio and ("%.2f×"):format(row.value) or figure(row.value, row.unit)
end

local function bound(value, row)
  if not value then return "" end
  return row.ratio and number(value) .. "×" or row.unit and number(value) .. " " .. row.unit or number(value)
end

--- Whether a row misses its limit.
---@return boolean
function report.misses(row)
  return row.limit ~= nil and (row.failed ~= nil or row.value > row.limit)
end

local function verdict(row)
  if row.failed then return (row.limit and "MISSED: " or "goal missed: ") .. row.failed end
  if report.misses(row) then return "MISSED" end
  if row.goal and row.value > row.goal then return row.limit and "ok, goal missed" or "goal missed" end
  return "ok"
end

local function cells(row)
  return { row.what, figure(row.floor, row.unit), figure(row.ours, row.unit), judged(row), bound(row.limit, row), bound(row.goal, row), verdict(row) }
end

local head = { "case", "floor", "hocket", "value", "limit", "goal", "" }

local function pad(text, width, right)
  local blank = (" "):rep(math.max(0, width - utf8.len(text)))
  return right and blank .. text or text .. blank
end

--- One line of the table in a terminal.
function report.line(row)
  local c = cells(row)
  return table.concat({
    pad(c[1], 62), pad(c[2], 9, true), pad(c[3], 9, true), pad(c[4], 9, true),
    pad(c[5], 8, true), pad(c[6], 8, true), " " .. c[7],
  }, " ")
end

--- The line above the table.
function report.head()
  return (report.line { what = "" }:gsub(".*", function()
    return table.concat({ pad(head[1], 62), pad(head[2], 9, true), pad(head[3], 9, true), pad(head[4], 9, true), pad(head[5], 8, true), pad(head[6], 8, true) }, " ")
  end))
end

local function read(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local text = pipe and pipe:read "a" or ""
  if pipe then pipe:close() end
  return (text:gsub("%s+$", ""))
end

-- What else the machine was doing when it began.
local load_before = read "cut -d' ' -f1 /proc/loadavg"

--- Where and with what it was measured.
---@return string
function report.machine()
  return ("%s, %s CPUs (load average %s before), Linux %s, %s, libcurl %s, libuv %s"):format(
    read "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1", read "nproc", load_before, read "uname -r",
    read ". /etc/os-release && echo $PRETTY_NAME", read "pkg-config --modversion libcurl", read "pkg-config --modversion libuv")
end

local intro = [[
# Benchmarks

`./dev bench` measures and prints this table, `./dev bench --quick` a short form in half a minute;
`./dev bench --write docs/benchmarks.md` made this page. The exit status is 1 when a limit is missed.

%s

## How to read it

**floor** is `bench/floor.c`: a bare client, libcurl's multi interface on libuv, that sends the same bodies
as hocket, byte for byte (they are recorded from a run of hocket), and reads nothing of the answers but
whether they end with `[DONE]`. Nobody who has to read the answers can be as cheap. **hocket** is the
program, with its events, limits and checks. **value** is what is judged: a ratio `×` of the two, or the
figure itself. **limit** must hold, **goal** is where it is to go.

- CPU is that of the client's process as the kernel tells it, system calls included and start-up left out: the
  difference of a long and a short run, by the number of turns or chunks between them. Client and mock
  server share one CPU, because wake-ups across cores swing the floor twofold.
- Figures are medians of runs of floor and hocket in turn. Other work on the machine makes ratios worse, as
  it takes the caches of the one that has more in them; wall times suffer most.
- The mock server is C and writes answers that were made beforehand.
- `./dev instructions` counts instructions with valgrind, at an older commit and at the tree as it is. They are the same
  from run to run within 1 %, so that a change shows that the noise of times would hide.

```text
  bench_measure ──starts──> bench_mock         answers on 127.0.0.1, ready made
       │                        ^
       └──starts, times──> bench_floor or hocket run bench/scripts/….lua
```
]]

local meaning = [[
## What the rows are

- **hocket --version**, **first request on the wire**: a cold start, until the server has the first request whole; here both may
  use all CPUs, as hocket loads libcurl on one while it reads its scripts on another.
- **the program, stripped**: Lua scripts, agents and templates are in it, the page as well; Lua, libuv, cJSON and libyaml are not.
- **one agent, 20 tool turns**: model, tool, model …; each answer is a tool call in 21 fragments, with all that OpenAI's chunks
  have (`obfuscation`, `service_tier`, …), which the floor passes by and hocket has to read: the ratio of **instructions**, of which
  half of the floor's CPU is none, since it is the kernel's, is what no other work changes. CPU has been seen at 1.98× on a calm
  machine, at 3.2× with a load of some 4 and at 3.8× with one of 12, which empties the caches of whoever has more in them. **facilitator**: it plans,
  sends eight specialists to work side by side, who write into one document, and answers: 36 turns.
- **a router** chooses among three, **three advisors** and who they advise, **a team of five** for two rounds: what most people
  run, beside the same answers of agents that know nothing of each other, and the same model calls without any agent. Below the
  table stands what other frameworks take for the same, each in its own run, where it is found: `bench/peers/` has
  pydantic-ai and the OpenAI Agents SDK (a python that has them: `HOCKET_PEERS`), Eino and rig (to be built, see the head of their sources).
- **the transport alone**: a C program (`bench/bench_transport.c`) holds the same kind of conversation through `net/llm/llm.h`:
  the request is written, the history kept serialised and appended to, the stream read into a reply with its calls. No Lua,
  no agent, no journal: the difference between this row and the one above it is what those cost.
- **stream of 10,000 chunks**: what a chunk costs, when many come in a packet, and when each comes alone. A longer
  stream may not cost more for each: the value is its ratio to the floor by that of the shorter one.
- **a chunk read**: from bytes to a reply, without a network (`bench/bench_chunks.c`), as each provider sends its chunks: with
  OpenAI's `obfuscation`, a string of another length in each, with numbers that count, with times, Bedrock's in AWS's messages with their
  checksums, which are two fifths of its cost. The mock server sends what OpenAI does.
- **1,000 agents**: two turns each, all at once; ideal is what the server itself takes. Memory is the peak of the whole
  process, by the number of agents.
- **an empty job**, **queued**: the broker, from submitting to the end. **an append**: the shared document.
- **an entry written**, **on the disk**: kept by the store (`written`: it survives the process; on the disk: a loss of power),
  from handing it over to hearing of it, beside SQLite's own transaction on the same thread. Those that nobody waits for go
  to the file in batches. **In PostgreSQL**: the same beside a libpq connection that says the same statements one by one (`bench/bench_postgres.c`),
  on a server that syncs each commit. **Runs taken and ended**: by processes that take them from one pool and end them, as
  `hocket work` does, which has room for eight and asks for several at once where much is queued, or one by one, beside as many
  connections that say two statements for each (`bench/bench_queue.c`): the time for each run of all.
- **kept**: the same run without a store (the floor) and with one, in turn. The tool of the turn says nothing of what it does
  to the world, so that each call begins when a file has what was handed over so far; the store's thread counts. Beside
  the conversation that goes on stands one that begins.
- **what keeping adds to a tool turn**: the rows that it leaves (four entries, four records), written once more by bare SQLite, 64
  of each to a transaction (`bench/bench_rows.c`). A turn without a store has become so quick that these rows alone are a fifth of it,
  which is why the limit of the row above is not kept: each event and each effect is a row that SQL can read. What comes on top:
  digests, the log's entries with their check sums, a fiber for each effect, and the write into the file beside the database before a
  tool is called. A model's answer takes ten thousand times as long.
- **limited for all processes**, **a project's day**: kept in a file both times. A provider's limits are drawn ahead for many calls; each call draws
  by itself from a project's day, before and after it, once for each kind of limit. Measured beside other work on the machine.
- **200th turn to the 2nd**: CPU beyond what the floor takes to send the same bytes.
- **10,000 streams**: in one process, by the transport alone and by an agent each, against the floor on one multi handle,
  which is how most clients are built. How many the server has at once says whether all had begun before the first ended, three
  seconds later: what is not begun by then takes less memory, so that the two rows belong together.
]]

--- The whole page.
---@param rows table[]
---@param notes string[]
---@param modules {name: string, text: string}[]
---@return string
function report.markdown(rows, notes, modules)
  local where = ("Measured on %s: %s; commit %s."):format(read "date -u +%Y-%m-%d", report.machine(), read "git rev-parse --short HEAD")
  local out = { intro:format(where), "## The table\n", "| " .. table.concat(head, " | ") .. " |", "|---|--:|--:|--:|--:|--:|---|" }
  for _, row in ipairs(rows) do out[#out + 1] = "| " .. table.concat(cells(row), " | ") .. " |" end
  out[#out + 1] = ""
  for _, note in ipairs(notes) do out[#out + 1] = "- " .. note end
  out[#out + 1] = "\n" .. meaning .. "\n## Modules alone"
  for _, module in ipairs(modules) do
    out[#out + 1] = ("\n### %s\n\n```text\n%s\n```"):format(module.name, (module.text:gsub("%s+$", "")))
  end
  return table.concat(out, "\n") .. "\n"
end

return report
