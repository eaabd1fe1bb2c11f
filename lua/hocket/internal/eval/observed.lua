--- What is seen of one run: the tools that its agents call, with whole arguments, and afterwards its events.
local json = require "hocket.json"
local truncate = require "hocket.internal.base.truncate"

local observed = {}

--- Calls that are checked, bytes of a result; events and bytes of them that a check is given.
local MAX_CALLS, MAX_RESULT, MAX_EVENTS, MAX_BYTES = 10000, 64 << 10, 20000, 16 << 20

---@class hocket.EvalCall
---@field tool string
---@field agent? string
---@field arguments table
---@field result? string Nothing where it was cancelled.
---@field failed? boolean

---@class hocket.Observed
---@field calls hocket.EvalCall[]
---@field left_out integer
local Observed = {}
Observed.__index = Observed

local Watched = {}
Watched.__index = Watched

function Watched:begins(args) self.call.arguments = args end -- a person may have changed them

function Watched:ended(text, is_error)
  self.call.result, self.call.failed = truncate(text, MAX_RESULT), is_error or nil
end

function observed.new()
  return setmetatable({ calls = {}, left_out = 0 }, Observed)
end

--- Looks on at a run that begins.
---@param run hocket.Run
function Observed:watch(run)
  self.run = run
  run.watch_calls = function(tool, args, agent)
    local call = { tool = tool.name, agent = agent, arguments = args }
    if #self.calls < MAX_CALLS then self.calls[#self.calls + 1] = call else self.left_out = self.left_out + 1 end
    return setmetatable({ call = call }, Watched)
  end
end

--- What the run has used so far; nil before it has begun.
function Observed:usage()
  return self.run and self.run:usage()
end

-- Each record that the journal still has.
local function each(journal, fn)
  local cursor = 0
  while true do
    local line, seq = journal:next(cursor)
    if not line then return end
    cursor = seq
    if fn(line) then return end
  end
end

--- What a script has printed.
---@param journal userdata
---@return string
function observed.printed(journal)
  local parts = {}
  each(journal, function(line)
    if line:find('"type":"output"', 1, true) then
      local event = json.decode(line)
      if type(event) == "table" and event.type == "output" then parts[#parts + 1] = tostring(event.text) end
    end
  end)
  return table.concat(parts, "\n")
end

--- Its events, the first ones of very many.
---@param journal userdata
---@return table[]
function observed.events(journal)
  local events, bytes = {}, 0
  each(journal, function(line)
    bytes = bytes + #line
    if #events >= MAX_EVENTS or bytes > MAX_BYTES then return true end
    events[#events + 1] = json.decode(line)
  end)
  return events
end

return observed
