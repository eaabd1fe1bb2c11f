--- The token that clients bring: from a file that nobody else may read, which is made on first use; or from a variable. It is reported
--- by the file's name, and never stands in a log.
local fs = require "hocket.internal.core.fs"
local state_dir = require "hocket.internal.run.state_dir"
local system = require "hocket.internal.core.system"
local failure = system.failure

local token = {}

--- Letters of one made, and that one has at least.
local LENGTH, LEAST = 43, 16

local function read(path)
  local text, err = fs.read(path, 4096)
  if not text then return nil, err end
  local info = fs.info(path)
  if info and not info.private then return failure("denied", "the token in %s can be read by others: chmod 600 %s", path, path) end
  local one = text:match "^%s*(%S+)%s*$"
  if not one or #one < LEAST or one:find "[^%w%-._~+/=]" then
    return failure("invalid", "%s: expected a token alone, of at least %d letters, digits and -._~+/=", path, LEAST)
  end
  return one
end

-- Whoever makes it first has made it.
local function make(path)
  local dir = path:match "^(.*)/[^/]*$"
  if dir and dir ~= "" then
    local ok, err = fs.mkdir(dir, { private = true })
    if not ok then return nil, err end
  end
  local ok, err = fs.write(path, system.token(LENGTH) .. "\n", { private = true, exclusive = true })
  if not ok and err.code ~= "exists" then return nil, err end
  return read(path)
end

--- The token, and the file where it stands (nil: it comes from a variable).
---@param path? string
---@return string? token
---@return string|hocket.Error|nil file
function token.get(path)
  local given = not path and system.getenv "HOCKET_SERVE_TOKEN"
  if given and given ~= "" then
    if #given < LEAST or given:find "[^%w%-._~+/=]" then return failure("invalid", "HOCKET_SERVE_TOKEN: expected at least %d letters, digits and -._~+/=", LEAST) end
    return given
  end
  local dir = state_dir()
  if not path and not dir then return failure("invalid", "there is no home to keep a token in: name a file (--token-file)") end
  path = path or dir .. "/serve-token"
  local one, err
  if fs.info(path) then one, err = read(path) else one, err = make(path) end
  if not one then return nil, err end
  return one, path
end

return token
