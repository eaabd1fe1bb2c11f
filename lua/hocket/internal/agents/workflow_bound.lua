--- The worst case of a workflow, from its text: how many agents it begins, their model calls, tokens and cost; what they can reach. Nothing
--- is run. A part whose count does not follow from the text is unbounded, and the place and the reason are listed.
---
---     map(list, fn, { max = 20 })     20 times what fn does; without `max` as many as the list can have (maxItems of the input's schema)
---     loop { max = 3, … }             3 times
---     budget(limits, fn)              what fn does, within the limits
---     if a then … else … end          the dearer one
---     while, recursion, load          unbounded, where agents are asked in it
---
--- Attempts that are repeated after an error and summaries of conversations that fill a window are not counted.
local agents = require "hocket.agent"
local bind = require "hocket.internal.base.script.bind"
local bounds = require "hocket.internal.agents.bounds"
local facts_of = require "hocket.internal.agents.facts"
local lengths = require "hocket.internal.base.script.lengths"
local models = require "hocket.model"
local parse = require "hocket.internal.base.script.parse"
local prices = require "hocket.prices"
local problem = require "hocket.internal.agents.problem"
local reach = require "hocket.internal.base.script.reach"
local script = require "hocket.internal.base.script"
local shared = require "hocket.internal.base.script.shared"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"
local tool = require "hocket.tool"
local workflow_file = require "hocket.internal.agents.workflow_file"

local workflow_bound = {}

local being_read = {} -- files of workflows: one that reaches itself has no bound

local INF = math.huge
--- Rounds of a loop that does not say otherwise, as in hocket.workflow.
local ROUNDS = 10

---@class hocket.WorkflowBound
---@field agents number That begin, those that agents call included; math.huge: unbounded.
---@field model_calls number
---@field tokens number Of input and output.
---@field cost? number USD; nil: a price is not known.
---@field unbounded {line: integer, message: string}[] Why one of them is unbounded.
---@field unknown string[] Why tokens are unbounded where the model calls are not.
---@field dearest {tokens: number, cost: number, unpriced?: boolean} Of its model calls.
---@field reaches {agents: string[], tools: string[], by_agent: table<string, hocket.AgentReach>, script?: string[]} by_agent: what each of them has itself. script: effects of the text itself and of its modules; nil where the text does not show all that is reached.

-- ---- Amounts ---------------------------------------------------------------------------------------

-- In floating point: products of whole numbers wrap around.
local function amount(n, calls, tokens, cost)
  return { agents = (n or 0) + 0.0, calls = (calls or 0) + 0.0, tokens = (tokens or 0) + 0.0, cost = (cost or 0) + 0.0 }
end

local names = { "agents", "calls", "tokens", "cost" }

local function each(a, b, fn)
  local made = { unpriced = a.unpriced or b.unpriced }
  for _, name in ipairs(names) do made[name] = fn(a[name], b[name]) end
  return made
end

local function plus(a, b) return a + b end
local function add(a, b) return each(a, b, plus) end
local function most(a, b) return each(a, b, math.max) end
local function times(a, n) return each(a, a, function(x) return x == 0 and 0 or n == 0 and 0 or x * n end) end
local function is_free(a) return a.agents == 0 and a.calls == 0 end

local function without_end() return amount(INF, INF, INF, INF) end

-- ---- Reasons ------------------------------------------------------------------------------------------

local function note(self, node, message, ...)
  local text = message:format(...)
  local key = ("%d:%s"):format(node.line, text)
  if not self.noted[key] then self.unbounded[#self.unbounded + 1] = { line = node.line, message = text } end
  self.noted[key] = true
end

-- A part of unknown count; where no agent is asked in it, it is free whatever the count.
local function unbounded(self, node, part, message, ...)
  if is_free(part) then return part end
  note(self, node, message, ...)
  return times(part, INF)
end

local function unknown(self, node, message, ...)
  note(self, node, message, ...)
  return without_end()
end

-- The same where it may reach anything.
local function hidden(self, node, message, ...)
  self.hides = true
  return unknown(self, node, message, ...)
end

-- ---- One agent --------------------------------------------------------------------------------------------

-- The tokens and the cost of a call, at most: the window with the longest answer in it.
local function of_call(self, def, model)
  local known = type(model) == "string" and models.window(model)
  local window = def.context and def.context.window or known and known.window
  if not window then
    self.unknown[model and ("the window of %s is not known (context: {window: N} of the agent)"):format(model)
      or "no model is named (model: of an agent, or HOCKET_MODEL)"] = true
    return INF, nil
  end
  local output = not def.body and def.max_tokens or known and known.output or window -- body may say another number
  local cost = type(model) == "string" and prices.cost(model, { input = window, output = output })
  return window + output, cost
end

-- All models that one of a team may be asked with. A model of the whole run has precedence.
local function models_of(self, team, list, model)
  local found, seen = {}, {}
  local function take(one)
    for _, id in ipairs(type(one) == "table" and one or { one }) do
      if not seen[id] then found[#found + 1] = id end
      seen[id] = true
    end
  end
  take(self.forced or model)
  for _, name in ipairs(list) do
    take(self.models[name])
    if not self.forced then
      take(team[name].model)
      take(team[name].per_call and team[name].per_call.model) -- a caller may choose a dearer one
      for _, other in ipairs(team[name].alternates or {}) do take(other.model) end
    end
  end
  return found
end

-- The dearest call of some agents. Who names no model has the caller's.
local function dearest(self, team, list, model)
  local tokens, cost, unpriced = 0, 0, false
  local all = models_of(self, team, list, model)
  for _, name in ipairs(list) do
    for _, id in ipairs(#all > 0 and all or { false }) do
      local used, price = 0, 0
      if not team[name].workflow then used, price = of_call(self, team[name], id) end
      tokens, cost, unpriced = math.max(tokens, used), math.max(cost, price or 0), unpriced or not price
    end
  end
  return tokens, cost, unpriced
end

local of_reached

-- What agents reach through a plan: whoever may get a step.
local function of_plan(self, node, file, tokens, cost, unpriced)
  local found, why = tool.bound_of("plan:NAME", file)
  if not found then
    note(self, node, "the plan %s %s", file, why)
    return INF, INF, unpriced
  end
  if self.plans[found.path] then return tokens, cost, unpriced end
  self.plans[found.path], self.hides = true, self.hides or found.runs_code
  for _, def in ipairs(found.defs) do
    local team = agents.team_of(def)
    local used, price, without = of_reached(self, node, def, team, self.model, bounds.one(team, def.name))
    tokens, cost, unpriced = math.max(tokens, used), math.max(cost, price), unpriced or without
  end
  return tokens, cost, unpriced
end

-- The same of a workflow.
local function of_workflow(self, node, file, tokens, cost, unpriced)
  local inner, err = nil, nil
  if not being_read[file] then inner, err = workflow_bound.of(file, self.model) end
  if not inner then
    note(self, node, "%s", err and err.message or file .. " calls itself")
    return INF, INF, unpriced
  end
  for _, name in ipairs(inner.reaches.agents) do self.agents[name], self.by_agent[name] = true, self.by_agent[name] or inner.reaches.by_agent[name] end
  for _, name in ipairs(inner.reaches.tools) do self.tools[name] = true end
  for _, effect in ipairs(inner.reaches.script or {}) do self.effects[effect] = true end
  self.hides = self.hides or not inner.reaches.script
  return math.max(tokens, inner.dearest.tokens), math.max(cost, inner.dearest.cost), unpriced or inner.dearest.unpriced
end

-- Adds the agents and tools that an agent reaches through workflows and plans, and returns the dearest call among theirs.
local function of_workflows(self, node, def, tokens, cost, unpriced)
  local files = facts_of(def).has_workflows and workflow_file.files_of(def) or {}
  if def.workflow then files[#files + 1] = def.file end
  for _, file in ipairs(files) do
    tokens, cost, unpriced = (script.is_lua(file) and of_workflow or of_plan)(self, node, file, tokens, cost, unpriced)
  end
  return tokens, cost, unpriced
end

--- Model calls of an agent without tools, for each answer that `until` checks: the answer, and calls that repeat it. One repeats
--- an empty answer, two an unreadable one, two an answer that does not fit the output (session.lua, session/contract.lua).
local EMPTY, UNREAD, MISFIT = 1, 2, 2

local function calls_of(def, own)
  local facts = facts_of(def)
  if own.model_calls >= bounds.MANY then return INF end
  if facts.has_tools or #facts.edges > 0 or def.server_tools then return math.max(own.model_calls, 2) end -- the last answer of one turn is another
  local rounds = def["until"] and def["until"].rounds or 1
  return math.min(own.model_calls, rounds * (1 + EMPTY + UNREAD + (def.output and MISFIT or 0)))
end

-- Whether one of a team has the tool by which a model writes a workflow: what that does is approved when it is written.
local function writes_workflows(own)
  for _, name in ipairs(own.tools) do
    if name == "workflow" then return true end
  end
  return false
end

---@class hocket.AgentReach
---@field tools string[] Names, as its file has them, without those that its rules deny.
---@field servers {name: string, url?: string}[] MCP servers; without an address a program, or a name of .mcp.json.
---@field server_tools string[] Tools that its provider runs.

-- The tools that a rule denies whatever they are called with.
local function denied_by(def)
  local denied = {}
  for _, rule in ipairs(def.approve and def.approve.deny or {}) do
    if type(rule) == "table" and rule.tool and not rule.match then denied[rule.tool] = true end
  end
  return denied
end

-- What an agent has itself.
local function reach_of(def)
  local made, denied = { tools = {}, servers = {}, server_tools = {} }, denied_by(def)
  for _, one in ipairs(def.tools) do
    local name = type(one) == "table" and one.name or one
    if not denied[name] then made.tools[#made.tools + 1] = name end
  end
  for _, one in ipairs(type(def.mcp) == "table" and def.mcp or {}) do
    made.servers[#made.servers + 1] = type(one) == "table" and { name = one.name or "?", url = one.url } or { name = tostring(one) }
  end
  for _, one in ipairs(def.server_tools or {}) do made.server_tools[#made.server_tools + 1] = type(one) == "table" and one.name or tostring(one) end
  return made
end

-- Adds whom and what an agent reaches, and returns the dearest call among theirs.
function of_reached(self, node, def, team, model, own)
  local list = { def.name, table.unpack(own.agents) }
  for _, name in ipairs(list) do self.agents[name], self.by_agent[name] = true, self.by_agent[name] or reach_of(team[name]) end
  for _, name in ipairs(own.tools) do self.tools[name] = true end
  local tokens, cost, unpriced = dearest(self, team, list, model)
  for _, name in ipairs(list) do tokens, cost, unpriced = of_workflows(self, node, team[name], tokens, cost, unpriced) end
  return tokens, cost, unpriced
end

-- What an agent and its team may use for one request.
local function of_team(self, node, def, team, model)
  local own = bounds.one(team, def.name)
  local tokens, cost, unpriced = of_reached(self, node, def, team, model, own)
  local calls = calls_of(def, own)
  if writes_workflows(own) then calls = INF end
  if calls == INF and not (def.budget and def.budget.turns) then
    note(self, node, writes_workflows(own) and "%s may write workflows of its own (tool workflow): give it budget: {turns: N}" or "the model calls of %s", def.name)
  end
  local most_of = self.dearest
  most_of.tokens, most_of.cost, most_of.unpriced = math.max(most_of.tokens, tokens), math.max(most_of.cost, cost), most_of.unpriced or unpriced
  local made = times(amount(0, 1, tokens, cost), calls)
  made.agents, made.unpriced = (own.begun >= bounds.MANY or writes_workflows(own)) and INF or own.begun, unpriced
  return made
end

local function within(part, limits)
  local made = each(part, part, math.max)
  local function bound(name, limit)
    if math.type(limit) and limit >= 0 then made[name] = math.min(made[name], limit) end
  end
  bound("calls", limits.turns)
  bound("tokens", limits.tokens)
  if type(limits.cost) == "number" then
    made.cost = made.unpriced and limits.cost or math.min(made.cost, limits.cost)
    made.unpriced = nil
  end
  return made
end

-- The constants of a table that is written out; `open`: names of the others.
local function fields_of(given)
  local fields, open, n = {}, {}, 0
  for _, item in ipairs(given.items) do
    local key = item.key and item.key.kind == "string" and item.key.value
    if not item.key then
      n = n + 1
      key = n
    end
    if not key then return nil end
    local known, value = bind.constant(item.value)
    fields[key], open[key] = value, not known or nil -- of two by one name the last counts
  end
  return fields, open
end

-- The agents beside the workflow. A folder with a mistake is not loaded when the workflow runs either.
local function read_team(self)
  local dir, problems = workflow_file.agents_folder(self.path), {}
  self.team = {}
  if dir then self.team, problems = agents.read { dir } end
  self.broken = problem.any_error(problems) and dir or nil
end

local function named_agent(self, name)
  if self.only then return rawget(self.team, name) end
  if not self.team then read_team(self) end
  return rawget(self.team, name) or rawget(agents.built_in(), name)
end

-- The team that an agent belongs to, with the agent as it is asked here.
local function team_with(self, def, changes)
  local team, made = {}, {}
  for name, one in pairs(agents.team_of(def) or self.team) do team[name] = one end
  for key, value in pairs(def) do made[key] = value end
  for key, value in pairs(changes) do made[key] = value end
  team[def.name] = made
  return made, team
end

local ad_hoc = { "name", "model", "tools", "output", "budget", "max_turns", "max_tokens", "context" }

local function made_here(self, node, fields, open)
  for _, key in ipairs { "max_turns", "max_tokens", "context" } do
    if open[key] then return unknown(self, node, "the agent's %s is not written out", key) end
  end
  if open.tools then hidden(self, node, "the agent's tools are not written out: what it reaches is not known") end
  if fields.context == "fork" then fields.context = nil end
  local spec = { name = "worker", prompt = "" }
  for _, key in ipairs(ad_hoc) do spec[key] = fields[key] ~= nil and fields[key] or spec[key] end
  if type(spec.tools) == "table" then
    local tools = {}
    for _, name in ipairs(spec.tools) do
      if self.stand_for[name] or not self.only then tools[#tools + 1] = self.stand_for[name] or name end -- a call with another one is refused
    end
    spec.tools = tools
  end
  local ok, def = pcall(agents.load, spec)
  if not ok then return hidden(self, node, "the agent is not valid: %s", type(def) == "table" and def.message or tostring(def)) end
  return of_team(self, node, def, agents.team_of(def), not open.model and (def.model or self.model) or nil), def
end

local function named(self, node, name, fields, open)
  local def = named_agent(self, name)
  if self.broken then return hidden(self, node, "the agents in %s have mistakes: see hocket check %s", self.broken, self.broken) end
  if not def then return unknown(self, node, "there is no agent '%s'", name) end
  local made, team = team_with(self, def, { output = fields.output })
  local model = fields.model or def.model or self.model
  local part = of_team(self, node, made, team, not open.model and model or nil)
  if def.budget then part = within(part, def.budget) end
  return part, made
end

local function asked(self, node)
  local given = node.arguments[1] and bind.written(node.arguments[1])
  local fields, open = nil, nil
  if given and given.kind == "table" then fields, open = fields_of(given) end
  if not fields then return hidden(self, node, "the table of 'agent' is not written out") end
  local which = fields[1] or fields.agent
  if open[1] or not fields[1] and open.agent then return hidden(self, node, "which agent is asked is not written out") end
  if open.output then fields.output = { type = "object" } end -- answers that do not fit are asked for again
  local part, def
  if which then part, def = named(self, node, tostring(which), fields, open) else part, def = made_here(self, node, fields, open) end
  if def and def.output then self.outputs[node] = def.output end
  return type(fields.budget) == "table" and within(part, fields.budget) or part
end

-- Which agent is asked again does not follow from the text: it counts as the dearest agent of the script.
local function dearest_asked(self)
  if self.again then return self.again end
  local part = amount()
  bind.each(self.tree, function(node)
    local module, name = nil, nil
    if node.kind == "call" then module, name = bind.member(node.fn) end
    if module == bind.WORKFLOW and name == "agent" then part = most(part, asked(self, node)) end
  end)
  self.again = part
  return part
end

-- ---- Functions --------------------------------------------------------------------------------------------

local value_of, values_of, block_of

local function function_of(self, node)
  if self.active[node] then return unknown(self, node, "a function calls itself") end
  if self.known[node] then return self.known[node] end
  local labels = self.labels
  self.active[node], self.labels = true, {}
  local part = block_of(self, node.body)
  self.active[node], self.labels = nil, labels
  self.known[node] = part
  return part
end

-- What calling an argument once costs.
local function call_of(self, node)
  local fn = node and bind.meant(node)
  if not node then return amount() end
  if fn.kind == "function" then return function_of(self, fn) end
  return value_of(self, node)
end

-- A function that is handed on may be called any number of times.
local function handed_on(self, node, fn)
  return unbounded(self, node, function_of(self, fn), "a function that asks agents is handed on: call it by its name, or give it to map, parallel, pipeline, race, loop or budget")
end

local function rest_of(self, node, from)
  local part = amount()
  for i = from, #node.arguments do part = add(part, value_of(self, node.arguments[i])) end
  return part
end

-- The functions of a list that is written out.
local function functions_of(self, node, what)
  local given = node and bind.written(node)
  if not given or given.kind ~= "table" or not lengths.items(given) then
    return unknown(self, node or { line = 0 }, "the functions of '%s' are not written out", what)
  end
  local part = amount()
  for _, item in ipairs(given.items) do part = add(part, call_of(self, item.value)) end
  return part
end

local function over_list(self, node, what, inner)
  local list = node.arguments[1]
  local part, count = list and value_of(self, list) or amount(), lengths.of_call(self.outputs, node, 3)
  part = add(part, rest_of(self, node, 3))
  if count then return add(part, times(inner, count)) end
  return add(part, unbounded(self, node, inner, "'%s' over a list of unknown length: give it { max = N }, or the list's schema maxItems", what))
end

-- A callback gets an item of the list.
local function give_item(self, node)
  local fn, list = node.arguments[2], node.arguments[1]
  local parameter = fn and fn.kind == "function" and fn.bindings[1]
  local found = parameter and list and lengths.schema_of(self.outputs, list)
  if type(found) == "table" and type(found.items) == "table" then parameter.schema, parameter.item_of = found.items, shared.root(list) end
end

-- What a loop's table computes beside its two functions.
local function others_of(self, given)
  local part = amount()
  for _, item in ipairs(given.items) do
    local name = item.key and item.key.kind == "string" and item.key.value
    if name ~= "step" and name ~= "done" and name ~= "goal" then part = add(part, value_of(self, item.value)) end
  end
  return part
end

-- What checking a goal costs once: the call of a judge. A command is one of execute_command.
local function goal_of(self, node, item)
  local given = item and bind.written(item)
  if not item or given.kind == "string" then
    if item then self.tools.execute_command = true end
    return amount()
  end
  local fields, open = nil, nil
  if given.kind == "table" then fields, open = fields_of(given) end
  if not fields or open.judge then return hidden(self, node, "the goal of 'loop' is not written out") end
  if fields.command or open.command then self.tools.execute_command = true end
  if not fields.judge then return amount() end
  return (named(self, node, tostring(fields.judge), { output = { type = "object" } }, {}))
end

local words = {
  agent = function(self, node) return add(rest_of(self, node, 1), asked(self, node)) end,
  map = function(self, node)
    give_item(self, node)
    return over_list(self, node, "map", call_of(self, node.arguments[2]))
  end,
  pipeline = function(self, node) return over_list(self, node, "pipeline", functions_of(self, node.arguments[2], "pipeline")) end,
  parallel = function(self, node) return add(functions_of(self, node.arguments[1], "parallel"), rest_of(self, node, 2)) end,
  race = function(self, node) return add(functions_of(self, node.arguments[1], "race"), rest_of(self, node, 2)) end,
  loop = function(self, node)
    local given = node.arguments[1] and bind.written(node.arguments[1])
    if not given or given.kind ~= "table" then return unknown(self, node, "the table of 'loop' is not written out") end
    local beside = add(others_of(self, given), rest_of(self, node, 2))
    local inner = add(add(call_of(self, bind.item(given, "step")), call_of(self, bind.item(given, "done"))), goal_of(self, node, bind.item(given, "goal")))
    local rounds = bind.item(given, "max") and lengths.option(node.arguments[1], "max") or not bind.item(given, "max") and ROUNDS
    if rounds then return add(beside, times(inner, rounds)) end
    return add(beside, unbounded(self, node, inner, "the 'max' of 'loop' is not written out"))
  end,
  budget = function(self, node)
    local inner = call_of(self, node.arguments[2])
    local given = node.arguments[1] and bind.written(node.arguments[1])
    local fields = given and given.kind == "table" and fields_of(given)
    return add(add(value_of(self, node.arguments[1]), rest_of(self, node, 3)), fields and within(inner, fields) or inner)
  end,
  ask_again = function(self, node) return add(rest_of(self, node, 1), dearest_asked(self)) end,
  step = function(self, node) return add(add(value_of(self, node.arguments[1]), rest_of(self, node, 3)), call_of(self, node.arguments[2])) end,
}
for _, name in ipairs { "phase", "report", "ask", "approve", "signal", "sleep_until", "checkpoint" } do
  words[name] = function(self, node) return rest_of(self, node, 1) end
end

-- ---- Modules ------------------------------------------------------------------------------------------------

--- Globals that run text, or functions of another program: the bound cannot follow them.
local opaque = { load = true, loadstring = true, loadfile = true, dofile = true, debug = true, package = true, _G = true, _ENV = true, coroutine = true }

-- Whether a module of the project asks no agents: it knows nothing of hocket but what is free.
local function is_plain(self, name)
  if self.modules[name] ~= nil then return self.modules[name] end
  self.modules[name] = true -- a circle of modules is as plain as the rest of them
  local dir, text = self.path:match "^(.*)/[^/]*$" or ".", nil
  for _, file in ipairs(script.module_files(name)) do text = text or file:find "%.lua$" and sources.read(dir .. "/" .. file) end
  local tree = text and parse(text)
  local plain = tree ~= nil
  local function look(node)
    if node.kind == "name" and (opaque[node.name] or node.name == "require") and not node.binding then plain = plain and node.allowed == true end
    if node.kind == "call" and node.fn.kind == "name" and node.fn.name == "require" then
      local module = bind.module(node)
      node.fn.allowed = module ~= nil and (shared.free[module] or not module:find "^hocket" and is_plain(self, module)) == true
    end
  end
  if tree then bind.each(bind.resolve(tree), look) end
  if tree and tree.replaced then plain = false end
  if plain then reach.add(tree, self.effects) end
  self.modules[name] = plain
  return plain
end

-- Whether a module's functions ask no agents.
local function is_counted(self, module)
  return shared.free[module] or not module:find "^hocket%f[.%z]" and is_plain(self, module)
end

local function require_of(self, node)
  local module = bind.module(node)
  if not module then return hidden(self, node, "a module whose name is not written out") end
  if module == "hocket" or module == bind.WORKFLOW or is_counted(self, module) then return amount() end
  if module:find "^hocket%f[.%z]" then return hidden(self, node, "what %s does is not counted", module) end
  return hidden(self, node, "the module '%s' is not there, or may ask agents itself: what it does is not counted", module)
end

-- ---- Expressions ------------------------------------------------------------------------------------------

-- pcall(f, …) calls f once; xpcall(f, handler, …) also the handler.
local function protected_call(self, node, functions)
  local first = node.arguments[1]
  local module, name = nil, nil
  if first then module, name = bind.member(first) end
  if module == bind.WORKFLOW and name ~= "" and functions == 1 then
    return value_of(self, { kind = "call", line = node.line, fn = first, arguments = table.move(node.arguments, 2, #node.arguments, 1, {}) })
  end
  local part = rest_of(self, node, functions + 1)
  for i = 1, functions do part = add(part, call_of(self, node.arguments[i])) end
  return part
end

-- A module, or one of its functions, as a value.
local function member_value(self, node)
  local module, name = bind.member(node)
  if not module or is_counted(self, module) then return nil end
  return hidden(self, node, "%s is handed on", module .. (name ~= "" and "." .. name or ""))
end

local function call(self, node)
  local module, name = bind.member(node.fn)
  if module == bind.WORKFLOW and words[name] then return words[name](self, node) end
  if module == bind.WORKFLOW and (name == "" or name == "new") then return rest_of(self, node, 1) end
  if module and not is_counted(self, module) then return hidden(self, node, "what %s does is not counted", module .. (name ~= "" and "." .. name or "")) end
  local global, field = shared.global(node.fn)
  if global == "require" then
    local other = member_value(self, node)
    return other or require_of(self, node)
  end
  if global == "pcall" and field == "" then return protected_call(self, node, 1) end
  if global == "xpcall" and field == "" then return protected_call(self, node, 2) end
  local fn, part = bind.meant(node.fn), rest_of(self, node, 1)
  if fn.kind == "function" then return add(part, function_of(self, fn)) end
  if module then return part end
  return add(part, value_of(self, node.fn))
end

local of_value = {
  name = function(self, node)
    if not node.binding and (opaque[node.name] or node.name == "require") then return hidden(self, node, "'%s' hides what runs", node.name) end
    local fn = bind.meant(node)
    if fn.kind == "function" then return handed_on(self, node, fn) end
    return node.binding and fn ~= node and member_value(self, node) or amount()
  end,
  index = function(self, node)
    local other = member_value(self, node)
    if other then return other end
    local module = bind.module(node.object)
    if module and not is_counted(self, module) then return hidden(self, node, "a function of %s whose name is not written out", module) end
    return add(value_of(self, node.object), value_of(self, node.key))
  end,
  paren = function(self, node) return value_of(self, node.value) end,
  unary = function(self, node) return value_of(self, node.value) end,
  binary = function(self, node) return add(value_of(self, node.left), value_of(self, node.right)) end,
  table = function(self, node)
    local part = amount()
    for _, item in ipairs(node.items) do
      if item.key then part = add(part, value_of(self, item.key)) end
      part = add(part, value_of(self, item.value))
    end
    return part
  end,
  ["function"] = function(self, node) return handed_on(self, node, node) end,
  call = call,
  method = function(self, node) return add(value_of(self, node.object), rest_of(self, node, 1)) end,
}

function value_of(self, node)
  local fn = node and of_value[node.kind]
  return fn and fn(self, node) or amount()
end

function values_of(self, list)
  local part = amount()
  for _, node in ipairs(list) do part = add(part, value_of(self, node)) end
  return part
end

-- ---- Statements -------------------------------------------------------------------------------------------

-- Other names of functions and words are followed where they are called.
local function is_followed(binding, value)
  if not binding or binding.assigned then return false end
  return bind.meant(value).kind == "function" or (bind.member(value)) == bind.WORKFLOW or (bind.member(value)) == "hocket"
end

local function local_of(self, node)
  local part = amount()
  for i, value in ipairs(node.values) do
    local binding = node.bindings and node.bindings[i]
    if value.kind == "call" and shared.global(value.fn) == "require" and binding and not binding.assigned then part = add(part, require_of(self, value))
    elseif not is_followed(binding, value) then part = add(part, value_of(self, value)) end
  end
  return part
end

local iterators = { ipairs = true, pairs = true }

-- The list that `for … in ipairs(list)` goes through.
local function iterated(node)
  local first = node.values[1]
  local name, field = nil, nil
  if first and first.kind == "call" then name, field = shared.global(first.fn) end
  return name and iterators[name] and field == "" and #node.values == 1 and first.arguments[1] or nil
end

local function give_loop_item(self, node, list)
  local found, item = lengths.schema_of(self.outputs, list), node.bindings and node.bindings[2]
  if item and type(found) == "table" and type(found.items) == "table" then item.schema, item.item_of = found.items, shared.root(list) end
end

local function branches_of(self, node)
  local conditions, dearest_one = amount(), amount()
  for _, branch in ipairs(node.branches) do
    if branch.condition then conditions = add(conditions, value_of(self, branch.condition)) end
    dearest_one = most(dearest_one, block_of(self, branch.body))
  end
  return add(conditions, dearest_one)
end

local function while_of(self, node)
  local part = add(value_of(self, node.condition), block_of(self, node.body))
  return unbounded(self, node, part, "'%s' has no bound: use loop { max = N, … }", node.kind)
end

local statements = {
  ["local"] = local_of,
  assign = function(self, node) return add(values_of(self, node.values), values_of(self, node.targets)) end,
  function_statement = function(self, node)
    local binding = node.target.kind == "name" and node.target.binding
    if node.is_local and binding and not binding.assigned then return amount() end
    return handed_on(self, node, node.value)
  end,
  ["do"] = function(self, node) return block_of(self, node.body) end,
  ["while"] = while_of, ["repeat"] = while_of,
  ["if"] = branches_of,
  ["for"] = function(self, node)
    local part, inner = values_of(self, node.range), block_of(self, node.body)
    local rounds = bind.rounds(node.range, function(list) return lengths.of(self.outputs, list) end)
    if rounds then return add(part, times(inner, rounds)) end
    return add(part, unbounded(self, node, inner, "'for' goes to a number that is not written out: use map with { max = N }"))
  end,
  ["in"] = function(self, node)
    local list = iterated(node)
    if list then give_loop_item(self, node, list) end
    local part, inner, rounds = values_of(self, node.values), block_of(self, node.body), list and lengths.of(self.outputs, list)
    if rounds then return add(part, times(inner, rounds)) end
    return add(part, unbounded(self, node, inner, "'for' over a list of unknown length: use map with { max = N }"))
  end,
  ["return"] = function(self, node) return values_of(self, node.values) end,
  ["goto"] = function(self, node)
    if self.labels[node.name] then return unknown(self, node, "'goto' back: use loop { max = N, … }") end
    return amount()
  end,
  label = function(self, node)
    self.labels[node.name] = true
    return amount()
  end,
}

function block_of(self, block)
  local part = amount()
  for _, node in ipairs(block) do
    local fn = statements[node.kind]
    part = add(part, fn and fn(self, node) or value_of(self, node))
  end
  for _, node in ipairs(block) do
    if node.kind == "label" then self.labels[node.name] = nil end
  end
  return part
end

-- ---- The whole ----------------------------------------------------------------------------------------------

-- The workflow's own function is called once, with what its schema has checked.
local function body_of(self, found, about)
  local fn, replaced = found.run, found.tree.replaced
  if not fn then return hidden(self, found.spec, "the function 'run' is not written out") end
  if replaced then return hidden(self, replaced, "'%s' gets another value: what it does is not counted", replaced.name) end
  self.tree = found.tree
  local input = fn.bindings[1]
  if input and about.input then input.schema = about.input end
  reach.add(found.tree, self.effects)
  local part = function_of(self, fn)
  for _, node in ipairs(found.tree) do -- what the file does when it is loaded
    if node.kind ~= "return" then part = add(part, statements[node.kind] and statements[node.kind](self, node) or value_of(self, node)) end
  end
  return part
end

local function is_many(n) return n >= bounds.MANY and n < INF end

local function whole(n) return math.tointeger(n) or n end

local function result_of(self, found, part)
  if is_many(part.calls) or is_many(part.agents) then part = unknown(self, found.spec, "10^15 model calls, or more") end
  table.sort(self.unbounded, function(a, b) return a.line < b.line end)
  return { agents = whole(part.agents), model_calls = whole(part.calls), tokens = whole(part.tokens), cost = not part.unpriced and part.cost or nil, dearest = self.dearest,
    unbounded = self.unbounded, unknown = sorted_keys(self.unknown), reaches = { agents = sorted_keys(self.agents), tools = sorted_keys(self.tools), by_agent = self.by_agent, script = not self.hides and sorted_keys(self.effects) or nil } }
end

--- The bound of a workflow's text.
---@param text string
---@param about {path: string, model?: string|string[], forced?: string, models?: table<string, string>, team?: table<string, hocket.Agent>, tools?: table<string, string|hocket.Tool>} model: of agents that name none. forced: of all agents of the run. models: by agent, before all others. team: the only agents that it may name. tools: what names of tools stand for.
---@return hocket.WorkflowBound?
---@return hocket.Error? err
function workflow_bound.of_text(text, about)
  local found, says = workflow_file.read(text) -- a tree of its own: what is marked in it is of this reading
  if not found then return nil, { code = "agent", message = ("%s:%d: %s"):format(about.path, says.line, says.message) } end
  local self = { path = about.path, model = about.model, forced = about.forced, models = about.models or {}, team = about.team, only = about.team ~= nil, stand_for = about.tools or {}, dearest = amount(), unbounded = {}, unknown = {},
    noted = {}, agents = {}, by_agent = {}, tools = {}, plans = {}, outputs = {}, active = {}, known = {}, modules = {}, labels = {}, effects = {} }
  being_read[about.path] = true
  local ok, part = pcall(body_of, self, found, says)
  being_read[about.path] = nil
  if not ok then error(part, 0) end
  return result_of(self, found, part)
end

--- The bound of a workflow's file.
---@param path string
---@param model? string Of agents that name none.
---@return hocket.WorkflowBound?
---@return hocket.Error? err
function workflow_bound.of(path, model)
  local about, err = workflow_file.about(path)
  if not about then return nil, err end
  return workflow_bound.of_text(assert(sources.read(path)), { path = path, model = model })
end

bounds.set_workflows(function(path)
  local found = not being_read[path] and workflow_bound.of(path)
  if not found or found.model_calls >= bounds.MANY then return nil end
  return { model_calls = math.ceil(found.model_calls), begun = math.ceil(found.agents) + 1 }
end)

--- What agents may use (bounds.of), with the workflows that they call.
---@param defs table<string, hocket.Agent>
---@param reaches? boolean
---@return table<string, hocket.Bounds>
function workflow_bound.of_team(defs, reaches) return bounds.of(defs, reaches) end

return workflow_bound
