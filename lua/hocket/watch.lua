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
  return setmetatable({ wrong_turns = 0, seen = {}, repeats = {}, emit = emit or function() end }, Watch)
end

-- Frames have a new word each time (see block.lua), whatever is in them.
local function without_words(text)
  return (text:gsub("(</?%l+%-)%w+", "%1"))
end

-- Long texts count by their ends: a session must not keep every result twice.
local function brief(text)
  return #text <= 400 and text or ("%s%d%s"):format(text:sub(1, 200), #text, text:sub(-200))
end

-- The calls of a turn, each once, in order: {key, call, result}.
local function distinct(calls, results)
  local list, known = {}, {}
  for i, call in ipairs(calls) do
    local key = table.concat({ call.name, brief(call.arguments), brief(without_words(results[i].text)) }, "\0")
    if not known[key] then list[#list + 1] = { key = key, call = call, result = results[i] } end
    known[key] = true
  end
  return list
end

--- Says once that the same call came again and again; a further one is an error. Any call or result
--- that is new begins the count anew.
---@return hocket.Error?
function Watch:loops(calls, results)
  local list = distinct(calls, results)
  for _, one in ipairs(list) do
    if not self.seen[one.key] then self.repeats = {} end
    self.seen[one.key] = true
  end
  for _, one in ipairs(list) do
    local count = (self.repeats[one.key] or 0) + 1
    self.repeats[one.key] = count
    if count == SAME_CALLS then
      one.result.text = one.result.text .. ("\n[You have made this same call %d times with the same result. Do something else, or answer.]"):format(count)
      self.emit("warning", { message = ("the same call of '%s' was made %d times"):format(one.call.name, count) })
    elseif count > SAME_CALLS then
      return { code = "limit", message = ("stopped: '%s' was called with the same arguments and the same result again and again"):format(one.call.name) }
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
    return { code = "protocol", message = ("the model made wrong tool calls in %d turns in a row; the last: %s"):format(self.wrong_turns, wrong) }
  end
end

return watch
