--- Where tokens of MCP servers are kept: one file of mode 0600 in the state directory, by server and issuer.
local fiber = require "hocket.internal.core.fiber"
local files = require "hocket.internal.core.files"
local fs = require "hocket.fs"
local json = require "hocket.json"
local state_dir = require "hocket.internal.run.state_dir"

local tokens = {}

--- Seconds that another process may take to get a new token, and between two looks whether it has.
local PATIENCE, LOOK = 30, 0.05

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

--- Calls fn while no other process does the same: a refresh token is mostly good for one use. Where it takes too long, or
--- there is no place for a lock, fn is called all the same.
---@async
---@generic T
---@param fn fun(): T
---@return T
function tokens.alone(fn)
  local file, dir = path()
  if not file or not fs.mkdir(dir) then return fn() end
  local due = fiber.now() + PATIENCE
  local held, err = files.lock(file .. ".lock")
  while not held and err.code == "state" and fiber.now() < due do
    fiber.sleep(LOOK)
    held, err = files.lock(file .. ".lock")
  end
  local closing <close> = held
  return (fn())
end

local function put(url, one, file)
  local known = all()
  known[url] = one
  return fs.write(file, json.encode(known) .. "\n", { private = true })
end

--- Keeps it; nil forgets the server. Others that keep theirs at the same time are not lost.
---@param url string
---@param one? table
---@return true? kept
---@return hocket.Error?
function tokens.put(url, one)
  local file, dir = path()
  if not file then return nil, { code = "not_found", message = "there is no home to keep tokens in: set HOME or XDG_STATE_HOME" } end
  local ok, err = fs.mkdir(dir)
  if not ok then return nil, err end
  local held = files.lock(file .. ".put")
  for _ = 1, 40 do
    if held then break end
    if fiber.self() then fiber.sleep(LOOK) end
    held = files.lock(file .. ".put")
  end
  local closing <close> = held
  return put(url, one, file)
end

return tokens
