--- The tools of MCP servers as an agent has them: named `server__tool`, their results in fences, as text of strangers.
local content = require "hocket.internal.mcp.content"
local defs = require "hocket.internal.agents.mcp_servers"
local fiber = require "hocket.internal.core.fiber"
local glob = require("hocket.internal.core.permission").glob
local offers = require "hocket.internal.mcp.offers"
local remembered = require "hocket.internal.mcp.remembered_tools"
local runs = require "hocket.internal.run.run"
local search = require "hocket.internal.mcp.tool_search"
local schema = require "hocket.schema"
local servers = require "hocket.internal.mcp.servers"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"
local truncate = require "hocket.internal.base.truncate"
local failed = system.error

local toolset = {}

--- Bytes of a description that models are shown.
local MAX_DESCRIPTION = 4096

-- Whether a server's program may be started, or its address asked: the runner says so. (run, def) -> true | nil, error
local admit = function() return true end

--- Hands in who decides.
---@param fn fun(run: hocket.Run, def: hocket.McpServer): true?, hocket.Error?
function toolset.set_admission(fn)
  admit = fn
end

-- ---- Names and descriptions ----------------------------------------------------------------

local function is_wanted(def, name)
  if not def.tools then return true end
  for _, one in ipairs(def.tools) do
    if glob(one, name) then return true end
  end
  return false
end

-- 64 characters that all providers take; what was cut or changed is told apart by a digest.
local function name_of(def, name)
  local plain = ("%s__%s"):format(def.name, name:gsub("[^%w_-]", "_"))
  if #plain <= 64 and not name:find "[^%w_-]" then return plain end
  return plain:sub(1, 55) .. "_" .. system.digest(name):sub(1, 8)
end

-- What nobody can see has no business in a description.
local function describe(one)
  local text = one.description ~= "" and one.description or one.title or one.name
  text = text:gsub("[%z\1-\8\11-\31\127]", ""):gsub("\u{200B}", ""):gsub("\u{2060}", ""):gsub("\u{FEFF}", ""):gsub("\243\160[\128-\191][\128-\191]", "")
  return truncate(text, MAX_DESCRIPTION, " …")
end

-- ---- Calls ---------------------------------------------------------------------------------

local function check_output(one, result)
  local compiled = one.outputSchema and result.structuredContent ~= nil and schema.compile(one.outputSchema)
  if not compiled then return nil end
  local ok, why = compiled:check(result.structuredContent)
  return not ok and why or nil
end

-- Who calls: a question of the server's goes to that run.
local function calling(entry)
  local id = {}
  entry.calls[id] = fiber.context()
  return setmetatable({}, { __close = function() entry.calls[id] = nil end })
end

local function progress_of(run, def, one)
  return function(p)
    local step = fiber.context() and fiber.context().step
    run:emit("tool_progress", { tool = name_of(def, one.name), progress = p.progress, total = type(p.total) == "number" and p.total or nil,
      message = type(p.message) == "string" and p.message:sub(1, 500) or nil }, step and step.def and step.def.name, step and step.op)
  end
end

local function call(def, one, args)
  local entry, err = servers.get(def)
  if not entry then return nil, err end
  local open <close> = calling(entry)
  local run = runs.current()
  local result
  result, err = entry.client:call(one.name, args, { timeout = def.timeout, on_progress = run and progress_of(run, def, one) })
  if not result then return nil, err end
  entry.answered = true
  local text = content.text(result)
  if result.isError then return nil, failed { code = "server", message = text ~= "" and text or "the tool failed, and says no more" } end
  local wrong = check_output(one, result)
  if wrong then return nil, failed { code = "server", message = ("the server's result does not fit its own schema: %s"):format(wrong) } end
  return content.of(result)
end

local function make(def, one)
  local made, tools = pcall(tool.new, {
    name = name_of(def, one.name), description = describe(one), parameters = one.inputSchema,
    run = function(args) return call(def, one, args) end,
    effects = { "elsewhere" }, taints = "server", fence = { "result", ("the MCP server %s"):format(def.name), empty = "" },
  })
  if made then return tools end
  return nil, type(tools) == "table" and tools.message or tostring(tools)
