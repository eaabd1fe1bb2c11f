--- Whether a run is as its case expects it: what is not, and what could not be measured.
local call_checks = require "hocket.internal.eval.call_checks"
local json = require "hocket.json"
local people = require "hocket.internal.eval.people"
local script_check = require "hocket.internal.eval.script_check"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local text_checks = require "hocket.internal.eval.text_checks"

local expect = {}

--- Failures of one run that are reported, bytes of a file that is checked.
local MAX_FAILURES, MAX_FILE = 5, 16 << 20

---@class hocket.EvalOutcome What exists of a run that has ended.
---@field case hocket.EvalCase
---@field result table As `hocket run --json` has it.
---@field text string The answer; of a script that returns none, what it printed.
---@field seen hocket.Observed
---@field folder hocket.EvalFolder
---@field journal userdata

local function error_of(result)
  return type(result.error) == "table" and result.error or nil
end

-- The error that the run is to end with.
local function check_error(add, wanted, result)
  local code, message = type(wanted) == "string" and wanted or wanted.code, type(wanted) == "table" and wanted.message or nil
  local err = error_of(result)
  local got = err and text_checks.short(("%s: %s"):format(err.code, err.message)) or "an answer"
  if not err or code and err.code ~= code then add("error", code or "an error", got) end
  if err and message and not people.matches(message, err.message) then add("error", message, got) end
end

local function check_ended(add, result)
  local err = error_of(result)
  if err then add("answer", "an answer", text_checks.short(("%s: %s"):format(err.code, err.message))) end
end

local function check_file(add, self, path, wanted)
  local info = self.folder.root:info(path)
  if wanted == false and info then return add("files " .. path, "no such file", "there is one") end
  if wanted == false or wanted == true and info then return end
  if not info then return add("files " .. path, "a file", "there is none") end
  local text, err = self.folder:read(path, MAX_FILE)
  if not text then return add("files " .. path, "a file that can be read", err.message) end
  text_checks.run(function(which, ...) add(("files %s %s"):format(path, which), ...) end,
    type(wanted) == "string" and { text = wanted } or wanted, text, self.case.schemas)
end

local function check_files(add, self, files)
  for _, path in ipairs(sorted_keys(files)) do check_file(add, self, path, files[path]) end
end

local function number(value)
  return type(value) == "number" and value or nil
end

-- What the run used, by the names of limits; cost is nil where it is not known.
local function used(result)
  local usage = type(result.usage) == "table" and result.usage or {}
  return { cost = number(usage.cost), turns = usage.calls or 0, calls = usage.tool_calls or 0, tokens = (usage.input or 0) + (usage.output or 0), seconds = result.seconds or 0 }
end

local names = { "cost", "turns", "calls", "tokens", "seconds" }

-- What is not known is no pass.
local function check_limits(add, limits, result)
  local have = used(result)
  for _, name in ipairs(names) do
    local limit = limits[name]
    if limit and not have[name] then return "what it cost is not known: say it with --price" end
    if limit and have[name] > limit then add("limits." .. name, ("at most %.12g"):format(limit), ("%.12g"):format(have[name])) end
  end
end

--- Looks at a run. If the run failed otherwise than expected, only that is reported.
---@async
---@param self hocket.EvalOutcome
---@return hocket.EvalFailure[] failures
---@return string? unmeasured Why something could not be measured.
function expect.run(self)
  local failures, wanted = json.array {}, self.case.spec.expect or {}
  local function add(which, expected, got)
    if #failures < MAX_FAILURES then failures[#failures + 1] = { expect = which, expected = expected, got = got } end
  end
  if wanted.error then check_error(add, wanted.error, self.result) else check_ended(add, self.result) end
  if #failures > 0 then return failures end
  text_checks.run(add, wanted, self.text, self.case.schemas)
  if wanted.calls then call_checks.run(add, wanted.calls, self.seen.calls) end
  if wanted.files then check_files(add, self, wanted.files) end
  local unknown = wanted.limits and check_limits(add, wanted.limits, self.result)
  if self.case.lua then script_check.run(add, self) end
  return failures, unknown
end

expect.used = used

return expect
