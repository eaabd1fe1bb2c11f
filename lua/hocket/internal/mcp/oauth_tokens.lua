--- Where tokens of MCP servers are kept: one file of mode 0600 in the state directory, by server and issuer.
local fiber = require "hocket.internal.core.fiber"
local files = require "hocket.internal.core.files"
local state_file = require "hocket.internal.run.state_file"

local tokens = {}
local file = state_file "mcp-tokens.json"

--- Seconds that another process may take to get a new token, and between two looks whether it has.
local PATIENCE, LOOK = 30, 0.05

--- What is known of a server: its issuer, client and tokens.
---@param url string
---@return table?
function tokens.get(url)
  local one = file:read()[url]
  return type(one) == "table" and one or nil
end

--- Calls fn while no other process does the same: a refresh token is mostly good for one use. Where it takes too long, or
--- there is no place for a lock, fn is called all the same.
---@async
---@generic T
---@param fn fun(): T
---@return T
function tokens.alone(fn)
  local path = file:make()
  if not path then return fn() end
  local due = fiber.now() + PATIENCE
  local held, err = files.lock(path .. ".lock")
  while not held and err.code == "state" and fiber.now() < due do
    fiber.sleep(LOOK)
    held, err = files.lock(path .. ".lock")
  end
  local closing <close> = held
  return (fn())
end

--- Keeps it; nil forgets the server. Others that keep theirs at the same time are not lost.
---@param url string
---@param one? table
---@return true? kept
---@return hocket.Error?
function tokens.put(url, one)
  local path, err = file:make()
  if not path then return nil, err end
  local held = files.lock(path .. ".put")
  for _ = 1, 40 do
    if held then break end
    if fiber.self() then fiber.sleep(LOOK) end
    held = files.lock(path .. ".put")
  end
  local closing <close> = held
  local known = file:read()
  known[url] = one
  return file:write(known)
end

return tokens
