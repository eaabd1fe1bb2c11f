--- Settings that a model does not take. Which those are changes from model to model, and only the provider
--- knows: "Unsupported value: 'temperature' does not support 0.4 with this model". What it has refused is left
--- out, of this call and of all later ones to the same model, and told once.
local askers = require "hocket.internal.models.asker"

local refusal = {}

-- How errors say that it is the setting, and not its value.
local signs = { "unsupported", "not support", "cannot both", "deprecated", "unrecognized", "not permitted", "unknown" }

-- Where two exclude each other the one that stands first here goes.
local names = { "top_p", "top_k", "temperature", "seed", "stop" }

-- The settings of a request that an error is about. What reasoning is called differs most, and other errors
-- speak of "reasoning models".
local function find(spec, message)
  local text, found, said = message:lower():gsub("_", ""), {}, false
  for _, sign in ipairs(signs) do said = said or text:find(sign, 1, true) end
  for _, name in ipairs(said and names or {}) do
    if spec[name] and text:find("%f[%w]" .. name:gsub("_", "")) then found[#found + 1] = name end
  end
  if said and spec.reasoning and not found[1] and (text:find "reasoning" or text:find "thinking" or text:find "effort") then
    return { "reasoning" }
  end
  return text:find "both" and { found[1] } or found
end

--- Whether a call that failed can be made again, without what it failed for.
---@param all table By provider's handle, for `without`.
---@param one hocket.Model
---@param asker hocket.Asker
---@param err hocket.Error
---@return boolean
function refusal.learn(all, one, asker, err)
  if err.http_status ~= 400 and err.http_status ~= 422 then return false end
  local found = find((asker.sent or asker.request).spec, err.message)
  local models = all[one.handle] or {}
  for _, name in ipairs(found) do
    local known = models[one.name] or { fields = {} }
    if not known.fields[name] then -- by now another call may have found it out
      asker.emit("warning", { message = ("%s does not take '%s', which is left out"):format(one.id, name) })
      known.fields[name], known.requests = true, setmetatable({}, { __mode = "k" })
    end
    all[one.handle], models[one.name] = models, known
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
      if not known.fields[name] then spec[name] = value end
    end
    known.requests[request] = askers.prepare(spec, request.on_delta or nil)
  end
  return known.requests[request]
end

return refusal
