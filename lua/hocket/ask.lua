--- Questions to whoever started the run: a clarification, an approval. The question is an event with
--- an id; the answer comes back by that id, from a function, an embedding program or a person.
---
---     ask ── question_asked {id, kind, questions} ──> run:answer(id, text) ──> ask returns text
---
--- While it waits its job holds no slot. Where nobody is there to answer it fails at once, with the
--- code "unsupported": the caller decides what becomes of the question.
local broker = require "hocket.broker"
local fiber = require "hocket.core.fiber"
local json = require "hocket.json"
local runs = require "hocket.run"

local ask = {}

--- Questions of one run, in all.
local MAX_QUESTIONS = 1000

local function park_for(question, due)
  while question.answer == nil do
    local left = due and due - fiber.now()
    if left and left <= 0 then
      return nil, { code = "timeout", message = ("question %s was not answered in time"):format(question.id) }
    end
    fiber.park(left)
  end
  return question.answer
end

local function wait(run, question, seconds)
  question.fiber = fiber.self()
  run.questions[question.id] = question
  local open <close> = setmetatable({}, { __close = function() run.questions[question.id] = nil end })
  run:emit("question_asked", { id = question.id, kind = question.kind, questions = question.questions })
  return broker.shared():aside(park_for, question, seconds and fiber.now() + seconds)
end

--- Asks, and waits for the answer.
---@async
---@param questions string|string[]
---@param opts? {kind?: "clarification"|"approval", timeout?: number}
---@return string? answer
---@return hocket.Error?
function ask.ask(questions, opts)
  opts = opts or {}
  local run = runs.current() or error("there is no run here: questions belong to a run", 2)
  if type(questions) == "string" then questions = { questions } end
  local handler = run.options.on_question
  if not handler and not run.options.interactive then
    return nil, { code = "unsupported", message = "nobody is there to answer questions" }
  elseif run.asked >= MAX_QUESTIONS then
    return nil, { code = "limit", message = ("more than %d questions in one run"):format(MAX_QUESTIONS) }
  end
  run.asked = run.asked + 1
  local question = { id = ("q%d"):format(run.asked), kind = opts.kind or "clarification", questions = json.array(questions) }
  local answer, err
  if handler then
    run:emit("question_asked", { id = question.id, kind = question.kind, questions = question.questions })
    answer, err = broker.shared():aside(handler, question)
    if answer == nil then return nil, err or { code = "unsupported", message = "the question was not answered" } end
    answer = tostring(answer)
  else
    answer, err = wait(run, question, opts.timeout)
    if not answer then return nil, err end
  end
  run:emit("question_answered", { id = question.id, text = answer })
  return answer
end

return setmetatable(ask, { __call = function(_, ...) return ask.ask(...) end })
