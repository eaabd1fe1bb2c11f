--- A report for people: a row for each case with each model, then what failed and why, and how to look at it.
local sanitize = require "hocket.internal.base.sanitize"

local text_report = {}

--- Columns of a name; runs of a case whose failures are shown.
local NAME, SHOWN = 44, 3

local function visible(text)
  return (sanitize.lines(text):gsub("%s+", " "))
end

local function width(text)
  return utf8.len(text) or #text
end

local function cut(text, columns)
  if width(text) <= columns then return text end
  return text:sub(1, (utf8.offset(text, columns) or #text + 1) - 1) .. "…"
end

local function pad(text, columns, right)
  local blanks = (" "):rep(columns - width(text))
  return right and blanks .. text or text .. blanks
end

local function percent(rate)
  return ("%d"):format(math.floor(rate * 100 + 0.5))
end

local function known(value)
  return type(value) == "number" and value or nil
end

local function money(value)
  return known(value) and ("%.4f"):format(value) or "?"
end

local function seconds(value)
  if not known(value) then return "?" end
  return value < 10 and ("%.2f s"):format(value) or value < 100 and ("%.1f s"):format(value) or ("%.0f s"):format(value)
end

local function count(value)
  if not known(value) then return "?" end
  if value >= 1e6 then return ("%.1fM"):format(value / 1e6) end
  return value >= 1000 and ("%.1fk"):format(value / 1000) or ("%.0f"):format(value)
end

local function cells(row)
  local name, model = cut(visible(row.case), NAME), cut(visible(row.model), NAME)
  if row.skipped then return { name, model, "skipped", "", "", "", "" } end
  if row.measured == 0 then return { name, model, "not measured", "", "", "", "" } end
  return {
    name, model, ("%d/%d"):format(row.passed, row.measured) .. (row.unmeasured > 0 and (" +%d?"):format(row.unmeasured) or ""),
    ("%s–%s %%"):format(percent(row.low), percent(row.high)), money(row.cost), seconds(row.seconds), count(row.tokens),
  }
end

local head = { "case", "model", "passed", "95 %", "USD", "time", "tokens" }

local function add_table(out, rows)
  local lines, widths = { head }, {}
  for i, row in ipairs(rows) do lines[i + 1] = cells(row) end
  for _, line in ipairs(lines) do
    for i, cell in ipairs(line) do widths[i] = math.max(widths[i] or 0, width(cell)) end
  end
  for _, line in ipairs(lines) do
    local parts = {}
    for i, cell in ipairs(line) do parts[i] = pad(cell, widths[i], i > 3) end
    out[#out + 1] = (table.concat(parts, "  "):gsub("%s+$", ""))
  end
end

local function look(one, store)
  if type(one.run) ~= "string" then return nil end
  return ("    hocket show %s%s"):format(one.run, store and " --store " .. visible(store) or "")
end

local function add_attempt(out, one, store)
  for _, failure in ipairs(one.failures or {}) do
    out[#out + 1] = ("  %s: expected %s"):format(failure.expect, visible(failure.expected))
    out[#out + 1] = ("    got %s"):format(visible(failure.got))
  end
  if one.reason then out[#out + 1] = "  not measured: " .. visible(one.reason) end
  out[#out + 1] = look(one, store)
  if one.folder then out[#out + 1] = "    its folder: " .. visible(one.folder) end
end

-- The same that went wrong in several runs is reported once.
local function signature(one)
  local parts = { one.reason or "" }
  for _, failure in ipairs(one.failures or {}) do parts[#parts + 1] = failure.expect .. "\0" .. failure.expected .. "\0" .. failure.got end
  return table.concat(parts, "\0")
end

local function add_attempts(out, row, store)
  local seen, shown, more = {}, 0, 0
  for _, one in ipairs(row.attempts) do
    local mark = signature(one)
    if one.state ~= "passed" and not seen[mark] and shown < SHOWN then
      add_attempt(out, one, store)
      seen[mark], shown = true, shown + 1
    elseif one.state ~= "passed" then
      more = more + 1
    end
  end
  if more > 0 then out[#out + 1] = ("  and %d more"):format(more) end
end

local function any(row, state)
  for _, one in ipairs(row.attempts) do
    if one.state == state then return true end
  end
end

-- Whether there is one to look at that did not pass.
local function is_kept(rows)
  for _, row in ipairs(rows) do
    for _, one in ipairs(row.attempts) do
      if one.state ~= "passed" and type(one.run) == "string" then return true end
    end
  end
end

local function add_failures(out, rows, store)
  for _, row in ipairs(rows) do
    if any(row, "failed") or any(row, "unmeasured") then
      out[#out + 1] = ""
      out[#out + 1] = ("%s %s (%s): %s:%d"):format(any(row, "failed") and "FAILED" or "NOT MEASURED", cut(visible(row.case), 200), visible(row.model), visible(row.path), row.line)
      add_attempts(out, row, store)
    end
  end
  if not is_kept(rows) then return end
  out[#out + 1] = ""
  out[#out + 1] = "Each of them as a page: hocket show … --html FILE; or hocket serve, at #/run/ and its id."
end

-- ---- Beside a baseline -----------------------------------------------------------------------------

local rules = {
  deterministic = "no chance is in it",
  few = "too few runs for a test: --repeat gives more",
}

local function changes(row)
  local parts = {}
  for _, name in ipairs { "cost", "seconds", "tokens" } do
    if row[name] then parts[#parts + 1] = ("%s %+d %%"):format(name == "seconds" and "time" or name, math.floor(row[name] * 100 + 0.5)) end
  end
  return table.concat(parts, ", ")
end

local function counted(one)
  return one and ("%d/%d"):format(one.passed, one.measured) or "-"
end

local told = { regression = "REGRESSION", worse = "worse", better = "better", changed = "changed", new = "new", missing = "missing", unmeasured = "not measured" }
local about = { changed = "its text is another one: not compared (--save takes it as it is now)", missing = "it is in the baseline, and was not evaluated", new = "it is not in the baseline" }

local function line_of(row)
  local reason = about[row.state] or rules[row.rule] or row.p and row.state ~= "better" and row.state ~= "same" and ("p = %.3g"):format(row.p) or ""
  local parts = { ("  %s  %s (%s): %s -> %s"):format(told[row.state] or "same", cut(visible(row.case), 80), visible(row.model), counted(row.before), counted(row.now)) }
  if reason ~= "" then parts[#parts + 1] = reason end
  local other = changes(row)
  if other ~= "" then parts[#parts + 1] = other end
  return table.concat(parts, "; ")
end

local function add_comparison(out, comparison)
  out[#out + 1] = ""
  out[#out + 1] = ("beside %s, of %s:"):format(visible(comparison.baseline or "the baseline"), visible(tostring(comparison.saved or "?")))
  local same = 0
  for _, row in ipairs(comparison.rows) do
    if told[row.state] or changes(row) ~= "" then out[#out + 1] = line_of(row) else same = same + (row.state == "same" and 1 or 0) end
  end
  if same > 0 then out[#out + 1] = ("  %d as before"):format(same) end
end

-- ---- All ----------------------------------------------------------------------------------------------

local function plural(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

local function sum_line(report)
  local s = report.summary
  local parts = { ("%d passed"):format(s.passed) }
  if s.failed > 0 then parts[#parts + 1] = ("%d failed"):format(s.failed) end
  if s.unmeasured > 0 then parts[#parts + 1] = ("%d not measured"):format(s.unmeasured) end
  if s.skipped > 0 then parts[#parts + 1] = plural(s.skipped, "case") .. " skipped" end
  local cost = ("%.4f%s USD"):format(s.cost, s.cost_known and "" or " + ?")
  if s.judge_cost > 0 then cost = cost .. (", judges %.4f"):format(s.judge_cost) end
  return ("%s, %s, %s: %s; %s, %s"):format(plural(s.cases, "case"), plural(#report.models, "model"), plural(s.runs, "run"), table.concat(parts, ", "), cost, seconds(report.seconds))
end

local function ended_early(report)
  local s = report.summary
  if report.interrupted then return ("interrupted: %d of %d runs were made"):format(s.runs, s.planned) end
  if report.spent then return ("--max-cost is used up: %d of %d runs were made"):format(s.runs, s.planned) end
end

--- The report as text.
---@param report table
---@param options {verbose?: boolean, store?: string} store: where runs are kept, if an option says so.
---@return string
function text_report.of(report, options)
  local out = {}
  add_table(out, report.results)
  add_failures(out, report.results, options.store)
  if report.comparison then add_comparison(out, report.comparison) end
  out[#out + 1] = ""
  out[#out + 1] = ended_early(report)
  out[#out + 1] = sum_line(report)
  return table.concat(out, "\n")
end

return text_report
