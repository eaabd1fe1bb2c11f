--- Questions to the person who started the run: a clarification, a plan, permission for a tool call.
---
---     local hocket = require "hocket"
---     local city, err = hocket.ask "Which city?"
---     print(city or "nobody is there to answer: " .. err.code)
---
--- The question is an event with an id. The answer has the same id and comes from a function, an embedding program or
--- a person. Several questions can be open at once, and can be answered in any order.
---
---     ask ── question_asked {id, kind, questions} ─────────> run:answer(id, text) ──> text
---     ask.approval ── approval_requested {id, tool, …} ────> run:answer(id, "allow") ──> "allow"
---         └── cancelled, out of time, or nobody answers: question_withdrawn {id}
---
--- A waiting job uses no slot. If nobody can answer, the question fails at once with the code "unsupported", and the caller
--- decides how to continue. A permission that nobody gives counts as denied.
local arguments = require("hocket.internal.base.arguments").check
local idle_wait = require "hocket.internal.base.idle_wait"
local broker = require "hocket.broker"
local edition = require "hocket.internal.base.edition"
local decision = require "hocket.internal.run.decision"
local effects = require "hocket.internal.base.effects"
local memory = require "hocket.internal.base.memory"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local misuse = require "hocket.internal.base.lazy" "hocket.internal.base.misuse"
local standing = require "hocket.internal.base.lazy" "hocket.internal.run.standing_approvals"
local wait_deadline = require "hocket.internal.run.wait_deadline"
local policy = require "hocket.internal.base.lazy" "hocket.internal.run.policy"
local preview = require "hocket.internal.base.lazy" "hocket.internal.run.preview"
local runs = require "hocket.internal.run.run"
local sanitize = require "hocket.internal.base.sanitize"
local failed = require("hocket.internal.core.system").error
local failure = require("hocket.internal.core.system").failure

local ask = {}

--- Questions of one run that wait for a person at once.
local MAX_OPEN = 1000
--- Bytes of a call's arguments: nobody can judge more than that.
local MAX_SHOWN = 256 * 1024
--- Bytes of a schema that is reported with a call.
local MAX_SCHEMA = 64 * 1024

-- ---- One question ---------------------------------------------------------------------------

local function park_for(question, limit)
  while true do
    if question.meanwhile then question.meanwhile() end
    if question.answer ~= nil or question.declined then break end
    if limit:is_over() then return failure("timeout", "question %s was not answered in time", question.id) end
    limit:wait()
  end
  if question.declined then return failure("unsupported", "the question was not answered") end
  return question.answer
end

-- Nobody waits any more. Whoever shows the question gets an event, unless it was never shown, or another event has its end.
local function close(run, question)
  run.questions[question.id] = nil
  local is_told = question.answer ~= nil or question.untold or question.declined and question.prefix == "a"
  if not is_told and question.kind ~= "input" and not run.parked then
    run:emit("question_withdrawn", { id = question.id }, question.agent, question.op)
  end
end

-- What a run that was forked from another remembers of the answers there comes from outside, as an answer does.
local function recall(run, question)
  if not effects.here() then return end
  if run.options.asks_anew and (question.prefix == "a" or question.kind == "approval") then return end -- that leave was given for another run
  local asked = question.questions and table.concat(question.questions, "\n") or question.about and question.about.tool .. " " .. question.about.shown or ""
  local fields = { kind = question.kind, asked = asked }
  effects.value("question", fields, function() return question.id end)
  local answers, at = memory.answers(effects.digest(fields)), 1
  if not answers then return end
  local function say()
    local ok, err = run:answer(question.id, answers[at])
    if ok or err.code ~= "invalid" or at == #answers then return ok, err end
    at = at + 1
    return say()
  end
  memory.say(run, question, say,
    function() return run.questions[question.id] == question and question.answer == nil and not question.declined end)
end

