--- The permission check of every tool call, independent of what the model says.
---
---     local hocket = require "hocket"
---     local guide = hocket.agent { name = "guide", prompt = "You know Lisbon.", tools = { "read_file", "write_file" } }
---     local allowed = hocket.permission.set { "read_file" }        -- only this, for the agent and all agents below it
---     print(hocket.orchestrate.call(guide, "What is in the notes?", { allowed = allowed }).text)
---
---     may the agent have it?      its file or its pattern lists it, the caller grants it, it exists
---     may it do this?             effects, labels and rules: allow, ask, deny (core/permission/permission.h)
---     ask                         a person, if there is one; otherwise the answer is deny
---
--- A denial always wins, and a caller can only reduce permissions: an agent that another agent calls gets what both its file
--- lists and its caller may grant.
local all_arguments = require "hocket.internal.base.arguments"
local arguments = all_arguments.check
local core = require "hocket.internal.core.permission"
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local approval_targets = require "hocket.internal.base.lazy" "hocket.internal.agents.approval_targets"
local policy = require "hocket.internal.base.lazy" "hocket.internal.run.policy"
local toolset = require "hocket.internal.session.toolset"
local labels = require "hocket.internal.base.labels"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local of_new = all_arguments.of("permission.new", "string", "table", "table?", "table?", "table?")

local permission = {}

local nothing, always = {}, { mode = true }

---@class hocket.Permissions
---@field package passes table<hocket.Tool, boolean> The ones that there is nothing to decide about, as long as there are no labels: nobody looks at their arguments. Where there are no rules they follow from the tools alone.
local Permissions = {}
Permissions.__index = Permissions

--- Turns a list of names into a set, for `allowed` in options.
---@param names string[]?
---@return table<string, boolean>?
function permission.set(names)
  arguments("permission.set", 1, "table?", names)
  if not names then return nil end
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

--- Returns the names that are in both sets. nil stands for everything.
---@param a table<string, boolean>?
---@param b table<string, boolean>?
---@return table<string, boolean>?
function permission.narrow(a, b)
  if a == nil and b == nil then return nil end -- as of most agents
  arguments("permission.narrow", 1, "table?", a)
  arguments("permission.narrow", 2, "table?", b)
  if not a or not b then return a or b end
  local both = {}
  for name in pairs(a) do both[name] = b[name] or nil end
  return both
end

-- Whether a rule has a condition, which looks at arguments.
local function has_conditions(layers)
  for _, layer in ipairs(layers) do
    for _, rule in ipairs(layer.rules) do
      if rule.match and rule.match ~= "" then return true end
    end
  end
  return false
end

-- As the core takes them: in order, without names.
local function for_core(layers)
  local list = {}
  for i, layer in ipairs(layers) do
    local rules = {}
    for j, rule in ipairs(layer.rules) do rules[j] = { rule.verdict, rule.tool, rule.argument or "", rule.match or false } end
    list[i] = { layer.kind, layer.name, layer.mode, rules }
  end
  return list
end

