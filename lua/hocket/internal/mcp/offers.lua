--- What a server has beside tools, as tools for an agent: `NAME__resources` lists and reads what can be read there, and
--- `NAME__prompts` (where an agent's file asks for it) its prompts. Both only read.
local content = require "hocket.internal.mcp.content"
local json = require "hocket.json"
local sanitize = require "hocket.internal.base.sanitize"
local tool = require "hocket.tool"
local truncate = require "hocket.internal.base.truncate"

local offers = {}

--- Entries that are listed; bytes of one's description.
local LISTED, SHOWN = 200, 200

local function line(first, one)
  local about = one.description or one.title or one.name
  about = type(about) == "string" and sanitize.bare(about):gsub("%s+", " ") or ""
  return ("- %s%s"):format(sanitize.bare(tostring(first)), about ~= "" and ": " .. truncate(about, SHOWN, " …") or "")
end

local function listed(list, field, lines)
  for i, one in ipairs(list) do
    if i > LISTED then
      lines[#lines + 1] = ("… and %d more"):format(#list - LISTED)
      break
    end
    if type(one) == "table" then lines[#lines + 1] = line(one[field], one) end
  end
end

local function list_resources(client)
  local list, err = client:resources()
  if not list then return nil, err end
  local templates, lines = client:templates() or {}, {}
  listed(list, "uri", lines)
  if #templates > 0 then lines[#lines + 1] = "Addresses with places to fill in:" end
  listed(templates, "uriTemplate", lines)
  return #lines > 0 and table.concat(lines, "\n") or "There are none."
end

local function read_resource(client, uri)
  local contents, err = client:read(uri)
  if not contents then return nil, err end
  local parts = {}
  for i, one in ipairs(contents) do parts[i] = { type = "resource", resource = one } end
  return content.of_parts(parts)
end

local function list_prompts(client)
  local list, err = client:prompts()
  if not list then return nil, err end
  local lines = {}
  for _, one in ipairs(list) do
    local arguments = {}
    for i, argument in ipairs(type(one.arguments) == "table" and one.arguments or {}) do arguments[i] = tostring(argument.name) .. (argument.required and "" or "?") end
    lines[#lines + 1] = line(("%s(%s)"):format(tostring(one.name), table.concat(arguments, ", ")), one)
  end
  return #lines > 0 and table.concat(lines, "\n") or "There are none."
end

local function get_prompt(client, name, args)
  local got, err = client:prompt(name, args)
  if not got then return nil, err end
  local parts, roles = {}, {}
  for i, one in ipairs(got.messages) do
    local message = type(one) == "table" and one or {}
    parts[i], roles[i] = message.content or {}, tostring(message.role)
  end
  return content.of_parts(parts, function(i, said) return ("%s: %s"):format(roles[i], said) end)
end

local text = { type = "string" }
local resource_schema = { type = "object", additionalProperties = false, properties = { uri = { type = "string", description = "The address to read; without one they are listed" } } }
local prompt_schema = { type = "object", additionalProperties = false, properties = {
  name = { type = "string", description = "The prompt to get; without one they are listed" }, arguments = { type = "object", additionalProperties = text },
} }

-- A tool that fetches something of the server's, which the operator has named.
local function fetcher(def, name, description, schema, run)
  return tool.new {
    name = ("%s__%s"):format(def.name, name), description = description, parameters = schema, run = run, effects = { "fetch" },
    sends_to = function() return true end, taints = "server", fence = { "result", ("the MCP server %s"):format(def.name), empty = "" },
  }
end

local makers = {
  resources = function(def, connect)
    return fetcher(def, "resources", ("What can be read at the server %s: lists it, or reads one address"):format(def.name), resource_schema, function(args)
      local client, err = connect()
      if not client then return nil, err end
      if args.uri then return read_resource(client, args.uri) end
      return list_resources(client)
    end)
  end,
  prompts = function(def, connect)
    return fetcher(def, "prompts", ("Prompts of the server %s: lists them, or gets one"):format(def.name), prompt_schema, function(args)
      local client, err = connect()
      if not client then return nil, err end
      if args.name then return get_prompt(client, args.name, args.arguments and next(args.arguments) and args.arguments or json.decode "{}") end
      return list_prompts(client)
    end)
  end,
}

--- The tool for one kind of what a server has.
---@param kind "resources"|"prompts"
---@param def hocket.McpServer
---@param connect fun(): hocket.McpClient?, hocket.Error? Gives the connection as it is then.
---@return hocket.Tool
function offers.tool(kind, def, connect)
  return makers[kind](def, connect)
end

return offers