local function wait(run, question, announce, seconds)
  question.fiber = fiber.self()
  run:put_question(question)
  local open <close> = setmetatable({}, { __close = function() close(run, question) end })
  local _, untold = announce()
  if untold then -- nobody would ever answer
    question.untold = true
    return nil, untold
  end
  recall(run, question)
  return broker.shared():aside(park_for, question, wait_deadline.new(run, seconds))
end

-- A function of the caller's answers for a person; what it answers is read like a person's answer.
local function call_handler(handler, question, announce)
  announce()
  local answer, err = broker.shared():aside(handler, question)
  if answer == nil then return nil, err or failed { code = "unsupported", message = "the question was not answered" } end
  local value, wrong = question.read(tostring(answer))
  if value == nil then return nil, failed { code = "invalid", message = wrong } end
  return value
end

local function is_there(run)
  return run.options.on_question ~= nil or run.options.interactive == true
end

-- Whoever started the run can be asked.
local function has_person(run)
  return is_there(run) or run.options.park == true
end

-- The function of a tool or a step: a run cannot be parked in the middle of one, since no replay gets there.
local function is_in_effect(run)
  return run.durable and not effects.here()
end

local function may_ask(run)
  if run.call then return run.relay ~= nil end
  if is_in_effect(run) then return is_there(run) end
  return has_person(run)
end

--- Tells whether somebody can answer, now or later.
---@internal
ask.may_ask = may_ask

-- Another run's person answers, who is asked there: nothing is announced here. The third value says that there is no such run.
local function pass_on(run, question)
  local answer, err, nobody = run.relay(question)
  if answer == nil then return nil, err, nobody end
  local value, wrong = question.read(answer)
  if value == nil then return nil, failed { code = "invalid", message = wrong } end
  return value
end

local function hand_over(run, question, announce, seconds)
  if run.relay then
    local value, err, nobody = pass_on(run, question)
    if not nobody or not effects.value("person", {}, has_person, run) then return value, err end
  end
  local handler = run.options.on_question
  if handler then return call_handler(handler, question, announce) end
  return wait(run, question, announce, seconds)
end

-- Puts a question to whoever answers; `announce` emits it, and returns what that does.
local function ask_person(run, question, announce, seconds)
  return idle_wait("people", hand_over, run, question, announce, seconds)
end

-- The id of one more question.
local function next_id(run, prefix)
  local open = 0
  for _ in pairs(run.questions) do open = open + 1 end
  if open >= MAX_OPEN then return failure("limit", "%d questions of this run wait for an answer already", open) end
  return prefix .. run:log("number", "asked")
end

-- Gives a question its id, and puts it.
local function put(run, question, announce, seconds)
  local id, err = next_id(run, question.prefix)
  if not id then return nil, err end
  question.id = id
  return ask_person(run, question, announce, seconds)
end

-- What whoever wrote the script can do about it is said, where that is more than to be there.
local function unanswered(run, text)
  if not is_in_effect(run) or not has_person(run) then return failure("unsupported", "nobody is there to answer: %s", text) end
  return failure("unsupported", "nobody is there to answer, and a run is not parked in the middle of a tool's function or a step (ask outside of it, or give the tool `steps = true`): %s", text)
end

-- ---- Questions in words -----------------------------------------------------------------------

local function as_text(text)
  return text
end

-- What is asked, as a list of texts: a question without words cannot be answered.
local function words_of(questions)
  local list = type(questions) == "string" and { questions } or questions
  local is_list = type(list) == "table" and #list > 0
  for _, one in ipairs(is_list and list or {}) do is_list = is_list and type(one) == "string" and one:find "%S" ~= nil end
  if not is_list then error(("bad argument #1 to 'ask' (a question, or a list of questions, expected, got %s)"):format(type(questions) == "table" and "a list without one" or type(questions) == "string" and "a text without words" or type(questions)), 0) end
  return list
end

