--- Lua of a person who looks into the host: expressions in the host's state, bounded in time and memory as the
--- scripts of mods are. They cannot wait (`hocket.start` begins what takes time), and cannot end the host.
local compile = require "hocket.internal.base.script.compile"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local restricted = require "hocket.internal.runner.restricted"
local runs = require "hocket.internal.run.run"
local truncate = require "hocket.internal.base.truncate"

local expression = {}

--- Seconds that one may take: everything else stands still for so long.
local SECONDS = 0.1
--- Bytes that it may take.
local MEMORY = 64 << 20
--- Of what is shown: tables inside of each other, members of each, bytes in all.
local DEPTH, MEMBERS, MAX_TEXT = 3, 50, 64 << 10

--- What everybody who asks would write first, with his own `require`.
local FACADE = "hocket"
local PRELUDE = ("%s = require '%s' host = %s.host"):format(FACADE, FACADE, FACADE)

-- What blocks, or would take the bounds away.
local function own_debug()
  local own = {}
  for _, name in ipairs { "getinfo", "getlocal", "getmetatable", "getupvalue", "traceback" } do own[name] = debug[name] end
  return own
end

--- An environment for one who asks: what he sets as a global is his own; all else is the host's.
---@return hocket.Restricted
function expression.new()
  local inside = restricted.new(SECONDS, MEMORY)
  local env = inside.env
  env.debug, env.runs = own_debug(), runs.all
  env.print = function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    inside.printed[#inside.printed + 1] = table.concat(parts, "\t", 1, parts.n)
  end
  setmetatable(env, { __index = _G })
  assert(compile(PRELUDE, "attach", env))()
  return inside
end

-- ---- What is shown ----------------------------------------------------------------------------------

local show

local function by_name(a, b)
  if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then return a < b end
  return type(a) < type(b)
end

local function key_text(key)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" then return key end
  return "[" .. show(key, 0) .. "]"
end

local function show_table(value, depth, indent)
  local keys, lines = {}, {}
  for key in next, value do
    keys[#keys + 1] = key
    if #keys > 10000 then break end
  end
  if #keys == 0 then return "{}" end
  table.sort(keys, by_name)
  for i = 1, math.min(#keys, MEMBERS) do
    lines[i] = indent .. "  " .. key_text(keys[i]) .. " = " .. show(rawget(value, keys[i]), depth - 1, indent .. "  ")
  end
  if #keys > MEMBERS then lines[#lines + 1] = ("%s  … %d more"):format(indent, #keys - MEMBERS) end
  return "{\n" .. table.concat(lines, "\n") .. "\n" .. indent .. "}"
end

function show(value, depth, indent)
  if type(value) == "string" then return json.encode(utf8.len(value) and value or value:gsub("[\x80-\xFF]", "?")) end
  if type(value) ~= "table" then return tostring(value) end
  local meta = debug.getmetatable(value)
  if meta and rawget(meta, "__tostring") then return tostring(value) end
  if depth == 0 then return "{…}" end
  return show_table(value, depth, indent or "")
end

-- A text alone stands as it is.
local function show_all(...)
  local parts, n = {}, select("#", ...)
  if n == 1 and type((...)) == "string" then return (...) end
  for i = 1, n do parts[i] = show((select(i, ...)), DEPTH) end
  return table.concat(parts, "\n")
end

--- Evaluates an expression, or carries out statements.
---@param inside hocket.Restricted
---@param text string
---@return string? shown
---@return hocket.Error?
function expression.evaluate(inside, text)
  local chunk = compile("return " .. text, "attach", inside.env)
  local wrong
  if not chunk then chunk, wrong = compile(text, "attach", inside.env) end
  if not chunk then return nil, { code = "script", message = wrong } end
  inside.printed, inside.expired = {}, nil
  -- In a coroutine of its own, in which nothing can wait: other fibers never run within its bounds.
  local co = coroutine.create(function() return inside:call(function() return show_all(chunk()) end) end)
  local ok, shown = fiber.plain_resume(co)
  local killed = inside.expired
  if not ok or killed then
    local raised = killed or shown
    if type(raised) ~= "table" then raised = { code = "script", message = tostring(raised) } end
    return nil, raised
  end
  inside.printed[#inside.printed + 1] = shown ~= "" and shown or nil
  return truncate(table.concat(inside.printed, "\n"), MAX_TEXT, "\n… (cut)")
end

return expression
