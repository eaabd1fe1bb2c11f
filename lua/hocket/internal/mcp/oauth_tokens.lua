--- Where tokens of MCP servers are kept: one file of mode 0600 in the state directory, by server and issuer.
local fs = require "hocket.fs"
local json = require "hocket.json"
local state_dir = require "hocket.internal.run.state_dir"

local tokens = {}

local function path()
  local dir = state_dir()
  return dir and dir .. "/mcp-tokens.json", dir
end

local function all()
  local file = path()
  local text = file and fs.read(file, 16 << 20)
  local value = text and json.decode(text)
  return type(value) == "table" and value or {}
end

--- What is known of a server: its issuer, client and tokens.
---@param url string
---@return table?
function tokens.get(url)
  local one = all()[url]
  return type(one) == "table" and one or nil
end

--- Keeps it; nil forgets the server.
---@param url string
---@param one? table
---@return true? kept
---@return hocket.Error?
function tokens.put(url, one)
  local file, dir = path()
  if not file then return nil, { code = "not_found", message = "there is no home to keep tokens in: set HOME or XDG_STATE_HOME" } end
  local ok, err = fs.mkdir(dir)
  if not ok then return nil, err end
  local known = all()
  known[url] = one
  return fs.write(file, json.encode(known) .. "\n", { private = true })
end

return tokens
