--- Tools: functions that a model may call. A tool has a name, a description, a JSON Schema of its arguments, and a function.
---
---     local hocket = require "hocket"
---     local stock = hocket.tool {
---       name = "stock", description = "How many of a part there are",
---       parameters = { type = "object", required = { "part" }, properties = { part = { type = "string" } } },
---       effects = { "read" },
---       run = function(args) return args.part == "screw" and 7 or nil, "there is no such part" end,
---     }
---     local clerk = hocket.agent { name = "clerk", prompt = "You answer questions on the stock.", tools = { stock } }
---     print(hocket.run(clerk, "How many screws are there?").text)
---
--- A toolset is a name for `tools:` in agent files; it makes the tools for one working agent. See docs/guides/tools.md.
local arguments = require("hocket.internal.base.arguments").check
local former_words = require "hocket.internal.base.lazy" "hocket.internal.agents.former_words"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local labels = require "hocket.internal.base.labels"
local llm = require "hocket.internal.core.llm"
local registered = require "hocket.internal.base.script.names"
local schema = require "hocket.schema"
local failed = require("hocket.internal.core.system").error
local sorted_keys = require "hocket.internal.base.sorted_keys"

local tool = {}

---@class hocket.ToolSpec What a tool is made of.
---@field name string 1 to 64 of [A-Za-z0-9_-].
---@field description string What it does, for the model.
---@field parameters? table JSON Schema of the arguments, an object.
---@field run fun(args: table, ctx: table): any, any Result for the model (text, or anything JSON can hold), or `nil, error`.
---@field prepare? fun(args: table, ctx?: table): table Gets all arguments before they are checked, and corrects them. ctx: as for `run`, without what belongs to one call; nil where a person gives other arguments.
---@field repair? fun(args: table): table Corrects arguments that do not fit the schema; cheaper than `prepare`, which always runs.
---@field timeout? number Seconds.
---@field quiet? boolean No `tool_call` event.
---@field fence? {[1]: string, [2]: string, empty?: string} Puts results into a fence, because they are other agents' words: the kind, and the author; `empty`: the tool's own text for no result.
---@field effects? string[] `read`, `write` (below the root), `run` (programs), `send` (requests), `fetch` (gets something from elsewhere), `open` (on the user's screen), `elsewhere` (changes things outside the root). None: a tool of your own responsibility.
---@field taints? "web"|"outside"|"server"|"private" The origin of its results, if they are untrusted or confidential. Tools that read or run are `private` anyway.
---@field package former? string Built in only: the row of its words in internal/agents/former_words.lua. What its arguments are only checked against is not declared.
---@field says? string The argument whose text other agents receive; reasoning in it (`<think>…</think>`) is removed.
---@field subject? string The argument that plain globs in approval rules match.
---@field places? table<string, boolean> The arguments with paths that it changes.
---@field kinds? table<string, "command"|"url"> The arguments that rules parse: shell command lines, and addresses (which `prepare` has to normalize).
---@field reads? fun(args: table): string[] The paths whose content it shows or sends elsewhere; paths of credentials ask.
---@field sends_to? fun(args: table): string|true Where a fetching tool sends its request: an address, or true for a place that the operator has configured.
---@field max_calls? integer The most calls in one conversation.
---@field serial? boolean Never two calls at once in one conversation.
---@field conflicts? fun(args: table): string[], string[]? Names of what a call changes, and of what it only reads. Calls of one turn that share a name run one after the other, if one of them changes it.
---@field preview? fun(args: table): hocket.Preview? The change that a call would make to a file, for approval; nil if there is none. Approving it approves the call.
---@field steps? boolean In a durable run, the log stores its inner calls one by one (agents, model calls, hocket.http …), and a replay calls its function again. Otherwise a call is one effect, which happens once.
---@field idempotent? boolean A call that was interrupted by the end of a process may be made again, with the same `ctx.effect_id` as idempotency key.
---@field reconcile? fun(args: table, ctx: table, intent: any): any, any Called after an interrupted call: returns its result, as `run` does, or nil if it did not take effect; then it is made.
---@field intent? fun(args: table): any In a durable run, called before each call: returns data about the planned effect (a hash of the result, for example), which `reconcile` receives.
---@field source? fun(args: table): string? For a tool that only reads: a text that stays the same as long as a call would bring the same (a version, a hash). A plan's agents then use what the planner has read with it. nil: nobody knows.
---@field recall? fun(args: table, ctx: table, kept: any) In a durable run, called after each call, also in a replay, where `run` is not called: receives the data that `run` passed to `ctx.keep(data)`, to restore the tool's memory.

---@class hocket.Tool: hocket.ToolSpec A tool that was made.
---@field set? string The name in `tools:` that provided it.
---@field schema userdata The compiled schema of the arguments.
---@field check fun(args: any, json?: string): boolean, string? Whether the arguments fit, or the reason.

---@class hocket.Preview What would become of a file, as it is now.
---@field path string
---@field kind "create"|"change"|"move"
---@field from? string For a move: the present path.
---@field before? string The present content; nil if it is unknown, or for a move.
---@field after? string The new content.
---@field note? string More information for a person.
---@field refused? string Why the call would fail without a change.

local fields = {
  name = "string", description = "string", parameters = "table", run = "function",
  prepare = "function", repair = "function", timeout = "number", quiet = "boolean", fence = "table", effects = "table", taints = "string", says = "string", subject = "string",
  places = "table", kinds = "table", reads = "function", sends_to = "function", max_calls = "number", serial = "boolean", conflicts = "function",
  preview = "function", former = "string",
  steps = "boolean", idempotent = "boolean", reconcile = "function", intent = "function", recall = "function", source = "function",
}

local bit_of_effect = labels.effects

local function effect_bits(def)
  if not def.effects then return nil end
  local bits = 0
  for _, name in ipairs(def.effects) do
    bits = bits | (bit_of_effect[name]
      or error(("unknown effect '%s' of tool '%s' (there are: elsewhere, fetch, open, read, run, send, write)"):format(tostring(name), def.name), 3))
  end
  return bits
end

local READS = bit_of_effect.read | bit_of_effect.fetch

local function check_fields(def, level)
  if type(def) ~= "table" then
    error(("bad argument #1 to 'tool' (a table expected, got %s)"):format(type(def)), level)
  end
  for key, value in pairs(def) do
    if not fields[key] then
      error(("unknown field '%s' in a tool (there are: %s)"):format(tostring(key), table.concat(sorted_keys(fields), ", ")), level)
    elseif type(value) ~= fields[key] then
      error(("bad field '%s' in a tool (%s expected, got %s)"):format(key, fields[key], type(value)), level)
    end
  end
  for _, key in ipairs { "name", "description", "run" } do
    if def[key] == nil then error(("field '%s' is missing in a tool"):format(key), level) end
  end
  if def.source and (not def.effects or effect_bits(def) & ~READS ~= 0) then
    error(("bad field 'source' of tool '%s' (only a tool that declares to read or fetch, and nothing else, has one)"):format(def.name), level)
  end
  if #def.name > 64 or not def.name:find "^[%w_-]+$" then
    error(("bad tool name '%s' (1 to 64 of A-Z a-z 0-9 _ - expected)"):format(def.name), level)
  end
end

-- The function of a tool whose argument `says` goes to other agents: without what is only thought.
local function speaking(def)
  local name, run = def.says, def.run
  return function(args, ctx)
    local said = args[name]
    local spoken = type(said) == "string" and llm.spoken(said) or said
    if spoken == said then return run(args, ctx) end
    if not spoken:find "%S" then
      return nil, { code = "invalid", message = ("'%s' has nothing but what you have thought: say what the other is to know, behind the closing tag"):format(name) }
    end
    local copy = {}
    for key, value in pairs(args) do copy[key] = value end
    copy[name] = spoken
    return run(copy, ctx)
  end
end

-- A schema is compiled and written once for each table: tools that are made for every agent at work
-- share theirs. The table is not to be changed afterwards.
local known_schemas = setmetatable({}, { __mode = "k" })
local no_parameters = { type = "object", properties = {} }

--- Makes a tool. Several tools may share a table of parameters, which must not be changed.
---@param def hocket.ToolSpec
---@return hocket.Tool
function tool.new(def)
  check_fields(def, 3)
  local parameters = def.parameters or no_parameters
  local known = known_schemas[parameters]
  local compiled, err = known and known.compiled
  if not known then
    compiled, err = schema.compile(parameters)
    if not compiled then
      error(("the parameters of tool '%s' are no JSON Schema: %s"):format(def.name, err.message), 2)
    end
    known_schemas[parameters] = { compiled = compiled }
  end
  return {
    name = def.name, description = def.description, parameters = parameters, run = def.says and speaking(def) or def.run, says = def.says,
    prepare = def.prepare, repair = def.repair, timeout = def.timeout, quiet = def.quiet or false, fence = def.fence or false,
    effects = def.effects, effect_bits = effect_bits(def), taints = def.taints and labels.bit(def.taints) and def.taints,
    subject = def.subject, places = def.places, kinds = def.kinds, reads = def.reads, sends_to = def.sends_to, max_calls = def.max_calls, serial = def.serial, conflicts = def.conflicts,
    preview = def.preview, former = def.former,
    steps = def.steps or false, idempotent = def.idempotent or false, reconcile = def.reconcile, intent = def.intent, recall = def.recall, source = def.source,
    schema = compiled, check = function(args, text) return compiled:check(args, nil, text) end,
  }
end

local sets = registered.new()

--- Registers a name for `tools:` in agent files; `KIND:NAME` stands for all names that begin with `KIND:`. `make(env, name)` returns one tool or a list of tools for one working agent; env has
--- `agent`, `team`, `board`, `document`, `run`, `task_ids`. A toolset that calls the agent's team itself sets `env.leads = true`: the
--- agent then gets no `delegate` by default, and its text beside calls becomes `facilitator_message` events. A run finds what its own
--- script registered, whatever others register.
---@param name string
---@param make? fun(env: table, name: string): hocket.Tool|hocket.Tool[] Nil removes the name.
---@param parameters? fun(): table For a name of one tool: the JSON Schema of its arguments, so that rules for it can be checked before it is made.
function tool.set(name, make, parameters)
  if type(name) ~= "string" or name == "" then error(("tool.set: a name is expected, not a %s"):format(type(name)), 2) end
  for what, given in pairs { make = make, parameters = parameters } do
    if type(given) ~= "function" then error(("tool.set '%s': %s has to be a function, not a %s"):format(name, what, type(given)), 2) end
  end
  sets:set(name, make and { make = make, parameters = parameters })
end

-- What a name stands for: `workflow:audit` for what is registered as `workflow:NAME`.
local function find(name)
  return sets:get(name) or sets:get((name:gsub("^(%w+:).+$", "%1NAME")))
end

--- Says what one call of tools with such names may ask of agents: for limits that follow from files.
---@param name string
---@param bound fun(path: string): hocket.PlanBound?, string?
---@internal
function tool.set_bound(name, bound)
  sets:get(name).bound = bound
end

--- What is known of it; nil, and why not.
---@param name string
---@param path string
---@return hocket.PlanBound?
---@return string? why
---@internal
function tool.bound_of(name, path)
  local set = sets:get(name)
  if set and set.bound then return set.bound(path) end
  return nil, "is not counted"
end

--- The JSON Schema of a tool's arguments, if it was registered with one.
---@param name string
---@return table?
function tool.parameters(name)
  arguments("tool.parameters", 1, "string", name)
  local set = find(name)
  return set and set.parameters and set.parameters()
end

--- Whether a name for `tools:` is known.
---@param name string
---@return boolean
function tool.is_known(name)
  arguments("tool.is_known", 1, "string", name)
  return find(name) ~= nil
end

local own = {}

--- Says that all names so far are hocket's own: what those of others do with an agent nobody knows before it works.
---@internal
function tool.seal()
  for _, name in ipairs(sets:list()) do own[name] = true end
end

--- Whether a name for `tools:` is hocket's own.
---@param name string
---@return boolean
---@internal
function tool.is_own(name)
  return own[name] == true
end

--- The tools that hocket has itself.
---@return table<string, boolean> names Never to change.
---@internal
function tool.own_names()
  return own
end

--- All names that `tools:` may use, sorted.
---@return string[]
function tool.names()
  return sets:list()
end

-- Adds a tool that is not there yet.
local function take(tools, seen, one)
  if seen[one.name] then return end
  seen[one.name] = true
  tools[#tools + 1] = one
end

-- Adds the ones that a name stands for.
local function take_set(tools, seen, name, env)
  local set = find(name)
  if not set then
    return nil, failed { code = "agent", message = ("unknown tool '%s' (there are: %s)"):format(name, table.concat(tool.names(), ", ")) }
  end
  local made, err = set.make(env, name)
  if not made then return nil, err end
  for _, one in ipairs(made.run and { made } or made) do
    one.set = one.set or name
    take(tools, seen, one)
  end
  return true
end

--- The tools that a list of names stands for. A name given twice counts once.
---@param names (string|hocket.Tool)[]
---@param env table
---@return hocket.Tool[]? tools
---@return hocket.Error?
---@internal
function tool.resolve(names, env)
  local tools, seen = {}, {}
  for i = 1, #names do
    local name = names[i]
    if type(name) == "table" then
      take(tools, seen, name)
    else
      local ok, err = take_set(tools, seen, name, env)
      if not ok then return nil, err end
    end
  end
  return tools
end

-- How tools are declared: as in the first edition, or as now.
local function form_now()
  return kept.sorts() and "first" or "now"
end

-- What arguments are checked against when a call comes, and what models need not read.
local bounds = { "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "additionalProperties" }

local function without_bounds(part)
  for _, name in ipairs(bounds) do part[name] = nil end
  for _, inner in pairs(part.properties or {}) do without_bounds(inner) end
  if type(part.items) == "table" then without_bounds(part.items) end
  return part
end

-- A slot's range says what slots there are. An argument that can have one value only is left out: the tool fills it in.
local function of_slots(schema)
  local required = {}
  for _, name in ipairs(schema.required or {}) do
    local values = schema.properties[name].enum
    if not values or #values > 1 then required[#required + 1] = name end
  end
  schema.required = #required > 0 and required or nil
  for name, part in pairs(schema.properties) do
    if part.enum and #part.enum == 1 then schema.properties[name] = nil elseif not part.maximum then without_bounds(part) end
  end
  return schema
end

-- Tools that name slots of a document: the bounds of such arguments name the slots.
local has_slots = { read_document = true, consolidate_section = true }

-- The schema as models read it.
local function shown(one)
  return (has_slots[one.former] and of_slots or without_bounds)(json.decode(json.encode(one.parameters), true))
end

-- By form, then by tool: as text.
local declared = { first = setmetatable({}, { __mode = "k" }), now = setmetatable({}, { __mode = "k" }) }

-- The schema as text, which tools that share it share.
local function parameters_text(one, form)
  local known = known_schemas[one.parameters]
  local text = known[form]
  if text then return text end
  text = one.former and form == "first" and former_words.parameters(one) or json.encode(one.former and shown(one) or one.parameters)
  known[form] = text
  return text
end

local function description(one, form)
  return one.former and form == "first" and former_words.description(one) or one.description
end

--- The list in the neutral form that the protocols translate.
---@param tools hocket.Tool[]
---@return string json
---@internal
function tool.declare(tools)
  local list, form = {}, form_now()
  local known = declared[form]
  for i, one in ipairs(tools) do
    known[one] = known[one] or ('{"description":%s,"name":"%s","parameters":%s}'):format(json.encode(description(one, form)), one.name, parameters_text(one, form))
    list[i] = known[one]
  end
  return "[" .. table.concat(list, ",") .. "]"
end

--- A short list of tools for prompts: "- name: description" lines.
---@param tools hocket.Tool[]
---@return string
function tool.describe(tools)
  arguments("tool.describe", 1, "table", tools)
  local lines, form = {}, form_now()
  for _, one in ipairs(tools) do
    lines[#lines + 1] = ("- %s: %s"):format(one.name, (description(one, form):gsub("%s+", " ")))
  end
  return table.concat(lines, "\n")
end

return setmetatable(tool, { __call = function(_, def) return tool.new(def) end })
