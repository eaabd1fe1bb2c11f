--- A report as JUnit XML, for systems that run tests: a suite for each file, a test for each case with each model. A case that was not
--- measured is an error, one skipped is skipped.
local junit = {}

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["\n"] = "&#10;", ["\t"] = "&#9;", ["\r"] = "&#13;" }

-- What XML cannot hold is a question mark: controls, halves of characters, the two that are none.
local function valid(text)
  text = text:gsub("[%z\1-\8\11\12\14-\31]", "?")
  if not utf8.len(text) then text = text:gsub("[\128-\255]", "?") end
  return (text:gsub("\239\191[\190\191]", "?"))
end

local function attribute(text)
  return (valid(text):gsub('[&<>"\n\t\r]', entities))
end

local function content(text)
  return (valid(text):gsub("[&<>\r]", entities))
end

local function seconds(value)
  return ("%.3f"):format(type(value) == "number" and value or 0)
end

local function attempts_text(row)
  local lines = {}
  for _, one in ipairs(row.attempts or {}) do
    local run = type(one.run) == "string" and one.run or nil
    for _, failure in ipairs(one.failures or {}) do
      lines[#lines + 1] = ("run %d%s: %s: expected %s, got %s"):format(one.turn, run and " (hocket show " .. run .. ")" or "", failure.expect, failure.expected, failure.got)
    end
    if one.reason then lines[#lines + 1] = ("run %d%s: not measured: %s"):format(one.turn, run and " (hocket show " .. run .. ")" or "", one.reason) end
  end
  return table.concat(lines, "\n")
end

local function inside(row, well)
  if row.skipped then return ('<skipped message="%s"/>'):format(attribute(row.skipped)) end
  if row.measured == 0 then return ('<error message="not measured" type="unmeasured">%s</error>'):format(content(attempts_text(row))) end
  if well then return "" end
  return ('<failure message="%s" type="failed">%s</failure>'):format(attribute(("%d of %d passed"):format(row.passed, row.measured)), content(attempts_text(row)))
end

local function add_suite(out, id, name, rows, report, is_well)
  local counts, time, cases = { failure = 0, error = 0, skipped = 0 }, 0.0, {}
  for i, row in ipairs(rows) do
    local text = inside(row, is_well(row))
    local kind = text:match "^<(%l+)"
    if kind then counts[kind] = counts[kind] + 1 end
    time = time + (type(row.seconds) == "number" and row.seconds or 0)
    cases[i] = ('<testcase name="%s" classname="%s" time="%s">%s</testcase>'):format(attribute(("%s (%s)"):format(row.case, row.model)),
      attribute((name:gsub("%.eval%.%w+$", ""))), seconds(row.seconds), text)
  end
  out[#out + 1] = ('<testsuite id="%d" name="%s" package="hocket.eval" timestamp="%s" hostname="localhost" tests="%d" failures="%d" errors="%d" skipped="%d" time="%s">'):format(
    id, attribute(name), (report.ended:gsub("Z$", "")), #rows, counts.failure, counts.error, counts.skipped, seconds(time))
  out[#out + 1] = "<properties/>"
  table.move(cases, 1, #cases, #out + 1, out)
  out[#out + 1] = "<system-out/><system-err/>"
  out[#out + 1] = "</testsuite>"
end

--- The report as XML. `is_well(row)` says which rows are failures: with a baseline not the ones that were no better then.
---@param report table
---@param is_well fun(row: table): boolean
---@return string
function junit.of(report, is_well)
  local by_file, names = {}, {}
  for _, row in ipairs(report.results) do
    if not by_file[row.file] then names[#names + 1], by_file[row.file] = row.file, {} end
    table.insert(by_file[row.file], row)
  end
  local out = { '<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>" }
  for id, name in ipairs(names) do add_suite(out, id - 1, name, by_file[name], report, is_well) end
  out[#out + 1] = "</testsuites>\n"
  return table.concat(out, "\n")
end

return junit
