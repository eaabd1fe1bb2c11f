--- Agents, teams and scripts as tools: what `hocket run` takes as a target, for clients of other programs.
---
---     travel/            one tool, the agent that no other names; it is called with {"input": "Three days in Lisbon"}
---     agents/rate.md     one tool, with the agent's own `input` as its schema, and `output` as that of its result
---     report.lua         one tool, named as the script
---
--- Targets are watched: a change gives other tools for the calls that come, and leaves those that go on as they are.
local agent_call = require "hocket.internal.serve.agent_call"
local agents = require "hocket.agent"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local live = require "hocket.live"
local prompt_files = require "hocket.internal.serve.prompt_files"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"

local agent_tools = {}

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
    output = output,
    run = function(args, at)
      local input, variables = read_call(self, one, args)
      return agent_call.perform({
        target = one.path, input = input, variables = variables, options = self.options, structured = output ~= nil, shelf = self.shelf,
      }, at)
    end,
  }
end

-- ---- What a target offers ----------------------------------------------------------------------

local function of_agent(def, path)
  return { name = def.name, def = def, path = path, description = def.description ~= "" and def.description or def.name }
end

-- A script says what it is in the comment that it begins with.
local function of_script(path)
  local text = sources.read(path, 64 << 10) or ""
  local words = text:gsub("^#![^\n]*\n", ""):match "^%-%-+%s*([^\n]+)"
  local name = path:match "([^/]+)%.%w+$" or path
  if name == "main" then name = path:match "([^/]+)/[^/]+$" or name end
  return { name = name:gsub("[^%w_.-]", "_"), path = path, description = words or ("The script %s"):format(name) }
end

-- The agents of a folder that no other names; with `all` every one.
local function of_team(self, team, list)
  local entries, all = targets.entries(team)
  if #entries == 0 or self.all then entries = all end
  for _, name in ipairs(entries) do
    local def = rawget(team, name)
    if def and def.file then list[#list + 1] = of_agent(def, def.file) end
  end
end

local function of_generation(self, path, made, list)
  local found = made.target
  if found and found.kind == "script" then
    list[#list + 1] = of_script(found.path)
    list[#list].path = path
  elseif found and not self.all then
    list[#list + 1] = of_agent(found.agent, path)
  else
    local dirs = {}
    for dir in pairs(made.teams) do dirs[#dirs + 1] = dir end
    table.sort(dirs)
    for _, dir in ipairs(dirs) do of_team(self, made.teams[dir], list) end
  end
end

-- What is no file: an agent that comes with hocket, a text of the program's.
local function of_name(path, list)
  local found, err = targets.find(path)
  if not found then return nil, err end
  list[#list + 1] = found.kind == "script" and of_script(found.path) or of_agent(found.agent, path)
  list[#list].path = path
  return true
end

local function gather(self)
  local list = {}
  for _, path in ipairs(self.paths) do
    local alive = self.live[path]
    if alive then
      of_generation(self, path, alive:current(), list)
    else
      local ok, err = of_name(path, list)
      if not ok then return nil, err end
    end
  end
  return list
end

local function check_names(list)
  local seen = {}
  for _, one in ipairs(list) do
    local other = seen[one.name]
    if other then
      return nil, { code = "agent", message = ("two tools would be called '%s': %s and %s: serve one of them"):format(one.name, other.path, one.path) }
    end
    seen[one.name] = one
  end
  return true
end

--- The tools as the files say now.
---@return table[]? tools As a catalog takes them.
---@return hocket.Error?
function AgentTools:list()
  local list, err = gather(self)
  if not list then return nil, err end
  local ok
  ok, err = check_names(list)
  if not ok then return nil, err end
  local tools = {}
  for i, one in ipairs(list) do tools[i] = tool_of(self, one) end
  return tools
end

--- The prompts beside them.
---@return table[]
function AgentTools:prompts()
  local dirs = {}
  for _, path in ipairs(self.paths) do
    local info = fs.info(path)
    if info then dirs[#dirs + 1] = info.kind == "directory" and path or path:match "^(.*)/[^/]*$" or "." end
  end
  return prompt_files.of(dirs)
end

-- ---- Watching ----------------------------------------------------------------------------------

local function told(event, changed)
  if event.type == "agent_reloaded" then return changed() end
  if event.message then system.log("warn", event.message) end
end

--- Calls `changed()` whenever the files have changed and are well, until the running fiber ends; what is wrong is logged.
---@async
---@param changed fun()
function AgentTools:watch(changed)
  for _, alive in pairs(self.live) do
    fiber.spawn(function() alive:watch(function(event) told(event, changed) end) end):serve()
  end
end

function AgentTools:close()
  for path, alive in pairs(self.live) do
    if not self.borrowed[path] then alive:close() end
  end
end

--- Loads targets.
---@param paths string[]
---@param options table Of the runs.
---@param shelf hocket.RunShelf
---@param all? boolean Also the agents that others name.
---@return hocket.AgentTools?
---@return hocket.Error?
function agent_tools.open(paths, options, shelf, all)
  require "hocket.internal.runner.builtins"
  local self = setmetatable({ paths = paths, options = options, shelf = shelf, all = all, live = {}, borrowed = {} }, AgentTools)
  for _, path in ipairs(paths) do
    if path:sub(1, 7) ~= "buffer:" and sources.info(path) then
      self.borrowed[path] = live.at(path) ~= nil -- somebody else watches it, too
      local alive, err = live.open(path)
      if not alive then
        self:close()
        return nil, err
      end
      self.live[path] = alive
    end
  end
  return self
end

return agent_tools