end

-- ---- An agent's tools ----------------------------------------------------------------------

--- Tools of one server from which on they are looked for, and not shown.
local MANY = 40

-- What is put together for one agent.
---@class hocket.McpGathering
---@field all hocket.Tool[] That it is shown.
---@field later hocket.Tool[] That it can find.
---@field allowed? table<string, boolean> What its callers grant.
---@field warn fun(message: string)

-- Whether it is shown, although others are looked for: somebody has granted just this one.
local function is_granted(self, name)
  return self.allowed ~= nil and self.allowed[name] == true
end

local function take(self, def, list)
  local made = {}
  for _, one in ipairs(list) do
    if is_wanted(def, one.name) then
      local good, wrong = make(def, one)
      if good then made[#made + 1] = good else self.warn(("MCP server '%s': its tool '%s' is left out: %s"):format(def.name, one.name, wrong)) end
    end
  end
  local defer = def.defer
  if defer == nil then defer = #made > MANY end
  for _, one in ipairs(made) do
    local into = defer and not is_granted(self, one.name) and self.later or self.all
    into[#into + 1] = one
  end
end

-- Resources where there are any; prompts, which are meant for people, where the agent's file names them.
local function take_offers(self, def, client)
  local function connected()
    local entry, err = servers.get(def)
    return entry and entry.client, err
  end
  local asks_for_prompts = false
  for _, one in ipairs(def.tools or {}) do asks_for_prompts = asks_for_prompts or one == "prompts" end
  if client.offers.resources and is_wanted(def, "resources") then self.all[#self.all + 1] = offers.tool("resources", def, connected) end
  if client.offers.prompts and asks_for_prompts then self.all[#self.all + 1] = offers.tool("prompts", def, connected) end
end

-- A description that has changed since it was last used may be there to mislead.
local function compare(self, def, entry, list)
  if entry.compared == entry.changes then return end
  entry.compared = entry.changes
  for _, name in ipairs(remembered.compare(servers.key(def), list)) do
    self.warn(("MCP server '%s': its tool '%s' says something else of itself than when it was last used: look at it (hocket mcp tools %s)"):format(def.name, name, def.name))
  end
end

local function connect(run, named)
  local def, err = defs.find(named)
  if not def then return nil, err end
  local ok
  ok, err = admit(run, def)
  if not ok then return nil, err end
  def, err = servers.expand(def)
  if not def then return nil, err end
  local entry
  entry, err = servers.get(def)
  if not entry then return nil, err end
  return def, entry
end

local function tools_of(self, run, named)
  local def, entry = connect(run, named)
  if not def then return nil, entry end
  local list, err = entry.client:tools()
  if not list then return nil, err end
  entry.answered = true
  for _, one in ipairs(entry.client.dropped) do self.warn(("MCP server '%s': its tool '%s' is left out: %s"):format(def.name, one.name, one.why)) end
  compare(self, def, entry, list)
  take(self, def, list)
  take_offers(self, def, entry.client)
  return true
end

--- The tools of all servers that an agent names.
---@async
---@param env {agent: hocket.Agent, run: hocket.Run, allowed?: table<string, boolean>}
---@return hocket.Tool[]?
---@return hocket.Error?
function toolset.tools(env)
  local run = runs.current()
  local self = { all = {}, later = {}, allowed = env.allowed, warn = function(message)
    if run then run:emit("warning", { message = message }, env.agent.name) end
  end }
  for _, named in ipairs(env.agent.mcp) do
    local ok, err = tools_of(self, run, named)
    if not ok and named.optional then
      self.warn(("%s: goes on without its tools: %s"):format(env.agent.name, err.message))
    elseif not ok then
      return nil, err
    end
  end
  for _, one in ipairs(self.later) do one.set = "mcp" end
  if #self.later > 0 then self.all[#self.all + 1] = search.tool(self.later) end
  return self.all
end

return toolset
