--- The scope of an agent at work: the rules that bind it, the labels of its conversation, what its callers grant, and
--- the permissions that are made of them.
local agents = require "hocket.agent"
local effects = require "hocket.internal.base.effects"
local permission = require "hocket.permission"
local labels = require "hocket.internal.base.labels"
local lazy = require "hocket.internal.base.lazy"
local system = require "hocket.internal.core.system"

local plan_mode = lazy "hocket.internal.session.plan_mode"
local policy, ask, workdir = lazy "hocket.internal.run.policy", lazy "hocket.ask", lazy "hocket.internal.run.workdir"
local egress, rule_check = lazy "hocket.internal.run.egress", lazy "hocket.internal.session.rule_check"

local scope = {}

local nothing = {}

local function ask_approval(about)
  return ask.approval(about)
end

--- The rules that an agent at work is bound by: those of the run, of every agent on the way here, and its own.
---@param step hocket.Step
---@return table[]? layers
---@return hocket.Error?
function scope.rules(step)
  local layers, err = step.above and step.above.rules, nil
  if not layers then
    layers = nothing -- as the operator and the run mostly say
    if step.run.options.approve ~= nil or step.run.options.rules or effects.around() or system.getenv "HOCKET_APPROVE" then layers, err = policy.of_run(step.run.options) end
    if not layers then return nil, err end
    local wrong = #layers > 0 and rule_check.of_run(step, layers)
    if wrong then return nil, wrong end
    local call = step.run.call
    if call then layers = table.move(call.rules, 1, #call.rules, #layers + 1, table.move(layers, 1, #layers, 1, {})) end
  end
  local own = step.def.approve and policy.of_agent(step.def)
  if not own then return layers end
  local wrong = rule_check.of_agent(step)
  if wrong then return nil, wrong end
  layers = table.move(layers, 1, #layers, 1, {})
  layers[#layers + 1] = own
  return layers
end

-- The conversation that a step begins with, as far as it is known.
local function history_of(step)
  local opts = step.opts
  return step.history or opts.history or opts.memory and opts.memory[step.def]
end

-- What an agent in a tool or a step has read its caller has read, who is not in there.
local function teller(step)
  local within, above = step.within, step.above
  if not within or above and above.within == within then return nil end
  return function(bits) step.run:log("labels", above and above.op, bits) end
end

--- The labels of its conversation, which are those of the callers at first. Most have none and no tool that could give
--- them one: they are made when they are asked for.
---@param step hocket.Step
---@return hocket.Labels
function scope.labels(step)
  if step.labels then return step.labels end
  local run = step.run
  run.labels = run.labels or labels.new()
  step.labels = labels.new(step.above and scope.labels(step.above) or run.labels, history_of(step), true, teller(step))
  return step.labels
end

--- It begins, or goes on: what its callers and its conversation have by now counts for it.
---@param step hocket.Step
function scope.inherit(step)
  if step.labels then
    step.labels:renew()
    return
  end
  local callers, history = step.run.labels, history_of(step)
  if step.above then callers = step.above.labels end
  if callers and callers.bits ~= 0 then
    step.labels = labels.new(callers, history, false, teller(step))
  elseif history and history:labels() ~= 0 then
    scope.labels(step)
  end
end

-- A pattern's tools move its own picture along and reach nothing else: no caller withholds them.
local function granted(by_callers, free)
  if not by_callers or #free == 0 then return by_callers end
  local allowed = setmetatable({}, { __index = by_callers })
  for _, one in ipairs(free) do allowed[one.name] = true end
  return allowed
end

-- What a repository's configuration and the operator say now: a replay has what they said then.
local function places_of(step)
  return workdir.protected(step.run, agents.team_of(step.def)), workdir.granted(step.run)
end

--- The permissions of its tools.
---@param step hocket.Step
---@param tools hocket.Tool[]
---@param free hocket.Tool[] The ones that no caller withholds.
---@param known? hocket.Toolset That it had before.
---@return hocket.Permissions
function scope.permissions(step, tools, free, known)
  return permission.new(step.def.name, tools, granted(step.allowed, free), {
    layers = step.rules, labels = scope.labels(step), ask = ask_approval,
    named = function(address) return egress.is_named(step.run, address) end,
    protect = function() return effects.value("protected", {}, places_of, step) end,
    mode = function(one) return step.run.options.mode and plan_mode.forbids(step.run, one, free) end, modes = step.run.options,
  }, known)
end

return scope
