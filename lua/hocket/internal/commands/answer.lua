--- `hocket answer`: what a person says to a run that waits for it, or will. The answer is in the store until the run takes it.
local decision = require "hocket.internal.run.decision"
local ended = require "hocket.internal.run.ended"
local json = require "hocket.json"
local origin = require "hocket.internal.run.origin"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local truncate = require "hocket.internal.base.truncate"

local MAX_TEXT = 1024 * 1024
--- Bytes of another's answer that are reported to whoever comes later.
local MAX_SHOWN = 200

-- What was answered and not taken yet, by question.
local function pending(row)
  local messages, err = store.messages(row.id)
  if not messages then return nil, err end
  local by_question = {}
  for _, message in ipairs(messages) do
    local said = json.decode(message.json or "")
    if type(said) == "table" and said.wish == "answer" and type(said.question) == "string" then by_question[said.question] = said.text end
  end
  return by_question
end

local opening = { question_asked = "question", approval_requested = "approval", input_requested = "input", signal_requested = "signal" }
local closing = { question_answered = true, question_withdrawn = true, approval_answered = true, input_received = true, signal_received = true }

local function take_out(open, id)
  for i, one in ipairs(open) do
    if one.id == id then return table.remove(open, i) end
  end
end

-- An answer as one line.
local function shown(text)
  return (truncate(tostring(text), MAX_SHOWN, "…"):gsub("%c+", " "))
end

-- What an event says that was answered.
local function said_in(event)
  if type(event.text) == "string" then return shown(event.text) end
  local decision, reason = event.decision, event.reason
  if type(decision) ~= "string" then return "" end
  return shown(type(reason) == "string" and reason ~= "" and ("%s: %s"):format(decision, reason) or decision)
end

-- How a question was closed, as its event says it.
local function closed_by(event)
  if event.type == "question_withdrawn" then return "is not asked any more" end
  local said = said_in(event)
  return "was answered already, and the run has taken that" .. (said ~= "" and ": " .. said or "")
end

local function note(open, closed, event)
  local kind = opening[event.type]
  if type(event.id) ~= "string" then return end
  if kind then
    closed[event.id] = nil
    open[#open + 1] = { id = event.id, kind = kind, tool = event.tool, schema = event.schema, always = event.always, name = event.name, agent = event.agent,
      questions = event.questions, plan = event.type == "question_asked" and event.kind == "approval" or nil, arguments = event.arguments, reason = event.reason }
  elseif closing[event.type] then
    take_out(open, event.id)
    closed[event.id] = closed_by(event)
  end
end

-- What it waits for, and by id how what it waited for was closed, by its records.
local function told_open(row)
  local open, closed = json.array {}, {}
  local ok, err = stored.each(row.id, function(record)
    local type_of = record.json:match '"type":"([%w_]+)"'
    if not (opening[type_of] or closing[type_of]) then return end
    local event = json.decode(record.json)
    if type(event) == "table" then note(open, closed, event) end
  end)
  if not ok then return nil, err end
  return open, closed
end

-- What it waits for. The row of one that goes on, or was cut off, does not say.
local function open_of(row)
  if row.state == "parked" or row.state == "waiting" then return stored.open(row) end
  return told_open(row)
end

-- The run has taken another's answer: that may have been a moment ago, and its row say that it waits still.
local function taken(row, question)
  local open, closed = told_open(row)
  if not open then return nil, closed end
  if not closed[question] then return false end
  return stored.failure("exists", "run %s: '%s' %s", row.id, question, closed[question])
end

local function find_open(open, question)
  local ids = {}
  for i, one in ipairs(open) do
    if one.id == question then return one end
    ids[i] = one.id
  end
  return nil, table.concat(ids, ", ")
end

-- Whether the run can take it: what it waits for is known when it waits.
local function check(row, question, text)
  if #text == 0 or #text > MAX_TEXT then return stored.failure("invalid", "an answer has from 1 to %d bytes", MAX_TEXT) end
  if not utf8.len(text) then return stored.failure("invalid", "an answer is UTF-8") end
  local open, wrong = open_of(row)
  if not open then return nil, wrong end
  local one, ids = find_open(open, question)
  if not one or row.owner then
    local over, why = taken(row, question)
    if over == nil then return nil, why end
  end
  if not one then
    return stored.failure("not_found", "run %s does not ask '%s'%s", row.id, question, #ids > 0 and (": it waits for " .. ids) or "")
  elseif one.kind == "signal" then
    return stored.failure("invalid", "'%s' is a signal: hocket signal %s %s", question, row.id, tostring(one.name))
  elseif one.kind == "budget" then
    return stored.failure("invalid", "'%s' waits for the budget of project %s: hocket budget set %s", question, tostring(one.project), tostring(one.project))
  elseif one.kind == "run" or one.kind == "caller" then
    return stored.failure("invalid", "'%s' waits for the run %s, and takes no other answer", question, tostring(one.child or one.caller))
  elseif one.kind == "approval" and one.tool then
    local said, unfit = decision.read(text, one)
    if not said then return stored.failure("invalid", "%s", unfit) end
  end
  return true
end

-- Under an id of its own for each question: of two who answer at once one hears that it was answered.
local function put(row, question, text, from)
  local said = json.encode { wish = "answer", question = question, text = text }
  for i = 1, 1000 do
    local ok, err = origin.put(row.id, ("answer %s %d"):format(question, i), said, from)
    if ok or err.code ~= "exists" then return ok, err end
    local by_question, wrong = pending(row)
    if not by_question then return nil, wrong end
    if by_question[question] then
      return stored.failure("exists", "'%s' was answered already, and run %s has not taken that yet: %s", question, row.id, shown(by_question[question]))
    end
    local over, why = taken(row, question)
    if over == nil then return nil, why end -- else that one did not do
  end
  return stored.failure("limit", "'%s' was answered too often", question)
end

--- Without a question: what is open, with `answered` where an answer waits to be taken.
---@async
---@param args {id: string, question?: string, text?: string, consent?: boolean, client?: boolean} consent, client: as in origin.of.
return function(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  if ended.states[row.state] then return stored.failure("state", "run %s has ended (%s): nothing waits for an answer", row.id, row.state) end
  if args.question == nil then
    local answered, wrong = pending(row)
    if not answered then return nil, wrong end
    local open, broken = open_of(row)
    if not open then return nil, broken end
    local result = stored.describe(row)
    result.waiting_for = open
    for _, one in ipairs(result.waiting_for) do one.answered = answered[one.id] end
    return result
  end
  if type(args.question) ~= "string" or not args.question:find "^%w+$" or #args.question > 64 then
    return stored.failure("invalid", "a question has an id, as q1 or a2 (hocket answer %s lists them)", row.id)
  end
  local ok, wrong = check(row, args.question, tostring(args.text or ""))
  if not ok then return nil, wrong end
  ok, wrong = put(row, args.question, tostring(args.text), origin.of(args))
  if not ok then return nil, wrong end
  return { id = row.id, question = args.question, state = stored.state(row), owner = row.owner, pool = row.pool }
end
