--- One tool of an MCP server as an agent has it: named `server__tool`, its results in fences, as text of strangers.
local content = require "hocket.internal.mcp.content"
local fiber = require "hocket.internal.core.fiber"
local runs = require "hocket.internal.run.run"
local sanitize = require "hocket.internal.base.sanitize"
local schema = require "hocket.schema"
local servers = require "hocket.internal.mcp.servers"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"
local truncate = require "hocket.internal.base.truncate"
local failed = system.error

local server_tool = {}

--- Bytes of a description that models are shown.
local MAX_DESCRIPTION = 4096

-- ---- Names and descriptions ----------------------------------------------------------------

-- 64 characters that all providers take; what was cut or changed is kept apart by a digest.
local function name_of(def, name)
  local plain = ("%s__%s"):format(def.name, name:gsub("[^%w_-]", "_"))
  if #plain <= 64 and not name:find "[^%w_-]" then return plain end
  return plain:sub(1, 55) .. "_" .. system.digest(name):sub(1, 8)
end

local function describe(one)
  local text = one.description ~= "" and one.description or one.title or one.name
  return truncate(sanitize.bare(text), MAX_DESCRIPTION, " …")
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
  entry.calls[id], entry.logs = fiber.context(), 0
  return setmetatable({}, { __close = function() entry.calls[id] = nil end })
end

local function progress_of(run, def, one)
  return function(p)
    local step = fiber.context() and fiber.context().step
    run:emit("tool_progress", { tool = name_of(def, one.name), progress = p.progress, total = type(p.total) == "number" and p.total or nil,
      message = type(p.message) == "string" and p.message:sub(1, 500) or nil }, step and step.def and step.def.name, step and step.op)
  end
end

-- What the request says of the trace that the run is in, where somebody wants that.
local function meta_of(run, def, one, client)
  local observed = run and run.observer and run.observer:here()
  if not observed then return nil end
  local peer = client.peer
  return observed:mcp { server = def.name, tool = one.name, version = client.version, session = peer.transport.session, transport = peer.place.transport, address = peer.place.address, port = peer.place.port }
end

local function call(def, one, args)
  local entry, err = servers.get(def)
  if not entry then return nil, err end
  local open <close> = calling(entry)
  local run = runs.current()
  local result
  result, err = entry.client:call(one.name, args, { timeout = def.timeout, on_progress = run and progress_of(run, def, one), meta = meta_of(run, def, one, entry.client) })
  if not result then return nil, err end
  entry.answered = true
  local text = content.text(result)
  if result.isError then return nil, failed { code = "server", message = text ~= "" and text or "the tool failed, and says no more" } end
  local wrong = check_output(one, result)
  if wrong then return nil, failed { code = "server", message = ("the server's result does not fit its own schema: %s"):format(wrong) } end
  return content.of(result)
end

--- Makes it.
---@param def hocket.McpServer With its variables filled in.
---@param one hocket.McpTool
---@return hocket.Tool?
---@return string? wrong
function server_tool.make(def, one)
  local made, tools = pcall(tool.new, {
    name = name_of(def, one.name), description = describe(one), parameters = one.inputSchema,
    run = function(args) return call(def, one, args) end,
    effects = { "elsewhere" }, taints = "server", fence = { "result", ("the MCP server %s"):format(def.name), empty = "" },
  })
  if made then return tools end
  return nil, type(tools) == "table" and tools.message or tostring(tools)
end

return server_tool
