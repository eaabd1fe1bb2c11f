--- Where hocket keeps what it remembers of a person between runs: `$XDG_STATE_HOME/hocket`, or `~/.local/state/hocket`.
local system = require "hocket.internal.core.system"

---@return string? dir nil: there is no home.
return function()
  local state, home = system.getenv "XDG_STATE_HOME", system.getenv "HOME"
  if state and state:sub(1, 1) == "/" then return state .. "/hocket" end
  return home and home:sub(1, 1) == "/" and home .. "/.local/state/hocket" or nil
end
