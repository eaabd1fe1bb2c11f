--- The bound of a workflow that a model wrote, as a budget. A person has approved it; whoever reaches it asks the person for as much again. All others
--- that reach it wait for that answer. General answers (`--approve allow`) approve a script with its bound, and nothing beyond.
---
---     agent ──> budget is used up ──> ask ──┬─ yes ──> so much more, and the call is made
---                                           └─ no, or nobody ──> the call fails with the code "budget"
local account = require "hocket.internal.models.account"
local ask = require "hocket.ask"

local workflow_beyond = {}

---@class hocket.Beyond
---@field package run hocket.Run
---@field package id integer The account.
---@field package agent string Whose it is, as errors name it.
---@field package limits table<string, number> As they are now.
---@field package step table<string, number> What one answer allows more.
---@field package asking? boolean
---@field package refused? boolean
local Beyond = {}
Beyond.__index = Beyond

-- Costs are counted in parts of a dollar.
local function is_same(a, b)
  return a ~= nil and math.abs(a - b) <= 1e-6 * math.max(1, math.abs(a))
end

--- Whether this bound is the one that was reached.
---@param kind string
---@param limit number
---@param agent string
---@return boolean
function Beyond:is_of(kind, limit, agent)
  return not self.refused and agent == self.agent and type(limit) == "number" and is_same(self.limits[kind], limit)
end

local words = { turns = "%d model calls", tool_calls = "%d tool calls", tokens = "%d tokens", cost = "%.4f USD" }

local function counted(kind, n)
  return kind == "cost" and n or math.ceil(n)
end

local function shown(kind, n)
  return words[kind]:format(counted(kind, n))
end

local function raise(self, kind)
  local more = self.step[kind]
  self.run.accounts:lend(self.id, { [kind] = more })
  self.limits[kind] = self.limits[kind] + more
  self.run:emit("bound_raised", { limit = kind, by = counted(kind, more), to = counted(kind, self.limits[kind]) })
end

--- Asks a person for more, once for all who wait.
---@async
---@param kind string
---@param used number
---@return boolean again Whether the call may be tried again.
function Beyond:ask(kind, used)
  if self.asking then
    account.wait(self.run)
    return not self.refused
  end
  self.asking = true
  local asked <close> = setmetatable({}, { __close = function()
    self.asking = nil
    account.wake_waiting(self.run)
  end })
  local answer = ask.ask({ ("The workflow has reached the bound that was approved: %s used, and the next call may need more than %s."):format(shown(kind, used), shown(kind, self.limits[kind])),
    ("Allow %s more? yes or no"):format(shown(kind, self.step[kind])) }, { kind = "approval" })
  if answer and ask.verdict(answer) == "yes" then
    raise(self, kind)
    return true
  end
  self.refused = true
  return false
end

--- Watches over the bound of the job that runs now. To be closed when the job ends.
---@param run hocket.Run
---@param agent string
---@param limits table<string, number>
---@return table closing
function workflow_beyond.watch(run, agent, limits)
  local _, id = account.here()
  local made = setmetatable({ run = run, id = id, agent = agent, limits = {}, step = {} }, Beyond)
  for _, kind in ipairs { "turns", "tool_calls", "tokens", "cost" } do made.limits[kind], made.step[kind] = limits[kind], limits[kind] end
  run.beyond = run.beyond or {}
  table.insert(run.beyond, 1, made)
  return setmetatable({}, { __close = function()
    for i, one in ipairs(run.beyond) do
      if one == made then table.remove(run.beyond, i) end
    end
    if not run.beyond[1] then run.beyond = nil end
  end })
end

return workflow_beyond
