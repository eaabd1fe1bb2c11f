--- Questions to whoever started the run: a clarification, a plan, leave to call a tool.
---
---     local hocket = require "hocket"
---     local city, err = hocket.ask "Which city?"
---     print(city or "nobody is there to answer: " .. err.code)
---
--- The question is an event with an id; the answer comes back by that id, from a function, an
--- embedding program or a person. Many may be open at once, and are answered in any order.
---
---     ask ── question_asked {id, kind, questions} ─────────> run:answer(id, text) ──> text
---     ask.approval ── approval_requested {id, tool, …} ────> run:answer(id, "allow") ──> "allow"
---         └── cancelled, out of time, or nobody answers: question_withdrawn {id}
---
--- While it waits its job holds no slot. Where nobody is there to answer it fails at once, with the
--- code "unsupported": the caller decides what becomes of the question. Leave that nobody gives is
--- not given.
local idle_wait = require "hocket.internal.base.idle_wait"
local broker = require "hocket.broker"
local edition = require "hocket.internal.base.edition"
local effects = require "hocket.internal.base.effects"
local memory = require "hocket.internal.base.memory"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local standing = require "hocket.internal.base.lazy" "hocket.internal.run.standing_approvals"
local wait_deadline = require "hocket.internal.run.wait_deadline"
local policy = require "hocket.internal.base.lazy" "hocket.internal.run.policy"
local preview = require "hocket.internal.base.lazy" "hocket.internal.run.preview"
local runs = require "hocket.internal.run.run"
local sanitize = require "hocket.internal.base.sanitize"
local failed = require("hocket.internal.core.system").error

local ask = {}

--- Questions of one run that wait for a person at once.
local MAX_OPEN = 1000
--- Bytes of a call's arguments: nobody can judge more than that.
local MAX_SHOWN = 256 * 1024

local function failure(code, message, ...)
  return nil, failed { code = code, message = message:format(...) }
end

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

-- Nobody waits any more. Who shows the question is told, unless it was not told of, or its end is told otherwise.
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

--- Whether anybody is there to answer, or will be.
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

--- Asks, and waits for the answer.
---@async
---@param questions string|string[]
---@param opts? {kind?: "clarification"|"approval", timeout?: number, agent?: string} agent: who asks.
---@return string? answer
---@return hocket.Error?
function ask.ask(questions, opts)
  opts = opts or {}
  local run = runs.current() or error("there is no run here: questions belong to a run", 2)
  if type(questions) == "string" then questions = { questions } end
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

--- Asks for what the user says next in a conversation. `meanwhile` is called before the wait and at
--- every wake of it. There is none when the answer is empty: the code is "unsupported".
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

--- Lets a tool of the program that started the run be called by it, and waits for what came of that: the event `tool_requested`, which is
--- answered by its id with "=" and the result, or "!" and what went wrong.
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

local yes = { y = true, yes = true, ok = true, allow = true, ["true"] = true, ja = true, accept = true }
local no = { n = true, no = true, deny = true, ["false"] = true, nein = true, refuse = true }
local for_all = { a = true, always = true }

--- What an answer says: yes, no or always, and only when it says nothing else. "Yes, but …" is none
--- of them.
---@param text string
---@return "yes"|"no"|"always"|nil
---@internal
function ask.verdict(text)
  local word = text:lower():match "^%s*(%a+)%s*[%.!]*%s*$"
  return word and (yes[word] and "yes" or no[word] and "no" or for_all[word] and "always") or nil
end

-- The decision about a call, and the words for it that follow a no.
local function read_decision(text)
  local verdict = ask.verdict(text)
  if verdict then return { verdict = verdict } end
  local word, why = text:match "^%s*(%a+)%s*[,:]?%s+(.-)%s*$"
  if word and no[word:lower()] then return { verdict = "no", why = why } end
  return nil, "an approval is answered with allow, deny (and a reason, if you like), always, or edit and other arguments"
end

-- "edit {…}": yes, to other arguments, which have to fit the tool as the model's do.
local function read_edit(about, text)
  local rest = text:match "^%s*edit%s+(.*)$"
  if not rest then return nil end
  local value = json.decode(rest)
  if not about.fit or type(value) ~= "table" or json.is_array(value) then
    return nil, about.fit and "edit is followed by the arguments, as one JSON object" or "the arguments of this call cannot be changed"
  end
  local fitting, wrong = about.fit(value)
  if not fitting then return nil, wrong end
  return { verdict = "yes", arguments = fitting }
end

-- The same for what is asked each time.
local function read_single(text)
  local decision, wrong = read_decision(text)
  if decision and decision.verdict == "always" then return nil, "this is asked each time: answer allow or deny" end
  return decision, wrong
end

-- ---- Plans ----------------------------------------------------------------------------------------

-- A plan that a person refuses ends its run with that, unless another one is accepted.
local function note_plan(run, verdict, said)
  if verdict ~= "revise" then run.declined = verdict == "refuse" or nil end
  return verdict, said
end

