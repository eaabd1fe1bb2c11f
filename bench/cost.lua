#!/usr/bin/env lua5.4
-- What a person with 1, 100 and 10,000 agents at once pays: CPU and memory of the process, beside a bare client and other frameworks.
--
--   bench/cost.lua measure     measures, and writes bench/results/cost.csv
--   bench/cost.lua page        writes docs/explanation/cost.md and its plots from that file, and measures nothing
--   bench/cost.lua check       whether the page and its plots are those of the file
--
-- A row of the file: what is measured, who, how many agents, the value, and when. A row is kept until the same is measured again.
local bench = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = bench .. "/?.lua;" .. package.path
local measure = require "measure"

local RESULTS, DOCS = bench .. "/results/cost.csv", bench .. "/../docs/explanation/"
local SIZES = { 1, 100, 10000 }

local function read_command(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a"):gsub("%s+$", "")
  pipe:close()
  return text
end

-- ---- Results -----------------------------------------------------------------------------------

local function load_rows()
  local rows, file = {}, io.open(RESULTS)
  for line in file and file:lines() or function() end do
    local what, who, agents, value, date = line:match "^([^,]+),([^,]+),(%d+),([%d.]+),([^,]+)$"
    if value then rows[#rows + 1] = { what = what, who = who, agents = math.tointeger(agents), value = tonumber(value), date = date } end
  end
  if file then file:close() end
  return rows
end

local function put(rows, new)
  for i, row in ipairs(rows) do
    if row.what == new.what and row.who == new.who and row.agents == new.agents then
      rows[i] = new
      return
    end
  end
  rows[#rows + 1] = new
end

local function save_rows(rows)
  local file = assert(io.open(RESULTS, "w"))
  file:write "what,who,agents,value,date\n"
  for _, row in ipairs(rows) do file:write(("%s,%s,%d,%g,%s\n"):format(row.what, row.who, row.agents, row.value, row.date)) end
  file:close()
end

local function value_of(rows, what, who, agents)
  for _, row in ipairs(rows) do
    if row.what == what and row.who == who and row.agents == agents then return row.value end
  end
end

-- ---- Measuring ---------------------------------------------------------------------------------

-- Other frameworks, where they are found: programs that make the calls of three advisors so many times.
local peers = {
  { "async-openai", "async_openai_peer" }, { "rig", "rig_peer" }, { "Eino", "eino_peer" },
  { "pydantic-ai", os.getenv "HOCKET_PEERS" or "python3", bench .. "/peers/pydantic_ai_peer.py" },
  { "OpenAI Agents SDK", os.getenv "HOCKET_PEERS" or "python3", bench .. "/peers/openai_agents_peer.py" },
}

-- Microseconds of CPU for each of the four calls of three advisors; nil where the program is not there.
local function per_call(run, few, many)
  local short, long = run(few), run(many)
  if short.exit ~= 0 or long.exit ~= 0 or long.requests - short.requests ~= (many - few) * 4 then return nil end
  return (long.cpu - short.cpu) / ((many - few) * 4)
end

local function measure_sizes(bed, note)
  local job = { script = "agents", model = "tools-1", seconds = 300 }
  assert(bed.record(job), "hocket's run failed")
  for _, n in ipairs(SIZES) do
    for who, seen in pairs { hocket = bed.hocket(job, n), ["bare libcurl"] = bed.floor(job, 1, { clients = n }) } do
      assert(seen.exit == 0 and seen.requests == 2 * n, who .. " failed")
      note("memory in MB", who, n, seen.rss_kb / 1000)
      note("CPU in ms", who, n, seen.cpu / 1000)
    end
  end
end

local function measure_peers(bed, note)
  local ours = { script = "patterns", model = "tools-0", together = true }
  note("CPU per call in us", "hocket", 4, assert(per_call(function(n) return bed.hocket(ours, "three " .. n) end, 20, 220)))
  for _, peer in ipairs(peers) do
    local value = per_call(function(n)
      local words = { table.unpack(peer, 2) }
      words[#words + 1] = "three"
      return bed.peer(words, n)
    end, 2, 12)
    if value then note("CPU per call in us", peer[1], 4, value) else print(peer[1] .. " is not installed: its row stays as it is") end
  end
end

local function measure_all()
  local build, tmp, rows, today = bench .. "/../build", read_command "mktemp -d", load_rows(), os.date "!%Y-%m-%d"
  local bed = measure.new { build = build, bench = bench, hocket = build .. "/hocket", tmp = tmp, cpus = tonumber(read_command "nproc") }
  local function note(what, who, agents, value)
    print(("%-18s %-18s %6d %12.2f"):format(what, who, agents, value))
    put(rows, { what = what, who = who, agents = agents, value = value, date = today })
  end
  local ok, err = pcall(function()
    measure_sizes(bed, note)
    measure_peers(bed, note)
  end)
  os.execute(("rm -r '%s'"):format(tmp))
  save_rows(rows)
  if not ok then error(err, 0) end
end

-- ---- The page ----------------------------------------------------------------------------------

local COLOURS = { hocket = "#2b6cb0" }

-- Bars on a logarithmic scale, one below the other: {label, value, text, colour}.
local function plot(title, bars)
  local height, top, low = 26, 34, math.huge
  for _, bar in ipairs(bars) do low = math.min(low, bar.value) end
  low = low / 2
  local high = low
  for _, bar in ipairs(bars) do high = math.max(high, bar.value) end
  local out = { ('<svg xmlns="http://www.w3.org/2000/svg" width="640" height="%d" font-family="sans-serif" font-size="13">'):format(top + #bars * height + 8),
    '<rect width="100%" height="100%" fill="white"/>', ('<text x="8" y="20" font-weight="bold">%s</text>'):format(title) }
  for i, bar in ipairs(bars) do
    local y, width = top + (i - 1) * height, 340 * math.log(bar.value / low) / math.log(high / low)
    out[#out + 1] = ('<text x="8" y="%d">%s</text><rect x="200" y="%d" width="%.0f" height="16" fill="%s"/><text x="%.0f" y="%d">%s</text>'):format(
      y + 14, bar.label, y + 2, width, bar.colour, 206 + width, y + 14, bar.text)
  end
  out[#out + 1] = "</svg>\n"
  return table.concat(out, "\n")
end

local function shown(value)
  return value >= 100 and ("%.0f"):format(value) or value >= 10 and ("%.1f"):format(value) or ("%.2f"):format(value)
end

local function bars_of_sizes(rows, what, unit)
  local bars = {}
  for _, n in ipairs(SIZES) do
    for _, who in ipairs { "hocket", "bare libcurl" } do
      local value = value_of(rows, what, who, n)
      if value then
        bars[#bars + 1] = { label = ("%d agent%s: %s"):format(n, n == 1 and "" or "s", who), value = value, text = shown(value) .. " " .. unit, colour = COLOURS[who] or "#a0aec0" }
      end
    end
  end
  return bars
end

local function bars_of_peers(rows)
  local bars = {}
  for _, row in ipairs(rows) do
    if row.what == "CPU per call in us" then
      bars[#bars + 1] = { label = row.who, value = row.value, text = shown(row.value) .. " µs", colour = COLOURS[row.who] or "#a0aec0", date = row.date }
    end
  end
  table.sort(bars, function(a, b) return a.value < b.value end)
  return bars
end

local function table_of_sizes(rows)
  local out = { "| agents at once | CPU, hocket | CPU, bare libcurl | memory, hocket | memory, bare libcurl |", "|--:|--:|--:|--:|--:|" }
  for _, n in ipairs(SIZES) do
    local cells = { tostring(n) }
    for _, what in ipairs { "CPU in ms", "memory in MB" } do
      for _, who in ipairs { "hocket", "bare libcurl" } do
        local value = value_of(rows, what, who, n)
        cells[#cells + 1] = value and ("%s %s"):format(shown(value), what:match "%a+$") or "not measured"
      end
    end
    out[#out + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(out, "\n")
end

local function table_of_peers(bars)
  local out = { "| three advisors | CPU per model call | measured on |", "|---|--:|---|" }
  for _, bar in ipairs(bars) do out[#out + 1] = ("| %s | %s | %s |"):format(bar.label, bar.text, bar.date) end
  return table.concat(out, "\n")
end

local PAGE = [[
# What agents cost

How much CPU and memory 1, 100 and 10,000 agents need on your machine, beside a bare client and beside other frameworks. What the
model's provider charges is not in it: see `hocket models`.

Each agent calls a tool and answers: two model calls. All agents begin at once. The CPU includes the start of the program, and the
memory is the peak of the whole process. The bare client is libcurl with libuv: it sends the same bytes, and does not read the answers.

%s

![CPU by number of agents](cost-cpu.svg)

![Memory by number of agents](cost-memory.svg)

## Beside other frameworks

Three advisors advise one agent, against the same server with prepared answers. The CPU is that of the client for each of the four
model calls, without its start. Rows of other days were measured on other machines: compare those of one day.

%s

![CPU per model call, three advisors](cost-peers.svg)

## Measure it yourself

```sh skip
./dev build                     # the release
bench/cost.lua measure          # some minutes; writes bench/results/cost.csv
bench/cost.lua page             # writes this page and its plots from that file
```

The peers are measured where they are installed: the head of each source in `bench/peers` says how. The row of a missing peer stays as it
was. Close other programs first: CPU rises on a busy machine. [Benchmarks](benchmarks.md) has the rows of single parts.
]]

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function compare(path, text)
  local file = io.open(path)
  local is_same = file ~= nil and file:read "a" == text
  if file then file:close() end
  if not is_same then error(path .. " is not current: run bench/cost.lua page", 0) end
end

local function page(write)
  local rows = load_rows()
  local peer_bars = bars_of_peers(rows)
  write(DOCS .. "cost-cpu.svg", plot("CPU of the whole run (logarithmic)", bars_of_sizes(rows, "CPU in ms", "ms")))
  write(DOCS .. "cost-memory.svg", plot("Peak memory of the process (logarithmic)", bars_of_sizes(rows, "memory in MB", "MB")))
  write(DOCS .. "cost-peers.svg", plot("CPU per model call, three advisors (logarithmic)", peer_bars))
  write(DOCS .. "cost.md", PAGE:format(table_of_sizes(rows), table_of_peers(peer_bars)))
end

local words = { measure = measure_all, page = function() page(write) end, check = function() page(compare) end }
local word = words[arg[1] or ""]
if not word then
  io.stderr:write "usage: bench/cost.lua measure|page|check\n"
  os.exit(2)
end
word()
