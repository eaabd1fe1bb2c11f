--- A report beside an earlier one: what has become worse, by what was counted.
---
---     deterministic, or so few runs that no test could tell     all passed, and now one does not: a regression
---     otherwise                                                 Fisher's exact test, one-sided: p of alpha or less is one
---
--- A case whose text has changed is said to have changed, and not compared.
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local results = require "hocket.internal.eval.results"
local stats = require "hocket.internal.eval.stats"

local compare = {}

local MAX_BYTES = 256 << 20
--- Part by which cost, time and tokens have to differ to be told; and seconds, of times that are short.
local TOLD, TOLD_SECONDS = 0.1, 0.5

local function invalid(path, what, ...)
  return nil, { code = "agent", message = ("%s:1:1: "):format(path) .. what:format(...) }
end

local fields = { case = "string", file = "string", model = "string", digest = "string", passed = "number", measured = "number" }

local function is_row(row)
  if type(row) ~= "table" then return false end
  for name, kind in pairs(fields) do
    if type(row[name]) ~= kind then return false end
  end
  return math.type(row.passed) == "integer" and math.type(row.measured) == "integer" and row.passed >= 0 and row.passed <= row.measured and row.measured <= 1000000
end

--- Reads what --save, or --json, has written.
---@param path string
---@return table? report
---@return hocket.Error?
function compare.read(path)
  local text, err = fs.read(path, MAX_BYTES)
  if not text then return nil, { code = "agent", message = ("%s:1:1: %s"):format(path, err.message) } end
  local report, wrong = json.decode(text)
  if report == nil then
    local line, column, what = wrong.message:match "^line (%d+), column (%d+): (.*)$"
    return nil, { code = "agent", message = ("%s:%s:%s: no baseline: %s"):format(path, line or 1, column or 1, what or wrong.message) }
  end
  if type(report) ~= "table" or type(report.results) ~= "table" or report.hocket_eval == nil then return invalid(path, "no baseline: hocket eval --save makes one") end
  if report.hocket_eval ~= results.VERSION then return invalid(path, "a baseline of version %s, and this reads %d: make it anew (--save)", tostring(report.hocket_eval), results.VERSION) end
  for i, row in ipairs(report.results) do
    if not is_row(row) then return invalid(path, "result %d of it is none: make it anew (--save)", i) end
  end
  return report
end

local function key(row)
  return ("%s\0%s\0%s"):format(row.file, row.case, row.model)
end

local function changed_by(name, before, now)
  if type(before) ~= "number" or type(now) ~= "number" or before <= 0 then return nil end
  if name == "seconds" and math.abs(now - before) < TOLD_SECONDS then return nil end
  local part = now / before - 1
  return math.abs(part) >= TOLD and part or nil
end

-- Whether the test could tell anything, if none passed now.
local function can_tell(before, now, alpha)
  return stats.fisher(before.passed, before.measured, 0, now.measured) <= alpha + 1e-12
end

local function verdict(before, now, alpha)
  local p = stats.fisher(before.passed, before.measured, now.passed, now.measured)
  local rate_before, rate_now = before.passed / before.measured, now.passed / now.measured
  local all = before.passed == before.measured
  if rate_now >= rate_before then return rate_now > rate_before and "better" or "same", p, nil end
  if before.deterministic and now.deterministic then return "regression", p, "deterministic" end
  if can_tell(before, now, alpha) then return p <= alpha + 1e-12 and "regression" or "worse", p, "fisher" end
  return all and "regression" or "worse", p, "few"
end

local function compare_row(before, now, alpha)
  local one = { case = now.case, file = now.file, model = now.model }
  if now.skipped then
    one.state = "skipped"
  elseif before.digest ~= now.digest then
    one.state = "changed"
  elseif before.measured == 0 or now.measured == 0 then
    one.state = "unmeasured"
  else
    one.state, one.p, one.rule = verdict(before, now, alpha)
  end
  one.before, one.now = { passed = before.passed, measured = before.measured }, { passed = now.passed, measured = now.measured }
  if one.state ~= "changed" and one.state ~= "unmeasured" and one.state ~= "skipped" then
    for _, name in ipairs { "cost", "seconds", "tokens" } do
      one[name] = changed_by(name, before[name], now[name])
    end
  end
  return one
end

--- Compares a report with a baseline. `only`: not all cases were chosen, so none is missing.
---@param baseline table
---@param report table
---@param alpha number
---@param only boolean
---@return table comparison
function compare.run(baseline, report, alpha, only)
  local before, rows, seen = {}, json.array {}, {}
  for _, row in ipairs(baseline.results) do before[key(row)] = row end
  for i, now in ipairs(report.results) do
    local was = before[key(now)]
    seen[key(now)] = true
    rows[i] = was and compare_row(was, now, alpha) or { case = now.case, file = now.file, model = now.model, state = "new", now = { passed = now.passed, measured = now.measured } }
  end
  for _, was in ipairs(not only and baseline.results or {}) do
    if not seen[key(was)] then rows[#rows + 1] = { case = was.case, file = was.file, model = was.model, state = "missing", before = { passed = was.passed, measured = was.measured } } end
  end
  local counts = {}
  for _, row in ipairs(rows) do counts[row.state] = (counts[row.state] or 0) + 1 end
  return { alpha = alpha, saved = baseline.ended, rows = rows, counts = counts }
end

return compare
