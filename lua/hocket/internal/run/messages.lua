--- Messages to a run from outside, by name: they wait for whoever takes them, and whoever waits for them gets them, each in their
--- order. Who waits is in signals.lua.
local json = require "hocket.json"
local failed = require("hocket.internal.core.system").error

local messages = {}

--- Messages of a run that wait to be taken, and bytes of a name.
local MAX_WAITING, MAX_NAME = 1000, 128

--- What a run has: `waiting`, by name, messages that nobody has taken; `takers`, by name, who waits.
---@param run hocket.Run
function messages.of(run)
  run.messages = run.messages or { waiting = {}, takers = {}, n = 0, asked = 0 }
  return run.messages
end

---@return true? ok
---@return hocket.Error?
function messages.check_name(name)
  if type(name) == "string" and name ~= "" and #name <= MAX_NAME and not name:find "%c" then return true end
  return nil, failed { code = "invalid", message = ("a signal's name is a text of 1 to %d bytes, without control characters"):format(MAX_NAME) }
end

--- The oldest message of a name, in a table; nil when there is none.
---@return {value: any}?
function messages.take(self, name)
  local list = self.waiting[name]
  local first = list and table.remove(list, 1)
  if not first then return nil end
  self.n = self.n - 1
  if not list[1] then self.waiting[name] = nil end
  return first
end

local function deliver(self, name, value)
  local taker = self.takers[name] and table.remove(self.takers[name], 1)
  if taker then
    taker.came, taker.value = true, value
    taker.fiber:wake()
    return true
  end
  if self.n >= MAX_WAITING then
    return nil, failed { code = "limit", message = ("%d messages wait to be taken: nobody asks for them with hocket.signal"):format(MAX_WAITING) }
  end
  self.waiting[name] = self.waiting[name] or {}
  table.insert(self.waiting[name], { value = value })
  self.n = self.n + 1
  return true
end

--- See Run:signal.
function messages.send(run, name, value)
  local ok, wrong = messages.check_name(name)
  if not ok then return nil, wrong end
  if value == nil then value = json.null end
  return run.journal:tell("signal", name, json.encode(value), function() return deliver(messages.of(run), name, value) end)
end

return messages
