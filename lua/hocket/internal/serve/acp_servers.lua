--- MCP servers that an editor hands over with a session (Agent Client Protocol), as runs take them.
local json = require "hocket.json"

local acp_servers = {}

--- Servers of one session.
local MAX = 50

local function wrong(i, text, ...)
  error({ code = -32602, message = ("mcpServers[%d]%s"):format(i, text:format(...)) }, 0)
end

-- What stands there is meant as it stands: no variable is filled in (servers.expand).
local function literal(text)
  return (text:gsub("%${", "${HOCKET_NO_VARIABLE:-$}{"))
end

-- [{name, value}] as names with values.
local function pairs_of(list, i, field)
  local map = {}
  if list == nil or list == json.null then return map end
  if type(list) ~= "table" then wrong(i, ".%s has to be a list", field) end
  for _, one in ipairs(list) do
    if type(one) ~= "table" or type(one.name) ~= "string" or type(one.value) ~= "string" then wrong(i, ".%s has to be a list of names with values", field) end
    map[one.name] = literal(one.value)
  end
  return map
end

local function texts_of(list, i, field)
  local texts = json.array {}
  if type(list) ~= "table" then wrong(i, ".%s has to be a list of texts", field) end
  for n, one in ipairs(list) do
    if type(one) ~= "string" then wrong(i, ".%s has to be a list of texts", field) end
    texts[n] = literal(one)
  end
  return texts
end

-- As names of servers are: what else an editor's has in it becomes '_', and two are kept apart.
local function name_of(one, i, seen)
  if type(one.name) ~= "string" or one.name == "" then wrong(i, ".name has to be a text") end
  local name = one.name:gsub("[^%w-]", "_"):gsub("__+", "_"):gsub("^[^%a]+", ""):sub(1, 28)
  if name == "" or seen[name] then name = ("%s%d"):format(name == "" and "server" or name, i) end
  seen[name] = true
  return name
end

local function program(one, i, cwd)
  if type(one.command) ~= "string" or one.command == "" then wrong(i, ".command has to be a text") end
  return { command = literal(one.command), args = texts_of(one.args or {}, i, "args"), env = pairs_of(one.env, i, "env"), headers = {}, cwd = literal(cwd) }
end

local function address(one, i)
  if type(one.url) ~= "string" or not one.url:find "^https?://[^/]" then wrong(i, ".url has to begin with http:// or https://") end
  return { url = literal(one.url), headers = pairs_of(one.headers, i, "headers"), env = {}, args = {} }
end

--- Reads `mcpServers`. What is wrong is raised, as an error of the protocol. A server that cannot be reached is reported as a warning.
---@param list any
---@param cwd string Where its programs work.
---@return table[]
function acp_servers.read(list, cwd)
  local servers, seen = json.array {}, {}
  if list == nil or list == json.null then return servers end
  if type(list) ~= "table" or not json.is_array(list) and next(list) then error({ code = -32602, message = "'mcpServers' has to be a list" }, 0) end
  if #list > MAX then error({ code = -32602, message = ("'mcpServers' has at most %d servers"):format(MAX) }, 0) end
  for i, one in ipairs(list) do
    if type(one) ~= "table" then wrong(i, " has to be an object") end
    if one.type == "sse" then wrong(i, ": the transport sse is not supported") end
    local made = one.url and address(one, i) or program(one, i, cwd)
    made.name, made.optional = name_of(one, i, seen), true
    servers[i] = made
  end
  return servers
end

return acp_servers
