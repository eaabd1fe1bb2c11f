--- Tools: what a model may call. A name, a description, a JSON Schema of the arguments, and a function.
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
--- A toolset is a name for `tools:` in agent files; it makes tools for one agent at work. See docs/tools.md.
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
---@field prepare? fun(args: table): table Sees all arguments before they are checked, and puts them right.
---@field repair? fun(args: table): table Puts right what does not fit the schema, and is asked only then; the rest is cheaper than with `prepare`.
---@field timeout? number Seconds.
---@field quiet? boolean No `tool_call` event.
---@field fence? {[1]: string, [2]: string, empty?: string} Its results are other agents' words, and stand in a fence: its kind, and whose words they are; `empty`: what the tool says itself when there are none.
---@field effects? string[] What it does: `read`, `write` (below the root), `run` (programs), `send` (requests), `fetch` (gets something from elsewhere), `open` (in front of the user), `elsewhere` (changes things outside of the root). None: a tool that you answer for.
---@field taints? "web"|"outside"|"server"|"private" Where the text of its results comes from, when that is not to be trusted, or not for strangers. What reads or runs is `private` by itself.
---@field says? string The argument whose text other agents are told: what a model thinks aloud in it (`<think>…</think>`) is left out.
---@field subject? string The argument that rules of approval with a plain glob are for.
---@field places? table<string, boolean> The arguments that are paths which it changes.
---@field kinds? table<string, "command"|"url"> The arguments that rules take apart: command lines of a shell, and addresses (which `prepare` has to put right before).
---@field reads? fun(args: table): string[] The paths whose content it shows or takes elsewhere: those of credentials ask.
---@field sends_to? fun(args: table): string|true Where a tool that fetches sends its request: an address, or true for a place that the operator has configured.
---@field max_calls? integer Calls in one conversation, at most.
---@field serial? boolean Never two calls of it at once in one conversation.
---@field conflicts? fun(args: table): string[], string[]? What a call changes, and what it only reads, by names of your own: calls of one turn that touch the same one, at least one of them changing it, run one after the other.
---@field preview? fun(args: table): hocket.Preview? What a call would do to a file, for a person who is asked whether it may; nothing where it does nothing to one. It stands for the whole call: who has seen it may say yes.
---@field steps? boolean In a run that is kept, what it asks of the world is in the log by itself (agents, model calls, hocket.http …), and its function is called again in a replay; else a call of it is one effect, which is made once.
---@field idempotent? boolean A call that a program's end has cut off may be made again: with the same `ctx.effect_id`, by which whoever is asked can know it.
---@field reconcile? fun(args: table, ctx: table, intent: any): any, any Asked in its place when a program's end has cut a call off: what came of it, as from `run`; nil when it was not done, and is to be.
---@field intent? fun(args: table): any In a run that is kept, asked before a call that may have to be reconciled: data about what it is going to do, as the hash of what will be there, which `reconcile` is given.
---@field recall? fun(args: table, ctx: table, kept: any) In a run that is kept, called when a call has come back, in a replay as well, where `run` is not: with what `run` gave to `ctx.keep(data)`. So what a tool remembers of its calls is there again.

---@class hocket.Tool: hocket.ToolSpec A tool that was made.
---@field set? string The name in `tools:` that it came by.
---@field schema userdata Of the arguments, compiled.
---@field check fun(args: any, json?: string): boolean, string? Whether the arguments fit, or what does not.

---@class hocket.Preview What would become of a file, as it is now.
---@field path string
---@field kind "create"|"change"|"move"
---@field from? string Of a move: where it is now.
---@field before? string What is in it; nil: nothing is known of that, or it is a move.
---@field after? string What would be in it.
---@field note? string What else is to be known of it, for a person.
---@field refused? string Why the call would fail, and change nothing.

local fields = {
  name = "string", description = "string", parameters = "table", run = "function",
  prepare = "function", repair = "function", timeout = "number", quiet = "boolean", fence = "table", effects = "table", taints = "string", says = "string", subject = "string",
  places = "table", kinds = "table", reads = "function", sends_to = "function", max_calls = "number", serial = "boolean", conflicts = "function",
  preview = "function",
  steps = "boolean", idempotent = "boolean", reconcile = "function", intent = "function", recall = "function",
}

