--- What a person can set of a session in the editor (Agent Client Protocol, configOptions): what happens without a question, and which
--- model answers. The mode is also told as a mode, for editors that know no options.
local json = require "hocket.json"
local model = require "hocket.model"
local prices = require "hocket.prices"
local providers = require "hocket.providers"
local system = require "hocket.internal.core.system"

local acp_options = {}

--- Models that are offered; another one is named with /model.
local MOST = 100
--- The models that the agents' files, or the command line, name.
local OWN = "as-the-files-say"

acp_options.modes = {
  { id = "ask", name = "Ask", description = "What changes something, runs a program or sends something is asked first" },
  { id = "auto", name = "Allow", description = "As with --approve allow: only what a stranger's text may have led to is asked" },
  { id = "plan", name = "Plan", description = "Only reads, until you agree to the plan that is presented" },
  { id = "deny", name = "Refuse", description = "As with --approve deny: what needs approval is not done" },
}

-- Nobody is asked, and no program for keys is run.
local function has_key(def)
  local names = type(def.key_env) == "table" and def.key_env or { def.key_env }
  for _, name in ipairs(names) do
    local value = system.getenv(name)
    if value and value ~= "" then return true end
  end
  return false
end

local function models_of(current)
  local list = json.array { { value = current or OWN, name = current or "As the agents' files say" } }
  for _, name in ipairs(providers.names()) do
    for _, one in ipairs(has_key(providers.get(name)) and prices.models(name) or {}) do
      local id = name .. "/" .. one
      if id ~= current and #list < MOST then list[#list + 1] = { value = id, name = id } end
    end
  end
  return list
end

--- As the protocol has them.
---@param session {mode: string, model?: string}
---@return table[]
function acp_options.of(session)
  local words = json.array {}
  for i, one in ipairs(acp_options.modes) do words[i] = { value = one.id, name = one.name, description = one.description } end
  return json.array {
    { id = "mode", name = "Permissions", category = "mode", type = "select", currentValue = session.mode, options = words },
    { id = "model", name = "Model", category = "model", type = "select", currentValue = session.model or OWN, options = models_of(session.model) },
  }
end

--- Tells the editor what holds now.
---@param session hocket.AcpSession
function acp_options.tell(session)
  session:update { sessionUpdate = "config_option_update", configOptions = acp_options.of(session) }
end

--- Has another model answer from now on.
---@param session hocket.AcpSession
---@param id any
---@return boolean? ok
---@return string? wrong
function acp_options.set_model(session, id)
  if id == OWN and not session.model then return true end
  if type(id) ~= "string" or id == OWN or not model.is_known(id) then return nil, "there is no such model" end
  local ok, err = session.run:change { model = id }
  if not ok then return nil, err.message end
  session.model = id
  return true
end

return acp_options
