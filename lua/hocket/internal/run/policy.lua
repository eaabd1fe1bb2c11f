--- Who says what about tool calls: the layers of rules that permissions are decided by.
---
---     operator   HOCKET_APPROVE, of whoever runs the host: words and rules, separated by commas; and the machine's policy
---     run        the option `approve` of the run (--approve); before it what binds a run that has submitted it (its option `rules`)
---     agent      `approve:` of each agent's file on the way to the one that calls
---
--- A run that is kept has the operator's word that it began with, or a replay would decide otherwise. Where it goes on under
--- another one both bind it from there on (`bind`): who runs the host says what can be given there.
---
--- A rule is a tool's name, or one with a glob for its main argument or for a named one:
--- `move_file`, `execute_command(git *)`, `write_file(path=docs/*)`.
local account = require "hocket.internal.models.account"
local machine_policy = require "hocket.internal.models.machine_policy"
local policy_file = require "hocket.internal.base.lazy" "hocket.internal.models.policy_file"
local rules = require "hocket.internal.agents.approval_rules"
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local trim = require "hocket.internal.base.trim"

local policy = {}

---@class hocket.PolicyLayer What one of them says.
---@field kind "operator"|"run"|"agent"
---@field name string For messages.
---@field mode "allow"|"ask"|"deny"|"" For whatever has no rule.
---@field rules {verdict: "allow"|"ask"|"deny", tool: string, argument?: string, match?: string}[]

local verdicts = { allow = true, ask = true, deny = true }

--- Reads what stands behind --approve: `allow`, or `RULE=allow`.
---@param text string
---@return string? verdict
---@return {tool: string, argument?: string, match?: string}? rule nil: for whatever has no rule
---@return string? wrong
function policy.word(text)
  if verdicts[text] then return text end
  local before, verdict = text:match "^(.+)=%s*(%a+)%s*$"
  if not verdict or not verdicts[verdict] then
    return nil, nil, ("'%s': expected allow, ask or deny, or RULE=allow, as in 'execute_command(git *)=allow'"):format(text:sub(1, 80))
  end
  local rule, wrong = rules.rule(before)
  if not rule then return nil, nil, ("'%s' %s"):format(before:sub(1, 80), wrong) end
  return verdict, rule
end

local function rule_of(verdict, rule)
  return { verdict = verdict, tool = rule.tool, argument = rule.argument, match = rule.match }
end

