--- The people of a case: its scripted answers to what a run asks. What no answer fits is not allowed, and not answered.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local schema = require "hocket.schema"

local people = {}

--- Whether an expression is found in a text.
---@param pattern string As JSON Schema has them.
---@param text string
---@return boolean
function people.matches(pattern, text)
  return (assert(schema.compile { type = "string", pattern = pattern }):check(text))
end

local function fits_question(one, event)
  if one.tool then return false end
  return not one.question or people.matches(one.question, table.concat(event.questions or {}, "\n"))
end

-- A call is allowed by an answer that names its tool, and by no other.
local function fits_call(one, event)
  if one.tool ~= event.tool then return false end
  return not one.arguments or people.matches(one.arguments, event.arguments or "")
end

local kinds = { question_asked = { fits_question, "" }, approval_requested = { fits_call, "deny" } }

-- The first that fits; a plain text is for one question.
local function find(self, event)
  local fits, otherwise = table.unpack(kinds[event.type])
  for i, one in ipairs(self.answers) do
    local plain = type(one) == "string"
    local answer = plain and { say = one, once = true } or one
    if not self.used[i] and fits(answer, event) then
      self.used[i] = answer.once
      return answer.say or otherwise
    end
  end
  return otherwise
end

local function listen(self, started, journal)
  local cursor = 0
  while not journal:finished() do
    local line, seq = journal:next(cursor)
    if not line then
      journal:wait(cursor)
    else
      cursor = seq
      if kinds[line:match '"type":"([%w_]+)"'] then
        local event = json.decode(line)
        started:answer(event.id, find(self, event)) -- one that was withdrawn meanwhile needs none
      end
    end
  end
end

--- Answers what a run asks, until it ends: in a child of the running fiber.
---@param started userdata
---@param answers table[]
---@return hocket.Fiber
function people.attend(started, answers)
  return fiber.spawn(listen, { answers = answers, used = {} }, started, started:journal())
end

return people
