--- A run: one journal, and what belongs to it: boards, documents, usage, operations.
local fiber = require "hocket.core.fiber"
local journal = require "hocket.core.journal"
local json = require "hocket.json"

local run = {}
local by_journal = setmetatable({}, { __mode = "kv" })
local last_number = 1 -- 1 is for jobs that belong to no run

---@class hocket.Run
---@field journal userdata
---@field options table What the caller asked for: model, models, max_turns, timeout, variables …
local Run = {}
Run.__index = Run

--- Makes a run over a journal, or over one of its own.
---@param spec {journal?: userdata, id?: string, options?: table}
---@return hocket.Run
function run.new(spec)
  last_number = last_number + 1
  local made = setmetatable({
    number = last_number, -- the broker's name for it
    scope = fiber.self(), -- its jobs end before this fiber has ended
    journal = spec.journal or journal.new { run = spec.id }, id = spec.id, options = spec.options or {},
    boards = {}, documents = {}, adopted = {}, operations = {}, emitters = {},
    questions = {}, asked = 0, always = {},
    usage = { input = 0, output = 0, cached = 0, reasoning = 0, calls = 0, cost = 0 }, started = fiber.now(),
  }, Run)
  by_journal[made.journal] = made
  return made
end

--- The run that writes a journal.
---@param of userdata
---@return hocket.Run?
function run.by_journal(of)
  return by_journal[of]
end

--- The run that the running fiber belongs to.
---@return hocket.Run?
function run.current()
  local context = fiber.context()
  return context and context.run
end

--- Appends an event. After the end of the run nothing is appended any more.
---@param type string
---@param payload? table
---@param agent? string
---@param op? string
---@return integer? seq
---@return hocket.Error?
function Run:emit(type, payload, agent, op)
  return self.journal:append(type, payload, agent, op)
end

--- Answers an open question (see hocket.ask). An empty text says that there is no answer.
---@param id string
---@param text string
---@return boolean? answered
---@return hocket.Error? `not_found`, or `invalid` when the text is no answer to it: it stays open.
function Run:answer(id, text)
  local question = self.questions[id]
  if not question or question.answer ~= nil or question.declined then
    return nil, { code = "not_found", message = ("there is no open question '%s'"):format(tostring(id)) }
  end
  if text == "" then
    question.declined = true
  else
    local answer, wrong = question.read(text)
    if answer == nil then return nil, { code = "invalid", message = wrong } end
    question.answer = answer
  end
  question.fiber:wake()
  return true
end

--- A function that emits for one agent: what jobs tell goes through it. One for each agent.
---@param agent? string
---@return fun(type: string, event: table)
function Run:emitter(agent)
  local known = self.emitters[agent or ""]
  if known then return known end
  local function emit(type, event)
    local op = event.op
    event.op = nil
    self.journal:append(type, event, agent, op)
  end
  self.emitters[agent or ""] = emit
  return emit
end

--- Where the text of an agent's stream goes when the run's option `deltas` asks for it.
---@param agent string
---@param op string
---@return (fun(kind: "text"|"reasoning", text: string))?
function Run:delta_sink(agent, op)
  if not self.options.deltas then return nil end
  local delta = require("hocket.core.host").delta
  return function(kind, text) delta(self.journal, kind, text, agent, op) end
end

--- Makes a board's or document's changes events of this run, and part of its result.
---@param things {board?: hocket.Board, document?: hocket.Document}
function Run:adopt(things)
  for kind, list in pairs { board = self.boards, document = self.documents } do
    local thing = things[kind]
    if thing and not self.adopted[thing] then
      self.adopted[thing] = true
      list[#list + 1] = thing
      thing:attach(self.journal)
    end
  end
end

-- A cost of which a part is unknown is null, and what is known of it stands beside.
local function add_cost(total, cost)
  local known = total.cost_known or total.cost
  if cost then
    known = math.floor((known + cost) * 1e9 + 0.5) / 1e9
  end
  if not cost or total.cost_known then
    total.cost, total.cost_known = json.null, known
  else
    total.cost = known
  end
end

--- Adds the usage of one model call; `usage.cost` is nil where it is not known.
---@param usage hocket.Usage
function Run:count(usage)
  local total = self.usage
  total.input, total.output = total.input + (usage.input or 0), total.output + (usage.output or 0)
  total.cached, total.reasoning = total.cached + (usage.cached or 0), total.reasoning + (usage.reasoning or 0)
  total.calls = total.calls + 1
  add_cost(total, usage.cost)
end

--- Adds calls that were given up before they told their usage.
---@param calls integer
function Run:count_unknown(calls)
  self.usage.calls = self.usage.calls + calls
  add_cost(self.usage, nil)
end

--- The number of a new operation: one agent at work.
---@return string
function Run:operation()
  local id = ("o%d"):format(#self.operations + 1)
  self.operations[#self.operations + 1] = id
  return id
end

--- All tasks of the run's boards.
---@return table[]
function Run:tasks()
  local tasks = json.array {}
  for _, board in ipairs(self.boards) do table.move(board:tasks(), 1, #board, #tasks + 1, tasks) end
  return tasks
end

--- The versions of the run's documents, without contents.
---@return table[]
function Run:document_versions()
  local versions = json.array {}
  for _, document in ipairs(self.documents) do
    local history = document:history()
    table.move(history, 1, #history, #versions + 1, versions)
  end
  return versions
end

local function slots_of(document)
  local slots = json.array {}
  for i, slot in ipairs(document:slots()) do
    local texts = {}
    for j, entry in ipairs(slot.entries) do texts[j] = entry.content end
    slots[i] = { slot = slot.slot, heading = slot.heading, content = table.concat(texts, "\n\n") }
  end
  return slots
end

-- What a run cost is null while nobody knows the prices: unknown is not 0.
local function with_cost(usage)
  local copy = { cost = json.null }
  for name, value in pairs(usage) do copy[name] = value end
  return copy
end

--- What `hocket run --json` prints.
---@param outcome {ok: boolean, text?: string, error?: table, finish?: string}
---@return table
function Run:result(outcome)
  local document = self.documents[1]
  return {
    run = self.id, ok = outcome.ok, text = outcome.text or "", finish = outcome.finish,
    error = outcome.error and { code = outcome.error.code, message = outcome.error.message } or json.null,
    usage = with_cost(self.usage), tasks = self:tasks(), seconds = fiber.now() - self.started,
    document = document and { version = document:version(), text = document:render(), slots = slots_of(document) } or json.null,
  }
end

return run