--- Asks, and waits for the answer.
---@async
---@param questions string|string[]
---@param opts? {kind?: "clarification"|"approval", timeout?: number, agent?: string} agent: the agent that asks.
---@return string? answer
---@return hocket.Error?
function ask.ask(questions, opts)
  opts = opts or {}
  local run = runs.current() or error("there is no run here: questions belong to a run", 2)
  questions = misuse.called("ask", words_of, questions)
  if not may_ask(run) then return unanswered(run, table.concat(questions, " ")) end
  local op = runs.operation()
  local question = { prefix = "q", kind = opts.kind or "clarification", questions = json.array(questions), agent = opts.agent, op = op, read = as_text }
  local answer, err = put(run, question, function()
    return run:emit("question_asked", { id = question.id, kind = question.kind, questions = question.questions }, opts.agent, op)
  end, opts.timeout)
  if not answer then return nil, err end
  run:log("hosts", answer)
  run:emit("question_answered", { id = question.id, text = answer }, opts.agent, op)
  return answer
end

--- Waits for the user's next message in a conversation. It calls `meanwhile` before the wait and each time the fiber
--- wakes. After an empty answer it fails with the code "unsupported".
---@async
---@param meanwhile fun()
---@return string? input
---@return hocket.Error?
---@internal
function ask.input(meanwhile)
  local run = runs.current() or error("there is no run here: input belongs to a run", 2)
  if not may_ask(run) then return failure("unsupported", "nobody is there to go on") end
  local question = { id = "i" .. run:log("number", "inputs"), kind = "input", read = as_text, meanwhile = meanwhile }
  local text, err = ask_person(run, question, function() return run:emit("input_requested", { id = question.id }) end)
  if text then
    run:log("hosts", text)
    run:emit("input_received", { id = question.id, text = text })
  end
  return text, err
end

--- Calls a tool of the program that started the run, and waits for its result. It emits the event `tool_requested`. The answer
--- has the event's id; it is "=" and the result, or "!" and the error.
---@async
---@param name string
---@param args table
---@return string? result
---@return hocket.Error?
---@internal
function ask.call(name, args)
  local run, op = runs.current(), runs.operation()
  local id, full = next_id(run, "c")
  if not id then return nil, full end
  local text = json.encode(args)
  local question = { id = id, kind = "call", tool = name, arguments = text, op = op, read = as_text }
  local answer, err = wait(run, question, function() return run:emit("tool_requested", { id = question.id, tool = name, arguments = text }, nil, op) end)
  if not answer then return nil, err end
  if answer:sub(1, 1) == "!" then return nil, failed { code = "tool", message = answer:sub(2) } end
  return answer:sub(2)
end

-- ---- Yes and no ---------------------------------------------------------------------------------

--- Reads an answer: yes, no or always. A longer answer counts as neither.
---@param text string
---@return "yes"|"no"|"always"|nil
---@internal
ask.verdict = decision.verdict

-- ---- Plans ----------------------------------------------------------------------------------------

-- A plan that a person refuses ends its run with that, unless another one is accepted. Whose plan it was is kept.
local function note_plan(run, verdict, said)
  if verdict ~= "revise" then run.declined = verdict == "refuse" and (runs.operation() or true) or nil end
  return verdict, said
end

--- Shows a plan and asks whether to continue. A general answer of the operator or the run (`--approve allow`, `deny`) is used
--- without a question; of the two, the stricter one is used.
---@async
---@param text string The plan, for a person.
---@param opts? {part?: boolean} part: it is a part of a plan that was accepted; a refusal does not end the run.
---@return "accept"|"refuse"|"revise"|nil verdict nil: nobody answered.
---@return string|hocket.Error|nil said With "revise" the changes that the person wants; with nil the error.
function ask.plan(text, opts)
  arguments("ask.plan", 1, "string", text)
  arguments("ask.plan", 2, "table?", opts)
  local run = runs.current() or error("there is no run here: plans belong to a run", 2)
  local before = run.declined
  local function ended(...)
    if opts and opts.part then run.declined = before end
    return ...
  end
  local word, err = policy.general(run.options)
  if err then return nil, err end
  if word == "allow" then return ended(note_plan(run, "accept")) elseif word == "deny" then return ended(note_plan(run, "refuse")) end
  return ended(ask.plan_of_person(text))
