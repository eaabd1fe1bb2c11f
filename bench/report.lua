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

--- A row of two versions: what the second takes of the first, by figures or the line above them.
function report.compared(what, unit, before, after)
  local is_row = type(before) == "number"
  local ratio = is_row and ("%.2f×"):format(after / before) or "ratio"
  return table.concat({ pad(what, 72), pad(is_row and figure(before, unit) or before, 12, true),
    pad(is_row and figure(after, unit) or after, 12, true), pad(ratio, 8, true) }, " ")
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
`./dev bench --write docs/explanation/benchmarks.md` made this page. The exit status is 1 when a limit is missed.

%s

## How to read it

**floor** is `bench/floor.c`, a bare client: libcurl's multi interface on libuv. It sends the same bodies as hocket, byte
for byte (recorded from a run of hocket). Of the answers it only checks that they end with `[DONE]`, so no client that
reads its answers can be as cheap. **hocket** is the program, with its events, limits and checks. **value** is the
judged number: a ratio `×` of the two, or the figure itself. **limit** must hold; **goal** is the next aim.

- CPU is the time of the client's process that the kernel reports. It includes system calls and excludes the start: the
  bench divides the difference of a long and a short run by the number of turns or chunks between them. Client and mock
  server share one CPU, because wake-ups across cores change the floor by a factor of two.
- Figures are medians of alternating runs of floor and hocket. Other work on the machine makes ratios worse, because it
  empties the caches of the program with more data in them. Elapsed times suffer most.
- The mock server is written in C and sends prepared answers.
- `./dev bench --against COMMIT` builds that commit beside the tree, measures each case of both in turn, and prints the
  tree's time relative to the commit's.
- `./dev instructions` counts instructions with valgrind, at an older commit and at the current tree. The counts vary by
  less than 1 % between runs, so they show changes that noise hides in times.
- `bench/bisect.sh ROW GOOD..BAD` finds the commit that made a row of that count dearer. [What agents cost](cost.md) shows 1, 100 and
  10,000 agents beside other frameworks.

```text
  bench_measure ──starts──> bench_mock         answers on 127.0.0.1, ready made
       │                        ^
       └──starts, times──> bench_floor or hocket run bench/scripts/….lua
```
]]

