--- The hooks of a model call (run/hooks.lua). They are asked once for a call, with all its retries and fallbacks.
---
---     before_model ──> deny ───> an error, and nobody is asked
---                  ├─> answer ─> the reply, which costs nothing and calls no tool
---                  └─> arguments, context ──> the call ──> after_model ──> another text, which calls no tool
---
--- Settings may become smaller and other, the model and the tools stay.
local askers = require "hocket.internal.models.asker"
local core = require "hocket.internal.core.llm"
local held_back = require "hocket.internal.models.held_back"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local model_hooks = {}

local settings = { "temperature", "max_tokens", "top_p", "top_k", "seed", "stop", "reasoning" }

local kinds = { temperature = "number", max_tokens = "integer", top_p = "number", top_k = "integer", seed = "integer", reasoning = "string" }

local function first_of(model)
  local one = model.handle and model or model[1]
  if type(one) == "string" then return require("hocket.model").resolve(one) end
  return one
end

local function about_call(asker, name, history)
  local spec = asker.request.spec
  local about = { model = name, agent = asker.run.hooks:agent(), messages_digest = history:digest(), system = spec.system }
  for _, key in ipairs(settings) do about[key] = spec[key] end
  return about
end

local function denied(name, why)
  return nil, system.error { code = "denied", no_retry = true, message = ("the call of %s was denied by a hook: %s"):format(name, why) }
end

-- What a hook may set: of two limits the smaller one.
local function changes_of(spec, given)
  local changes = {}
  for key, value in pairs(given) do
    local kind = kinds[key]
    local found = math.type(value) == "integer" and kind ~= "number" and "integer" or type(value)
    if not kind or found ~= kind then return nil, ("arguments: '%s' cannot be set so (temperature, max_tokens, top_p, top_k, seed, reasoning)"):format(tostring(key)) end
    if key == "max_tokens" and spec.max_tokens then value = math.min(value, spec.max_tokens) end
    changes[key] = value
  end
  return changes
end

-- The request that the hooks make of it; or nil and what is wrong.
local function vary(request, said)
  local changes, wrong = changes_of(request.spec, said.arguments or {})
  if not changes then return nil, wrong end
  if said.context then changes.system = ("%s\n\n%s"):format(request.spec.system or "", said.context) end
  local ok, made = pcall(askers.vary, request, changes)
  if not ok then return nil, "arguments: " .. (type(made) == "table" and made.message or tostring(made)) end
  return made
end

-- A reply that nobody was asked for.
local function answer(asker, one, history, said)
  local call, err = core.answered(one.handle, history, asker.request.handle, one.name)
  if not call then return nil, err end
  local text = said.answer
  call:replace(text)
  asker.attempts, asker.answered_by, asker.fallbacks = 1, one, false
  local hear = asker:listener(asker.request, one)
  if hear and text ~= "" then hear("text", text) end
  return call
end

local function calls_of(call)
  local list = json.array {}
  for i = 1, call:count() do list[i] = { name = call:name(i), arguments = (call:arguments(i)) } end
  return list
end

-- The reply as the hooks behind the call leave it.
local function after(asker, hooks, name, call)
  local said = hooks:ask("after_model", name, { model = name, agent = hooks:agent(), result = call:partial() or "", calls = calls_of(call) }, asker.emit)
  local text = said and said.answer
  if text ~= nil then call:replace(text) end
  return text
end

-- Asks with the hooks' request. The streamed text waits for the hooks behind the call.
local function ask_held(asker, model, history, hooks, name, ask)
  local holds = hooks:has("after_model", name)
  asker.held_back = holds and held_back.new() or false
  local call, err = ask(asker, model, history)
  local held = asker.held_back
  asker.held_back = false
  if not call then return nil, err end
  local instead = after(asker, hooks, name, call)
  if held then held:release(instead) end
  return call
end

--- Asks as calls.ask does.
---@async
---@param asker hocket.Asker
---@param model hocket.Model|(hocket.Model|string)[]
---@param history hocket.History
---@param hooks hocket.Hooks
---@param ask fun(asker: hocket.Asker, model: table, history: hocket.History): userdata?, hocket.Error?
---@return userdata? call
---@return hocket.Error?
function model_hooks.ask(asker, model, history, hooks, ask)
  local one = first_of(model)
  local name = one and (one.id or one.name) or "?"
  local said = hooks:ask("before_model", name, about_call(asker, name, history), asker.emit, { messages = function() return history:messages() end })
  if said and said.deny then return denied(name, said.deny) end
  if said and said.answer ~= nil and one then return answer(asker, one, history, said) end
  local request = asker.request
  if said and (said.arguments or said.context) then
    local made, wrong = vary(request, said)
    if not made then return denied(name, wrong) end
    asker.request = made
  end
  local _ <close> = setmetatable({}, { __close = function() asker.request, asker.held_back = request, false end })
  return ask_held(asker, model, history, hooks, name, ask)
end

return model_hooks
