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

--- Where and with what it was measured.
---@return string
function report.machine()
  return ("%s, %s CPUs, Linux %s, %s, libcurl %s, libuv %s"):format(
    read "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1", read "nproc", read "uname -r",
    read ". /etc/os-release && echo $PRETTY_NAME", read "pkg-config --modversion libcurl", read "pkg-config --modversion libuv")
end

--- The whole page.
---@param rows table[]
---@param notes string[]
---@param modules {name: string, text: string}[]
---@return string
function report.markdown(rows, notes, modules)
  local out = {
    "# Benchmarks\n",
    "`./dev bench --write docs/benchmarks.md` made this page; `./dev bench` prints it, `./dev bench --quick` a short form.\n",
    ("Measured on %s; %s; commit %s.\n"):format(read "date -u +%Y-%m-%d", report.machine(), read "git rev-parse --short HEAD"),
    "The floor is `bench/floor.c`: a bare client of libcurl's multi interface on libuv that sends the",
    "same bodies, byte for byte, and reads nothing of the answers but whether they end with `[DONE]`.",
    "CPU is that of the client's process, as the kernel tells it, without start-up: the difference",
    "of a long and a short run. For CPU, client and mock server share one CPU, because wake-ups across",
    "cores swing the floor twofold. Medians of runs of floor and hocket in turn. A goal is not yet a limit.\n",
    "| " .. table.concat(head, " | ") .. " |", "|---|--:|--:|--:|--:|--:|---|",
  }
  for _, row in ipairs(rows) do out[#out + 1] = "| " .. table.concat(cells(row), " | ") .. " |" end
  out[#out + 1] = ""
  for _, note in ipairs(notes) do out[#out + 1] = "- " .. note end
  for _, module in ipairs(modules) do
    out[#out + 1] = ("\n## %s\n\n```\n%s\n```"):format(module.name, (module.text:gsub("%s+$", "")))
  end
  return table.concat(out, "\n") .. "\n"
end

return report
