--- Texts that a conversation has and does not show whole: results that are too long, turns that were folded. Each has a
--- handle, a word that is counted in the conversation, and the labels that it was kept with: whoever reads it has them too.
---
--- They live as long as the conversation. The newest are in memory, the others in a file without a name, so that memory
--- stays flat; without one, and when there is too much, the oldest give way.
local spool = require "hocket.internal.core.spool"
local system = require "hocket.internal.core.system"

local handles = {}

--- Bytes kept in memory; in all; in all where no file can be had.
local IN_MEMORY, KEPT, KEPT_IN_MEMORY = 256 * 1024, 256 * 1024 * 1024, 64 * 1024 * 1024

---@class hocket.Handles
---@field count integer Texts so far.
---@field first integer The oldest that is there.
---@field bytes integer
local Handles = {}
Handles.__index = Handles

---@return hocket.Handles
function handles.new()
  return setmetatable({ count = 0, first = 1, bytes = 0, names = {}, list = {}, held = 0, unspilled = 1, file = nil }, Handles)
end

local of = setmetatable({}, { __mode = "k" }) -- by history

--- Those of a conversation, whoever continues with it.
---@param history hocket.History
---@return hocket.Handles
function handles.of(history)
  of[history] = of[history] or handles.new()
  return of[history]
end

--- The same, where it has any.
---@param history hocket.History
---@return hocket.Handles?
function handles.known(history)
  local known = of[history]
  return known and known.count > 0 and known or nil
end

local function valid(text)
  if utf8.len(text) then return text end
  return (text:gsub("[\128-\255]", "?"))
end

-- Into the file, where there is one. Returns whether it is there now.
local function spill(self, entry)
  if self.file == nil then self.file = spool.open(system.getenv "TMPDIR" or "/tmp") or false end
  entry.at = self.file and self.file:add(entry.text)
  if not entry.at then return false end
  entry.text, self.held = nil, self.held - entry.bytes
  return true
end

local function drop_oldest(self)
  local entry = self.list[self.first]
  if entry.text then self.held = self.held - entry.bytes end
  self.bytes = self.bytes - entry.bytes
  self.names[entry.id], self.list[self.first], self.first = nil, nil, self.first + 1
end

local function make_room(self)
  while self.held > IN_MEMORY and self.unspilled < self.count do
    local entry = self.list[self.unspilled]
    if entry and entry.text and not spill(self, entry) then break end
    self.unspilled = self.unspilled + 1
  end
  while (self.bytes > KEPT or self.held > KEPT_IN_MEMORY) and self.first < self.count do drop_oldest(self) end
end

--- Keeps a text.
---@param kind "res"|"fold"
---@param text string
---@param labels? integer Its bits.
---@return string id
function Handles:keep(kind, text, labels)
  text = valid(text)
  self.count = self.count + 1
  local entry = { id = kind .. self.count, text = text, bytes = #text, labels = labels or 0 }
  self.list[self.count], self.names[entry.id] = entry, entry
  self.bytes, self.held = self.bytes + #text, self.held + #text
  make_room(self)
  return entry.id
end

--- A text and its labels; nil and why not.
---@param id string
---@return string? text
---@return integer|string labels
function Handles:get(id)
  local entry = self.names[id]
  if not entry then
    if self.count == 0 then return nil, "nothing is kept here" end
    return nil, ("nothing is kept as '%s' (kept are %s to %s)"):format(id:sub(1, 40), self.list[self.first].id, self.list[self.count].id)
  end
  local text = entry.text or self.file:get(entry.at, entry.bytes)
  if not text then return nil, ("'%s' could not be read from the file that it is in"):format(id:sub(1, 40)) end
  return text, entry.labels
end

--- All ids, oldest first.
---@return fun(): string?
function Handles:ids()
  local i = self.first - 1
  return function()
    i = i + 1
    return self.list[i] and self.list[i].id
  end
end

return handles