-- What the caller grants of some tools, and the names of the others.
local function split(tools, allowed)
  local given, withheld = {}, {}
  for _, one in ipairs(tools) do
    if allowed[one.name] or one.set and allowed[one.set] then given[#given + 1] = one else withheld[one.name] = true end
  end
  return given, withheld
end

--- Creates the permissions of one agent. `policy` has optional fields. `layers` are rules. `protect()` returns further protected
--- places, and as a second list the protected places (paths below the root) that the operator has granted. `labels` are the
--- conversation's. `named(address)` tells whether a person has named the host. `ask(about)` returns "allow" or "deny", and why.
--- `mode(tool)` returns why the run's mode forbids a tool now, or nil.
---@param agent string
---@param tools hocket.Tool[] The tools of its file and its pattern.
---@param allowed? table<string, boolean> What the caller grants, as names of tools or sets; nil: all of it.
---@param policy? {layers?: hocket.PolicyLayer[], protect?: (fun(): string[], string[]), labels?: hocket.Labels, named?: fun(address: string): boolean, ask?: fun(about: table): string, string?, mode?: (fun(tool: hocket.Tool): string?), modes?: {mode?: any}} modes: its field `mode` tells whether `mode` has anything to say now.
---@param known? hocket.Toolset The agent's previous set; it is used again if the tools are the same.
---@return hocket.Permissions
function permission.new(agent, tools, allowed, policy, known)
  of_new(agent, tools, allowed, policy, known)
  policy = policy or nothing
  local withheld, layers = nothing, policy.layers or nothing
  if allowed then tools, withheld = split(tools, allowed) end
  local own = toolset.of(tools, known)
  local places, grants = nothing, nothing
  if own.places and policy.protect then places, grants = policy.protect() end
  return setmetatable({
    agent = agent, toolset = own, by_name = own.by_name, tools = own.tools, withheld = withheld, calls = false, core = false, fits = false, bound = false, people = false,
    passes = #layers == 0 and own.passes or {},
    layers = layers, places = places, grants = grants,
    labels = policy.labels or labels.new(), ask = policy.ask, named = policy.named, mode = policy.mode or false, modes = policy.modes or always, conditions = #layers > 0 and has_conditions(layers),
  }, Permissions)
end

--- Adds a tool.
---@param one hocket.Tool
function Permissions:add(one)
  local tools = table.move(self.tools, 1, #self.tools, 1, {})
  tools[#tools + 1] = one
  self.toolset = toolset.of(tools)
  self.tools, self.by_name = self.toolset.tools, self.toolset.by_name
end

--- Replaces tools.
---@param gone table<string, string> Names of the removed tools, with the reason.
---@param list hocket.Tool[] The new tools. A tool replaces one of the same name.
---@internal
function Permissions:exchange(gone, list)
  local by_name, tools = {}, {}
  for _, one in ipairs(list) do by_name[one.name] = one end
  for _, one in ipairs(self.tools) do
    tools[#tools + 1] = by_name[one.name] or not gone[one.name] and one or nil
    by_name[one.name] = nil
  end
  for _, one in ipairs(list) do tools[#tools + 1] = by_name[one.name] end
  self.toolset, self.gone = toolset.of(tools), gone
  self.tools, self.by_name = self.toolset.tools, self.toolset.by_name
end

--- Returns the tool if the agent may call it; otherwise nil and the reason, in words for the model.
---@param name string
---@return hocket.Tool? tool
---@return string? reason
---@internal
function Permissions:tool(name)
  local one = self.by_name[name]
  if one then return one end
  local names = {}
  for i, known in ipairs(self.tools) do names[i] = known.name end
  local rest = #names > 0 and table.concat(names, ", ") or "none"
  if self.withheld[name] then
    return nil, ("'%s' was not granted to %s by its caller. The tools are: %s."):format(name, self.agent, rest)
  end
  local why = self.gone and self.gone[name]
  return nil, ("there is no tool '%s'%s. The tools are: %s."):format(name, why and " any more: " .. why or "", rest)
end

local function as_text(value)
  if type(value) == "string" then return value end
  return type(value) == "table" and json.encode(value) or tostring(value)
end

-- Where links lead the world says: a replay has what it said then.
local function read_paths(one, args)
  if not one.reads then return nothing end
  return effects.value("reads", { tool = one.name, asked = effects.asked(args) }, one.reads, args)
end

-- Arguments as the core reads them: name, value, what it is; a list gives one entry for each element. What is read stands
-- behind them once more, by its real path.
local function flatten(one, args)
  local list, places, kinds = {}, one.places or nothing, one.kinds or nothing
  for _, name in ipairs(sorted_keys(args)) do -- of several places the reason names the first
    local value = args[name]
    local kind = places[name] and "place" or kinds[name] or false
    local values = type(value) == "table" and #value > 0 and value or { value }
    for _, item in ipairs(values) do
      local n = #list
      list[n + 1], list[n + 2], list[n + 3] = tostring(name), as_text(item), kind
    end
  end
  for _, path in ipairs(read_paths(one, args)) do
    local n = #list
    list[n + 1], list[n + 2], list[n + 3] = "(read)", path, "read"
  end
  return list
end

local READS, RUNS = labels.effects.read, labels.effects.run

-- Nobody looks at the arguments of most calls.
local function arguments_for(self, one, args)
  return (self.conditions or one.places or one.reads) and flatten(one, args) or nothing
end

-- Whether what a call sends goes where a person has named.
local function is_known_host(self, one, args)
  local to = one.sends_to and one.sends_to(args)
  return to == true or type(to) == "string" and self.named ~= nil and self.named(to)
end

-- A rule that fits no call of a tool, since that has no such argument: why.
local function misfit_of(self, one)
  if not self.conditions then return nil end
  self.fits = self.fits or {}
  if self.fits[one] then return nil end
  for _, layer in ipairs(self.layers) do
    for _, rule in ipairs(layer.rules) do
      local wrong = rule.tool == one.name and approval_targets.misfit_of(rule, one)
      if wrong then return ("%s: %s"):format(layer.name, wrong) end
    end
  end
  self.fits[one] = true
end

--- Finds errors in the rules for its tools. Rules about tools that come later, such as a server's, are checked at their calls.
---@return string?
---@internal
function Permissions:misfit()
  for _, one in ipairs(self.conditions and self.tools or nothing) do
    local wrong = misfit_of(self, one)
    if wrong then return wrong end
  end
end

-- What the core says of a call.
local function decide(self, one, args, as_text)
  local forbidden = self.mode and self.mode(one)
  if forbidden then return "deny", forbidden end
  self.core = self.core or core.new(for_core(self.layers), self.places, self.grants) -- most agents call no tool
  local looked_at = arguments_for(self, one, args)
  local verdict, reason, each = self.core:decide(self.agent, one.name, one.subject or "", looked_at, one.effect_bits or 0,
    self.labels.bits, is_known_host(self, one, args), as_text)
  return verdict, reason, each, looked_at == nothing
end

-- A run that went on in another process, or under another policy, may be bound by more than it was, and be allowed less (internal/run/policy.lua).
local function renew(self, here)
  local more, people = policy.bound(here or effects.around() or false)
  more, people = more or false, people or false
  if more == self.bound and people == self.people then return end
  self.own_layers = self.own_layers or self.layers
  self.bound, self.people, self.core, self.passes, self.fits = more, people, false, {}, false
  local layers = policy.now(self.own_layers, people)
  self.layers = table.move(layers, 1, #layers, 1, {})
  if more then table.move(more, 1, #more, #self.layers + 1, self.layers) end
  self.conditions = has_conditions(self.layers)
end

local function refuse(one, emit, reason)
  emit("tool_denied", { tool = one.name, reason = reason })
  return nil, ("'%s' was not allowed: %s. It was not done. Do without it, or say what you would need and why."):format(one.name, reason)
end

-- The core's reason for what nobody and nothing has a say in.
local NO_WORD = "needs no approval"

local function does_more_than_read(one)
  return one.effect_bits ~= nil and one.effect_bits & ~READS ~= 0
end

local function used_up(self, one)
  self.calls = self.calls or {}
  local count = (self.calls[one.name] or 0) + 1
  self.calls[one.name] = count
  return count > one.max_calls
end

--- Arguments that a person or a hook gives in place of a call's own: put right and checked as those were.
---@param one hocket.Tool
---@param args table
---@return table? fitted
---@return string? wrong
---@internal
function permission.fit(one, args)
  local ok, value = pcall(one.prepare or function() return args end, args)
  if not ok then return nil, "the arguments cannot be used: " .. (type(value) == "table" and value.message or tostring(value)) end
  local fits, why = one.check(value)
  return fits and value or nil, why
end

-- Asks for leave. Rules are checked for what is going to be done: what they forbid no answer allows.
local function ask(self, one, args, reason, each)
  local verdict, why, changed = self.ask { agent = self.agent, tool = one.name, arguments = args, reason = reason, of = one,
    labels = self.labels.bits, each = each, fit = function(other) return permission.fit(one, other) end }
  if verdict == "allow" and changed then
    local again, forbidden = decide(self, one, changed)
    if again == "deny" then return "deny", forbidden end
  end
  return verdict, why, changed
end

--- Decides about a call whose arguments have been checked. It may wait for a person. Each decision is an event, with one
--- exception: a tool that only reads or declares no effect, when there is no untrusted text, no rule and no person
--- to ask. The call's own event is enough then.
---@async
---@param one hocket.Tool
---@param args table
---@param emit fun(type: string, payload: table)
---@param as_text? boolean The model wrote the call as text. Beside untrusted text such a call needs a person's approval.
---@return boolean? allowed
---@return string? reason In words for the model.
---@return table? changed Arguments from a person, which replace the call's.
function Permissions:check(one, args, emit, as_text)
  renew(self)
  if self.passes[one] and self.labels.bits & labels.STRANGE == 0 and not (self.modes.mode and self.mode and self.mode(one)) then return true end
  if one.max_calls and used_up(self, one) then
    return refuse(one, emit, ("it may be called %d times at most"):format(one.max_calls))
  end
  local wrong = misfit_of(self, one)
  if wrong then return refuse(one, emit, wrong) end
  local verdict, reason, each, unseen = decide(self, one, args, as_text)
  local changed
  if verdict == "deny" then return refuse(one, emit, reason) end
  if verdict == "ask" then
    local asked = reason
    if not self.ask then return refuse(one, emit, asked .. ", and nobody is there to ask") end
    verdict, reason, changed = ask(self, one, args, asked, each)
    if verdict ~= "allow" then return refuse(one, emit, ("%s; %s"):format(asked, reason or "it was not approved")) end
    reason = ("approved (%s)"):format(reason or asked)
  end
  if reason ~= NO_WORD or self.labels.bits & labels.STRANGE ~= 0 or does_more_than_read(one) then
    emit("tool_allowed", { tool = one.name, reason = reason })
  elseif unseen and not one.max_calls then
    self.passes[one] = true
  end
  return true, nil, changed
end

--- Tells whether the current rules still allow, without a question, a call that was allowed and has not begun.
---@param one hocket.Tool
---@param args table
---@param here table The run: see effects.here.
---@return boolean
---@internal
function Permissions:may_begin(one, args, here)
  renew(self, here)
  return decide(self, one, args) == "allow"
end

--- Tells whether a call may continue at another place, as after a redirect. It asks nobody: if it is not allowed, the model
--- can make a call of its own.
---@param one hocket.Tool
---@param args table The arguments for the other place.
---@param same boolean The host is the one that was allowed.
---@return boolean
---@return string reason
---@internal
function Permissions:may_go_on(one, args, same)
  renew(self)
  local verdict, reason = decide(self, one, args)
  return verdict == "allow" or same and verdict == "ask", reason
end

local function mark(self, bits, tool, emit)
  local fresh = bits & ~self.labels.bits
  if fresh == 0 then return end
  self.labels:add(bits)
  emit("labels_added", { labels = json.array(labels.names(fresh)), tool = tool })
end

--- Records that untrusted text came into the conversation.
---@param name "web"|"outside"|"server"|"private"|integer A label, or bits of labels.
---@param tool string
---@param emit fun(type: string, payload: table)
---@internal
function Permissions:label(name, tool, emit)
  mark(self, math.type(name) == "integer" and name or labels.bit(name), tool, emit)
end

--- Records that a call's result came into the conversation. A tool that declares no effect may pass on what other agents of
--- the run have read. A tool that reads or runs programs gives private data.
---@param one hocket.Tool
---@param emit fun(type: string, payload: table)
---@internal
function Permissions:took_result(one, emit)
  local effects, bits = one.effect_bits, 0
  if one.taints then bits = labels.bit(one.taints) elseif not effects then bits = self.labels:of_run() end
  if effects and effects & (READS | RUNS) ~= 0 then bits = bits | labels.PRIVATE end
  if bits ~= 0 then mark(self, bits, one.name, emit) end
end

return permission
