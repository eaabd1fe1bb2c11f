--- Messages to a run from outside, by name: they wait for whoever takes them, and whoever waits for them gets them, each in their
--- order. Who waits is in signals.lua.
local json = require "hocket.json"
local failed = require("hocket.internal.core.system").error

local messages = {}

--- Messages of a run that wait to be taken, ends of runs that it has submitted among them, and bytes of a name. There are as
--- many ends as it has submitted runs, each of them once: they are no flood, and are not counted as one.
local MAX_WAITING, MAX_ENDS, MAX_NAME = 1000, 10000, 128

--- The state of a run. `waiting`, by name: messages that nobody has taken, `n` of them and `n_ends`. `takers`, by name: the waits. `settled`, by name: ends
--- that are known before they are sent. `refused`, by name: messages that wait in the store until there is room; the log does not determine them.
---@param run hocket.Run
function messages.of(run)
  run.messages = run.messages or { waiting = {}, takers = {}, n = 0, n_ends = 0, asked = 0, settled = {} }
  return run.messages
end

-- Where they are counted, and how many there may be.
local function count_of(is_end)
  if is_end then return "n_ends", MAX_ENDS end
  return "n", MAX_WAITING
end

-- As the store says that a run has ended whose caller this one is.
local function is_end(name, value)
  return type(value) == "table" and value.ended ~= nil and name:find "^run %w+$" ~= nil
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
  local count = count_of(first.is_end)
  self[count] = self[count] - 1
  if not list[1] then self.waiting[name] = nil end
  return first
end

local function has_taker(self, name)
  return self.takers[name] ~= nil and self.takers[name][1] ~= nil
end

-- Whether it may be said now: somebody waits for it, or it can wait for somebody.
local function has_room(self, name, value)
  local count, most = count_of(is_end(name, value))
  if has_taker(self, name) or self[count] < most then return true end
  return nil, failed { code = "limit", message = ("%d messages wait to be taken: nobody asks for them with hocket.signal"):format(most) }
end

local function deliver(self, name, value)
  local ok, full = has_room(self, name, value)
  if not ok then return nil, full end
  local taker = self.takers[name] and table.remove(self.takers[name], 1)
  if taker then
    taker.came, taker.value = true, value
    taker.fiber:wake()
    return true
  end
  local list, ends = self.waiting[name] or {}, is_end(name, value) or nil
  if ends and (self.settled[name] or list[1] and list[#list].is_end) then -- said before
    self.settled[name] = nil
    return true
  end
  local count = count_of(ends)
  list[#list + 1], self.waiting[name], self[count] = { value = value, is_end = ends }, list, self[count] + 1
  return true
end

--- Who has waited waits no more, whatever came. Names are taken once as a rule: nothing is left of them.
---@param taker {name: string}
function messages.withdraw(self, taker)
  local list = self.takers[taker.name] or {}
  for i, one in ipairs(list) do
    if one == taker then table.remove(list, i) end
  end
  if #list == 0 then self.takers[taker.name] = nil end
end

--- Whoever waits for a name looks at the run again: an empty table comes in the place of a message.
---@param run hocket.Run
---@param name string
function messages.poke(run, name)
  local self = messages.of(run)
  if self.takers[name] and self.takers[name][1] then deliver(self, name, {}) end
end

--- The end of a run that this one has submitted is known: it is not said again.
---@param run hocket.Run
---@param name string
function messages.settle(run, name)
  local self = messages.of(run)
  if self.waiting[name] then
    messages.take(self, name)
  else
    self.settled[name] = true
  end
end

--- See Run:signal. What exists no room for is not said: nothing of it is in the log.
function messages.send(run, name, value)
  local ok, wrong = messages.check_name(name)
  if not ok then return nil, wrong end
  if value == nil then value = json.null end
  local self = messages.of(run)
  ok, wrong = has_room(self, name, value)
  if not ok then return nil, wrong end
  return run.journal:tell("signal", name, json.encode(value), function() return deliver(self, name, value) end)
end

-- ---- What was left in the store ------------------------------------------------------------------

--- The same of what was left for it in the store, which is read from the beginning again (`messages.again`) when there is room:
--- what is of one name comes in its order.
function messages.left(run, name, value)
  local self = messages.of(run)
  local ok, wrong
  if self.refused and self.refused[name] ~= nil then
    ok, wrong = nil, failed { code = "limit", message = "what was said under this name before waits, too" }
  else
    ok, wrong = messages.send(run, name, value)
  end
  if wrong and wrong.code == "limit" then
    self.refused = self.refused or {}
    self.refused[name] = self.refused[name] or is_end(name, value)
  end
  return ok, wrong
end

--- The store is going to be read from the beginning.
function messages.again(run)
  messages.of(run).refused = nil
  return true
end

--- Whether some of what was refused could be said now: somebody waits for it, or half of the room is free.
function messages.has_room(run)
  local self = messages.of(run)
  for name, ends in pairs(self.refused or {}) do
    local count, most = count_of(ends)
    if has_taker(self, name) or self[count] <= most // 2 then return true end
  end
  return nil, failed { code = "limit", message = "there is none" }
end

return messages
