--- What a recording says of the run that it is of, beside what models answered: what was run with what, what people said, and what came
--- of it. `hocket eval --from` makes a case of that.
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"

local recorded = {}

--- The names of both facts in a recording (hocket.cassette).
recorded.RUN, recorded.OUTCOME = "hocket.run", "hocket.outcome"

-- ---- What a run did ------------------------------------------------------------------------------------

local takes = {}

function takes.final_answer(seen, event) seen.answer = event.content end

function takes.error(seen, event) seen.error = event.code end

function takes.tool_call(seen, event)
  if not seen.times[event.tool] then seen.tools[#seen.tools + 1] = event.tool end
  seen.times[event.tool] = (seen.times[event.tool] or 0) + 1
end

function takes.approval_requested(seen, event) seen.asked[event.id or ""] = event.tool end

function takes.approval_answered(seen, event)
  local tool = event.id and seen.asked[event.id]
  local say = event.decision == "allow" and "allow" or "deny"
  if not tool or seen.allowed[tool .. say] then return end
  seen.allowed[tool .. say] = true
  seen.answers[#seen.answers + 1] = { tool = tool, say = say }
end

function takes.question_answered(seen, event)
  if type(event.text) == "string" and event.text ~= "" then seen.answers[#seen.answers + 1] = event.text end
end

function takes.workflow_finished(seen, event)
  seen.ended, seen.usage = true, type(event.usage) == "table" and event.usage or {}
end

---@class hocket.SeenRun
---@field answer? string
---@field error? string
---@field ended? boolean
---@field tools string[] In the order in which they were first called.
---@field times table<string, integer>
---@field answers (string|{tool: string, say: string})[] Of people.
---@field usage table
local Seen = {}
Seen.__index = Seen

---@return hocket.SeenRun
function recorded.seen()
  return setmetatable({ tools = {}, times = {}, answers = {}, asked = {}, allowed = {}, usage = {} }, Seen)
end

--- Takes one of its records. They may be anything: what does not fit is passed over.
---@param text string JSON.
function Seen:take(text)
  local event = json.decode(text)
  local take = type(event) == "table" and takes[event.type]
  if take then pcall(take, self, event) end
end

-- ---- What is noted --------------------------------------------------------------------------------------

local function note_run(tape, run, target, input)
  local options = run.options
  tape:note(recorded.RUN, {
    target = fs.real(target) or target, input = input, conversation = options.conversation and true or nil, model = options.model, models = options.models, variables = options.variables,
    approve = options.approve, max_turns = options.max_turns, files = options.files and #options.files > 0 and options.files or nil,
  })
end

--- What was run, and what came of it: at its end, when the recording knows all keys that must not stand in it.
---@param tape userdata
---@param run hocket.Run
---@param asked {target: string, input?: string}
---@param reply? {text: string}
---@param err? hocket.Error
function recorded.finish(tape, run, asked, reply, err)
  note_run(tape, run, asked.target, asked.input)
  local seen, cursor = recorded.seen(), 0
  while true do
    local line, seq = run.journal:next(cursor)
    if not line then break end
    cursor = seq
    seen:take(line)
  end
  local usage = run:usage()
  tape:note(recorded.OUTCOME, {
    answer = reply and reply.text or seen.answer, error = not reply and (err and err.code or "failed") or nil, tools = json.array(seen.tools), times = seen.times,
    answers = json.array(seen.answers), usage = { calls = usage.calls, input = usage.input, output = usage.output, cost = usage.cost },
  })
end

-- ---- What is read ---------------------------------------------------------------------------------------

-- The first line of a recording.
local HEAD = '^{"cassette":%d'

--- Whether a text is a recording.
---@param text string
---@return boolean
function recorded.is_recording(text)
  return text:find(HEAD) ~= nil
end

local function text_of(value) return type(value) == "string" and value or nil end

local function table_of(value) return type(value) == "table" and value or {} end

-- Those of a table that are of a kind: a recording may be anybody's.
local function only(list, kind)
  local out = {}
  for _, one in ipairs(table_of(list)) do
    if type(one) == kind then out[#out + 1] = one end
  end
  return out
end

-- A fact of the recording; the last one counts, as a run may have been recorded twice into it.
local function fact(text, name)
  local found
  local mark = ('{"fact":%s,'):format(json.encode(name))
  for line in text:gmatch "[^\n]+" do
    if line:sub(1, #mark) == mark then found = json.decode(line) end
  end
  return type(found) == "table" and type(found.value) == "table" and found.value or nil
end

--- What a recording says of its run.
---@param text string
---@return {target: string, input?: string, options: table}? what nil: it says nothing.
---@return hocket.SeenRun? seen nil: it has not ended.
function recorded.read(text)
  local what, outcome = fact(text, recorded.RUN), fact(text, recorded.OUTCOME)
  if not what or not text_of(what.target) then return nil end
  local seen
  if outcome then
    seen = recorded.seen()
    seen.ended, seen.answer, seen.error, seen.usage = true, text_of(outcome.answer), text_of(outcome.error), table_of(outcome.usage)
    seen.tools = only(outcome.tools, "string")
    for _, tool in ipairs(seen.tools) do seen.times[tool] = math.tointeger(table_of(outcome.times)[tool]) or 1 end
    for _, one in ipairs(table_of(outcome.answers)) do
      local known = type(one) == "table" and text_of(one.tool) and { tool = one.tool, say = one.say == "allow" and "allow" or "deny" }
      seen.answers[#seen.answers + 1] = known or text_of(one)
    end
  end
  return { target = what.target, input = text_of(what.input), options = what }, seen
end

return recorded
