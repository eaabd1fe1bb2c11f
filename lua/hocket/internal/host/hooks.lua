--- Hooks of the embedding program (run/hooks): functions of this Lua state (host:hook), or of the program in C (hocket_hook_add). They are asked
--- in every run that begins while they are there, before those of its project.
local core = require "hocket.internal.core.host"
local hooks = require "hocket.internal.run.hooks"
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"

local host_hooks = {}

local kept = {} -- in the order in which they came: {name, by_point}

local function place_of(name)
  for i, one in ipairs(kept) do
    if one.name == name then return i end
  end
end

local function add_to(run)
  for _, one in ipairs(kept) do hooks.of(run):add(one.by_point) end
end

local function keep(name, value)
  if type(name) ~= "string" or not name:find "^[%w_-]+$" or #name > 64 then
    error({ code = "invalid", message = "a hook needs a name of letters, digits, _ and -, 64 at most" }, 0)
  end
  if place_of(name) then error({ code = "exists", message = ("there is a hook '%s' already"):format(name) }, 0) end
  local by_point, wrong = hooks.read(value, "the program (" .. name .. ")")
  if not by_point then error({ code = "invalid", message = ("hook '%s': %s"):format(name, wrong) }, 0) end
  if not next(by_point) then error({ code = "invalid", message = ("hook '%s' has no point"):format(name) }, 0) end
  for _, list in pairs(by_point) do
    for _, one in ipairs(list) do one.of_program = true end
  end
  kept[#kept + 1] = { name = name, by_point = by_point }
  runs.on_begin("hooks of the program", add_to)
end

--- Keeps hooks that are functions of this state. Raises what is wrong with them.
---@param def table Hooks by point, with `name` and `timeout`.
function host_hooks.keep(def)
  local value = {}
  for key, one in pairs(def) do value[key] = key ~= "name" and one or nil end
  keep(def.name, value)
end

local function ask_program(name)
  return function(event)
    local messages = event.messages
    local about = {}
    for key, value in pairs(event) do about[key] = value end
    if messages and event.point == "before_model" then about.messages = messages end
    local text, err = core.call_tool("hook:" .. name, json.encode(about), event.agent or "")
    if not text then return nil, err end
    if text == "" then return nil end
    local said, wrong = json.decode(text)
    if type(said) ~= "table" then return nil, wrong and wrong.message or "its answer is no JSON object" end
    return next(said) and said or nil
  end
end

--- Keeps a hook of the program in C.
---@param name string
---@param points string Names with spaces between them.
---@param match? string Names with spaces between them.
---@param timeout? number Seconds.
function host_hooks.add(name, points, match, timeout)
  local value, names = {}, nil
  for glob in (match or ""):gmatch "%S+" do
    names = names or {}
    names[#names + 1] = glob
  end
  for point in points:gmatch "%S+" do value[point] = { run = ask_program(name), match = names, timeout = timeout } end
  keep(name, value)
end

--- Takes hooks back: runs that go on ask them no more.
---@param name string
function host_hooks.remove(name)
  local i = place_of(name)
  if not i then error({ code = "not_found", message = ("the program has no hook '%s'"):format(name) }, 0) end
  for _, list in pairs(table.remove(kept, i).by_point) do
    for _, one in ipairs(list) do one.gone = true end
  end
  if not kept[1] then runs.on_begin("hooks of the program", nil) end
end

return host_hooks
