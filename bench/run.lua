-- Runs the benchmarks and prints the table; the exit status is 1 when a limit is missed.
--
--   bench/run.lua [--quick] [--write FILE] [--only NAME] [--build DIR] [--hocket PROGRAM] [--against COMMIT]
--
-- The whole takes some four minutes, --quick about one, with fewer repetitions and without the
-- largest cases. --only NAME runs one case of bench/cases.lua, or one module's bench_NAME, or both.
-- --against COMMIT builds that commit beside, measures each case of both in turn, and says what the tree takes of the
-- commit's time: no limit is judged.
local bench = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = bench .. "/?.lua;" .. package.path

local base = require "base"
local cases = require "cases"
local measure = require "measure"
local report = require "report"

local function die(message)
  io.stderr:write("bench: ", message, "\n")
  os.exit(2)
end

local function options()
  local o, i = { build = bench .. "/../build" }, 1
  local with_value = { ["--write"] = "write", ["--only"] = "only", ["--build"] = "build", ["--hocket"] = "hocket", ["--against"] = "against" }
  while arg[i] do
    if arg[i] == "--quick" then
      o.quick = true
    elseif with_value[arg[i]] and arg[i + 1] then
      o[with_value[arg[i]]] = arg[i + 1]
      i = i + 1
    else
      die("usage: bench/run.lua [--quick] [--write FILE] [--only NAME] [--build DIR] [--hocket PROGRAM] [--against COMMIT]")
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

local function is_wanted(o, case)
  return o.only and o.only == case.name or not o.only and not (o.quick and case.slow)
end

local function run_cases(o, bed)
  local rows = {}
  print(report.head())
  for _, case in ipairs(cases.list) do
    if is_wanted(o, case) then
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
  local out, own = {}, { chunks = true, floor = true, kept = true, measure = true, mock = true, postgres = true, queue = true, rows = true, transport = true }
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

-- A case of the commit and one of the tree in turn, so that both have the same machine. Rows that one of them lacks, or that have
-- no figure of ours, are left out.
local function compare_case(case, sides, reps)
  local order, seen = {}, {}
  for _ = 1, reps do
    for side, it in ipairs(sides) do
      for _, row in ipairs(case.run(it.bed, it.options)) do
        if not seen[row.what] then
          seen[row.what] = { what = row.what, unit = row.unit, {}, {} }
          order[#order + 1] = seen[row.what]
        end
        table.insert(seen[row.what][side], row.ours)
      end
    end
  end
  for _, row in ipairs(order) do
    if #row[1] > 0 and #row[2] > 0 then print(report.compared(row.what, row.unit, measure.median(row[1]), measure.median(row[2]))) end
  end
end

-- A program of before there was a store does not know the option, and keeps nothing.
local function knows_store(program)
  return (read(("'%s' run --help 2>&1"):format(program))):find("--store", 1, true) ~= nil
end

local function compare_cases(o, root, bed, new)
  local build = base.build(root, o.against, "all")
  local before = setmetatable({ build = build, hocket = build .. "/hocket" }, { __index = o })
  local sides = { { options = before, bed = new(before.hocket, build, not knows_store(before.hocket)) }, { options = o, bed = bed } }
  print(report.compared("case", nil, read(("git -C '%s' rev-parse --short '%s'"):format(root, o.against)):gsub("%s+$", ""), "the tree"))
  for _, case in ipairs(cases.list) do
    if is_wanted(o, case) then compare_case(case, sides, o.quick and 1 or 3) end
  end
end

local function compare(o, bed, new)
  local root = read(("readlink -f '%s/..'"):format(bench)):gsub("%s+$", "")
  local ok, err = pcall(compare_cases, o, root, bed, new)
  base.remove(root)
  return ok, err
end

local function main()
  local o, notes = options(), {}
  o.hocket = o.hocket or exists(o.build .. "/hocket") or exists(o.build .. "/src/cli/hocket")
  if not o.hocket or not exists(o.build .. "/bench/bench_floor") then
    die("build it first: cmake --preset release && cmake --build --preset release")
  end
  o.tmp = read("mktemp -d"):gsub("%s+$", "")
  o.note = function(text) notes[#notes + 1] = text end
  local function new(program, measured, storeless)
    return measure.new { build = o.build, measured = measured, bench = bench, hocket = program, tmp = o.tmp, cpus = tonumber((read "nproc")), storeless = storeless }
  end
  local bed = new(o.hocket)
  if o.against then
    local ok, err = compare(o, bed, new)
    os.execute(("rm -r '%s'"):format(o.tmp))
    if not ok then die(err) end
    return print(report.machine())
  end
  local rows = run_cases(o, bed)
  for _, note in ipairs(notes) do print(note) end
  print(report.machine())
  local modules, missed = run_modules(o), 0
  os.execute(("rm -r '%s'"):format(o.tmp))
  for _, row in ipairs(rows) do missed = missed + (report.misses(row) and 1 or 0) end
  for _, module in ipairs(modules) do missed = missed + (module.failed and 1 or 0) end
  if o.write then
    local text = report.markdown(rows, notes, modules)
    local file = assert(io.open(o.write, "w"))
    assert(file:write(text))
    file:close()
  end
  print(missed == 0 and "all limits are kept" or ("%d limits are missed"):format(missed))
  os.exit(missed == 0)
end

main()
