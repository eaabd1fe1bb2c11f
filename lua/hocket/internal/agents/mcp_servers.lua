--- What agents say of MCP servers: `mcp:` in an agent's head, and the files that other programs keep them in
--- (`.mcp.json`). What comes out is in one form; nothing is started here.
local json = require "hocket.json"
local kinds = require "hocket.internal.agents.kinds"
local others = require "hocket.internal.base.lazy" "hocket.internal.agents.formats.servers"
local problem = require "hocket.internal.agents.problem"
local project_of = require "hocket.internal.base.lazy" "hocket.internal.base.project_of"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"

local servers = {}

---@class hocket.McpServer
---@field name string
---@field command? string A program that is talked with over its standard input and output …
---@field args string[]
---@field env table<string, string> All of its environment, beside PATH, HOME and the like.
---@field env_file? string A file with more of it.
---@field cwd? string
---@field url? string … or an address.
---@field headers table<string, string>
---@field oauth? {client_id?: string, client_secret?: string, port?: integer}
---@field tools? string[] Globs: the ones that the agent gets.
---@field include? string[] Globs of its file (`includeTools`): no others are there.
---@field exclude? string[] Globs of its file (`excludeTools`, `disabledTools`): these are not there.
---@field only? string[] Globs of an agent of another program: no others are there for it.
---@field disabled? boolean Its file switches it off: it is neither started nor asked.
---@field timeout? number Seconds without progress, for one call.
---@field optional? boolean The agent works without it, where it cannot be reached.
---@field defer? boolean Its tools are looked for; nil: where they are many.
---@field roots? string[] Folders that it may be told of.
---@field sampling? boolean It may ask for answers of our model.
---@field file? string Where it was said.

local texts = { text = "names with texts", json = { type = "object", additionalProperties = { type = { "string", "number", "boolean" } } }, takes = kinds.variables.takes, read = function(value, ctx, pointer)
  local out = {}
  for _, name in ipairs(sorted_keys(value)) do
    local item = value[name]
    if type(name) ~= "string" or name == "" or name:find "[%c=]" then ctx:say(pointer, ("has a name that cannot be used: '%s'"):format(tostring(name)))
    elseif type(item) == "table" or item == json.null then ctx:say(("%s/%s"):format(pointer, name), "must be a text")
    else out[name] = tostring(item) end
  end
  return out
end }

local oauth = kinds.map({
  { name = "client_id", also = "clientId", kind = kinds.text, doc = "a client that you created at the server, if it does not register clients itself" },
  { name = "client_secret", also = "clientSecret", kind = kinds.text, doc = "its secret" },
  { name = "port", also = "callbackPort", kind = kinds.integer(1, 65535), default_text = "a free one", doc = "where the browser comes back to, on this machine" },
}, "a client: 'client_id', 'client_secret', 'port'")

local server = kinds.map({
  { name = "command", kind = kinds.text, doc = "the server's program" },
  { name = "args", kind = kinds.list(kinds.text, { text = "a list of texts", example = "[-y, server]" }), default = {}, doc = "its arguments" },
  { name = "env", kind = texts, default = {}, doc = "its whole environment; ${NAME} is the variable's value" },
  { name = "env_file", also = "envFile", kind = kinds.text, doc = "a file with lines NAME=VALUE for its environment; 'env' goes before" },
  { name = "cwd", kind = kinds.text, doc = "its working folder" },
  { name = "url", kind = kinds.text, doc = "the address of a server, instead of a program" },
  { name = "headers", kind = texts, default = {}, doc = "headers of each request; ${NAME} is the variable's value" },
  { name = "oauth", kind = oauth, doc = "the login, if the server requires one (hocket mcp login)" },
  { name = "type", kind = kinds.word({ "stdio", "http" }, { ["streamable-http"] = "http", sse = "http" }), doc = "the transport: a program, or an address" },
  { name = "tools", kind = kinds.list(kinds.text, { text = "a list of names with globs", example = "[list_*]" }), default_text = "all", doc = "those that the agent gets" },
  { name = "timeout", kind = kinds.number(0), unit = "seconds", default_text = "60", doc = "the time limit of one call without progress" },
  { name = "optional", kind = kinds.boolean, default = false, doc = "the agent works without it if it cannot be reached" },
  { name = "defer", kind = kinds.boolean, default_text = "true above 40 tools", doc = "the model sees one tool that finds the others" },
  { name = "sampling", kind = kinds.boolean, default = false, doc = "it may ask your model for answers, with a person's approval each time" },
  { name = "roots", kind = kinds.list(kinds.text, { text = "a list of folders", example = "[.]" }), default_text = "none", doc = "folders that the server is told it may work in" },
}, "a server: 'command' with 'args', 'env', 'cwd', or 'url' with 'headers'")

