--- Agents, teams and scripts as tools: what `hocket run` takes as a target, for clients of other programs.
---
---     travel/            one tool, the agent that no other names; it is called with {"input": "Three days in Lisbon"}
---     agents/rate.md     one tool, with the agent's own `input` as its schema, and `output` as that of its result
---     report.lua         one tool, named as the script
---
--- Targets are watched: a change gives other tools for the calls that come, and leaves the ones that go on as they are.
local agent_call = require "hocket.internal.serve.agent_call"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local offered = require "hocket.internal.serve.offered"
local prompt_files = require "hocket.internal.serve.prompt_files"

local agent_tools = {}

--- Seconds after which a call becomes a task, where a client knows these.
local LONG = 10

---@class hocket.AgentTools
local AgentTools = {}
AgentTools.__index = AgentTools

-- ---- One tool --------------------------------------------------------------------------------

local function is_object(schema)
  return type(schema) == "table" and schema.type == "object"
end

-- The values that a prompt cannot do without and nobody has given.
local function needed(def, given)
  local names = {}
  for _, name in ipairs(def.wanted or {}) do
    if given[name] == nil then names[#names + 1] = name end
  end
  return names
end

local function text_schema(def, variables)
  local input = type(def.input) == "table" and next(def.input) and def.input or { type = "string", description = "What it is asked, in words: all that it has to know" }
  local properties, required = { input = input }, { "input" }
  for i, name in ipairs(variables) do
    properties[name], required[i + 1] = { type = "string", description = ("The value of '%s' in its prompt"):format(name) }, name
  end
  return { type = "object", properties = properties, required = required, additionalProperties = false }
end

-- What a call says, as what an agent is asked and the values of its prompts.
local function read_call(self, one, args)
  if one.takes_object then return json.encode(args), nil end
  local variables = {}
  for name, value in pairs(self.options.variables or {}) do variables[name] = value end
  for _, name in ipairs(one.variables) do variables[name] = args[name] end
  local input = args.input
  return type(input) == "string" and input or json.encode(input), next(variables) and variables or nil
end

local function tool_of(self, one)
  local def = one.def
  one.variables = def and needed(def, self.options.variables or {}) or {}
  one.takes_object = def ~= nil and is_object(def.input)
  local output = def and is_object(def.output) and def.output or nil
  return {
    name = one.name, title = def and def.display_name, description = one.description, parameters = one.takes_object and def.input or text_schema(def or {}, one.variables),
    output = output, task = LONG,
    run = function(args, at)
      local input, variables = read_call(self, one, args)
      return agent_call.perform({
        target = one, start = self.start, input = input, variables = variables, options = self.options, structured = output ~= nil, registry = self.registry,
        parked = self.parked,
      }, at)
    end,
  }
end

--- The tools as the files say now.
---@return table[]? tools As a catalog takes them.
---@return hocket.Error?
function AgentTools:list()
  local list, err = self.offered:list()
  if not list then return nil, err end
  local tools = {}
  for i, one in ipairs(list) do tools[i] = tool_of(self, one) end
  return tools
end

--- The prompts beside them.
---@return table[]
function AgentTools:prompts()
  local dirs = {}
  for _, path in ipairs(self.offered.paths) do
    local info = fs.info(path)
    if info then dirs[#dirs + 1] = info.kind == "directory" and path or path:match "^(.*)/[^/]*$" or "." end
  end
  return prompt_files.of(dirs)
end

--- Calls `changed()` whenever the files have changed and are valid, until the running fiber ends; what is wrong is logged.
---@async
---@param changed fun()
function AgentTools:watch(changed)
  self.offered:watch(changed)
end

function AgentTools:close()
  if self.is_own then self.offered:close() end
end

--- Loads targets, or takes what was loaded.
---@param spec {targets?: string[], all?: boolean, offered?: hocket.Offered, options: table, registry: hocket.RunRegistry, parked: fun(id: string), start: function} options: of the runs; all: also the agents that others name; parked: learns of a run that its client has left; start: see agent_call.
---@return hocket.AgentTools?
---@return hocket.Error?
function agent_tools.open(spec)
  local made, err = spec.offered, nil
  if not made then made, err = offered.open(spec.targets, spec.all, spec.options) end
  if not made then return nil, err end
  return setmetatable({ offered = made, is_own = not spec.offered, options = spec.options, registry = spec.registry, parked = spec.parked, start = spec.start }, AgentTools)
end

return agent_tools
