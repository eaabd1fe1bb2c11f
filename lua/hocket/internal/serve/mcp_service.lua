--- What a host offers to MCP clients, put together: its agents and teams, tools of its own, what runs have made, prompts.
local agent_call = require "hocket.internal.serve.agent_call"
local agent_tools = require "hocket.internal.serve.agent_tools"
local catalogs = require "hocket.internal.mcp.catalog"
local servers = require "hocket.internal.mcp.server"
local run_registry = require "hocket.internal.serve.run_registry"
local tool = require "hocket.tool"
local system = require "hocket.internal.core.system"
local failed = system.error

local mcp_service = {}

---@class hocket.McpService
---@field server hocket.McpServer_
local Service = {}
Service.__index = Service

local HOW = "Each tool is an agent or a team of agents. Tell it in words, and in one text, all that it has to know; it answers when it is done, which may take minutes."

-- A tool that the program has registered, by its name. The ones that do something here belong to agents, whose files say what they may do.
local function by_name(name)
  if not tool.is_known(name) then return nil, failed { code = "not_found", message = ("there is no tool '%s'"):format(name) } end
  local ok, made = pcall(tool.resolve, { name }, { agent = { name = "an MCP client" } })
  local one = ok and made and made[1]
  if not one or one.effect_bits or #made > 1 then
    return nil, failed { code = "denied", message = ("the tool '%s' is for agents: serve an agent that has it"):format(name) }
  end
  return one
end

local function own_tools(list)
  local out = {}
  for i, one in ipairs(list or {}) do
    local err
    if type(one) == "string" then one, err = by_name(one) end
    if not one then return nil, err end
    out[i] = one
  end
  return out
end

local function joined(a, b)
  return table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
end

-- The lists that follow from the files.
local function from_files(self)
  local tools, err = self.agents:list()
  if not tools then return nil, err end
  return joined(self.own, tools), joined(self.spec.prompts or {}, self.agents:prompts())
end

local function reload(self)
  local tools, prompts = from_files(self)
  if not tools then return system.log("warn", prompts.message) end
  self.catalog:replace("tools", tools)
  self.catalog:replace("prompts", prompts)
end

-- What scripts offer to read stands before what runs have made.
local function with_runs(own, registry, list)
  return function() return joined(own or {}, registry[list](registry)) end
end

local function make_catalog(self, tools, prompts)
  local spec = self.spec
  return catalogs.new {
    name = spec.name or "hocket", version = spec.version, title = spec.title, tools = tools, prompts = prompts,
    instructions = spec.instructions or self.agents and HOW or nil,
    resources = self.agents and with_runs(spec.resources, self.registry, "resources") or spec.resources,
    templates = self.agents and with_runs(spec.templates, self.registry, "templates") or spec.templates,
  }
end

local function tell_parked(id)
  system.log("warn", ("a client is gone: the run %s is parked, and goes on with 'hocket resume %s'"):format(id, id))
end

--- Loads what is to be served.
---@param spec table As for hocket.mcp.serve; parked(id) learns of a run that its client has left. `offered` are targets that were loaded, `start` is how
--- their runs are started (agent_call.lua).
---@return hocket.McpService?
---@return hocket.Error?
function mcp_service.open(spec)
  local own, err = own_tools(spec.tools)
  if not own then return nil, err end
  local self = setmetatable({ spec = spec, own = own }, Service)
  local tools, prompts = own, spec.prompts
  if spec.targets or spec.offered then
    self.registry = run_registry.new(function(what, uri) if self.catalog then self.catalog:changed(what, uri) end end)
    self.agents, err = agent_tools.open {
      targets = spec.targets, offered = spec.offered, all = spec.all, options = spec.options or {}, registry = self.registry,
      parked = spec.parked or tell_parked, start = spec.start or agent_call.start,
    }
    if not self.agents then return nil, err end
    tools, prompts = from_files(self)
  end
  local ok, made
  if tools then ok, made = pcall(make_catalog, self, tools, prompts) else ok, made = false, prompts end
  if not ok then
    self:close()
    return nil, type(made) == "table" and failed(made) or failed { code = "invalid", message = tostring(made) }
  end
  self.catalog, self.server = made, servers.new(made)
  return self
end

--- Takes what changes in the files from now on, until the running fiber ends.
---@async
function Service:watch()
  if self.agents then self.agents:watch(function() reload(self) end) end
end

--- Ends everything that clients have under way.
function Service:close()
  if self.server then self.server:close() end
  if self.agents then self.agents:close() end
end

return mcp_service
