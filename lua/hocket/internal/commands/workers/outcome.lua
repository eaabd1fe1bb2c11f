--- What a run of the store came to, as `hocket run --json` has it: a worker's keeps that as a file of its own; of others the records tell
--- what exists. Those have no `tree`, no `sources`, no `made`, and no `document` where there was one.
local isotime = require "hocket.internal.base.isotime"
local json = require "hocket.json"
local ended = require "hocket.internal.run.ended"
local stored = require "hocket.internal.commands.stored"

---@class hocket.Outcome
---@field result table
---@field output string[] What its script has printed.

local takes = {}

function takes.workflow_started(self, event) self.began = self.began or isotime.ms(event.time) end
function takes.output(self, event) self.output[#self.output + 1] = tostring(event.text) end
function takes.final_answer(self, event) self.result.text = tostring(event.content) end
function takes.document_updated(self) self.result.document = nil end
function takes.agent_started(self, event) self.root = self.root or event.op end

function takes.error(self, event)
  self.result.error = { code = tostring(event.code), message = tostring(event.message) }
end

function takes.model_reply(self, event)
  if type(event.model) == "string" then self.models[event.model] = true end
end

-- The answer that was cut is the run's where the agent is that which it began with.
function takes.agent_cut(self, event)
  if event.op == self.root and type(event.reason) == "string" then self.cut = event.reason end
end

function takes.workflow_finished(self, event)
  local ended = isotime.ms(event.time)
  self.result.usage, self.result.tasks, self.result.partial = event.usage, event.tasks, event.partial or json.null
  self.result.seconds = self.began and ended and math.max(0, ended - self.began) / 1000
end

local finishes = { failed = "error", cancelled = "cancelled" }

local function told(row)
  local result = { text = "", error = json.null, document = json.null, simulated = row.simulated == true, ok = row.state == "done" }
  local self = { result = result, output = json.array {}, models = {} }
  local ok, err = stored.each(row.id, function(record)
    local take = takes[record.json:match '"type":"([%w_]+)"']
    local event = take and json.decode(record.json)
    if type(event) == "table" then take(self, event) end
  end)
  if not ok then return nil, err end
  result.models = json.array {}
  for name in pairs(self.models) do result.models[#result.models + 1] = name end
  table.sort(result.models)
  result.finish = self.cut or finishes[row.state] or "stop"
  return self
end

local function kept(row)
  local text, err = ended.result(row.id)
  if not text then return nil, err end
  local result = json.decode(text)
  return type(result) == "table" and result or nil
end

--- Of one that has ended; `output`: what its script has printed is wanted as well, for which its records are read in any case.
---@async
---@param row table
---@param output? boolean
---@return hocket.Outcome?
---@return hocket.Error?
return function(row, output)
  local result, err = kept(row)
  if err then return nil, err end
  local said
  if not result or output then
    said, err = told(row)
    if not said then return nil, err end
  end
  result = result or said.result
  result.run, result.state = row.id, row.state
  if row.state ~= "done" and type(result.error) ~= "table" then
    result.error = { code = row.state == "cancelled" and "cancelled" or "state", message = row.state }
  end
  return { result = result, output = said and said.output or json.array {} }
end
