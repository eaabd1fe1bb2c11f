--- Where hocket keeps what it remembers of a person between runs: `$XDG_STATE_HOME/hocket`, or `~/.local/state/hocket`.
local fs = require "hocket.internal.core.fs"
local system = require "hocket.internal.core.system"

---@return string? dir nil: there is no home.
return function()
  local state, home = system.getenv "XDG_STATE_HOME", system.getenv "HOME"
  if state and fs.is_absolute(state) then return state .. "/hocket" end
  return home and fs.is_absolute(home) and home .. "/.local/state/hocket" or nil
end