local meaning = [[
## What the rows are

- **hocket --version**, **first request on the wire**: a cold start, until the server has received the whole first request.
  Both programs may use all CPUs here. A script, which is measured, loads libcurl with its first request; for the file of
  an agent hocket loads it on one CPU while it reads its scripts on another.
- **the program, stripped**: it includes the Lua scripts, the agents, the templates and the page. It excludes Lua, libuv,
  cJSON and libyaml.
- **one agent, 20 tool turns**: model, tool, model … Each answer is a tool call in 21 fragments, with all fields of OpenAI's
  chunks (`obfuscation`, `service_tier`, …). The floor skips these fields, and hocket has to read them. The ratio of
  **instructions** does not depend on other work on the machine. It leaves out the kernel's part, which is half of the
  floor's CPU. We measured ratios of CPU of 1.98× on a calm machine, 3.2× at a load of 4 and 3.8× at a load of 12.
- **facilitator**: it plans, starts eight specialists in parallel that write one document, and answers: 36 turns.
- **a router** chooses among three agents. **three advisors** advise one agent. **a team of five** works for two rounds. They
  are the most common patterns. The bench compares them with the same answers of independent agents, and with the same model
  calls without an agent. Notes below the table give the numbers of other frameworks, each from a run of its own, if they
  are installed. `bench/peers/` has pydantic-ai and the OpenAI Agents SDK (`HOCKET_PEERS` names a Python that has them), and
  Eino and rig (the head of each source says how to build it).
- **to async-openai**: the same rows written by hand in Rust (`bench/peers/async-openai`) without a framework, in turn with
  hocket. Cargo builds the program; without it on the PATH these rows are left out.
- **the transport alone**: a C program (`bench/bench_transport.c`) has the same kind of conversation through `net/llm/llm.h`.
  It writes the request, appends to the serialised history, and reads the stream into a reply with its calls. It has no Lua,
  no agent and no journal; the difference from the row above is the cost of all three.
- **stream of 10,000 chunks**: the cost of a chunk, with many chunks in a packet and with one in each. A chunk of a longer
  stream must not cost more: the value compares the ratios to the floor of the longer and the shorter stream.
- **a chunk read**: from bytes to a reply, without a network (`bench/bench_chunks.c`), in the form of each provider. OpenAI's
  chunks have `obfuscation` of varying length; others have counters and times. Bedrock's are AWS messages with checksums,
  which make up two fifths of the cost. The mock server sends OpenAI's form.
- **1,000 agents**: two turns each, all at once. The ideal is the time of the server alone. Memory is the peak of the whole
  process, divided by the number of agents.
- **an empty job**, **queued**: the broker, from the submission to the end. **an append**: the shared document.
- **an entry written**, **on the disk**: an entry in the store. A written entry survives the process, an entry on the disk
  survives a loss of power. The time runs until the confirmation, and is compared with SQLite's own transaction on the same
  thread. Entries that nobody waits for are written in batches.
- **In PostgreSQL**: the same, compared with a libpq connection that sends the same statements one by one
  (`bench/bench_postgres.c`), on a server that syncs each commit.
- **Runs taken and ended**: processes take runs from one pool and end them, like `hocket work`. A process has room for eight
  runs and takes several at once from a long queue; a second form takes one at a time. As many connections that send two
  statements for each run are the floor (`bench/bench_queue.c`). The value is the time for each of all runs.
- **kept**: the same run without a store (the floor) and with one, in turn; the store's thread counts too. The turn's tool
  declares no effects, so each call waits until everything before it is in a file. One row has a running
  conversation, another a new one.
- **what keeping adds to a tool turn**: compared with its rows (four entries, four records) written by bare SQLite, 64 of each
  to a transaction (`bench/bench_rows.c`). These rows alone cost a fifth of a turn without a store, because SQL can read each
  event and each effect as a row. The limit of the row above is missed for this reason. Counted by callgrind, a turn without a
  store takes 250,000 instructions of all libraries together. Keeping one whose tool only reads adds 246,000. SQLite takes 93,000
  of them for the eight rows, and Lua 73,000 (a fiber, a digest and a table for each of two effects). Our C takes 54,000 (packing,
  checksums, the write-ahead file), libc 26,000. A tool that changes the world adds 24,000 more, because its intent is written before the call. One
  row for both ends of an effect that only reads would save some 25,000 in SQLite. We did not build it, because a replay compares
  the beginning of each effect with the log. A model's answer takes ten thousand times as long.
- **limited for all processes**, **a project's day**: in a file both times. A provider's limits are reserved for many calls
  at once. Each call counts towards the project's day, before and after it, once for each kind of limit. Other work ran on
  the machine during this measurement.
- **the travel team, forked**: how many of its model calls `hocket fork --latest` makes again. `cli/fork_latest` tests the same with every
  example and pattern.
- **40,000 steps**: `hocket.step` whose function does nothing, with and without a store. **The checksum of an entry**: each row of a run has
  such a sum. `store/flips` alters 1,000 bits of a store, and finds each one or reads the same values.
- **a durable conversation that waits**: `hocket chat` at its prompt. It looks once a second whether another process has written to its run.
- **200th turn to the 2nd**: CPU beyond the floor's time for the same bytes.
- **10,000 streams**: in one process, with the transport alone and with an agent for each. The floor is one multi handle, like
  most clients. A third row counts the streams that the server has at once; it shows whether all had begun
  before the first ended, three seconds later. A stream that has not begun uses less memory, so read both rows together.
]]

--- The whole page.
---@param rows table[]
---@param notes string[]
---@param modules {name: string, text: string}[]
---@return string
function report.markdown(rows, notes, modules)
  local where = ("Measured on %s: %s; commit %s."):format(read "date -u +%Y-%m-%d", report.machine(), read "git rev-parse --short HEAD")
  local out = { (intro:gsub("%%s", function() return where end)), "## The table\n", "| " .. table.concat(head, " | ") .. " |", "|---|--:|--:|--:|--:|--:|---|" }
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
