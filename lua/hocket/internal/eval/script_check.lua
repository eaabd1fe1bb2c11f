--- A check in Lua: cases may be a stranger's, so it runs in the environment of strangers' scripts, for two seconds. It has `run`, everything
--- that is known of the run, and returns true; or false and why. What it raises is a failure as well.
local compile = require "hocket.internal.base.script.compile"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local observed = require "hocket.internal.eval.observed"
local restricted = require "hocket.internal.runner.restricted"
local text_checks = require "hocket.internal.eval.text_checks"

local script_check = {}

--- Seconds between two reads of files, and in all; bytes of a file.
local SECONDS, IN_ALL, MAX_FILE = 2, 20, 4 << 20

-- Tables without metatables, which the functions of `table` refuse there; null is nothing.
local function plain(value, depth)
  if value == json.null then return nil end
  if type(value) ~= "table" or depth > 100 then return type(value) ~= "table" and value or nil end
  local copy = {}
  for key, one in pairs(value) do copy[key] = plain(one, depth + 1) end
  return copy
end

local function slots(document)
  return type(document) == "table" and document ~= json.null and plain(document, 0) or nil
end

-- Each read of a file gives it time anew, so that these are watched as well.
local function reader(self, inside)
  local due = fiber.now() + IN_ALL
  return function(path)
    return inside:leave(function()
      if fiber.has_come(due) then inside.expired = { code = "timeout", message = ("the script took more than %d seconds"):format(IN_ALL) } end
      return type(path) == "string" and (self.folder:read(path, MAX_FILE)) or nil
    end)
  end
end

-- What the check is given.
local function view(self, inside)
  local result = plain(self.result, 0)
  return {
    text = self.text, ok = result.ok, finish = result.finish, error = result.error, input = plain(self.case.spec.input, 0), result = result,
    document = slots(self.result.document), board = plain(self.result.tasks, 0) or {}, usage = result.usage,
    calls = plain(self.seen.calls, 0), events = plain(observed.events(self.journal), 0),
    file = reader(self, inside),
  }
end

-- Of what is no text its type alone: a metamethod would run without bounds here.
local function told(value)
  local kind = type(value)
  return (kind == "string" or kind == "number" or kind == "boolean") and tostring(value) or "a " .. kind
end

local function judged(value, why)
  if value == true then return true end
  if value == nil and why == nil then return false, "the check returned nothing: return true, or false and why" end
  return false, why ~= nil and told(why) or "it returned " .. told(value)
end

--- Runs the check of a case.
---@async
---@param add fun(which: string, expected: string, got: string)
---@param self table As in hocket.internal.eval.expect.
function script_check.run(add, self)
  local case = self.case
  local inside = restricted.new(SECONDS)
  inside.env.run = view(self, inside)
  inside.env.print = function() end
  local chunk, wrong = compile(case.lua, case.lua_name, inside.env)
  if not chunk then return add("lua", case.lua_name, wrong) end
  local ok, value, why = pcall(inside.call, inside, chunk, inside.env.run)
  if ok and type(value) == "function" then ok, value, why = pcall(inside.call, inside, value, inside.env.run) end
  if not ok then return add("lua", "true", text_checks.short(type(value) == "table" and value.message or tostring(value))) end
  local passed, message = judged(value, why)
  if not passed then add("lua", "true", text_checks.short(message)) end
end

return script_check
