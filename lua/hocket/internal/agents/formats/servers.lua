--- Entries of files of MCP servers as other programs write them: .mcp.json, .vscode/mcp.json, .cursor/mcp.json, claude_desktop_config.json.
--- They become entries in our form, which is then checked as ours are.
local json = require "hocket.json"
local sources = require "hocket.internal.base.sources"

local servers = {}

-- ---- Text ---------------------------------------------------------------------------------------------

local function end_of_string(text, at)
  while true do
    at = text:find('["\\]', at)
    if not at or text:byte(at) == 34 then return at end
    at = at + 2
  end
end

-- Copies a text but for what `drop(text, at)` cuts out of it, which is never inside of a string.
local function without(text, signs, drop)
  local out, at, from = {}, 1, 1
  while true do
    at = text:find(signs, at)
    if not at then break end
    if text:byte(at) == 34 then
      at = end_of_string(text, at + 1)
      if not at then break end
      at = at + 1
    else
      local stop = drop(text, at)
      if stop then
        out[#out + 1] = text:sub(from, at - 1)
        from = stop + 1
      end
      at = (stop or at) + 1
    end
  end
  out[#out + 1] = text:sub(from)
  return table.concat(out)
end

local function comment(text, at)
  local sign = text:sub(at + 1, at + 1)
  if sign == "/" then return (text:find("\n", at, true) or #text + 1) - 1 end
  if sign == "*" then return select(2, text:find("*/", at + 2, true)) or #text end
end

local function last_comma(text, at)
  return text:find("^%s*[}%]]", at + 1) and at or nil
end

--- Decodes JSON, also with comments and commas before brackets, as editors have it.
---@param text string
---@return any? value
---@return hocket.Error?
function servers.decode(text)
  text = text:gsub("^\239\187\191", "")
  local value, wrong = json.decode(text)
  if value ~= nil then return value end
  local plain = without(without(text, '["/]', comment), '[",]', last_comma)
  value = plain ~= text and json.decode(plain) or nil
  return value, wrong
end

-- ---- Names ----------------------------------------------------------------------------------------------

--- The name that a server has here: of another one the letters, digits, - and _ of it.
---@param name string
---@return string
function servers.name(name)
  return (name:sub(1, 200):gsub("[^%w_-]+", "_"):gsub("__+", "_"):gsub("^[^%a]+", ""):sub(1, 32):gsub("[_-]+$", ""))
end

-- ---- Entries ----------------------------------------------------------------------------------------------

local known_keys = { command = true, args = true, env = true, env_file = true, cwd = true, url = true, headers = true, oauth = true, tools = true, timeout = true,
  optional = true, defer = true, roots = true, sampling = true, type = true }

--- Spellings of others.
local also = { httpUrl = "url", serverUrl = "url", environment = "env", envFile = "env_file" }

local function folder_of(path)
  local dir = path:match "^(.*)/[^/]*$" or "."
  if dir:find "^%.%a+$" then return "." end
  return dir:match "^(.*)/%.%a+$" or dir
end

-- Variables of editors: of the project, or of the environment. `${input:github-token}` is GITHUB_TOKEN.
local function filled(text, project)
  if not text:find("$", 1, true) then return text end
  text = text:gsub("%${{%s*%a+%.([%w_]+)%s*}}", "${%1}")
  return (text:gsub("%${([^}]*)}", function(inside)
    if inside == "workspaceFolder" or inside == "workspaceRoot" then return sources.real(project) or project end
    if inside == "workspaceFolderBasename" then return (sources.real(project) or project):match "[^/]*$" end
    if inside == "userHome" then return "${HOME}" end
    if inside == "/" or inside == "pathSeparator" then return "/" end
    local id = inside:match "^input:(.+)$"
    return id and ("${%s}"):format(id:upper():gsub("%W", "_"))
  end))
end

local function fill_all(value, project, depth)
  if type(value) == "string" then return filled(value, project) end
  if type(value) ~= "table" or depth > 4 then return value end
  local copy = json.is_array(value) and json.array {} or {}
  for key, one in pairs(value) do copy[key] = fill_all(one, project, depth + 1) end
  return copy
end

-- `command: [npx, -y, server]`, and arguments that are numbers.
local function take_command(copy)
  if type(copy.command) == "table" and json.is_array(copy.command) then
    local args = table.move(copy.command, 2, #copy.command, 1, json.array {})
    for _, one in ipairs(type(copy.args) == "table" and copy.args or {}) do args[#args + 1] = one end
    copy.command, copy.args = copy.command[1], args
  end
  for i, one in ipairs(type(copy.args) == "table" and copy.args or {}) do
    if type(one) == "number" or type(one) == "boolean" then copy.args[i] = tostring(one) end
  end
end

--- An entry in our form; keys of other programs fall away.
---@param one any
---@param path string Its file.
---@return any
function servers.entry(one, path)
  if type(one) ~= "table" then return one end
  local copy = {}
  for key, value in pairs(one) do
    local name = also[key] or key
    if known_keys[name] and value ~= json.null and (copy[name] == nil or name == key) then copy[name] = fill_all(value, folder_of(path), 1) end
  end
  take_command(copy)
  if copy.command and copy.url then -- the type says which of both is meant
    if copy.type == "stdio" or copy.type == "local" then copy.url = nil elseif copy.type then copy.command, copy.args = nil, nil end
  end
  if copy.type ~= "stdio" and copy.type ~= "http" and copy.type ~= "streamable-http" then copy.type = nil end
  return copy
end

return servers
