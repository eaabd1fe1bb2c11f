--- What a failed model call means to whoever reads of it: which model it was, and what may fix it.
local providers = require "hocket.providers"
local system = require "hocket.internal.core.system"

local explain = {}

local function base_of(def, name)
  local base, variable = providers.base_of(name), def.base_env and system.getenv(def.base_env) and def.base_env
  base = base:gsub("//[^/@]*@", "//"):gsub("%?.*", "") -- a password and a token stay out of messages
  return variable and ("%s, from %s"):format(base, variable) or base
end

local function key_of(def)
  local names = type(def.key_env) == "string" and { def.key_env } or def.key_env or {}
  for _, name in ipairs(names) do
    if system.getenv(name) then return name end
  end
end

local function mentions_model(text, name)
  return text:find("model", 1, true) ~= nil or text:find(name:lower(), 1, true) ~= nil
end

-- The first that fits: {whether, what may fix it}.
local function hint(one, def, err)
  local text, status = err.message:lower(), err.http_status or 0
  local at = base_of(def, one.provider_name)
  local variable = key_of(def)
  if text:find "authorization holds a" or text:find "key holds a" then
    return variable and ("it is the key in %s: is there a line break behind it?"):format(variable)
  elseif err.code == "invalid" and text:find("url", 1, true) then
    return ("the base URL is %s"):format(at)
  elseif err.code == "auth" then
    if one.keys then return nil end -- its message says what a program did, or the server what it thinks of the key
    return variable and ("is the key in %s right?"):format(variable) or ("no key was sent: set %s"):format(
      type(def.key_env) == "table" and def.key_env[1] or def.key_env or "key_env in the provider's declaration")
  elseif text:find "context.?length" or text:find "too many tokens" or text:find "prompt is too long" or status == 413 then
    return "the conversation has become longer than this model takes"
  elseif status >= 500 then
    return nil
  elseif status >= 300 and status < 400 then
    return ("is the base URL right? It is %s"):format(at)
  elseif status == 404 and mentions_model(text, one.name) then
    return ("does %s offer a model '%s'?"):format(one.provider_name, one.name)
  elseif status == 404 or status == 405 or text:find("web page", 1, true) or err.code == "protocol" and status < 400 then
    return ("is the base URL right? It is %s"):format(at)
  elseif err.code == "connect" then
    return ("is a server running there? The base URL is %s"):format(at)
  elseif err.code == "tls" then
    return ("is it https? The base URL is %s; CURL_CA_BUNDLE names a file of further authorities"):format(at)
  end
end

--- Puts the model's name, and what may fix it, into the message of its failure, once.
---@param one hocket.Model
---@param err hocket.Error
---@return hocket.Error err The same.
function explain.failure(one, err)
  if err.model or err.code == "replay" or err.code == "cancelled" then return err end
  local def = not one.simulated and providers.get(one.provider_name)
  local fix = def and hint(one, def, err)
  err.model = one.id
  err.message = ("%s: %s%s"):format(one.id, err.message, fix and (" (%s)"):format(fix) or "")
  return err
end

--- The same with the agent's name in front, for the end of a run: nobody has named it before.
---@param err hocket.Error
---@return hocket.Error err The same.
function explain.agent(err)
  if err.agent and err.model and not err.explained then
    err.explained = true
    err.message = ("%s: %s"):format(err.agent, err.message)
  end
  return err
end

return explain
