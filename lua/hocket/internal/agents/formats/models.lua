--- Models by the names that other programs have for them: "sonnet", "Claude Sonnet 4.5 (copilot)", "GPT-5". What comes out is
--- a wish: where its provider has no key, the agent is asked with the model that it would have without one.
local providers = require "hocket.providers"

local models = {}

--- Short names. The newest model of each kind; `prices` and `defaults` name the same ones.
local aliases = {
  sonnet = "claude-sonnet-5", opus = "claude-opus-5-5", haiku = "claude-haiku-4-5", fable = "claude-fable-5",
  pro = "gemini-2.5-pro", flash = "gemini-3.5-flash",
}

--- Names for "as whoever calls it".
local inherited = { inherit = true, default = true, auto = true, [""] = true }

--- Bytes of a name.
local LONGEST = 200

-- "Claude Sonnet 4.5 (copilot)" -> "claude-sonnet-4-5", as its maker writes it.
local function plain(name)
  local id = name:lower():gsub("%s*%b()", ""):gsub("#[%w-]+$", ""):gsub("%[[^%]]*%]$", ""):gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s+", "-")
  if id:find "^claude" then id = id:gsub("%.", "-"):gsub("^claude%-(%d[%d-]*)%-(%a+)$", "claude-%1-%2") end
  return id
end

--- What a name means here.
---@param name string
---@return string? id "provider/model"
---@return boolean? inherited It asks for the caller's model.
function models.find(name)
  if #name > LONGEST then return nil end
  local id = plain(name)
  if inherited[id] then return nil, true end
  id = aliases[id] or id
  local provider = id:match "^([%w_-]+)/%S+$"
  if provider then return providers.get(provider) and id or nil end
  return providers.of_model(id)
end

--- Whether a name is one that only other programs use, so that a file with it is none of ours.
---@param name any
---@return boolean
function models.is_alias(name)
  return type(name) == "string" and (aliases[name] ~= nil or name == "inherit")
end

return models
