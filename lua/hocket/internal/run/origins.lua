--- Whose events are those of a run, for a script that listens to one call in it (`on_event` of hocket.run): several calls side by side
--- are told apart. An event belongs to the operation that it names, else to the one that made the board or the document that it names, else
--- to the one whose code told it; what has none of these is the run's.
---
--- Noted only while somebody listens.
local origins = {}

---@class hocket.Origins
---@field caller_of table<string, string|false> By operation: the one that called it.
---@field maker_of table<string, string|false> By "boards" or "documents" and a number.
---@field teller_of table<integer, string> By an event's number, where it names no operation.
local Origins = {}
Origins.__index = Origins

---@return hocket.Origins
function origins.new()
  return setmetatable({ caller_of = {}, maker_of = {}, teller_of = {} }, Origins)
end

---@param op string
---@param caller? string
function Origins:called(op, caller)
  self.caller_of[op] = caller or false
end

---@param kind "boards"|"documents"
---@param number integer
---@param op? string
function Origins:made(kind, number, op)
  self.maker_of[kind .. number] = op or false
end

---@param seq integer
---@param op? string
function Origins:told(seq, op)
  self.teller_of[seq] = op
end

local function maker(self, event)
  return event.board and self.maker_of["boards" .. tostring(event.board)] or event.document and self.maker_of["documents" .. tostring(event.document)]
end

--- Whether an event belongs to an operation, or to one that it has called.
---@param event table
---@param op string
---@return boolean
function Origins:is_of(event, op)
  local at = event.op or maker(self, event) or self.teller_of[event.seq]
  while at and at ~= op do at = self.caller_of[at] end
  return at == op
end

return origins
