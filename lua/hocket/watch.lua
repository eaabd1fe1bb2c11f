--- Notices conversations that lead nowhere: the same call again and again, wrong calls again and
--- again. Each is told to the model first, and ends the session when that did not help. What counts
--- are turns: a turn of five wrong calls is one mistake, as the model had no answer in between.
local watch = {}

--- Turns in a row with wrong calls (unknown tool, bad arguments) that the model is told of.
local REPAIRS = 2
--- Turns with the same call and the same result, and nothing new in between: told at this count,
--- stopped one later.
local SAME_CALLS = 3

---@class hocket.Watch
local Watch = {}
Watch.__index = Watch

---@param emit? fun(type: string, payload: table)
---@return hocket.Watch
function watch.new(emit)
  return setmetatable({
    wrong_turns = 0, turn = 0, fresh = 0, emit = emit or function() end,
    seen = {}, repeats = {}, -- by call and result: the turn that it was last counted in; the count, from 2 on
  }, Watch)
end

-- Frames have a new word each time (see block.lua), whatever is in them.
local function without_words(text)
  if not text:find("<", 1, true) then return text end
  return (text:gsub("(</?%l+%-)%w+", "%1"))
end

-- Long texts count by their ends: a session must not keep every result twice.
local function brief(text)
  return #text <= 400 and text or ("%s%d%s"):format(text:sub(1, 200), #text, text:sub(-200))
end

-- What makes a call and its result the same as another.
local function key_of(call, result)
  return call.name .. "\0" .. brief(call.arguments) .. "\0" .. brief(without_words(result.text))
end

-- The turns so far in which a call came with this result, this one included, nothing new between.
local function count(self, key)
  local last = self.seen[key]
  local n = last >= self.fresh and (self.repeats[key] or 1) + 1 or 1
  self.seen[key], self.repeats[key] = self.turn, n > 1 and n or nil
  return n
end

--- Says once that the same call came again and again; a further one ends the session. Any call or result
--- that is new begins the count anew.
---@return hocket.Cut? why the session has to end
function Watch:loops(calls, results)
  local keys = { false } -- most turns have one call
  self.turn = self.turn + 1
  for i, call in ipairs(calls) do
    keys[i] = key_of(call, results[i])
    if not self.seen[keys[i]] then self.seen[keys[i]], self.fresh = 0, self.turn end
  end
  for i, call in ipairs(calls) do
    local n = self.seen[keys[i]] ~= self.turn and count(self, keys[i]) or 0 -- each counts once
    if n == SAME_CALLS then
      results[i].text = results[i].text .. ("\n[You have made this same call %d times with the same result. Do something else, or answer.]"):format(n)
      self.emit("warning", { message = ("the same call of '%s' was made %d times"):format(call.name, n) })
    elseif n > SAME_CALLS then
      return { reason = "loop", code = "limit", message = ("stopped: '%s' was called with the same arguments and the same result again and again"):format(call.name) }
    end
  end
end

--- Counts turns in a row with wrong calls; past the limit the last of them is the error.
---@return hocket.Error?
function Watch:mistakes(calls, results)
  local wrong
  for i in ipairs(calls) do wrong = results[i].wrong or wrong end
  self.wrong_turns = wrong and self.wrong_turns + 1 or 0
  if self.wrong_turns > REPAIRS then
    wrong = wrong:gsub("%s*Call again[^\n]*$", "") -- which is for models
    return { code = "protocol", message = ("the model made wrong tool calls in %d turns in a row; the last: %s"):format(self.wrong_turns, wrong) }
  end
end

return watch
