--- Where programs offer themselves to `hocket attach`: `$XDG_RUNTIME_DIR/hocket/NAME.sock`.
local sockets = require "hocket.internal.core.socket"
local system = require "hocket.internal.core.system"

local path = {}

--- The directory of the names.
---@return string? dir nil: XDG_RUNTIME_DIR says nothing of use.
function path.dir()
  local runtime = system.getenv "XDG_RUNTIME_DIR"
  return runtime and runtime:sub(1, 1) == "/" and runtime .. "/hocket" or nil
end

--- Whether a text can be a name.
---@param name any
---@return boolean
function path.is_name(name)
  return type(name) == "string" and #name <= 64 and name:find "^[%w_][%w_.-]*$" ~= nil
end

--- The directory and the file that a name, or a path to a socket, stands for.
---@param name string
---@return string? dir
---@return string|hocket.Error file
function path.split(name)
  if sockets.absent then
    return nil, system.error { code = "unsupported", message = ("attaching to a host (hocket_offer): hocket does not have it on %s"):format(sockets.absent) }
  end
  local dir, file = name:match "^(/.*)/([^/]+)$"
  if dir then return dir, file end
  if not path.is_name(name) then
    return nil, system.error { code = "invalid", message = ("'%s' is no name: letters, digits, '_', '.' and '-', at most 64, or a path from '/' on"):format(name) }
  end
  dir = path.dir()
  if dir then return dir, name .. ".sock" end
  return nil, system.error { code = "invalid", message = "XDG_RUNTIME_DIR is not set: set it to a directory that is yours alone, or give the socket's whole path in place of a name" }
end

return path