end

--- The same without general answers: a person has to answer.
---@async
---@param text string
---@return "accept"|"refuse"|"revise"|nil verdict
---@return string|hocket.Error|nil said
function ask.plan_of_person(text)
  arguments("ask.plan_of_person", 1, "string", text)
  local run = runs.current() or error("there is no run here: plans belong to a run", 2)
  local shown = sanitize.lines(text)
  local answer, failed = ask.ask({ shown, "Go ahead? yes, no, or what to change" }, { kind = "approval" })
  if not answer then return nil, failed end
  return note_plan(run, ask.plan_verdict(answer))
end

-- Words of a whole answer that accept or refuse a plan, beside those of any decision.
local goes = { sure = true, go = true, ["go ahead"] = true, ["ok do it"] = true, approve = true }
local stops = { stop = true, cancel = true }

--- Reads the answer to a plan. Case and punctuation do not matter.
---@param answer string
---@return "accept"|"refuse"|"revise" verdict
---@return string? said
function ask.plan_verdict(answer)
  arguments("ask.plan_verdict", 1, "string", answer)
  local words = answer:lower():gsub("[%p%s]+", " "):match "^%s*(.-)%s*$"
  local verdict = ask.verdict(words)
  if verdict == "yes" or goes[words] then return "accept" elseif verdict == "no" or stops[words] then return "refuse" end
  return "revise", answer
end

-- ---- Permission to call a tool -------------------------------------------------------------------------

local function settle(run, about, id, decision, why, arguments)
  run:emit("approval_answered", { id = id, tool = about.tool, decision = decision, reason = why, arguments = arguments and sanitize.encode(arguments) },
    about.agent, about.op)
  return decision, why, arguments
end

local function has_standing_approval(run, about)
  for _, one in ipairs(not about.each and run.always or {}) do
    if standing.covers(one, about) then return true end
  end
  return false
end

-- What is decided without asking. Rules were looked at before.
local function decided(run, about)
  if has_standing_approval(run, about) then return "allow", "approved for the whole run" end
  if not may_ask(run) then
    return "deny", ("it needs approval, and nobody is there to give it (run it on a terminal, or with --approve %s=allow)"):format(about.tool)
  end
  if #about.shown > MAX_SHOWN then return "deny", ("its arguments are too long for anybody to approve (%d bytes)"):format(#about.shown) end
end

-- An "always" also answers what is open already and covered by it.
local function allow_open(run, covered)
  run:log("always", covered)
  for _, question in ipairs(run:open_questions()) do
    local about = question.about
    if about and not about.each and standing.covers(covered, about) and question.answer == nil and not question.declined then
      question.answer = { verdict = "yes" }
      question.fiber:wake()
    end
  end
end

-- The schema that other arguments have to fit, as whoever answers is going to see it. Events of the first edition had none.
local function schema_of(run, about)
  local parameters = about.fit and edition.of(run) >= 4 and about.of and about.of.parameters
  local text = parameters and sanitize.encode(parameters)
  return text and #text <= MAX_SCHEMA and text or nil
end

-- Other arguments are put right and checked as the call's own were.
local function read_answer(about, question, text)
  local read, wrong = decision.read(text, question)
  if not (read and read.arguments) then return read, wrong end
  if not about.fit then return nil, "the arguments of this call cannot be changed" end
  read.arguments, wrong = about.fit(read.arguments)
  return read.arguments and read or nil, wrong
end

