--- Hands a file to the person, through whatever the host names: the function `opener` of the run's
--- options, or the program in HOCKET_OPENER (xdg-open, say), which is given the path.
local fs = require "hocket.internal.core.fs"
local programs = require "hocket.internal.tools.programs"
local system = require "hocket.internal.core.system"

local open = {}

--- Seconds that the program may stay; one that hands the file on ends at once.
local TIMEOUT = 600

-- What a program needs to find the person's screen, and no more.
local passed = { "PATH", "HOME", "LANG", "LC_ALL", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY" }

local function find_program(name)
  if name:find("/", 1, true) then return fs.is_absolute(name) and fs.info(name) and name or nil end
  for dir in (system.getenv "PATH" or programs.path):gmatch(programs.folder) do
    local path = dir .. "/" .. name .. programs.suffix
    local info = fs.info(path)
    if info and info.kind == "file" then return path end
  end
end

local function run_program(name, path)
  local program = find_program(name)
  if not program then return nil, ("the program '%s' (HOCKET_OPENER) was not found: tell the user the file's path instead"):format(name) end
  local env = {}
  for _, variable in ipairs(passed) do
    local value = system.getenv(variable)
    if value then env[#env + 1] = variable .. "=" .. value end
  end
  local result, err = require("hocket.process").run {
    argv = { program, path }, env = env, cwd = path:match "^(.*)/[^/]*$", sandbox = "limits", timeout = TIMEOUT, head = 2000, tail = 2000,
  }
  if not result then return nil, err end
  if result.code == 0 then return true end
  return nil, ("'%s' failed with %s: %s"):format(name, result.code and "exit code " .. result.code or "signal " .. tostring(result.signal), result.stderr)
end

---@async
---@param run hocket.Run
---@param path string Absolute.
---@return string?
---@return hocket.Error|string|nil
function open.show(run, path)
  local opener, name = run.options.opener, system.getenv "HOCKET_OPENER"
  local ok, err
  if type(opener) == "function" then
    ok, err = opener(path)
  elseif name and name ~= "" then
    ok, err = run_program(name, path)
  else
    return nil, "no program is known that could show files here: tell the user the file's path instead"
  end
  if not ok then return nil, err or "the file could not be opened" end
  return "opened for the user: " .. path
end

return open
