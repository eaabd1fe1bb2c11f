--- What a person says to agents at work. It waits for the agent that it is meant for, which hears it before its next model call, behind
--- the results of its tools; one that was about to answer goes on.
---
---     say ──> user_message_received {id, text, to} ──┬─ before its next model call ──> user_message_delivered {ids}
---                                                    └─ it ended before that ────────> user_message_dropped {id, reason}
---
--- Whom nobody names is whoever works at the run itself and not for another one. What is said while nobody works waits for who
--- does so next.
local egress = require "hocket.internal.run.egress"
local json = require "hocket.json"
local suggest = require "hocket.internal.base.suggest"
local failure = require("hocket.internal.core.system").failure

local steering = {}

--- Messages of a run that wait for an agent, and bytes of one.
steering.MAX_WAITING, steering.MAX_TEXT = 100, 64 * 1024
--- Agents that an error names.
local NAMED = 12

-- What a run has: messages that wait, and the number of the last one.
local function of(run)
  run.steering = run.steering or { waiting = {}, last = 0 }
  return run.steering
end

-- ---- To whom ----------------------------------------------------------------------------------

local function number_of(step)
  return tonumber(step.op:match "%d+") or 0
end

-- Agents at work that have not given their work away, oldest first.
local function at_work(run)
  local list = {}
  for _, step in pairs(run.at_work) do
    if not step.over then list[#list + 1] = step end
  end
  table.sort(list, function(a, b) return number_of(a) < number_of(b) end)
  return list
end

-- Whether a name, the end of a path, or an operation's id means it.
local function is_meant(step, to)
  return step.op == to or ("/" .. step:path "/"):sub(-#to - 1) == "/" .. to
end

local function listed(list)
  local names = {}
  for i = 1, math.min(#list, NAMED) do names[i] = ("%s (%s)"):format(list[i]:path "/", list[i].op) end
  if #list > NAMED then names[#names + 1] = ("and %d more"):format(#list - NAMED) end
  return table.concat(names, ", ")
end

local function has_worked(node, to)
  if node.agent == to or node.op == to then return true end
  for _, child in ipairs(node.children or {}) do
    if has_worked(child, to) then return true end
  end
  return false
end

local function nobody(run, list, to)
  local at = #list > 0 and "at work are: " .. listed(list) or "nobody is at work in this run just now"
  if has_worked(run:tree(), to:match "[^/]+$" or to) then return failure("state", "'%s' has ended; %s", to, at) end
  local names = {}
  for i, step in ipairs(list) do names[i] = step.def.name end
  local near = suggest(to, names)
  return failure("not_found", "there is no '%s' at work%s; %s", to, near and (" (did you mean '%s'?)"):format(near) or "", at)
end

--- The agent that is meant; false: whoever works at the run itself.
---@param run hocket.Run
---@param to? string
---@return hocket.Step|false|nil
---@return hocket.Error?
function steering.addressee(run, to)
  if not to or to == "" then return false end
  local path, found = to:gsub("%s*[/>]%s*", "/"), {}
  local list = at_work(run)
  for _, step in ipairs(list) do
    if is_meant(step, path) then found[#found + 1] = step end
  end
  if #found == 1 then return found[1] end
  if #found == 0 then return nobody(run, list, path) end
  return failure("invalid", "several '%s' are at work: say which, by the id behind it: %s", to, listed(found))
end

-- ---- Saying -----------------------------------------------------------------------------------

--- What a conversation waits for, if it waits for its next input.
---@param run hocket.Run
---@return string? question
function steering.open_input(run)
  for _, question in ipairs(run:open_questions()) do
    if question.kind == "input" and question.answer == nil and not question.declined then return question.id end
  end
end

--- Whether a text can be said to an agent, or to a conversation.
---@param text any
---@return true?
---@return hocket.Error?
function steering.check(text)
  if type(text) ~= "string" or not text:find "%S" then return failure("invalid", "what is said has at least one letter") end
  if not utf8.len(text) then return failure("invalid", "what is said is UTF-8") end
  return true
end

--- Whether it is short enough for an agent at work: an input of a conversation may be longer.
---@param text string
---@return true?
---@return hocket.Error?
function steering.check_length(text)
  if #text > steering.MAX_TEXT then return failure("limit", "what is said to an agent at work has at most %d bytes", steering.MAX_TEXT) end
  return true
end

-- Returns its id.
local function put(run, text, to)
  local step, err = steering.addressee(run, to)
  if step == nil then return nil, err end
  local fits, long = steering.check_length(text)
  if not fits then return nil, long end
  local self = of(run)
  if #self.waiting >= steering.MAX_WAITING then return failure("limit", "%d messages wait to be heard already", #self.waiting) end
  self.last = self.last + 1
  local one = { id = "u" .. self.last, text = text, step = step }
  self.waiting[#self.waiting + 1] = one
  egress.note(run, text)
  run:emit("user_message_received", { id = one.id, text = text }, step and step.def.name or nil, step and step.op or nil)
  return one.id
end

--- See Run:say.
---@param run hocket.Run
---@param text string
---@param to? string
---@return string? id Of the message; "" where it was the answer that a conversation waited for.
---@return hocket.Error?
function steering.say(run, text, to)
  local ok, err = steering.check(text)
  if not ok then return nil, err end
  local input = (not to or to == "") and steering.open_input(run)
  if input then
    ok, err = run:answer(input, text)
    return ok and "", err
  end
  return run.journal:tell("say", to or "", text, function() return put(run, text, to) end)
end

--- The same of what was left for it in the store: whoever said it learns of a refusal by an event.
---@param run hocket.Run
---@param text string
---@param to? string
function steering.deliver(run, text, to)
  local id, err = steering.say(run, text, to)
  if id then return true end
  if err.code == "limit" or err.code == "invalid" then text = nil end
  run:emit("user_message_dropped", { text = text, to = to ~= "" and to or nil, reason = err.message })
  return true
end

-- ---- Receiving ----------------------------------------------------------------------------------

-- Whether nobody who works was called from further out.
local function is_outermost(run, step)
  for _, other in pairs(run.at_work) do
    if not other.over and other.depth < step.depth then return false end
  end
  return true
end

local function take(run, step)
  local mine, rest, outermost = {}, {}, nil
  for _, one in ipairs(run.steering.waiting) do
    if not one.step and outermost == nil then outermost = is_outermost(run, step) end
    local list = (one.step == step or not one.step and outermost) and mine or rest
    list[#list + 1] = one
  end
  run.steering.waiting = rest
  return mine
end

local function drop(run, one, reason, step)
  run:emit("user_message_dropped", { id = one.id, reason = reason }, step and step.def.name or nil, step and step.op or nil)
end

-- Drops each one to which a guard of its input objects.
local function let_pass(run, step, list)
  if not (step.def.guards and step.def.guards.input) then return list end
  local rest = {}
  for _, one in ipairs(list) do
    local objection = step:judge_input(one.text)
    if objection then drop(run, one, objection.message, step) else rest[#rest + 1] = one end
  end
  return rest
end

local frame = "[While you are at work the user says to you:]\n\n%s"

--- What an agent hears now: the words of the user for its conversation; nil: nothing.
---@param step hocket.Step
---@return string?
function steering.hear(step)
  local run = step.run
  if not run.steering or #run.steering.waiting == 0 then return nil end
  local mine = let_pass(run, step, take(run, step))
  if #mine == 0 then return nil end
  local ids, texts = json.array {}, {}
  for i, one in ipairs(mine) do ids[i], texts[i] = one.id, one.text end
  step:emit("user_message_delivered", { ids = ids })
  return frame:format(table.concat(texts, "\n\n"))
end

--- An agent receives nothing any more: what was said to it is reported as lost. A run that is parked waits on.
---@param step hocket.Step
function steering.leave(step)
  local run, rest = step.run, {}
  if run.parked then return end
  for _, one in ipairs(run.steering.waiting) do
    if one.step ~= step then
      rest[#rest + 1] = one
    else
      drop(run, one, ("%s ended before it heard this"):format(step.def.name), step)
    end
  end
  run.steering.waiting = rest
end

--- What waits, as data, where no agent is at work: for whoever works next.
---@param run hocket.Run
---@return {last: integer, waiting: {id: string, text: string}[]}
function steering.waiting(run)
  local self, list = of(run), {}
  for i, one in ipairs(self.waiting) do list[i] = { id = one.id, text = one.text } end
  return { last = self.last, waiting = list }
end

--- The same waits here.
---@param run hocket.Run
---@param was {last: integer, waiting: {id: string, text: string}[]}
function steering.go_on(run, was)
  run.steering = { last = was.last, waiting = was.waiting }
  for _, one in ipairs(was.waiting) do one.step = false end
end

--- The run is over.
---@param run hocket.Run
function steering.finish(run)
  for _, one in ipairs(run.steering.waiting) do drop(run, one, "the run ended before anybody heard this") end
  run.steering.waiting = {}
end

return steering