-- "server__tool" has to fit into the 64 characters of a tool's name.
local function wrong_name(name)
  if type(name) ~= "string" or not name:find "^[%a][%w_-]*$" or #name > 32 or name:find("__", 1, true) then
    return "is no name for a server: a letter, then letters, digits, - and _, no two of these in a row, 32 at most"
  end
end

local function check(one, ctx, pointer)
  if not one.command and not one.url then ctx:say(pointer, "needs 'command' or 'url'")
  elseif one.command and one.url then ctx:say(pointer, "has both 'command' and 'url': it is one of them")
  elseif one.url and not one.url:find "^https?://[^/]" and not one.url:find "^%${" then ctx:say(pointer .. "/url", "must begin with https:// or http://") end
end

local function read_map(value, ctx, pointer)
  local list = {}
  for _, name in ipairs(sorted_keys(value)) do
    local at = ("%s/%s"):format(pointer, tostring(name))
    local wrong = wrong_name(name)
    if wrong then ctx:say("#" .. at, ("'%s' %s"):format(tostring(name), wrong), "value") end
    local one = kinds.read(server, value[name], ctx, at)
    if one then
      check(one, ctx, at)
      one.name, one.file = tostring(name), not ctx.from_lua and ctx.file or nil
      list[#list + 1] = one
    end
  end
  return list
end

local named = kinds.list(kinds.text, { text = "a list of names", example = "[github]", unique = true })

-- Names stand for servers of a file; which one is known when the agent is at work.
local function read_names(value, ctx, pointer)
  local list = {}
  for i, name in ipairs(named.read(value, ctx, pointer)) do
    if type(name) == "string" then list[i] = { name = name, file = not ctx.from_lua and ctx.file or nil, by_name = true } end
  end
  return list
end

--- The kind of `mcp:`.
servers.kind = {
  text = "servers by name, or a list of names that stand in .mcp.json", example = "{github: {command: npx, args: [-y, server]}}",
  json = { anyOf = { named.json, { type = "object", additionalProperties = server.json } } },
  takes = function(value, ctx) return named.takes(value, ctx) or kinds.variables.takes(value, ctx) end,
  read = function(value, ctx, pointer)
    if json.is_array(value) or (ctx.from_lua and #value > 0) then return read_names(value, ctx, pointer) end
    return read_map(value, ctx, pointer)
  end,
}

-- ---- .mcp.json -----------------------------------------------------------------------------

--- Where the servers of a folder stand.
servers.FILE = ".mcp.json"
--- Servers of a file: it is read again for each that an agent names.
local SERVERS = 500
--- Where other programs keep those of a project.
servers.OTHERS = { ".vscode/mcp.json", ".cursor/mcp.json", "claude_desktop_config.json" }

--- Whether a file is one of servers, by its name: also of other programs' names, wherever it is.
---@param path string
---@return boolean
function servers.is_file(path)
  local name = path:match "[^/]*$"
  return name == servers.FILE or name == "mcp.json" or name == "claude_desktop_config.json"
end

local function names_in(one, key, list)
  for _, name in ipairs(type(one[key]) == "table" and one[key] or {}) do
    if type(name) == "string" then list[#list + 1] = name end
  end
  return list
end

-- What other programs have there to narrow a server holds here, too: it is off, or has fewer tools.
local function narrow(def, one)
  def.disabled = (one.disabled == true or one.enabled == false) or nil
  def.include = type(one.includeTools) == "table" and names_in(one, "includeTools", {}) or nil
  local exclude = names_in(one, "disabledTools", names_in(one, "excludeTools", {}))
  def.exclude = #exclude > 0 and exclude or nil
end

local function folder_of(file)
  return file and file:match "^(.*)/[^/]*$" or "."
end

-- One entry of a file, or what is wrong with it.
local function read_entry(name, entry, path)
  local problems = {}
  local ctx = { file = path, from_lua = false, wanted = {}, same_place = function() end, warn = function() end, say = function(_, pointer, message)
    problems[#problems + 1] = pointer:sub(1, 1) == "#" and message or ("%s %s"):format(pointer:gsub("^/", ""):gsub("/", "."), message)
    return {}
  end }
  local read = read_map({ [name] = entry }, ctx, "")
  if #problems > 0 then return nil, table.concat(problems, "; ") end
  return read[1]
end

--- A server that another program's agent writes out: one of ours, which works in the project's folder.
---@param label string
---@param entry any
---@param file string The agent's.
---@return hocket.McpServer?
---@return string label
---@return string? wrong
function servers.inline(label, entry, file)
  local dir = folder_of(file)
  local project = project_of(dir) or dir
  local name = wrong_name(label) and not wrong_name(others.name(label)) and others.name(label) or label
  local one, wrong = read_entry(name, others.entry(entry, project .. "/" .. servers.FILE), file)
  if not one then return nil, label, wrong end
  narrow(one, entry)
  one.file, one.optional = file, true
  if one.command then one.cwd = one.cwd or sources.real(project) end
  return one, label
end

--- Reads the text of a file of servers: `{"mcpServers": {NAME: {…}}}`, or `servers`, as other programs have them.
---@param text string
---@param path string Its file.
---@return table<string, hocket.McpServer>? by_name
---@return hocket.Error?
---@return table<string, string>? odd By name: what is wrong with the ones that are left out.
function servers.read_text(text, path)
  local value, wrong = others.decode(text)
  if value == nil then return nil, { code = "agent", message = ("%s: %s"):format(path, wrong.message) } end
  local map = type(value) == "table" and (value.mcpServers or value.servers or value)
  if type(map) ~= "table" or json.is_array(map) then return nil, { code = "agent", message = ("%s: needs 'mcpServers', an object of servers by name"):format(path) } end
  local by_name, odd, labels = {}, {}, sorted_keys(map)
  if #labels > SERVERS then return nil, { code = "agent", message = ("%s: has more than %d servers"):format(path, SERVERS) } end
  for _, label in ipairs(labels) do
    local one, name = map[label], tostring(label)
    if wrong_name(name) and not wrong_name(others.name(name)) then name = others.name(name) end
    local read, problem_here = read_entry(name, others.entry(one, path), path)
    if read and by_name[name] then read, problem_here = nil, ("its name is '%s' here, which another one has"):format(name) end
    if read then
      by_name[name] = read
      narrow(read, one)
    else
      odd[label] = problem_here
    end
  end
  return by_name, nil, odd
end

--- Reads a file of servers.
---@param path string
---@return table<string, hocket.McpServer>? by_name
---@return hocket.Error?
---@return table<string, string>? odd By name: what is wrong with the ones that are left out.
function servers.read_file(path)
  local text, err = sources.read(path, 1 << 20)
  if not text then return nil, err end
  return servers.read_text(text, path)
end

--- That servers of a file are left out, in words.
---@param path string
---@param odd table<string, string>
---@return string[]
function servers.left_out(path, odd)
  local list = {}
  for _, name in ipairs(sorted_keys(odd)) do list[#list + 1] = ("%s: the server '%s' is left out: %s"):format(path, name, odd[name]) end
  return list
end

--- The files of servers of a folder, in order.
---@param dir string
---@return string[]
function servers.files(dir)
  local list = {}
  for _, name in ipairs { servers.FILE, table.unpack(servers.OTHERS) } do
    local path = dir .. "/" .. name
    if sources.info(path) then list[#list + 1] = path end
  end
  return list
end

-- Those of a folder, then of the one above it, since agents often stand in a folder of a project.
local function files_near(dir)
  local list = {}
  for _, place in ipairs { dir, dir .. "/..", project_of(dir) } do
    local found = servers.files(place)
    table.move(found, 1, #found, #list + 1, list)
  end
  return list
end

-- What an agent says of a server of a file besides its name: it narrows what the file says.
local function narrowed(found, one)
  if not (one.only or one.exclude or one.optional) then return found end
  local copy = setmetatable({}, getmetatable(found))
  for key, value in pairs(found) do copy[key] = value end
  copy.only, copy.optional = one.only, one.optional or found.optional
  if one.exclude then copy.exclude = table.move(one.exclude, 1, #one.exclude, #(found.exclude or {}) + 1, table.move(found.exclude or {}, 1, #(found.exclude or {}), 1, {})) end
  return copy
end

local function is_own(path)
  return path:match "[^/]*$" == servers.FILE
end

--- What a name in `mcp:` stands for.
---@param one hocket.McpServer
---@return hocket.McpServer?
---@return hocket.Error?
---@return string[]? odd What is wrong with others of its file.
function servers.find(one)
  if not one.by_name then return one end
  local paths, first = files_near(folder_of(one.file)), nil
  if #paths == 0 then
    return nil, { code = "agent", message = ("%s: the MCP server '%s' stands in no %s beside it or in the folder above"):format(one.file or "an agent", one.name, servers.FILE) }
  end
  for _, path in ipairs(paths) do
    local by_name, err, odd = servers.read_file(path)
    if not by_name and is_own(path) then return nil, err end
    local found = by_name and (by_name[one.name] or by_name[others.name(one.name)])
    if found then return narrowed(found, one), nil, servers.left_out(path, odd) end
    if odd and odd[one.name] then return nil, { code = "agent", message = ("%s: %s"):format(path, odd[one.name]) } end
    first = first or err or { code = "agent", message = ("%s has no server '%s'%s"):format(path, one.name, problem.hint(one.name, sorted_keys(by_name))) }
  end
  return nil, first
end

return servers