--- Shows a plan and asks whether to go ahead. What the operator and the run say for everything (`--approve allow`,
--- `deny`) answers without asking; of both the stricter word counts.
---@async
---@param text string The plan, for a person.
---@return "accept"|"refuse"|"revise"|nil verdict nil: nobody answered.
---@return string|hocket.Error|nil said With "revise" what to change; with nil the error.
function ask.plan(text)
  local run = runs.current() or error("there is no run here: plans belong to a run", 2)
  local word, err = policy.general(run.options)
  if err then return nil, err end
  if word == "allow" then return note_plan(run, "accept") elseif word == "deny" then return note_plan(run, "refuse") end
  local shown = text:gsub("[^\n]+", sanitize.text)
  local answer, failed = ask.ask({ shown, "Go ahead? yes, no, or what to change" }, { kind = "approval" })
  if not answer then return nil, failed end
  return note_plan(run, ask.plan_verdict(answer))
end

-- Words of a whole answer that accept or refuse a plan, beside those of any decision.
local goes = { sure = true, go = true, ["go ahead"] = true, ["ok do it"] = true, approve = true }
local stops = { stop = true, cancel = true }

--- What an answer to a plan says, case and punctuation apart. In runs of the first edition these words changed the plan.
---@param answer string
---@return "accept"|"refuse"|"revise" verdict
---@return string? said
function ask.plan_verdict(answer)
  local run = runs.current()
  local words = (not run or edition.of(run) >= 2) and answer:lower():gsub("[%p%s]+", " "):match "^%s*(.-)%s*$" or nil
  local verdict = ask.verdict(words or answer)
  if verdict == "yes" or goes[words] then return "accept" elseif verdict == "no" or stops[words] then return "refuse" end
  return "revise", answer
end

-- ---- Leave to call a tool -------------------------------------------------------------------------

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

-- The question about a call, as the person is going to see it.
local function question_about(run, about)
  local covered = not about.each and standing.of(about) or nil
  local judge = covered and read_decision or read_single
  local function read(text)
    local edit, wrong = read_edit(about, text)
    if edit or wrong then return edit, wrong end
    return judge(text)
  end
  return {
    prefix = "a", kind = "approval", tool = about.tool, agent = about.agent, op = about.op, arguments = about.shown, reason = about.reason,
    change = preview.of(about.of, about.arguments), about = about, covered = covered, always = covered and standing.words(covered, run), read = read,
  }
end

--- Asks for leave to call a tool, and waits. The permission check calls it, once rules say that it is to be asked; where
--- nobody can be asked, and when no answer comes, it is denied.
---@async
---@param about {agent: string, tool: string, arguments: table|string, reason?: string, op?: string, of?: hocket.Tool, labels?: integer, each?: boolean, fit?: fun(args: table): table?, string?} arguments: checked ones, or their JSON; reason: why it is asked, as the rule that asks for it; of: the tool, which says how its arguments are meant; labels: of the conversation, as bits; each: an "always" is no answer; fit: checks arguments that are given instead.
---@return "allow"|"deny" decision
---@return string? why In words for the model and the log.
---@return table? arguments To be taken in place of those that were asked about.
---@internal
function ask.approval(about)
  local run = runs.current() or error("there is no run here: approvals belong to a run", 2)
  about = setmetatable({ op = about.op or runs.operation() }, { __index = about })
  about.shown = type(about.arguments) == "string" and sanitize.json(about.arguments) or sanitize.encode(about.arguments)
  about.reason = about.reason and sanitize.text(about.reason)
  local decision, why = decided(run, about)
  if decision then return settle(run, about, nil, decision, why) end
  local question = question_about(run, about)
  local answer, err = put(run, question, function()
    return run:emit("approval_requested", { id = question.id, tool = about.tool, arguments = about.shown, reason = about.reason,
      change = question.change, always = question.always }, about.agent, about.op)
  end)
  if not answer then return settle(run, about, question.id, "deny", "it was not approved: " .. err.message) end
  if answer.verdict == "always" then allow_open(run, question.covered) end
  if answer.arguments then return settle(run, about, question.id, "allow", "with other arguments", answer.arguments) end
  if answer.verdict ~= "no" then return settle(run, about, question.id, "allow") end
  return settle(run, about, question.id, "deny", answer.why and "the user refused: " .. answer.why or "the user refused")
end

-- ---- Questions of other runs ------------------------------------------------------------------------

-- What the run that asks is going to read. It looks at other arguments itself.
local function read_relayed(text)
  if text:find "^%s*edit%s+{" then return text end
  local decision, wrong = read_decision(text)
  return decision and text, wrong
end

local function relay_approval(run, asked, op)
  local question = { prefix = "a", kind = "approval", tool = asked.tool, agent = asked.agent, op = op, arguments = asked.arguments, reason = asked.reason,
    change = asked.change, always = asked.always, read = read_relayed }
  local answer, err = put(run, question, function()
    return run:emit("approval_requested", { id = question.id, tool = asked.tool, arguments = asked.arguments, reason = asked.reason, change = asked.change,
      always = asked.always }, asked.agent, op)
  end)
  run:emit("approval_answered", { id = question.id, tool = asked.tool, decision = answer and ask.verdict(answer) ~= "no" and "allow" or "deny" }, asked.agent, op)
  return answer, err
end

--- Asks what a run asks that was called by this one: its person is this run's.
---@async
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
  return ask.ask(asked.questions, { kind = asked.kind, agent = asked.agent })
end

return setmetatable(ask, { __call = function(_, ...) return ask.ask(...) end })
