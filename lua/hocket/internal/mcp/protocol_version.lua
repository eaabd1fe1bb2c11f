--- Which revision of the protocol a server speaks, found out once for each connection.
---
---     modern (2026-07-28)   no handshake: every request says version, client and what it can do
---     legacy                initialize, initialized, and what was agreed on there
---
--- Asked first is `server/discover`. A server of before answers it with any error at all, with nothing, or by ending.
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local system = require "hocket.internal.core.system"
local failed = system.error

local protocol_version = {}

protocol_version.MODERN = "2026-07-28"
--- The newest first.
protocol_version.LEGACY = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }

--- Seconds for the first answer of a program, which may have to be loaded by its interpreter; and of one that never answers
--- what it does not know.
local DISCOVER, INITIALIZE = 5, 60

--- All of them.
protocol_version.VERSIONS = json.array { protocol_version.MODERN, table.unpack(protocol_version.LEGACY) }

local known = {}
for _, version in ipairs(protocol_version.VERSIONS) do known[version] = true end

--- The version in the answer to a legacy client: the one that it wants, or the newest legacy one.
---@param wanted any
---@return string
function protocol_version.answer(wanted)
  return wanted ~= protocol_version.MODERN and known[wanted] and wanted or protocol_version.LEGACY[1]
end

--- The metadata that every modern request carries.
---@param client hocket.McpClient
---@return table
function protocol_version.meta(client)
  return {
    ["io.modelcontextprotocol/protocolVersion"] = client.version,
    ["io.modelcontextprotocol/clientCapabilities"] = client.modern_capabilities,
    ["io.modelcontextprotocol/clientInfo"] = { name = "hocket", version = system.version() },
  }
end

-- The newest version that both know, of the ones that a server lists.
local function common(list)
  for _, version in ipairs(type(list) == "table" and list or {}) do
    if version == protocol_version.MODERN then return version end
  end
end

--- The version to continue with after a server has refused ours; nil: there is none of this kind.
---@param err hocket.Error
---@return string?
function protocol_version.other_version(err)
  local rpc = err.rpc
  if not rpc or rpc.code ~= message.codes.unsupported_version then return nil end
  return type(rpc.data) == "table" and common(rpc.data.supported) or nil
end

-- Whether only a modern server sends such an error.
local function is_modern(err)
  local code = err.rpc and err.rpc.code
  return code == message.codes.unsupported_version or code == message.codes.missing_capability or code == message.codes.header_mismatch
end

local function take(client, result)
  client.server = result.serverInfo or (type(result._meta) == "table" and result._meta["io.modelcontextprotocol/serverInfo"]) or {}
  client.offers = type(result.capabilities) == "table" and result.capabilities or {}
  client.instructions = type(result.instructions) == "string" and result.instructions or nil
end

local function ask_what(client, timeout)
  return client.peer:request("server/discover", { _meta = protocol_version.meta(client) }, { timeout = timeout, quiet = true })
end

local function discover(client, timeout)
  client.modern, client.version = true, protocol_version.MODERN
  client:use_version()
  local result, err = ask_what(client, timeout)
  local other = err and protocol_version.other_version(err)
  if other then -- it lists what it speaks; a proxy in front of it may have spoken for another
    client.version = other
    client:use_version()
    result, err = ask_what(client, timeout)
  end
  if not result then return nil, err end
  if type(result.supportedVersions) == "table" and not common(result.supportedVersions) then
    return nil, failed { code = "server", message = ("%s speaks none of our versions (%s)"):format(client.name, table.concat(result.supportedVersions, ", ")) }
  end
  take(client, result)
  return true
end

local function initialize(client)
  client.modern, client.version = false, nil
  client:use_version()
  local result, err = client.peer:request("initialize", {
    protocolVersion = protocol_version.LEGACY[1], capabilities = client.capabilities, clientInfo = { name = "hocket", version = system.version() },
  }, { timeout = INITIALIZE, quiet = true })
  if not result then return nil, err end
  local version = result.protocolVersion
  if type(version) ~= "string" or not known[version] or version == protocol_version.MODERN then
    return nil, failed { code = "server", message = ("%s wants version %s, which we do not speak"):format(client.name, tostring(version)) }
  end
  client.version = version
  client:use_version()
  take(client, result)
  return client.peer:notify "notifications/initialized"
end

-- Whether trying the older way makes sense: not where nothing was reached, or leave is missing.
local function may_be_legacy(err)
  if is_modern(err) then return false end
  return err.code == "server" or err.code == "timeout" or (err.code == "http" and err.http_status < 500)
end

local not_here = { [400] = true, [404] = true, [405] = true }

-- A server that takes no message at its address may be one of 2024-11-05. What it said first counts where it is none.
local function initialize_over_http(client)
  local agreed, err = initialize(client)
  if agreed or not client.spec.url or not not_here[err.http_status] then return agreed, err end
  if not client:open_as_of_old() then return nil, err end
  return initialize(client)
end

--- Finds out, and agrees.
---@async
---@param client hocket.McpClient
---@param only? "modern"|"legacy"
---@return boolean? agreed
---@return hocket.Error?
function protocol_version.agree(client, only)
  if only == "legacy" then return initialize_over_http(client) end
  local ok, err = discover(client, DISCOVER)
  if ok or only == "modern" or not may_be_legacy(err) then return ok, err end
  if client.peer.closed then -- it could not bear the question
    local opened, why = client:reopen()
    if not opened then return nil, why end
  end
  local agreed, refused = initialize_over_http(client)
  if agreed or err.code ~= "timeout" or refused.code == "timeout" then return agreed, refused end
  return discover(client, INITIALIZE) -- it was only slow to start
end

return protocol_version
