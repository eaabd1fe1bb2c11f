--- Notices conversations that lead nowhere: the same call again and again, wrong calls again and
--- again. Each is reported to the model first, and ends the session when that did not help. What counts
--- are turns: a turn of five wrong calls is one mistake, as the model had no answer in between.
local loop_detector = {}

--- Turns in a row with wrong calls (unknown tool, bad arguments) that the model learns of.
local REPAIRS = 2
--- Turns with the same call and the same result, and nothing new in between: told at this count,
--- stopped one later.
local SAME_CALLS = 3

---@class hocket.LoopDetector
local LoopDetector = {}
LoopDetector.__index = LoopDetector

---@param emit? fun(type: string, payload: table)
---@return hocket.LoopDetector
function loop_detector.new(emit)
  return setmetatable({
    wrong_turns = 0, turn = 0, fresh = 0, emit = emit or function() end,
    -- By call and result, which are a number here (bind/llm/lua_answer.c): the turn that it was last counted in;
    -- the count, from 2 on.
    seen = {}, repeats = {},
  }, LoopDetector)
end

-- The turns so far in which a call came with this result, this one included, nothing new between.
local function count(self, key)
  local last = self.seen[key]
  local n = last >= self.fresh and (self.repeats[key] or 1) + 1 or 1
  self.seen[key], self.repeats[key] = self.turn, n > 1 and n or nil
  return n
end

-- The calls of a turn that were made before; whatever is new begins the count anew.
local function old_ones(self, call, calls)
  local turn, seen, old = self.turn, self.seen, nil
  for i = 1, calls do
    local key = call:digest(i)
    if not seen[key] then
      seen[key], self.fresh = turn, turn
    elseif seen[key] ~= turn then -- each counts once
      old = old or {}
      old[#old + 1] = { i = i, key = key }
    end
  end
  return old
end

--- Says once that the same call came again and again; a further one ends the session. Any call or result
--- that is new begins the count anew.
---@param call userdata That has the reply and the results of its calls.
---@param calls integer
---@return hocket.Cut? why the session has to end
function LoopDetector:loops(call, calls)
  self.turn = self.turn + 1
  local old = old_ones(self, call, calls)
  if not old then return nil end
  for _, one in ipairs(old) do
    local n = self.seen[one.key] ~= self.turn and count(self, one.key) or 0
    local name = call:name(one.i)
    if n == SAME_CALLS then
      call:remark(one.i, ("\n[You have made this same call %d times with the same result. Do something else, or answer.]"):format(n))
      self.emit("warning", { message = ("the same call of '%s' was made %d times"):format(name, n) })
    elseif n > SAME_CALLS then
      return { reason = "loop", code = "limit", message = ("stopped: '%s' was called with the same arguments and the same result again and again"):format(name) }
    end
  end
end

--- Counts turns in a row with wrong calls; past the limit the last of them is the error.
---@param wrong? string What was wrong with the last wrong call of a turn.
---@return hocket.Error?
function LoopDetector:mistakes(wrong)
  self.wrong_turns = wrong and self.wrong_turns + 1 or 0
  if self.wrong_turns > REPAIRS then
    wrong = wrong:gsub("%s*Call again[^\n]*$", "") -- which is for models
    return { code = "model", message = ("the model made wrong tool calls in %d turns in a row; the last: %s"):format(self.wrong_turns, wrong) }
  end
end

return loop_detector