-- The question about a call, as the person is going to see it.
local function question_about(run, about)
  local covered = not about.each and standing.of(about) or nil
  local question = {
    prefix = "a", kind = "approval", tool = about.tool, agent = about.agent, op = about.op, arguments = about.shown, schema = schema_of(run, about), reason = about.reason,
    change = preview.of(about.of, about.arguments), about = about, covered = covered, always = covered and standing.words(covered, run),
  }
  function question.read(text) return read_answer(about, question, text) end
  return question
end

-- Announces a question about a call.
local function request(run, question, agent, op)
  return run:emit("approval_requested", { id = question.id, tool = question.tool, arguments = question.arguments, schema = question.schema, reason = question.reason,
    change = question.change, always = question.always }, agent, op)
end

--- Asks for permission to call a tool, and waits. The permission check calls it if the rules require a question. If nobody can
--- be asked, or no answer comes, the call is denied.
---@async
---@param about {agent: string, tool: string, arguments: table|string, reason?: string, op?: string, of?: hocket.Tool, labels?: integer, each?: boolean, fit?: fun(args: table): table?, string?} arguments: checked ones, or their JSON; reason: why it is asked, as the rule that asks for it; of: the tool, which says how its arguments are meant; labels: of the conversation, as bits; each: an "always" is no answer; fit: checks arguments that are given instead.
---@return "allow"|"deny" decision
---@return string? why In words for the model and the log.
---@return table? arguments To be taken in place of the ones that were asked about.
---@internal
function ask.approval(about)
  local run = runs.current() or error("there is no run here: approvals belong to a run", 2)
  about = setmetatable({ op = about.op or runs.operation() }, { __index = about })
  about.shown = type(about.arguments) == "string" and sanitize.json(about.arguments) or sanitize.encode(about.arguments)
  about.reason = about.reason and sanitize.text(about.reason)
  local decision, why = decided(run, about)
  if decision then return settle(run, about, nil, decision, why) end
  local question = question_about(run, about)
  local answer, err = put(run, question, function() return request(run, question, about.agent, about.op) end)
  if not answer then return settle(run, about, question.id, "deny", "it was not approved: " .. err.message) end
  if answer.verdict == "always" then allow_open(run, question.covered) end
  if answer.arguments then return settle(run, about, question.id, "allow", "with other arguments", answer.arguments) end
  if answer.verdict ~= "no" then return settle(run, about, question.id, "allow") end
  return settle(run, about, question.id, "deny", answer.why and "the user refused: " .. answer.why or "the user refused")
end

-- ---- Questions of other runs ------------------------------------------------------------------------

local function relay_approval(run, asked, op)
  local schema = type(asked.schema) == "string" and #asked.schema <= MAX_SCHEMA and asked.schema or nil
  local question = { prefix = "a", kind = "approval", tool = asked.tool, agent = asked.agent, op = op, arguments = asked.arguments, schema = schema, reason = asked.reason,
    change = asked.change, always = asked.always }
  function question.read(text) -- what the run that asks is going to read
    local read, wrong = decision.read(text, question)
    return read and text, wrong
  end
  local answer, err = put(run, question, function() return request(run, question, asked.agent, op) end)
  run:emit("approval_answered", { id = question.id, tool = asked.tool, decision = answer and ask.verdict(answer) ~= "no" and "allow" or "deny" }, asked.agent, op)
  return answer, err
end

--- Passes on a question of a run that this run called, because both have the same person.
---@param asked table As that run's question is.
---@param op string Of the agent that was called.
---@return string? answer As the person said it.
---@return hocket.Error?
---@internal
function ask.relay(asked, op)
  local run = runs.current()
  if not may_ask(run) then return failure("unsupported", "nobody is there to answer") end
  if type(asked) ~= "table" then return failure("invalid", "this is no question") end
  if type(asked.tool) == "string" then return relay_approval(run, asked, op) end
  if not pcall(words_of, asked.questions) then return failure("invalid", "this is no question") end
  return ask.ask(asked.questions, { kind = asked.kind, agent = asked.agent })
end

return setmetatable(ask, { __call = function(_, ...) return ask.ask(...) end })
