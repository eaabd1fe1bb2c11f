--- Misuse is reported with the line of the script, and with the name that it knows, whatever of ours stands between the script and
--- what found it.
local caught = require "hocket.internal.base.caught"
local system = require "hocket.internal.core.system"

local misuse = {}

--- So many frames above are checked.
local FRAMES = 30

-- Whether "file:line: " is a place in a file that comes with hocket, also where HOCKET_LUA_PATH says where these are.
local function is_ours(place)
  local path = ("/" .. place):match "^.*/(hocket/.+%.lua):%d+: $"
  return path ~= nil and system.asset(path) ~= nil
end

-- The line of the nearest script above; "": there is none, or it called in a return statement, which leaves no frame.
local function place_of_script()
  for level = 3, FRAMES do
    local _, place = pcall(error, "", level)
    if place ~= "" and not is_ours(place) then return place end
  end
  return ""
end

-- A text that was raised in a function that the script knows as `name`.
local function placed(name, text)
  local place, said = text:match "^([^:\n]+:%d+: )(.*)$"
  if place and is_ours(place) then text = said end
  text = text:gsub("'hocket%.internal%.core%.[%w.]+'", ("'%s'"):format(name)):gsub(" to '%?'", (" to '%s'"):format(name))
  return place_of_script() .. text
end

local function settled(name, ok, ...)
  if ok then return ... end
  local raised = ...
  if type(raised) == "string" and not caught.no_memory(raised) then raised = placed(name, raised) end
  error(raised, 0)
end

-- The line of the nearest script above; where the script called in a return statement, that of ours which called the script: see of_script.
local function place_of_caller()
  for level = 4, FRAMES do
    local _, place = pcall(error, "", level)
    if place ~= "" and not is_ours(place) then return place end
    local info = place ~= "" and debug.getinfo(level - 1, "t")
    local _, above = pcall(error, "", level + 1)
    if info and info.istailcall and above ~= "" and is_ours(above) then return above end
  end
  return ""
end

--- Raises a text with the line of the script that is at fault.
---@param text string
function misuse.raise(text)
  error(place_of_caller() .. text, 0)
end

--- Calls fn(...) for the function that is known as `name`. What it raises as a text is misuse.
---@param name string
---@param fn function
---@return any ...
function misuse.called(name, fn, ...)
  return settled(name, pcall(fn, ...))
end

--- The same where an error with the code "invalid" is misuse as well.
---@param name string
---@param fn function
---@return any made
function misuse.told(name, fn, ...)
  local ok, made = pcall(fn, ...)
  if not ok and type(made) == "table" and made.code == "invalid" then made = made.message end
  return settled(name, ok, made)
end

--- The text of an error that no script has caught, for its message handler. Where its place is in one of our files, the script's
--- line comes first. A line that calls scripts counts as none of ours: see of_script.
---@param callers string[]
---@param text string
---@return string
function misuse.uncaught(callers, text)
  local place, said = text:match "^([^:\n]+:%d+: )(.*)$"
  for _, caller in ipairs(callers) do
    if place and ("/" .. place):find("/" .. caller .. ":", 1, true) then return text end
  end
  local script = place and is_ours(place) and place_of_script() or ""
  return script ~= "" and ("%s%s (%s)"):format(script, said, place:sub(1, -3)) or text
end

--- A text that was raised, whose place is the line of ours that calls the scripts: the script called in a return statement, which leaves
--- no frame. Its file stands there then.
---@param caller string The file of ours.
---@param path? string The script.
---@param text string
---@return string
function misuse.of_script(caller, path, text)
  local file, said = text:match "^([^:\n]+):%d+: (.*)$"
  if not path or not file or ("/" .. file):sub(-#caller - 1) ~= "/" .. caller then return text end
  return path .. ": " .. said
end

return misuse
