--- Whose events are those of a run, for a script that listens to one call in it (`on_event` of hocket.run): several calls side by side
--- are kept apart. An event belongs to the operation that it names. Without one, it belongs to the operation that made the board or the
--- document that it names; else to the one whose code reported it. What has none of them is the run's.
---
--- Noted only while somebody listens: the run drops its notes when the last listener has left, or each call of a long run would leave some.
local origins = {}

---@class hocket.Origins
---@field listeners integer
---@field caller_of table<string, string|false> By operation: the one that called it.
---@field maker_of table<string, string|false> By "boards" or "documents" and a number.
---@field teller_of table<integer, string> By an event's number, where it names no operation.
local Origins = {}
Origins.__index = Origins

--- A listener more: the run notes from now on.
---@param run hocket.Run
---@return hocket.Origins
function origins.listen(run)
  run.origins = run.origins or setmetatable({ listeners = 0, caller_of = {}, maker_of = {}, teller_of = {} }, Origins)
  run.origins.listeners = run.origins.listeners + 1
  return run.origins
end

--- A listener that has received its last event.
---@param run hocket.Run
function origins.leave(run)
  run.origins.listeners = run.origins.listeners - 1
  if run.origins.listeners == 0 then run.origins = nil end
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