-- A layer from words. The last word without a rule counts.
local function layer_of(kind, name, words)
  local mode, list = "", {}
  for _, text in ipairs(words) do
    local verdict, rule, wrong = policy.word(text)
    if wrong then return nil, { code = "invalid", message = ("%s: %s"):format(name, wrong) } end
    if rule then list[#list + 1] = rule_of(verdict, rule) else mode = verdict end
  end
  return { kind = kind, name = name, mode = mode, rules = list }
end

-- Commas separate, those in brackets do not.
local function split(text)
  local words, depth, from = {}, 0, 1
  for at, c in text:gmatch "()([(),])" do
    depth = depth + (c == "(" and 1 or c == ")" and -1 or 0)
    if c == "," and depth <= 0 then
      words[#words + 1] = text:sub(from, at - 1)
      from, depth = at + 1, 0
    end
  end
  words[#words + 1] = text:sub(from)
  local list = {}
  for _, word in ipairs(words) do
    word = trim.both(word)
    if word ~= "" then list[#list + 1] = word end
  end
  return list
end

local POLICY = "the machine's policy"

-- Of what the host says of HOCKET_APPROVE: the variable, and below it a line for each layer of the machine's policy.
local function operator_layers(text)
  local list, name = {}, "HOCKET_APPROVE"
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    if line ~= "" then
      local layer, err = layer_of("operator", name, split(line))
      if not layer then return nil, err end
      list[#list + 1] = layer
    end
    name = POLICY
  end
  return list
end

-- What a run that is kept has of its operators: `operator`, the word that it began with; `said`, all words; `bound`, layers
-- of the later ones. All of it is data: a checkpoint has it, too, or who goes on from there would be bound by less.
local function own_of(here)
  here.policy = here.policy or {}
  return here.policy
end

--- What the operator says.
---@return string?
function policy.operator()
  local here = effects.around()
  local own = here and own_of(here)
  if not own or own.operator == nil and not effects.here() then return system.getenv "HOCKET_APPROVE" end
  if own.operator == nil then own.operator = sources.variable "HOCKET_APPROVE" or false end
  return own.operator or nil
end

--- Reads a policy of the machine, with the words of its `approve`.
---@param text string
---@param file string
---@return hocket.MachinePolicy?
---@return string? wrong
function policy.read_machine(text, file)
  local made, wrong = policy_file.read(text, file)
  for _, words in ipairs(made and made.approve or {}) do
    local layer, err = layer_of("operator", "approve", words)
    if not layer then return nil, ("%s:%d: %s"):format(file, made.lines.approve, err.message) end
  end
  return made, wrong
end

--- As machine_policy.set, with these words read: a rule that nobody understands would bind nothing.
---@param list {name: string, text: string}[]
---@param again? boolean
---@return true?
---@return string? wrong
function policy.set_machine(list, again)
  return machine_policy.set(list, again, policy.read_machine)
end

local later = setmetatable({}, { __mode = "k" }) -- by the words of a policy: its layers, always the same list

-- For a run that is not kept: what the machine's policies said when it began, and have said since. A kept run gets them by bind.
local function since_it_began()
  if not machine_policy.was_replaced() then return nil end
  local words = machine_policy.since((account.here()))
  if not words then return nil end
  local layers = later[words]
  if not layers then
    layers = {}
    for i, list in ipairs(words) do
      local layer, err = layer_of("operator", POLICY, list)
      layers[i] = layer or { kind = "operator", name = err.message, mode = "deny", rules = {} }
    end
    later[words] = layers
  end
  return layers
end

--- Layers that bind a run that went on under another operator's word: a list that is never changed; nil: none do. And
--- those of operator and run that hold since other options came, in the place of others; nil: none came.
---@param here? table|false The run (effects.here), for who is outside of it; false: none is kept.
---@return table[]?
---@return hocket.PolicyLayer[]? people
function policy.bound(here)
  if here == nil then here = effects.around() end
  if not here then return since_it_began() end
  local own = here.policy
  if own then return own.bound, own.people end
end

--- The same text for people.
---@param text string
---@return string
function policy.shown(text)
  local own, more = text:match "^([^\n]*)\n(.*)$"
  if not own then return text end
  more = ("%s %s"):format(POLICY, more:gsub("\n", " and "))
  return own == "" and more or own .. " and " .. more
end

--- The run goes on where the operator says this. Returns whether that is something that nobody has said before.
---@param text string
---@return boolean
function policy.bind(text)
  local own = own_of(effects.here())
  own.said = own.said or { [policy.operator() or ""] = true }
  if own.said[text] then return false end
  own.said[text] = true
  local layers, err = operator_layers(text)
  layers = layers or { { kind = "operator", name = err.message, mode = "deny", rules = {} } }
  own.bound = table.move(own.bound or {}, 1, #(own.bound or {}), 1, {})
  table.move(layers, 1, #layers, #own.bound + 1, own.bound)
  return true
end

-- ---- Consent that counts no more (internal/run/consent.lua) ---------------------------------------

local function denies(name)
  return { kind = "run", name = name, mode = "deny", rules = {} }
end

-- What a layer forbids, or asks for: nil where that is nothing. An agent's lifts nothing, and stays as it is.
local function forbids(layer)
  if layer.kind == "agent" then return layer end
  local rules = {}
  for _, rule in ipairs(layer.rules) do
    if rule.verdict ~= "allow" then rules[#rules + 1] = rule end
  end
  local mode = layer.mode ~= "allow" and layer.mode or ""
  return (mode ~= "" or #rules > 0) and { kind = layer.kind, name = layer.name, mode = mode, rules = rules } or nil
end

--- The same layers without what they allow. A record's may be anything: what is no layer denies all.
---@param layers any
---@return hocket.PolicyLayer[]
function policy.narrowed(layers)
  local list = {}
  for _, layer in ipairs(type(layers) == "table" and layers or {}) do
    local ok, left = pcall(forbids, layer)
    if not ok then left = denies "a rule that cannot be read" end
    list[#list + 1] = left
  end
  return list
end

-- Of a record's options, which may be anything.
local function layers_of_options(options)
  local rules, words = type(options.rules) == "table" and options.rules or {}, options.approve
  local layers = table.move(rules, 1, #rules, 1, {})
  if words == nil then return layers end
  local ok, layer = pcall(layer_of, "run", "--approve", type(words) == "table" and words or { words })
  if ok and layer.mode == "" and #layer.rules == 0 then return layers end -- says nothing
  layers[#layers + 1] = ok and layer or denies "an option 'approve' that cannot be read"
  return layers
end

--- What a run's own options forbid.
---@param options {approve?: string|string[], rules?: hocket.PolicyLayer[]}
---@return hocket.PolicyLayer[]
function policy.forbidding(options)
  return policy.narrowed(layers_of_options(options))
end

--- Whether they allow anything.
---@param options {approve?: string|string[], rules?: hocket.PolicyLayer[]}
---@return boolean
function policy.allows(options)
  local layers = layers_of_options(options)
  return json.encode(layers) ~= json.encode(policy.narrowed(layers))
end

--- How often other options came to hold for the run that `here` (effects.here) is: what was decided before each time counts no more.
---@param here? table
---@return integer
function policy.cuts(here)
  return here and here.policy and here.policy.cuts or 0
end

--- Layers that somebody began with, as they hold now.
---@param layers hocket.PolicyLayer[]
---@param people? hocket.PolicyLayer[]|false As policy.bound gives them.
---@return hocket.PolicyLayer[]
function policy.now(layers, people)
  if not people then return layers end
  local left = policy.narrowed(layers)
  return table.move(left, 1, #left, #people + 1, table.move(people, 1, #people, 1, {}))
end

local function set_people(own, options)
  local layers, err = policy.of_run(options)
  own.people = layers or { denies(err.message) }
end

--- The options of a run that went on have changed: so have these layers.
---@param options table
function policy.renew(options)
  local here = effects.here()
  if here and here.policy and here.policy.people then set_people(here.policy, options) end
end

--- Other options hold for a run from here on: `left`. Of what it was allowed before nothing counts, unless that says so.
---@param was table Its options before.
---@param left table
---@param said {counts: boolean, operator?: string, given: table}
function policy.cut(was, left, said)
  local own = own_of(effects.here())
  own.cuts = (own.cuts or 0) + 1
  local given = said.counts and { layers_of_options { approve = said.given.approve }[1] } or {}
  own.bound = table.move(given, 1, #given, #(own.bound or {}) + 1, table.move(own.bound or {}, 1, #(own.bound or {}), 1, {}))
  if said.counts then return end
  local before = policy.of_run(was) or {}
  own.bound = policy.narrowed(table.move(own.bound, 1, #own.bound, #before + 1, before))
  own.operator, own.said = said.operator or false, { [said.operator or ""] = true }
  set_people(own, left)
end

--- The layers that hold for a whole run.
---@param options {approve?: string|string[], rules?: hocket.PolicyLayer[]}
---@return table[]? layers
---@return hocket.Error?
function policy.of_run(options)
  local layers = {}
  local operator = policy.operator()
  if operator then
    local own, err = operator_layers(operator)
    if not own then return nil, err end
    layers = own
  end
  for _, layer in ipairs(options.rules or {}) do layers[#layers + 1] = layer end
  local words = options.approve
  if words == nil then return layers end
  if type(words) == "string" then words = { words } end
  if type(words) ~= "table" then return nil, { code = "invalid", message = "the option 'approve' must be a text or a list of texts" } end
  local layer, err = layer_of("run", "--approve", words)
  if not layer then return nil, err end
  layers[#layers + 1] = layer
  return layers
end

-- What a layer says, whoever has read it.
local function words_of(layer)
  local list = { layer.kind, layer.name, layer.mode }
  for _, rule in ipairs(layer.rules) do
    list[#list + 1] = ("%s %s %q %q"):format(rule.verdict, rule.tool, rule.argument or "", rule.match or "")
  end
  return table.concat(list, "\n")
end

--- Every policy that binds what is asked for now, as data: they also bind a run that is submitted from here, whatever else it says. Each
--- once: runs that submit one another have no more of them each time.
---@param run? hocket.Run
---@param of_agent? hocket.PolicyLayer[] Of the agent at work, which has those of the run.
---@return hocket.PolicyLayer[]?
---@return hocket.Error?
function policy.going_along(run, of_agent)
  local bound, people = policy.bound()
  local layers, err = of_agent and policy.now(of_agent, people), nil
  if not layers then layers, err = policy.of_run(run and run.options or {}) end
  if not layers then return nil, err end
  local list, seen = {}, {}
  for _, from in ipairs { layers, bound or {} } do
    for _, layer in ipairs(from) do
      local words = words_of(layer)
      if not seen[words] then list[#list + 1] = layer end
      seen[words] = true
    end
  end
  return list
end

local stricter = { [""] = 0, allow = 1, ask = 2, deny = 3 }

--- What the operator and the run say for everything that no rule names: the stricter word of both; nil: nothing.
---@param options {approve?: string|string[]}
---@return "allow"|"ask"|"deny"|nil
---@return hocket.Error?
function policy.general(options)
  local layers, err = policy.of_run(options)
  if not layers then return nil, err end
  local word = ""
  for _, list in ipairs { layers, policy.bound() or {} } do
    for _, layer in ipairs(list) do
      if stricter[layer.mode] > stricter[word] then word = layer.mode end
    end
  end
  return word ~= "" and word or nil
end

--- An agent's layer from its file.
---@param def hocket.Agent
---@return table? layer
function policy.of_agent(def)
  if not def.approve then return nil end
  local list = {}
  for _, verdict in ipairs { "deny", "ask", "allow" } do
    for _, rule in ipairs(def.approve[verdict] or {}) do list[#list + 1] = rule_of(verdict, rule) end
  end
  return { kind = "agent", name = "the agent " .. def.name, mode = "", rules = list }
end

return policy
