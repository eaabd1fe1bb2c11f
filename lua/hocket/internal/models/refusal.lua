--- Settings and tools that a model does not take. Which those are changes from model to model, and only the provider
--- knows: "Unsupported value: 'temperature' does not support 0.4 with this model", "Invalid schema for function 'f'".
--- After a refusal this call, and all later ones to the same model, leave it out. A warning says so once.
local askers = require "hocket.internal.models.asker"
local json = require "hocket.json"

local refusal = {}

-- How errors say that it is the setting, and not its value.
local signs = { "unsupported", "not support", "cannot both", "deprecated", "unrecognized", "not permitted", "unknown", "incompatible", "may not be" }

-- Where two exclude each other the one that stands first here goes.
local names = { "top_p", "top_k", "temperature", "seed", "stop", "tool_choice" }

-- Without a tool_choice the model may call tools, so this one stays.
local function must_stay(name, value)
  return name == "tool_choice" and value == "none"
end

-- The settings of a request that an error is about. What reasoning is called differs most, and other errors
-- speak of "reasoning models".
local function find(spec, message)
  local text, found, said = message:lower():gsub("_", ""), {}, false
  for _, sign in ipairs(signs) do said = said or text:find(sign, 1, true) end
  for _, name in ipairs(said and names or {}) do
    if spec[name] and not must_stay(name, spec[name]) and text:find("%f[%w]" .. name:gsub("_", "")) then found[#found + 1] = name end
  end
  if said and spec.reasoning and not found[1] and (text:find "reasoning" or text:find "thinking" or text:find "effort") then
    return { "reasoning" }
  end
  return text:find "both" and { found[1] } or found
end

-- ---- Tools --------------------------------------------------------------------------------------

--- Tools of one model that are left out so: a server that refuses more refuses tools as such.
local MOST_TOOLS = 8

-- Where errors count tools, from 0.
local places = { "tools%.(%d+)", "function_declarations%[(%d+)%]", "functionDeclarations%[(%d+)%]", "tools%[(%d+)%]" }

-- The tool that an error is about, by its name in quotes, or by its place.
local function find_tool(spec, message)
  local text = message:lower()
  if not (text:find "schema" or text:find "parameters" or text:find "properties") then return nil end -- a conversation names tools, too
  local tools = spec.tools and json.decode(spec.tools)
  if type(tools) ~= "table" then return nil end
  for _, tool in ipairs(tools) do
    for _, quoted in ipairs { "'%s'", '"%s"', "`%s`" } do
      if message:find(quoted:format(tool.name), 1, true) then return tool end
    end
  end
  for _, place in ipairs(places) do
    local n = message:match(place)
    if n then return tools[tonumber(n) + 1] end
  end
end

-- One declared otherwise is another one. None that is left out is forced.
local function leave_tools_out(spec, gone)
  local left = {}
  for _, tool in ipairs(json.decode(spec.tools)) do
    if not gone[json.encode(tool)] then
      left[#left + 1] = tool
    elseif tool.name == spec.tool_choice then
      spec.tool_choice = nil
    end
  end
  spec.tools = #left > 0 and json.encode(json.array(left)) or nil
end

local function count(set)
  local n = 0
  for _ in pairs(set) do n = n + 1 end
  return n
end

-- ---- What is known ------------------------------------------------------------------------------

-- Keeps what a model has refused; by now another call may have found it out.
local function keep(models, one, kind, name, tell)
  local known = models[one.name] or { fields = {}, tools = {} }
  models[one.name] = known
  if known[kind][name] then return end
  tell()
  known[kind][name], known.requests = true, setmetatable({}, { __mode = "k" })
end

local function keep_tool(models, one, tool, asker, err)
  local known, declared = models[one.name], json.encode(tool)
  if known and count(known.tools) >= MOST_TOOLS and not known.tools[declared] then return false end
  keep(models, one, "tools", declared, function()
    asker.emit("warning", { message = ("%s does not take the tool '%s', which is left out: %s"):format(one.id, tool.name, err.message) })
  end)
  return true
end

--- Whether a call that failed can be made again, without what it failed for.
---@param all table By provider's handle, for `without`.
---@param one hocket.Model
---@param asker hocket.Asker
---@param err hocket.Error
---@return boolean
function refusal.learn(all, one, asker, err)
  if err.http_status ~= 400 and err.http_status ~= 422 then return false end
  local spec = (asker.sent or asker.request).spec
  local found, models = find(spec, err.message), all[one.handle] or {}
  local tool = #found == 0 and find_tool(spec, err.message)
  if #found > 0 or tool then all[one.handle] = models end
  if tool then return keep_tool(models, one, tool, asker, err) end
  for _, name in ipairs(found) do
    keep(models, one, "fields", name, function()
      asker.emit("warning", { message = ("%s does not take '%s', which is left out"):format(one.id, name) })
    end)
  end
  return #found > 0
end

--- A request without what a model does not take.
---@param models table By the model's name.
---@param one hocket.Model
---@param request hocket.Request
---@return hocket.Request
function refusal.without(models, one, request)
  local known = models[one.name]
  if not known then return request end
  if not known.requests[request] then
    local spec = {}
    for name, value in pairs(request.spec) do
      if not known.fields[name] or must_stay(name, value) then spec[name] = value end
    end
    if next(known.tools) and spec.tools then leave_tools_out(spec, known.tools) end
    if not spec.tools then spec.tool_choice = nil end
    known.requests[request] = askers.prepare(spec, request.on_delta or nil)
  end
  return known.requests[request]
end

return refusal
