-- Runs the benchmarks and prints the table; the exit status is 1 when a limit is missed.
--
--   bench/run.lua [--quick] [--write FILE] [--only NAME] [--build DIR] [--hocket PROGRAM]
--
-- The whole takes some four minutes, --quick about one, with fewer repetitions and without the
-- largest cases. --only NAME runs one case of bench/cases.lua, or one module's bench_NAME, or both.
local bench = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = bench .. "/?.lua;" .. package.path

local cases = require "cases"
local measure = require "measure"
local report = require "report"

local function die(message)
  io.stderr:write("bench: ", message, "\n")
  os.exit(2)
end

local function options()
  local o, i = { build = bench .. "/../build" }, 1
  local with_value = { ["--write"] = "write", ["--only"] = "only", ["--build"] = "build", ["--hocket"] = "hocket" }
  while arg[i] do
    if arg[i] == "--quick" then
      o.quick = true
    elseif with_value[arg[i]] and arg[i + 1] then
      o[with_value[arg[i]]] = arg[i + 1]
      i = i + 1
    else
      die("usage: bench/run.lua [--quick] [--write FILE] [--only NAME] [--build DIR] [--hocket PROGRAM]")
    end
    i = i + 1
  end
  o.reps, o.few_reps = o.quick and 3 or 7, o.quick and 1 or 3
  return o
end

local function exists(path)
  local file = io.open(path)
  return file and file:close() and path
end

local function read(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  return text, pipe:close()
end

local function run_cases(o, bed)
  local rows = {}
  print(report.head())
  for _, case in ipairs(cases.list) do
    if o.only and o.only == case.name or not o.only and not (o.quick and case.slow) then
      for _, row in ipairs(case.run(bed, o)) do
        rows[#rows + 1] = row
        print(report.line(row))
        io.stdout:flush()
      end
    end
  end
  return rows
end

-- What of a module is measured beside it alone.
local variants = {
  frames = { "", " --streams 50 --reload", " --streams 500 --reload", " --reload" },
}

-- The benchmarks of single modules: programs bench_NAME beside ours, which print tables of their own.
local function run_modules(o)
  local out, own = {}, { chunks = true, floor = true, kept = true, measure = true, mock = true, postgres = true, queue = true, transport = true }
  for path in read(("ls '%s'/bench/bench_*"):format(o.build)):gmatch "[^\n]+" do
    local name = path:match "bench_([%w_]+)$"
    if name and not own[name] and (not o.only or o.only == name) then
      for _, more in ipairs(variants[name] or { "" }) do
        local text, ok = read(("'%s'%s%s 2>&1"):format(path, o.quick and " --quick" or "", more))
        out[#out + 1] = { name = name .. more, text = text, failed = not ok }
        print(("\n== %s%s%s\n%s"):format(name, more, ok and "" or " (FAILED)", text))
      end
    end
  end
  return out
end

local function main()
  local o, notes = options(), {}
  o.hocket = o.hocket or exists(o.build .. "/hocket") or exists(o.build .. "/src/cli/hocket")
  if not o.hocket or not exists(o.build .. "/bench/bench_floor") then
    die("build it first: cmake --preset release && cmake --build --preset release")
  end
  o.tmp = read("mktemp -d"):gsub("%s+$", "")
  o.note = function(text) notes[#notes + 1] = text end
  local bed = measure.new { build = o.build, bench = bench, hocket = o.hocket, tmp = o.tmp, cpus = tonumber((read "nproc")) }
  local rows = run_cases(o, bed)
  for _, note in ipairs(notes) do print(note) end
  print(report.machine())
  local modules, missed = run_modules(o), 0
  os.execute(("rm -r '%s'"):format(o.tmp))
  for _, row in ipairs(rows) do missed = missed + (report.misses(row) and 1 or 0) end
  for _, module in ipairs(modules) do missed = missed + (module.failed and 1 or 0) end
  if o.write then
    local file = assert(io.open(o.write, "w"))
    assert(file:write(report.markdown(rows, notes, modules)))
    file:close()
  end
  print(missed == 0 and "all limits are kept" or ("%d limits are missed"):format(missed))
  os.exit(missed == 0)
end

main()
