--- Which tools are to be called, and which not: by name, with these arguments, so many times, in this order.
local json = require "hocket.json"
local people = require "hocket.internal.eval.people"
local text_checks = require "hocket.internal.eval.text_checks"

local call_checks = {}

local function fits(wanted, call)
  if wanted.tool ~= call.tool or wanted.agent and wanted.agent ~= call.agent then return false end
  if type(wanted.arguments) == "string" and not people.matches(wanted.arguments, json.encode(call.arguments)) then return false end
  if type(wanted.arguments) == "table" and not text_checks.has(wanted.arguments, call.arguments) then return false end
  return not wanted.result or call.result ~= nil and people.matches(wanted.result, call.result)
end

local function describe(wanted)
  local parts = { wanted.tool }
  if wanted.arguments then parts[#parts + 1] = "with " .. text_checks.short(wanted.arguments) end
  if wanted.result then parts[#parts + 1] = "giving " .. text_checks.short(wanted.result) end
  if wanted.agent then parts[#parts + 1] = "by " .. wanted.agent end
  return table.concat(parts, " ")
end

local function how_often(low, high)
  if low == high then return low == 0 and "never" or low == 1 and "once" or ("%d times"):format(low) end
  if high == math.huge then return low == 1 and "at least once" or ("at least %d times"):format(low) end
  return low == 0 and ("at most %d times"):format(high) or ("%d to %d times"):format(low, high)
end

-- What was called, in short: the names, each with its number.
local function summary(calls)
  local counts, names = {}, {}
  for _, call in ipairs(calls) do
    if not counts[call.tool] then names[#names + 1] = call.tool end
    counts[call.tool] = (counts[call.tool] or 0) + 1
  end
  if #names == 0 then return "no calls" end
  for i, name in ipairs(names) do names[i] = counts[name] > 1 and ("%s ×%d"):format(name, counts[name]) or name end
  return text_checks.short("calls: " .. table.concat(names, ", "))
end

-- Of a tool that was called, but otherwise: with which arguments.
local function seen(wanted, calls, found)
  if found > 0 then return ("%d times"):format(found) end
  for _, call in ipairs(calls) do
    if call.tool == wanted.tool and (wanted.arguments or wanted.result or wanted.agent) then
      return text_checks.short(("%s %s%s"):format(call.tool, json.encode(call.arguments), call.agent and " by " .. call.agent or ""))
    end
  end
  return summary(calls)
end

local function check_count(add, wanted, calls)
  local low, high, found = wanted.times or wanted.min or wanted.max and 0 or 1, wanted.times or wanted.max or math.huge, 0
  for _, call in ipairs(calls) do found = found + (fits(wanted, call) and 1 or 0) end
  if found < low or found > high then add("calls", ("%s %s"):format(describe(wanted), how_often(low, high)), seen(wanted, calls, found)) end
end

-- One after the other, whatever is between them.
local function check_order(add, names, calls)
  local at = 1
  for _, call in ipairs(calls) do
    if call.tool == names[at] then at = at + 1 end
  end
  if at <= #names then add("calls", "in this order: " .. table.concat(names, ", "), ("%s is missing behind %s; %s"):format(names[at], names[at - 1] or "the beginning", summary(calls))) end
end

local function as_list(value)
  if type(value) == "table" and json.is_array(value) then return value end
  return { value }
end

--- Checks the calls of a run.
---@param add fun(which: string, expected: string, got: string)
---@param expected any As `expect.calls`.
---@param calls hocket.EvalCall[]
function call_checks.run(add, expected, calls)
  for _, wanted in ipairs(as_list(expected)) do
    if type(wanted) == "string" then wanted = { tool = wanted } end
    if wanted.order then check_order(add, wanted.order, calls) end
    for _, name in ipairs(wanted.never and as_list(wanted.never) or {}) do check_count(add, { tool = name, times = 0 }, calls) end
    if wanted.tool then check_count(add, wanted, calls) end
  end
end

return call_checks