local bit_of_effect = { read = 1, write = 2, run = 4, send = 8, open = 16, elsewhere = 32, fetch = 64 }

local function effect_bits(def)
  if not def.effects then return nil end
  local bits = 0
  for _, name in ipairs(def.effects) do
    bits = bits | (bit_of_effect[name]
      or error(("unknown effect '%s' of tool '%s' (there are: elsewhere, fetch, open, read, run, send, write)"):format(tostring(name), def.name), 3))
  end
  return bits
end

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

--- Makes a tool. The table of its parameters may serve for many tools, and must not be changed.
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
    preview = def.preview,
    steps = def.steps or false, idempotent = def.idempotent or false, reconcile = def.reconcile, intent = def.intent, recall = def.recall,
    schema = compiled, check = function(args, text) return compiled:check(args, nil, text) end,
  }
end

local sets = registered.new()

--- Registers a name for `tools:` in agent files. `make(env)` returns one tool or a list of
--- them for one agent at work; env has `agent`, `team`, `board`, `document`, `run`, `task_ids`. A toolset
--- that sends the agent's team to work itself sets `env.leads = true`: the agent gets no `delegate` unasked, and what it says beside its calls
--- are events `facilitator_message`. What a run's script registers is what
--- that run finds under the name, whatever others register.
---@param name string
---@param make? fun(env: table): hocket.Tool|hocket.Tool[] Nil takes the name back.
---@param parameters? fun(): table Of a name that stands for one tool: the JSON Schema of its arguments, so that rules for it can be checked before there is one.
function tool.set(name, make, parameters)
  if type(name) ~= "string" or name == "" then error(("tool.set: a name is expected, not a %s"):format(type(name)), 2) end
  for what, given in pairs { make = make, parameters = parameters } do
    if type(given) ~= "function" then error(("tool.set '%s': %s has to be a function, not a %s"):format(name, what, type(given)), 2) end
  end
  sets:set(name, make and { make = make, parameters = parameters })
end

--- The JSON Schema of a tool's arguments, where it was registered with one.
---@param name string
---@return table?
function tool.parameters(name)
  local set = sets:get(name)
  return set and set.parameters and set.parameters()
end

--- Whether a name for `tools:` is known.
---@param name string
---@return boolean
function tool.is_known(name)
  return sets:get(name) ~= nil
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

-- Adds those that a name stands for.
local function take_set(tools, seen, name, env)
  local set = sets:get(name)
  if not set then
    return nil, failed { code = "agent", message = ("unknown tool '%s' (there are: %s)"):format(name, table.concat(tool.names(), ", ")) }
  end
  local made, err = set.make(env)
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

-- By tool: how it is declared, by whether members are sorted, as those of runs are that began when all were.
local declared = { [false] = setmetatable({}, { __mode = "k" }), [true] = setmetatable({}, { __mode = "k" }) }

-- The schema as text, which tools that share it share.
local function parameters_text(one, sorted)
  local known = known_schemas[one.parameters]
  known[sorted] = known[sorted] or json.encode(one.parameters)
  return known[sorted]
end

--- The list in the neutral form that the protocols translate.
---@param tools hocket.Tool[]
---@return string json
---@internal
function tool.declare(tools)
  local list, sorted = {}, kept.sorts()
  local known = declared[sorted]
  for i, one in ipairs(tools) do
    local text = known[one]
    if not text then
      text = ('{"description":%s,"name":"%s","parameters":%s}'):format(json.encode(one.description), one.name, parameters_text(one, sorted))
      known[one] = text
    end
    list[i] = text
  end
  return "[" .. table.concat(list, ",") .. "]"
end

--- A short list of tools for prompts: "- name: description" lines.
---@param tools hocket.Tool[]
---@return string
function tool.describe(tools)
  local lines = {}
  for _, one in ipairs(tools) do
    lines[#lines + 1] = ("- %s: %s"):format(one.name, (one.description:gsub("%s+", " ")))
  end
  return table.concat(lines, "\n")
end

return setmetatable(tool, { __call = function(_, def) return tool.new(def) end })
