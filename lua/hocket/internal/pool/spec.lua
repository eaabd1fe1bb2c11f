--- What the call of an agent with `pool:` is made of, as data: the options of the run that it becomes.
local agents = require "hocket.agent"
local ask = require "hocket.ask"
local base64 = require "hocket.internal.base.lazy" "hocket.internal.base.base64"
local facts_of = require "hocket.internal.agents.facts"
local json = require "hocket.json"
local fiber = require "hocket.internal.core.fiber"
local labels = require "hocket.internal.base.labels"
local lent = require "hocket.internal.pool.remote_tools"
local policy = require "hocket.internal.run.policy"
local pool = require "hocket.internal.pool.pool"
local scope = require "hocket.internal.session.scope"

local pool_spec = {}

-- Of the run's options those that hold for the child as well.
local of_run = {
  "model", "models", "variables", "max_turns", "retries", "seed", "seed_models", "context", "approve", "workdir", "sandbox", "network", "prices", "project", "mod",
  "trust", "typed", "consent", "simulate", "priority", "tree", "mcp",
}

-- Of the call's.
local of_call = { "model", "override_model", "variables", "schema", "schema_name", "instructions", "settings", "context", "request", "subject" }

-- What belongs to whoever answers here.
local elsewhere = {
  advisors = "its caller gives it advisors",
  router = "its caller makes it a router", team = "its caller gives it a team",
}

--- Why a call cannot be a run of its own; nil: it can.
---@param step hocket.Step
---@return hocket.Error?
function pool_spec.wrong(step)
  local def, opts = step.def, step.opts
  if not agents.source_of(def) then return pool.refuse(def, "it was made by a script: workers get agents as files") end
  for name, why in pairs(elsewhere) do
    if opts[name] then return pool.refuse(def, why .. ": remove 'pool', or let it work here (--pool-local)") end
  end
  if opts.handoff then return pool.refuse(def, "its caller says who comes after it: remove 'pool', or say so in its file (handoff)") end
  if facts_of(def).leads and opts.board and not opts.task_ids then
    return pool.refuse(def, "a facilitator plans on its own board there: call it without one, or remove 'pool'")
  end
end

local function take(names, from)
  local data = {}
  for _, name in ipairs(names) do data[name] = from[name] end
  return data
end

-- A list of names, as a set that a caller grants.
local function names_of(set)
  if not set then return nil end
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return json.array(list)
end

local function files_of(step)
  local list = {}
  for i, one in ipairs(step.opts.files or {}) do
    list[i] = one.url or { name = one.name or one.kind, data = base64.encode(one.data) }
  end
  return #list > 0 and list or nil
end

-- Rules of the run and of all on the way here. The agent's own are in its file.
local function rules_of(step)
  local layers = step.rules
  local last = layers[#layers]
  local own = step.def.approve and last and last.kind == "agent" and #layers - 1 or #layers
  return json.array(assert(policy.going_along(step.run, table.move(layers, 1, own, 1, {}))))
end

--- Seconds after which a call ends by itself of which its caller has no more to hear: that one ends it in time, if it is there.
local GRACE = 5

-- How many seconds its run may work, the same in every replay. While it waits for people its own clock stands still, as the caller's
-- does.
local function seconds_of(step)
  local run, seconds = step.run, step.opts.timeout or step.def.timeout
  local whole = not run.options.conversation and run.options.timeout
  local left = whole and math.max(0, whole - (run:seconds() - fiber.still()))
  seconds = math.min(seconds or math.huge, left or math.huge)
  return seconds < math.huge and seconds + GRACE or nil
end

-- The conversation that it goes on with, and whether it is to be had back.
local function history_of(step)
  local opts = step.opts
  local history = opts.history or opts.memory and opts.memory[step.def]
  if not history then return nil, opts.memory ~= nil end
  return { lines = history:lines(), labels = history:labels() }, true
end

--- The options of the run.
---@param step hocket.Step
---@param tools hocket.Lent
---@param share table? Its limits.
---@return table
function pool_spec.options(step, tools, share)
  local run, def, opts = step.run, step.def, step.opts
  local options = take(of_run, run.options)
  options.budget, options.files = share, files_of(step)
  options.labels = labels.names(scope.labels(step).bits)
  if #options.labels == 0 then options.labels = nil end
  local history, talks = history_of(step)
  options.call = {
    target = run.target and { path = run.target.path, dir = run.target.dir }, agent = def.name, source = agents.source_of(def), caller = run.id, op = step.op, depth = step.depth, deepest = step.deepest, opts = take(of_call, opts),
    last = opts.handoff == false, allowed = names_of(step.allowed), rules = rules_of(step), tools = lent.describe(tools), names = json.array(tools.names),
    history = history, talks = talks, seconds = seconds_of(step), may_ask = ask.may_ask(run), named_hosts = names_of(run.named_hosts), always = #run.always > 0 and run.always or nil,
  }
  return options
end

return pool_spec
